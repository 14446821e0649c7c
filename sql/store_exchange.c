/* store_exchange.c - see store_exchange.h. */
#include "sql/store_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sql/base/log.h"
#include "sql/store_backup_inside.h"

#define MARK       "restore.unfinished"
#define MOVES_MAX  16
#define KEPT_TRIES 100 /* in one second */

struct exchange {
    struct store_backup *b;
    const char *ready;
    const char *kept;
    bool linked; /* the old database has a second name */
    /* What has moved, to be moved back. */
    struct {
        const char *from;
        const char *to;
    } moved[MOVES_MAX];
    size_t n;
};

/* --- faults for the crash tests --------------------------------------------- */

#ifdef ASIDE_FAULTS

/* ASIDE_FAULT_EXCHANGE = "kill:N" (die before the N-th step) or "fail:N" (the
 * N-th step fails). */
static bool step_fails(void)
{
    static int n;
    const char *plan = getenv("ASIDE_FAULT_EXCHANGE");
    char kind[8] = "";
    int at = 0;

    n++;
    if (plan == NULL || sscanf(plan, "%7[a-z]:%d", kind, &at) != 2 || at != n) {
        return false;
    }
    if (strcmp(kind, "kill") == 0) {
        abort();
    }
    errno = EIO;
    return true;
}

#else

static bool step_fails(void)
{
    return false;
}

#endif

/* --- the mark --------------------------------------------------------------- */

static const char *in_folder(const struct exchange *x, const char *folder,
                             const char *name)
{
    return arena_printf(x->b->arena, "%s/%s", folder, name);
}

static enum rc set_mark(struct exchange *x)
{
    const char *path = in_folder(x, x->b->dir, MARK);
    const char *text =
        arena_printf(x->b->arena,
                     "A restore was cut short. Do it again: aside restore %s\n"
                     "Or put what lies in %s back, and remove this file.\n",
                     x->b->file, x->kept);
    int fd = path == NULL || text == NULL
                 ? -1
                 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && !step_fails() &&
                write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
                fsync(fd) == 0;
    enum rc rc = good ? RC_OK : store_backup_fail_errno(x->b, MARK);

    if (fd >= 0) {
        (void)close(fd);
    }
    return rc == RC_OK ? store_backup_sync(x->b, x->b->dir) : rc;
}

static enum rc clear_mark(struct exchange *x)
{
    const char *path = in_folder(x, x->b->dir, MARK);

    if (path == NULL || step_fails() ||
        (unlink(path) != 0 && errno != ENOENT)) {
        return store_backup_fail_errno(x->b, MARK);
    }
    return store_backup_sync(x->b, x->b->dir);
}

bool store_exchange_is_open(const char *dir)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/" MARK, dir);

    return len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

/* --- moving ------------------------------------------------------------------ */

/* A name moves from one folder to another; one that is not there need not. */
static enum rc move(struct exchange *x, const char *from, const char *to,
                    const char *name)
{
    const char *old = in_folder(x, from, name);
    const char *new = in_folder(x, to, name);

    if (old == NULL || new == NULL || x->n == MOVES_MAX) {
        return RC_NOMEM;
    }
    if (step_fails() || rename(old, new) != 0) {
        return errno == ENOENT ? RC_OK : store_backup_fail_errno(x->b, old);
    }
    x->moved[x->n].from = old;
    x->moved[x->n].to = new;
    x->n++;
    return RC_OK;
}

/* The old database gets a second name, so that there is always one. */
static enum rc keep_database(struct exchange *x)
{
    const char *old = in_folder(x, x->b->dir, "aside.db");
    const char *new = in_folder(x, x->kept, "aside.db");

    if (old == NULL || new == NULL) {
        return RC_NOMEM;
    }
    if (step_fails()) {
        return store_backup_fail_errno(x->b, old);
    }
    x->linked = link(old, new) == 0;
    return x->linked || errno == ENOENT
               ? RC_OK
               : move(x, x->b->dir, x->kept, "aside.db");
}

/* What is made of other things first: it is made anew whoever starts next. */
static enum rc move_all(struct exchange *x)
{
    static const char *const OLD[] = {
        "library.db",   "library.db-wal", "library.db-shm",
        "search.db",    "search.db-wal",  "search.db-shm",
        "aside.db-wal", "aside.db-shm",   "library",
    };
    enum rc rc = keep_database(x);

    for (size_t i = 0; i < sizeof(OLD) / sizeof(OLD[0]) && rc == RC_OK; i++) {
        rc = move(x, x->b->dir, x->kept, OLD[i]);
    }
    if (rc == RC_OK) {
        rc = move(x, x->ready, x->b->dir, "library");
    }
    if (rc == RC_OK) {
        rc = store_backup_sync(x->b, x->kept);
    }
    /* The old database's log is gone for certain before the new one comes, for
     * which it would be taken. */
    if (rc == RC_OK) {
        rc = store_backup_sync(x->b, x->b->dir);
    }
    return rc == RC_OK ? move(x, x->ready, x->b->dir, "aside.db") : rc;
}

/* True if everything is where it was. */
static bool move_back(struct exchange *x)
{
    const char *copy = in_folder(x, x->kept, "aside.db");
    bool good = copy != NULL;

    while (x->n > 0 && good) {
        x->n--;
        good = rename(x->moved[x->n].to, x->moved[x->n].from) == 0;
    }
    if (good && x->linked) {
        good = unlink(copy) == 0;
    }
    good = good && (rmdir(x->kept) == 0 || errno == ENOENT);
    if (!good) {
        log_error(NULL, "%s cannot be put back: %s", x->kept, strerror(errno));
    }
    return good;
}

/* *kept becomes the name that it has: that of a restore in the same second is
 * taken. As root, the folder is the data's owner's. */
static enum rc make_kept(struct store_backup *b, const char **kept)
{
    const char *wanted = *kept;
    struct stat dir;
    int n = 1;

    while (*kept != NULL && mkdir(*kept, 0700) != 0) {
        if (errno != EEXIST || n == KEPT_TRIES) {
            return store_backup_fail_errno(b, wanted);
        }
        *kept = arena_printf(b->arena, "%s-%d", wanted, ++n);
    }
    if (*kept == NULL) {
        return RC_NOMEM;
    }
    if (geteuid() == 0 && (stat(b->dir, &dir) != 0 ||
                           lchown(*kept, dir.st_uid, dir.st_gid) != 0)) {
        (void)store_backup_fail_errno(b, *kept);
        (void)rmdir(*kept);
        return RC_IO;
    }
    return RC_OK;
}

enum rc store_exchange_make(struct store_backup *b, const char *ready,
                            const char *kept)
{
    /* One that was cut short before stays so until this one is through. */
    const bool was_open = store_exchange_is_open(b->dir);
    struct exchange x = {.b = b, .ready = ready, .kept = kept};
    enum rc rc;

    b->kept = NULL;
    rc = make_kept(b, &x.kept);
    if (rc != RC_OK) {
        return rc;
    }
    rc = set_mark(&x);
    if (rc == RC_OK) {
        rc = move_all(&x);
    }
    if (rc == RC_OK) {
        b->kept = x.kept;
        rc = store_backup_sync(b, b->dir);
        return rc == RC_OK ? clear_mark(&x) : rc;
    }
    if (!move_back(&x)) {
        b->kept = x.kept;
    } else if (!was_open) {
        (void)clear_mark(&x);
    }
    return rc;
}
