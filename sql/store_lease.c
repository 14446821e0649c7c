/* store_lease.c - ownership of the database by one runtime.
 *
 * The file lock gives instant take-over: the system frees it when its holder
 * dies. The epoch fences: a runtime that lost the lock without noticing (it
 * slept, the file was replaced) finds another epoch in its next transaction
 * and writes nothing. */
#include "sql/store_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_priv.h"

struct lease_lock {
    int fd;
};

/* Open-file-description locks: owned by the descriptor, so that neither a
 * thread nor another close of the file can drop them. */
static struct flock whole_file(short type)
{
    struct flock fl;

    memset(&fl, 0, sizeof(fl));
    fl.l_type = type;
    fl.l_whence = SEEK_SET;
    return fl;
}

static int open_lock_file(const char *dir, int flags)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/asided.lock", dir);

    if (len < 0 || (size_t)len >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC, 0600);
}

static enum rc take_lock(const char *dir, int cmd, struct lease_lock **out)
{
    struct flock fl = whole_file(F_WRLCK);
    struct lease_lock *lock = malloc(sizeof(*lock));

    if (lock == NULL) {
        return RC_NOMEM;
    }
    lock->fd = open_lock_file(dir, O_RDWR | O_CREAT);
    if (lock->fd < 0) {
        log_error(NULL, "%s/asided.lock: %s", dir, strerror(errno));
        free(lock);
        return RC_IO;
    }
    if (fcntl(lock->fd, cmd, &fl) != 0) {
        int why = errno;

        store_lease_release(lock);
        if (why == EAGAIN || why == EACCES) {
            return RC_BUSY;
        }
        if (why == EINTR) {
            return RC_CONFLICT;
        }
        log_error(NULL, "%s/asided.lock: %s", dir, strerror(why));
        return RC_IO;
    }
    *out = lock;
    return RC_OK;
}

enum rc store_lease_try(const char *dir, struct lease_lock **out)
{
    return take_lock(dir, F_OFD_SETLK, out);
}

enum rc store_lease_wait(const char *dir, struct lease_lock **out)
{
    return take_lock(dir, F_OFD_SETLKW, out);
}

void store_lease_release(struct lease_lock *lock)
{
    if (lock != NULL) {
        (void)close(lock->fd);
        free(lock);
    }
}

bool store_lease_held(const char *dir)
{
    struct flock fl = whole_file(F_RDLCK);
    int fd = open_lock_file(dir, O_RDONLY);
    bool held = false;

    if (fd < 0) {
        return false;
    }
    if (fcntl(fd, F_OFD_GETLK, &fl) == 0) {
        held = fl.l_type != F_UNLCK;
    }
    (void)close(fd);
    return held;
}

static enum rc take(struct store *st, void *arg)
{
    int64_t *epoch = arg;
    char boot[37];
    struct dbq *q = db_use(st->db, STMT_LEASE_TAKE);
    enum rc rc;

    clock_boot_id(boot);
    db_bind_i64(q, ":pid", (int64_t)getpid());
    db_bind_text(q, ":boot_id", boot);
    db_bind_i64(q, ":boot_ms", clock_boot_ms());
    rc = db_run_one(q);
    if (rc == RC_OK) {
        rc = db_one_i64(db_use(st->db, STMT_LEASE_EPOCH), epoch);
    }
    return rc;
}

enum rc store_lease_take(struct store *st)
{
    int64_t epoch = 0;
    enum rc rc;

    st->epoch = 0;
    rc = store_tx(st, take, &epoch);
    if (rc == RC_OK) {
        st->epoch = epoch;
    }
    return rc;
}

/* --- the model endpoint ------------------------------------------------ */

enum rc store_endpoint_get(struct store *st, enum endpoint_state *out)
{
    struct dbq *q = db_use(st->db, STMT_ENDPOINT_GET);

    if (db_next(q)) {
        *out = (enum endpoint_state)store_word(q, 0, LIST_ENDPOINT_STATE);
    }
    return db_end(q);
}

enum rc store_endpoint_set(struct store *st, enum endpoint_state state,
                           int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_ENDPOINT_SET);

    store_bind_word(q, ":state", LIST_ENDPOINT_STATE, (int)state);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_run(q);
}
