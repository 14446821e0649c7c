/* indexer.c - the library's indexer, a child process of the runtime.
 *
 * Reading documents is slow and touches hostile bytes, so it is not done in
 * the daemon. The child is "aside index" from the daemon's own folder. It is
 * started when the runtime starts, when an account has other files in its
 * library, and when a look-up finds that the last scan is a while ago: no
 * watching, no waking while nobody asks. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/document/child.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/library_files.h"

/* A look-up within this time of the last scan does not scan again. */
#define FRESH_MS 10000
/* A look-up waits for a running scan at most so long. */
#define PATIENCE_MS 30000

/* A list of what accounts asked for, as its rows were read. */
struct wants {
    struct library_want *list;
    size_t n;
};

struct indexer {
    struct indexer_options options;
    struct wants reading; /* what the child reads */
    struct wants done;    /* read, and not told yet */
    pid_t child;          /* 0: none */
    int64_t deadline_ms;  /* look-ups wait for the child so long; 0: not */
    int64_t ended_ms;     /* boot time when the last child ended; 0: none has */
    char program[PATH_MAX];
};

static void settle(struct indexer *ix);

static void start(struct indexer *ix)
{
    /* -w: a run from the command line may have passed over what is new. */
    const char *argv[] = {ix->program, "index", "-w", NULL, NULL, NULL};
    posix_spawnattr_t attr;
    sigset_t none;
    int err;

    /* The child starts without the daemon's blocked signals. */
    (void)sigemptyset(&none);
    if (posix_spawnattr_init(&attr) != 0) {
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
        settle(ix); /* its files stay as they are: waiting */
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
    if (!child_program(ix->program)) {
        log_warn(NULL, "the program aside is not beside asided: the library "
                       "is not indexed");
        ix->program[0] = '\0';
        ix->ended_ms = clock_boot_ms();
    } else if (indexer_has_documents(ix)) {
        start(ix);
    }
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
    free(ix->reading.list);
    free(ix->done.list);
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
               (!is_in(&ix->reading, &list[i]) && !is_in(&ix->done, &list[i]));
    }
    if (!news || ix->child > 0 || ix->program[0] == '\0') {
        return;
    }
    copy = calloc(n, sizeof(*copy));
    if (copy == NULL) {
        return; /* asked again at the next ring */
    }
    memcpy(copy, list, n * sizeof(*copy));
    ix->reading = (struct wants){.list = copy, .n = n};
    start(ix);
}

/* The child has read what it was started for. The list holds all that was
 * asked for and not told then, so it takes the place of an older one. */
static void settle(struct indexer *ix)
{
    if (ix->reading.n > 0) {
        free(ix->done.list);
        ix->done = ix->reading;
        ix->reading = (struct wants){.list = NULL};
    }
}

const struct library_want *indexer_done(const struct indexer *ix, size_t *n)
{
    *n = ix->done.n;
    return ix->done.list;
}

void indexer_told(struct indexer *ix)
{
    free(ix->done.list);
    ix->done = (struct wants){.list = NULL};
}

/* --- the child --------------------------------------------------------------- */

bool indexer_ready(struct indexer *ix)
{
    if (ix->child > 0) {
        return ix->deadline_ms == 0;
    }
    if (ix->program[0] == '\0' || clock_boot_ms() - ix->ended_ms < FRESH_MS) {
        return true;
    }
    start(ix);
    return ix->child == 0;
}

int64_t indexer_deadline_ms(const struct indexer *ix)
{
    return ix->child > 0 ? ix->deadline_ms : 0;
}

void indexer_give_up_waiting(struct indexer *ix)
{
    ix->deadline_ms = 0;
}

bool indexer_reap(struct indexer *ix)
{
    int status;

    if (ix == NULL || ix->child <= 0 ||
        waitpid(ix->child, &status, WNOHANG) != ix->child) {
        return false;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        log_warn(NULL, "the indexer ended with status %d", status);
    }
    ix->child = 0;
    ix->ended_ms = clock_boot_ms();
    settle(ix);
    return true;
}
