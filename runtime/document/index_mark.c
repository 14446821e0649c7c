#include "runtime/document/index_mark.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/log.h"

#define DEATHS_MAX 3

static volatile sig_atomic_t marked_fd = -1;

/* Told to end: no document is to blame. */
static void on_end(int signal_number)
{
    (void)signal_number;
    if (marked_fd >= 0) {
        (void)!ftruncate((int)marked_fd, 0);
    }
    _exit(EXIT_FAILURE);
}

static void write_mark(const struct index_mark *m, const char *text, size_t len)
{
    if (ftruncate(m->fd, 0) != 0 || pwrite(m->fd, text, len, 0) < 0) {
        log_warn(NULL, "library: the mark of what is read cannot be written");
    }
}

void index_mark_open(struct index_mark *m, int fd)
{
    char text[INDEX_MARK_BYTES + 32] = "";
    char *path = NULL;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    *m = (struct index_mark){.fd = fd};
    if (n > 0) {
        m->deaths = strtoll(text, &path, 10);
        (void)snprintf(m->path, sizeof(m->path), "%s",
                       *path == ' ' ? path + 1 : path);
    }
    marked_fd = fd;
    (void)signal(SIGTERM, on_end);
    (void)signal(SIGINT, on_end);
}

bool index_mark_is_deadly(const struct index_mark *m, const char *path)
{
    return m->deaths >= DEATHS_MAX && strcmp(m->path, path) == 0;
}

void index_mark_begin(struct index_mark *m, const char *path)
{
    char text[INDEX_MARK_BYTES + 32];
    int64_t deaths = strcmp(m->path, path) == 0 ? m->deaths : 0;
    int n = snprintf(text, sizeof(text), "%" PRId64 " %s", deaths + 1, path);

    if (n > 0 && (size_t)n < sizeof(text)) {
        write_mark(m, text, (size_t)n);
    }
}

void index_mark_end(struct index_mark *m)
{
    write_mark(m, "", 0);
}

void index_mark_close(struct index_mark *m)
{
    index_mark_end(m);
    marked_fd = -1;
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
}
