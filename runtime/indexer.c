/* indexer.c - the library's indexer, a child process of the runtime.
 *
 * Reading documents is slow and touches hostile bytes, so it is not done in
 * the daemon. The child is "aside index" from the daemon's own folder. It is
 * started when the runtime starts, when an account has other files in its
 * library, and when a look-up finds that the last scan is a while ago: no
 * watching, no waking while nobody asks.
 *
 * A run that fails as a whole (the disk is full, the index is locked, the child
 * died) has read nothing for sure. What was asked stays asked; the run is made
 * again by itself, later each time, and how it stands is told. Whoever asks for
 * something new has it tried at once. */
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/document/child.h"
#include "runtime/document/library_index.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/library.h"
#include "sql/library_files.h"

/* A look-up within this time of the last scan does not scan again. */
#define FRESH_MS 10000
/* A look-up waits for a running scan at most so long. */
#define PATIENCE_MS 30000
/* Between a run that failed and the next: doubled each time. */
#define RETRY_FIRST_MS 2000
#define RETRY_MOST_MS  600000

/* A list of what accounts asked for, as its rows were read. */
struct wants {
    struct library_want *list;
    size_t n;
};

struct indexer {
    struct indexer_options options;
    struct wants reading; /* what the child reads */
    struct wants done;    /* read, and not told yet */
    struct wants missed;  /* what a run that failed was to read */
    int64_t failures;     /* of runs, one after another */
    const char *reason;   /* of the last; "" */
    int64_t retry_ms;     /* boot time of the next run; 0: not failing */
    int64_t retry_unix_ms;
    bool told;           /* the four above, in a commit */
    pid_t child;         /* 0: none */
    int64_t deadline_ms; /* look-ups wait for the child so long; 0: not */
    int64_t ended_ms;    /* boot time when the last child ended; 0: none has */
    char program[PATH_MAX];
};

static void forget(struct wants *wants)
{
    free(wants->list);
    *wants = (struct wants){.list = NULL};
}

/* The first list is the second's now. Each holds all that was asked for and not
 * told when it was read, so it takes the place of an older one. */
static void move(struct wants *from, struct wants *to)
{
    if (from->n > 0) {
        free(to->list);
        *to = *from;
        *from = (struct wants){.list = NULL};
    }
}

static void note_success(struct indexer *ix)
{
    ix->told = false;
    ix->failures = 0;
    ix->reason = "";
    ix->retry_ms = 0;
    ix->retry_unix_ms = 0;
    forget(&ix->missed);
    move(&ix->reading, &ix->done);
}

static void note_failure(struct indexer *ix, const char *reason)
{
    int64_t wait_ms = RETRY_FIRST_MS;

    for (int64_t i = 0; i < ix->failures && wait_ms < RETRY_MOST_MS; i++) {
        wait_ms *= 2;
    }
    wait_ms = wait_ms < RETRY_MOST_MS ? wait_ms : RETRY_MOST_MS;
    ix->told = false;
    ix->failures++;
    ix->reason = reason;
    ix->retry_ms = clock_boot_ms() + wait_ms;
    ix->retry_unix_ms = clock_unix_ms() + wait_ms;
    move(&ix->reading, &ix->missed);
    log_warn(NULL, "the library was not indexed (%s): again in %lld s", reason,
             (long long)(wait_ms / 1000));
}

static void start(struct indexer *ix)
{
    /* -w: a run from the command line may have passed over what is new. */
    const char *argv[] = {ix->program, "index", "-w", NULL, NULL, NULL};
    posix_spawnattr_t attr;
    sigset_t none;
    int err;

    /* The child starts without the daemon's blocked signals. */
    (void)sigemptyset(&none);
    err = posix_spawnattr_init(&attr);
    if (err != 0) {
        note_failure(ix, rc_name(RC_NOMEM));
        return;
    }
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    if (ix->options.conf_file != NULL) {
        argv[3] = "-c";
        argv[4] = ix->options.conf_file;
    }
    err = posix_spawn(&ix->child, ix->program, NULL, &attr, (char *const *)argv,
                      environ);
    (void)posix_spawnattr_destroy(&attr);
    if (err != 0) {
        log_warn(NULL, "%s index: %s", ix->program, strerror(err));
        ix->child = 0;
        ix->ended_ms = clock_boot_ms();
        note_failure(ix, rc_name(RC_IO));
        return;
    }
    ix->deadline_ms = clock_boot_ms() + PATIENCE_MS;
}

bool indexer_has_documents(const struct indexer *ix)
{
    return ix->options.folders[0] != '\0' ||
           library_files_exist(ix->options.dir);
}

