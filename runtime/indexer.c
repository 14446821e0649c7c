/* indexer.c - the library's indexer, a child process of the runtime.
 *
 * Reading documents is slow and touches hostile bytes, so it is not done in
 * the daemon. The child is "aside index" from the daemon's own folder. It is
 * started when the runtime starts, and again when a look-up finds that the
 * last scan is a while ago: no watching, no waking while nobody asks. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/child.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"

/* A look-up within this time of the last scan does not scan again. */
#define FRESH_MS 10000
/* A look-up waits for a running scan at most so long. */
#define PATIENCE_MS 30000

struct indexer {
    pid_t child;         /* 0: none */
    int64_t deadline_ms; /* look-ups wait for the child so long; 0: not */
    int64_t ended_ms;    /* boot time when the last child ended; 0: none has */
    char program[PATH_MAX];
};

static void start(struct indexer *ix)
{
    char verb[] = "index";
    char *argv[] = {ix->program, verb, NULL};
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
    err = posix_spawn(&ix->child, ix->program, NULL, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    if (err != 0) {
        log_warn(NULL, "%s index: %s", ix->program, strerror(err));
        ix->child = 0;
        ix->ended_ms = clock_boot_ms();
        return;
    }
    ix->deadline_ms = clock_boot_ms() + PATIENCE_MS;
}

enum rc indexer_new(const char *folders, struct indexer **out)
{
    struct indexer *ix;

    if (folders == NULL || folders[0] == '\0') {
        return RC_NOT_FOUND;
    }
    ix = calloc(1, sizeof(*ix));
    if (ix == NULL) {
        return RC_NOMEM;
    }
    if (!child_program(ix->program)) {
        log_warn(NULL, "the program aside is not beside asided: the library "
                       "is not indexed");
        ix->program[0] = '\0';
        ix->ended_ms = clock_boot_ms();
    } else {
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
    free(ix);
}

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
    return true;
}
