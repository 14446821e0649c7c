/* store_lease.c - ownership of the database by one runtime.
 *
 * The file lock gives instant take-over: the system frees it when its holder
 * dies. The epoch fences: a runtime that lost the lock without noticing (it
 * slept, the file was replaced) finds another epoch in its next transaction
 * and writes nothing.
 *
 * An owner that hangs keeps its lock. Whoever displaces it first takes the
 * epoch, then puts a lock file of its own in the place of the old one; a lock
 * counts only on the file that bears the name.
 *
 * The file also holds a mark of what its owner is working at. It is mapped, so
 * that it costs nothing to set and outlives the process, and is believed only
 * under the epoch and boot that it was written in: a power cut is no Run's
 * fault. */
#include "sql/store_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_priv.h"
#include "sql/store_server.h"

#define PATH_BYTES 4096
/* How often the file may be replaced while somebody takes its lock. */
#define TRIES_MAX 16

struct mark {
    char boot_id[40];
    int64_t epoch;
    int64_t run_id; /* being worked at; 0: none */
};

struct lease_lock {
    int fd;
    struct mark *mark; /* NULL: there is none, nobody will be blamed */
};

/* --- the file ---------------------------------------------------------- */

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

static bool path_in(const char *dir, const char *end, char out[PATH_BYTES])
{
    int len = snprintf(out, PATH_BYTES, "%s/asided.lock%s", dir, end);

    if (len < 0 || len >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static int open_lock_file(const char *dir, const char *end, int flags)
{
    char path[PATH_BYTES];

    return path_in(dir, end, path) ? open(path, flags | O_CLOEXEC, 0600) : -1;
}

static bool bears_the_name(int fd, const char *dir)
{
    char path[PATH_BYTES];
    struct stat ours;
    struct stat named;

    return path_in(dir, "", path) && fstat(fd, &ours) == 0 &&
           stat(path, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

/* Without room for it there is no mark, and nobody will be blamed. */
static void map_mark(struct lease_lock *lock)
{
    int why = posix_fallocate(lock->fd, 0, sizeof(*lock->mark));
    void *at = MAP_FAILED;

    if (why == 0) {
        at = mmap(NULL, sizeof(*lock->mark), PROT_READ | PROT_WRITE, MAP_SHARED,
                  lock->fd, 0);
        why = errno;
    }
    lock->mark = at == MAP_FAILED ? NULL : at;
    if (lock->mark == NULL) {
        log_warn(NULL, "asided.lock cannot be mapped: %s", strerror(why));
    }
}

/* Open the file and lock it. RC_BUSY: held by another; RC_CONFLICT: a signal
 * came while waiting. */
static enum rc lock_file(const char *dir, const char *end, int cmd,
                         struct lease_lock **out)
{
    struct flock fl = whole_file(F_WRLCK);
    struct lease_lock *lock = calloc(1, sizeof(*lock));

    if (lock == NULL) {
        return RC_NOMEM;
    }
    lock->fd = open_lock_file(dir, end, O_RDWR | O_CREAT);
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

static enum rc take_lock(const char *dir, int cmd, struct lease_lock **out)
{
    struct lease_lock *lock = NULL;

    for (int i = 0; i < TRIES_MAX; i++) {
        enum rc rc = lock_file(dir, "", cmd, &lock);

        if (rc != RC_OK) {
            return rc;
        }
        if (bears_the_name(lock->fd, dir)) {
            map_mark(lock);
            *out = lock;
            return RC_OK;
        }
        store_lease_release(lock);
    }
    return RC_BUSY;
}

enum rc store_lease_try(const char *dir, struct lease_lock **out)
{
    return take_lock(dir, F_OFD_SETLK, out);
}

enum rc store_lease_wait(const char *dir, struct lease_lock **out)
{
    return take_lock(dir, F_OFD_SETLKW, out);
}

void store_lease_mark(struct lease_lock *lock, int64_t run_id)
{
    if (lock != NULL && lock->mark != NULL) {
        __atomic_store_n(&lock->mark->run_id, run_id, __ATOMIC_RELAXED);
    }
}

void store_lease_release(struct lease_lock *lock)
{
    if (lock != NULL) {
        store_lease_mark(lock, 0);
        if (lock->mark != NULL) {
            (void)munmap(lock->mark, sizeof(*lock->mark));
        }
        (void)close(lock->fd);
        free(lock);
    }
}

bool store_lease_held(const char *dir)
{
    struct flock fl = whole_file(F_RDLCK);
    int fd = open_lock_file(dir, "", O_RDONLY);
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

/* --- the row ----------------------------------------------------------- */

struct take {
    const struct mark *left;       /* by the owner before; NULL: no mark */
    const struct lease_seen *seen; /* take it only if it is still so, or NULL */
    int64_t epoch;
};

/* The Run in whose work the owner before came to its end (R29). */
static enum rc count_crash(struct store *st, const struct mark *left,
                           const char *boot, int64_t epoch)
{
    struct dbq *q;

    if (left == NULL || left->run_id == 0 || left->epoch != epoch ||
        strncmp(left->boot_id, boot, sizeof(left->boot_id)) != 0) {
        return RC_OK;
    }
    q = db_use(st->db, STMT_RUN_COUNT_CRASH);
    db_bind_i64(q, ":id", left->run_id);
    return db_run(q);
}

static enum rc take(struct store *st, void *arg)
{
    struct take *t = arg;
    char boot[37];
    int64_t before = 0;
    struct lease_seen now;
    struct dbq *q;
    enum rc rc = db_one_i64(db_use(st->db, STMT_LEASE_EPOCH), &before);

    clock_boot_id(boot);
    if (rc == RC_OK && t->seen != NULL) {
        rc = store_lease_look(st, &now);
        if (rc == RC_OK && (!now.at_work || now.epoch != t->seen->epoch ||
                            now.renewed_boot_ms != t->seen->renewed_boot_ms)) {
            rc = RC_CONFLICT;
        }
    }
    if (rc == RC_OK) {
        rc = count_crash(st, t->left, boot, before);
    }
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_LEASE_TAKE);
    db_bind_i64(q, ":pid", (int64_t)getpid());
    db_bind_text(q, ":boot_id", boot);
    db_bind_i64(q, ":boot_ms", clock_boot_ms());
    t->epoch = before + 1;
    rc = db_run_one(q);
    return rc == RC_OK ? store_server_forget(st) : rc;
}

enum rc store_lease_take(struct store *st, struct lease_lock *lock)
{
    struct mark *mark = lock == NULL ? NULL : lock->mark;
    struct take t = {.left = mark};
    enum rc rc;

    st->epoch = 0;
    rc = store_tx(st, take, &t);
    if (rc != RC_OK) {
        return rc;
    }
    st->epoch = t.epoch;
    st->renewed_boot_ms = 0;
    if (mark != NULL) {
        store_lease_mark(lock, 0);
        clock_boot_id(mark->boot_id);
        mark->epoch = t.epoch;
    }
    return RC_OK;
}

enum rc store_lease_look(struct store *st, struct lease_seen *out)
{
    struct dbq *q = db_use(st->db, STMT_LEASE_LOOK);

    *out = (struct lease_seen){0};
    if (db_next(q)) {
        out->epoch = db_i64(q, 0);
        out->renewed_boot_ms = db_i64(q, 1);
        out->at_work = db_i64(q, 2) != 0;
    }
    return db_end(q);
}

static bool read_mark(const char *dir, struct mark *out)
{
    int fd = open_lock_file(dir, "", O_RDONLY);
    bool whole = fd >= 0 && pread(fd, out, sizeof(*out), 0) == sizeof(*out);

    if (fd >= 0) {
        (void)close(fd);
    }
    return whole;
}

/* The new lock file takes the name of the old one. */
static enum rc replace(const char *dir, const char *end)
{
    char from[PATH_BYTES];
    char to[PATH_BYTES];

    if (path_in(dir, end, from) && path_in(dir, "", to) &&
        rename(from, to) == 0) {
        return RC_OK;
    }
    log_error(NULL, "%s/asided.lock: %s", dir, strerror(errno));
    return RC_IO;
}

enum rc store_lease_displace(struct store *st, const char *dir,
                             const struct lease_seen *seen,
                             struct lease_lock **out)
{
    struct mark left;
    struct take t = {.left = read_mark(dir, &left) ? &left : NULL,
                     .seen = seen};
    struct lease_lock *lock = NULL;
    char end[32];
    char path[PATH_BYTES];
    enum rc rc;

    (void)snprintf(end, sizeof(end), ".%ld", (long)getpid());
    rc = lock_file(dir, end, F_OFD_SETLK, &lock);
    if (rc != RC_OK) {
        return rc;
    }
    rc = store_tx(st, take, &t);
    if (rc == RC_OK) {
        rc = replace(dir, end);
    }
    if (rc != RC_OK) {
        if (path_in(dir, end, path)) {
            (void)unlink(path);
        }
        store_lease_release(lock);
        return rc;
    }
    map_mark(lock);
    *out = lock;
    return RC_OK;
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
