/* doorbell.c - ring by setting the file's times, by name.
 *
 * utimensat reaches whatever file bears the name now, so a ring never goes to
 * a file that was replaced, and needs no descriptor that another thread might
 * renew. Watchers get IN_ATTRIB for it, and for the loss of a name as well;
 * after any event they put their watch on the name again, which does nothing
 * while it is the same file.
 */
#include "sql/base/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sql/base/log.h"

/* IN_MODIFY lets a plain write from a shell ring, too. */
#define WATCHED (IN_ATTRIB | IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF)

/* Equal events in a row are one event in the queue, so a few reads empty it;
 * what a flood leaves makes the descriptor readable again. */
#define MAX_READS 16

struct doorbell {
    char *path;
    int fd;    /* the inotify queue */
    int watch; /* -1: the file could not be watched */
    long long ring_logged_ms;
    long long watch_logged_ms;
};

static bool create(const struct doorbell *d)
{
    int fd = open(d->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0) {
        return false;
    }
    (void)close(fd);
    return true;
}

/* Watch the file that bears the name now. False: errno says why not. */
static bool watch(struct doorbell *d)
{
    int wd = inotify_add_watch(d->fd, d->path, WATCHED);

    if (wd < 0 && errno == ENOENT && create(d)) {
        wd = inotify_add_watch(d->fd, d->path, WATCHED);
    }
    if (d->watch >= 0 && wd != d->watch) {
        /* Fails where the old file is gone for good, and its watch with it. */
        int saved_errno = errno;
        (void)inotify_rm_watch(d->fd, d->watch);
        errno = saved_errno;
    }
    d->watch = wd;
    return wd >= 0;
}

/* Which limit of the system it was. */
static const char *limit_of(int error)
{
    switch (error) {
    case EMFILE:
        return " (see ulimit -n and fs.inotify.max_user_instances)";
    case ENOSPC:
        return " (see fs.inotify.max_user_watches)";
    default:
        return "";
    }
}

enum rc doorbell_open(const char *dir, struct doorbell **out)
{
    struct doorbell *d = calloc(1, sizeof(*d));

    if (d == NULL) {
        return RC_NOMEM;
    }
    d->watch = -1;
    d->fd = -1;
    if (asprintf(&d->path, "%s/doorbell", dir) < 0) {
        free(d);
        return RC_NOMEM;
    }
    d->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (d->fd < 0 || !watch(d)) {
        log_error(NULL, "doorbell: cannot watch %s: %s%s", d->path,
                  strerror(errno), limit_of(errno));
        doorbell_close(d);
        return RC_IO;
    }
    *out = d;
    return RC_OK;
}

void doorbell_close(struct doorbell *d)
{
    if (d == NULL) {
        return;
    }
    if (d->fd >= 0) {
        (void)close(d->fd);
    }
    free(d->path);
    free(d);
}

void doorbell_ring(struct doorbell *d)
{
    if (utimensat(AT_FDCWD, d->path, NULL, 0) == 0) {
        return;
    }
    if (errno == ENOENT && create(d) &&
        utimensat(AT_FDCWD, d->path, NULL, 0) == 0) {
        return;
    }
    log_rarely(&d->ring_logged_ms, LOG_LEVEL_WARN, NULL,
               "doorbell: cannot ring %s: %s", d->path, strerror(errno));
}

int doorbell_fd(const struct doorbell *d)
{
    return d->fd;
}

bool doorbell_is_deaf(const struct doorbell *d)
{
    return d->watch < 0;
}

/* True if there was more than the notice that a watch has ended. */
static bool take_events(int fd)
{
    /* Aligned for the events in it, and room for many: none has a name. */
    union {
        struct inotify_event first;
        char bytes[1024];
    } in;
    bool rung = false;

    for (int i = 0; i < MAX_READS; i++) {
        ssize_t n = read(fd, &in, sizeof(in));
        struct inotify_event e;

        if (n <= 0) {
            break;
        }
        for (size_t at = 0; at + sizeof(e) <= (size_t)n;
             at += sizeof(e) + e.len) {
            memcpy(&e, in.bytes + at, sizeof(e));
            rung = rung || e.mask != IN_IGNORED;
        }
    }
    return rung;
}

int doorbell_drain(struct doorbell *d)
{
    bool rung = take_events(d->fd);

    if ((rung || d->watch < 0) && !watch(d)) {
        log_rarely(&d->watch_logged_ms, LOG_LEVEL_WARN, NULL,
                   "doorbell: cannot watch %s: %s%s", d->path, strerror(errno),
                   limit_of(errno));
    }
    return rung;
}
