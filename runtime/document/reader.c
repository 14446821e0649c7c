#include "runtime/document/reader.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/document/child.h"
#include "sql/base/log.h"

#define RUNNING_MAX   4
#define CHARSET_BYTES 64

struct reading {
    TAILQ_ENTRY(reading) entry;
    struct reader *reader;
    enum page_type type;
    char charset[CHARSET_BYTES];
    int in;
    int out;
    pid_t child;           /* 0: it waits for its turn */
    reading_done_fn *done; /* NULL: cancelled, and not yet reaped */
    void *ctx;
};

TAILQ_HEAD(reading_list, reading);

struct reader {
    struct reading_list readings; /* in order of arrival */
    size_t n_running;
    char program[PATH_MAX];
};

enum rc reader_new(struct reader **out)
{
    struct reader *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        return RC_NOMEM;
    }
    if (!child_program(r->program)) {
        free(r);
        return RC_NOT_FOUND;
    }
    TAILQ_INIT(&r->readings);
    *out = r;
    return RC_OK;
}

static void free_reading(struct reading *g)
{
    TAILQ_REMOVE(&g->reader->readings, g, entry);
    if (g->in >= 0) {
        (void)close(g->in);
    }
    if (g->out >= 0) {
        (void)close(g->out);
    }
    free(g);
}

static void kill_child(const struct reading *g)
{
    /* Its group is its own since before it ran; it is not reaped yet. */
    (void)kill(-g->child, SIGKILL);
}

void reader_free(struct reader *r)
{
    if (r == NULL) {
        return;
    }
    while (!TAILQ_EMPTY(&r->readings)) {
        struct reading *g = TAILQ_FIRST(&r->readings);

        /* The analyser does not follow the queue's pointers backwards. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        if (g->child > 0) {
            kill_child(g);
            (void)waitpid(g->child, NULL, 0);
        }
        free_reading(g);
    }
    free(r);
}

int reader_file(void)
{
    return memfd_create("document", MFD_CLOEXEC);
}

/* --- children ---------------------------------------------------------------- */

/* What the child gets: its two files, and nothing else of ours. */
static bool set_files(posix_spawn_file_actions_t *files,
                      const struct reading *g)
{
    return posix_spawn_file_actions_adddup2(files, g->in, STDIN_FILENO) == 0 &&
           posix_spawn_file_actions_adddup2(files, g->out, STDOUT_FILENO) ==
               0 &&
           posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1) ==
               0;
}

static bool set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none;
    sigset_t all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    return posix_spawnattr_setsigmask(attr, &none) == 0 &&
           posix_spawnattr_setsigdefault(attr, &all) == 0 &&
           posix_spawnattr_setpgroup(attr, 0) == 0 &&
           posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP) == 0;
}

static bool spawn(struct reading *g)
{
    char verb[] = "read";
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char type[16];
    char *argv[] = {g->reader->program, verb, type, g->charset, NULL};
    char *envp[] = {path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    bool ok = false;

    (void)snprintf(type, sizeof(type), "%s", page_type_name(g->type));
    if (posix_spawn_file_actions_init(&files) != 0) {
        return false;
    }
    if (posix_spawnattr_init(&attr) == 0) {
        ok = set_files(&files, g) && set_attributes(&attr) &&
             posix_spawn(&g->child, g->reader->program, &files, &attr, argv,
                         envp) == 0;
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return ok;
}

/* A turn for the next ones. Who cannot be started is told by its callback from
 * reader_reap: it stays without a child and without a file to read. */
static void start_next(struct reader *r)
{
    struct reading *g = NULL;

    TAILQ_FOREACH(g, &r->readings, entry)
    {
        if (r->n_running == RUNNING_MAX) {
            return;
        }
        if (g->child != 0 || g->in < 0) {
            continue;
        }
        g->out = memfd_create("passages", MFD_CLOEXEC);
        if (g->out < 0 || lseek(g->in, 0, SEEK_SET) != 0 || !spawn(g)) {
            log_warn(NULL, "%s read: %s", r->program, strerror(errno));
            g->child = 0;
        }
        (void)close(g->in);
        g->in = -1;
        r->n_running += g->child != 0 ? 1 : 0;
    }
}

enum rc reading_start(struct reader *r, int fd, enum page_type type,
                      const char *charset, reading_done_fn *done, void *ctx,
                      struct reading **out)
{
    struct reading *g = calloc(1, sizeof(*g));

    if (g == NULL) {
        (void)close(fd);
        return RC_NOMEM;
    }
    *g = (struct reading){.reader = r,
                          .type = type,
                          .in = fd,
                          .out = -1,
                          .done = done,
                          .ctx = ctx};
    (void)snprintf(g->charset, sizeof(g->charset), "%s", charset);
    TAILQ_INSERT_TAIL(&r->readings, g, entry);
    start_next(r);
    if (g->child == 0 && g->in < 0) {
        free_reading(g);
        return RC_IO;
    }
    *out = g;
    return RC_OK;
}

void reading_cancel(struct reading *g)
{
    if (g == NULL) {
        return;
    }
    if (g->child == 0) {
        free_reading(g);
        return;
    }
    kill_child(g);
    g->done = NULL;
}

/* --- ends ---------------------------------------------------------------------- */

static const char *reason(int status)
{
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
                   ? "it takes too long to read"
                   : "it could not be read";
    }
    return WEXITSTATUS(status) == 0 ? NULL : "it could not be read";
}

static void tell(const struct reading *g, int status)
{
    const char *why = reason(status);
    off_t len = lseek(g->out, 0, SEEK_END);
    void *at;

    if (why == NULL && (len <= 0 || (size_t)len > PAGE_JSON_BYTES)) {
        why = "it could not be read";
    }
    if (why != NULL) {
        g->done(g->ctx, NULL, 0, why);
        return;
    }
    at = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, g->out, 0);
    if (at == MAP_FAILED) {
        g->done(g->ctx, NULL, 0, "no memory");
        return;
    }
    g->done(g->ctx, at, (size_t)len, NULL);
    (void)munmap(at, (size_t)len);
}

/* One that has ended; NULL: none. */
static struct reading *find_ended(struct reader *r, int *status)
{
    struct reading *g = NULL;

    TAILQ_FOREACH(g, &r->readings, entry)
    {
        /* As in reader_free. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        if (g->child > 0 && waitpid(g->child, status, WNOHANG) == g->child) {
            return g;
        }
    }
    return NULL;
}

/* Of a queue that grows by callbacks, those that could not be started. */
static void tell_failed(struct reader *r)
{
    struct reading *g = TAILQ_FIRST(&r->readings);

    while (g != NULL) {
        struct reading *next = TAILQ_NEXT(g, entry);

        if (g->child == 0 && g->in < 0) {
            g->done(g->ctx, NULL, 0, "it could not be read");
            free_reading(g);
            next = TAILQ_FIRST(&r->readings);
        }
        g = next;
    }
}

void reader_reap(struct reader *r)
{
    int status = 0;

    if (r == NULL) {
        return;
    }
    for (struct reading *g = find_ended(r, &status); g != NULL;
         g = find_ended(r, &status)) {
        r->n_running--;
        g->child = 0;
        if (g->done != NULL) {
            tell(g, status);
        }
        free_reading(g);
    }
    start_next(r);
    tell_failed(r);
}