enum rc indexer_new(const struct indexer_options *options, struct indexer **out)
{
    struct indexer *ix = calloc(1, sizeof(*ix));

    if (ix == NULL) {
        return RC_NOMEM;
    }
    ix->options = *options;
    ix->reason = "";
    if (!child_program(ix->program)) {
        log_warn(NULL, "the program aside is not beside asided: the library "
                       "is not indexed");
        ix->program[0] = '\0';
        ix->ended_ms = clock_boot_ms();
    } else if (indexer_has_documents(ix)) {
        start(ix);
    }
    /* How a runtime before this one left it stands until the child has ended;
     * where there is nothing to read, nothing fails. */
    ix->told = ix->child > 0;
    *out = ix;
    return RC_OK;
}

void indexer_free(struct indexer *ix)
{
    if (ix == NULL) {
        return;
    }
    if (ix->child > 0) {
        (void)kill(ix->child, SIGTERM);
        (void)waitpid(ix->child, NULL, 0);
    }
    forget(&ix->reading);
    forget(&ix->done);
    forget(&ix->missed);
    free(ix);
}

/* --- what accounts ask for ------------------------------------------------- */

static bool is_in(const struct wants *wants, const struct library_want *w)
{
    for (size_t i = 0; i < wants->n; i++) {
        if (wants->list[i].account_id == w->account_id &&
            wants->list[i].wanted >= w->wanted) {
            return true;
        }
    }
    return false;
}

void indexer_want(struct indexer *ix, const struct library_want *list, size_t n)
{
    struct library_want *copy;
    bool news = false;

    for (size_t i = 0; i < n; i++) {
        news = news ||
               (!is_in(&ix->reading, &list[i]) && !is_in(&ix->done, &list[i]) &&
                !is_in(&ix->missed, &list[i]));
    }
    if (!news || ix->child > 0 || ix->program[0] == '\0') {
        return;
    }
    copy = calloc(n, sizeof(*copy));
    if (copy == NULL) {
        return; /* asked again at the next ring */
    }
    memcpy(copy, list, n * sizeof(*copy));
    forget(&ix->reading);
    ix->reading = (struct wants){.list = copy, .n = n};
    start(ix);
}

void indexer_keep(struct indexer *ix)
{
    if (ix->child == 0 && ix->failures == 0 && ix->program[0] != '\0' &&
        !library_is_there(ix->options.dir) && indexer_has_documents(ix)) {
        start(ix);
    }
}

bool indexer_has_news(const struct indexer *ix)
{
    return ix->done.n > 0 || !ix->told;
}

struct library_run indexer_run(const struct indexer *ix)
{
    return (struct library_run){.failures = ix->failures,
                                .reason = ix->reason,
                                .retry_ms = ix->retry_unix_ms};
}

const struct library_want *indexer_done(const struct indexer *ix, size_t *n)
{
    *n = ix->done.n;
    return ix->done.list;
}

void indexer_told(struct indexer *ix)
{
    forget(&ix->done);
    ix->told = true;
}

/* --- the child --------------------------------------------------------------- */

bool indexer_ready(struct indexer *ix)
{
    if (ix->child > 0) {
        return ix->deadline_ms == 0;
    }
    if (ix->program[0] == '\0' || ix->failures > 0 ||
        clock_boot_ms() - ix->ended_ms < FRESH_MS) {
        return true;
    }
    start(ix);
    return ix->child == 0;
}

int64_t indexer_due_ms(const struct indexer *ix)
{
    return ix->child > 0 ? ix->deadline_ms : ix->retry_ms;
}

bool indexer_tick(struct indexer *ix, int64_t now_ms)
{
    int64_t due_ms = indexer_due_ms(ix);

    if (due_ms == 0 || now_ms < due_ms) {
        return false;
    }
    if (ix->child > 0) {
        ix->deadline_ms = 0;
        return true;
    }
    move(&ix->missed, &ix->reading);
    start(ix);
    return false;
}

/* NULL: all was read that can be. */
static const char *failure_of(int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (code == 0 || code == 1) {
        return NULL;
    }
    code -= LIBRARY_INDEX_EXIT_FAILED;
    return code > 0 && code < RC__MAX ? rc_name((enum rc)code) : "died";
}

bool indexer_reap(struct indexer *ix)
{
    const char *failure;
    int status;

    if (ix == NULL || ix->child <= 0 ||
        waitpid(ix->child, &status, WNOHANG) != ix->child) {
        return false;
    }
    failure = failure_of(status);
    ix->child = 0;
    ix->ended_ms = clock_boot_ms();
    if (failure == NULL) {
        note_success(ix);
    } else {
        note_failure(ix, failure);
    }
    return true;
}
