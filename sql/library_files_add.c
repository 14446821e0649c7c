#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <utf8proc.h>

#include "sql/base/random.h"
#include "sql/library_files_inside.h"

#define TEMP_BYTES 32

struct library_upload {
    int folder;
    int fd;
    int64_t bytes;
    char temp[TEMP_BYTES]; /* its name until it has its own */
};

enum rc library_files_begin(const char *dir, const char *owner,
                            struct library_upload **out)
{
    struct library_upload *u = calloc(1, sizeof(*u));
    char random[17];
    enum rc rc;

    if (u == NULL) {
        return RC_NOMEM;
    }
    rc = library_files_open(dir, owner, true, &u->folder);
    if (rc != RC_OK) {
        free(u);
        return rc;
    }
    random_hex(random, sizeof(random) - 1);
    (void)snprintf(u->temp, sizeof(u->temp), LIBRARY_FILES_NEW "%s", random);
    u->fd = openat(u->folder, u->temp,
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (u->fd < 0) {
        rc = library_files_complain("writing", u->temp);
        (void)close(u->folder);
        free(u);
        return rc;
    }
    *out = u;
    return RC_OK;
}

enum rc library_files_write(struct library_upload *u, const void *bytes,
                            size_t len)
{
    const char *at = bytes;

    u->bytes += (int64_t)len;
    if (u->bytes > (int64_t)LIBRARY_FILES_MAX_BYTES) {
        return RC_TOO_LARGE;
    }
    while (len > 0) {
        ssize_t n = write(u->fd, at, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return library_files_complain("writing", u->temp);
        }
        at += n;
        len -= (size_t)n;
    }
    return RC_OK;
}

void library_files_drop(struct library_upload *u)
{
    if (u != NULL) {
        (void)unlinkat(u->folder, u->temp, 0);
        (void)close(u->fd);
        (void)close(u->folder);
        free(u);
    }
}

/* The name as those see it who do not tell capitals, or accents written as one
 * character or two, apart. NULL: no memory. The caller frees it. */
static char *folded(const char *name)
{
    utf8proc_uint8_t *out = NULL;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)name, 0, &out,
                                      UTF8PROC_NULLTERM | UTF8PROC_STABLE |
                                          UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);

    return n < 0 ? NULL : (char *)out;
}

/* Whether there is room for the file, and nothing else of nearly that name. */
static enum rc check_room(const struct library_upload *u, const char *name,
                          const struct library_limits *limits,
                          struct arena *arena, struct library_added *out)
{
    struct library_file *files = NULL;
    char *own = folded(name);
    int64_t bytes = u->bytes;
    size_t n = 0;
    int64_t count = 1;
    enum rc rc = own == NULL
                     ? RC_NOMEM
                     : library_files_list_open(u->folder, arena, &files, &n);

    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        char *other;

        if (strcmp(files[i].name, name) == 0) {
            out->replaced = true;
            continue;
        }
        count++;
        bytes += files[i].bytes;
        other = folded(files[i].name);
        rc = other == NULL ? RC_NOMEM : RC_OK;
        if (rc == RC_OK && strcmp(other, own) == 0) {
            out->refusal = LIBRARY_TWIN;
            out->other = files[i].name;
        }
        free(other);
    }
    free(own);
    if (rc == RC_OK && out->refusal == LIBRARY_TAKEN) {
        out->refusal = count > limits->files   ? LIBRARY_TOO_MANY
                       : bytes > limits->bytes ? LIBRARY_TOO_MUCH
                                               : LIBRARY_TAKEN;
    }
    return rc == RC_OK && out->refusal != LIBRARY_TAKEN ? RC_CONFLICT : rc;
}

/* No room is a refusal like others. */
static enum rc refuse_if_full(enum rc rc, struct library_added *out)
{
    if (rc == RC_FULL) {
        out->refusal = LIBRARY_DISK_FULL;
        return RC_CONFLICT;
    }
    return rc;
}

/* errno as a refusal, or RC_IO. */
static enum rc refuse(int error, const char *name, struct library_added *out)
{
    if (error == ENOTDIR || error == EISDIR || error == ELOOP ||
        error == EEXIST || error == ENOTEMPTY) {
        out->refusal = LIBRARY_IN_THE_WAY;
        return RC_CONFLICT;
    }
    errno = error;
    return refuse_if_full(library_files_complain("adding", name), out);
}

static enum rc put_in_place(struct library_upload *u, const char *name,
                            struct library_added *out)
{
    const char *last;
    int parent = library_files_open_parent(u->folder, name, true, &last);
    enum rc rc = RC_OK;

    if (parent < 0) {
        return refuse(errno, name, out);
    }
    if (renameat(u->folder, u->temp, parent, last) != 0 || fsync(parent) != 0) {
        rc = refuse(errno, name, out);
    }
    (void)close(parent);
    return rc;
}

/* On the disk, with a time that no other version of the file has had: the
 * file system's own clock may stand still for some milliseconds. */
static bool bring_to_disk(struct library_upload *u)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return futimens(u->fd, (const struct timespec[2]){now, now}) == 0 &&
           fsync(u->fd) == 0;
}

enum rc library_files_commit_take(struct library_upload *u, const char *name,
                                  const struct library_limits *limits,
                                  int64_t busy_ms, struct arena *arena,
                                  struct library_added *out)
{
    int lock = -1;
    enum rc rc = RC_OK;

    *out = (struct library_added){.bytes = u->bytes};
    if (!bring_to_disk(u)) {
        rc = refuse(errno, name, out);
    }
    if (rc == RC_OK) {
        rc = refuse_if_full(library_files_lock(u->folder, busy_ms, &lock), out);
    }
    if (rc == RC_OK) {
        library_files_remove_left(u->folder);
        rc = check_room(u, name, limits, arena, out);
    }
    if (rc == RC_OK) {
        rc = put_in_place(u, name, out);
    }
    if (lock >= 0) {
        (void)close(lock);
    }
    library_files_drop(u);
    return rc;
}
