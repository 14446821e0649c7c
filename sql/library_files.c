#include "sql/library_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/folder.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/library_files_inside.h"

#define FOLDER    "library"
#define LOCK_NAME ".lock"
/* What an upload or a removal that died has left is removed after so long. */
#define TEMP_LEFT_S 3600
#define LIST_BYTES  ((size_t)64 << 20)
/* Between two tries to have the lock. */
#define NAP_US 500

/* --- folders ---------------------------------------------------------------- */

bool library_files_exist(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/" FOLDER, dir);

    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

bool library_files_is_space(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

enum rc library_files_complain(const char *what, const char *name)
{
    int error = errno;

    log_error(NULL, "library: %s %s: %s", what, name, strerror(error));
    return library_files_is_space(error) ? RC_FULL : RC_IO;
}

static int open_below(int parent, const char *name)
{
    return openat(parent, name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Open a folder, made and brought to the disk if it is not there. -1: errno. */
static int make_below(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700) == 0) {
        if (fsync(parent) != 0) {
            return -1;
        }
    } else if (errno != EEXIST) {
        return -1;
    }
    return open_below(parent, name);
}

enum rc library_files_open(const char *dir, const char *owner, bool make,
                           int *out)
{
    int data = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int all = -1;
    int own = -1;
    enum rc rc = RC_OK;

    if (data >= 0) {
        all = make ? make_below(data, FOLDER) : open_below(data, FOLDER);
    }
    if (all >= 0) {
        own = make ? make_below(all, owner) : open_below(all, owner);
    }
    if (own < 0) {
        rc = errno == ENOENT && !make
                 ? RC_NOT_FOUND
                 : library_files_complain("the folder of", owner);
    }
    if (all >= 0) {
        (void)close(all);
    }
    if (data >= 0) {
        (void)close(data);
    }
    if (rc == RC_OK) {
        *out = own;
    }
    return rc;
}

int library_files_open_parent(int folder, const char *name, bool make,
                              const char **last)
{
    int fd = open_below(folder, ".");
    const char *part = name;
    char copy[LIBRARY_FILES_MAX_PART_BYTES + 1];

    while (fd >= 0) {
        size_t len = strcspn(part, "/");
        int below;

        if (part[len] == '\0') {
            break;
        }
        memcpy(copy, part, len);
        copy[len] = '\0';
        below = make ? make_below(fd, copy) : open_below(fd, copy);
        (void)close(fd);
        fd = below;
        part += len + 1;
    }
    *last = part;
    return fd;
}

enum rc library_files_lock(int folder, int64_t busy_ms, int *out)
{
    int64_t until_ms = clock_boot_ms() + busy_ms;
    int fd = openat(folder, LOCK_NAME,
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0) {
        return library_files_complain("the lock", LOCK_NAME);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            (void)close(fd);
            return library_files_complain("the lock", LOCK_NAME);
        }
        if (clock_boot_ms() > until_ms) {
            (void)close(fd);
            return RC_BUSY;
        }
        clock_nap_us(NAP_US / 2 + random_below(NAP_US));
    }
    *out = fd;
    return RC_OK;
}

/* --- listing ---------------------------------------------------------------- */

struct listing {
    struct arena *arena;
    struct buf files; /* of struct library_file */
    char path[LIBRARY_FILES_MAX_NAME_BYTES + NAME_MAX + 2];
    enum rc rc;
};

static int64_t mtime_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* What was removed meanwhile is left out; what cannot be read is not. */
static void unless_gone(struct listing *l, const char *name)
{
    if (!folder_is_gone(errno)) {
        l->rc = library_files_complain("reading", name);
    }
}

static void list_folder(struct listing *l, int fd, size_t len, int depth);

static void list_one(struct listing *l, int parent, const char *name,
                     size_t len, int depth)
{
    struct library_file file = {.name = NULL};
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        unless_gone(l, name);
        return;
    }
    if (S_ISDIR(st.st_mode) && depth < LIBRARY_FILES_MAX_PARTS) {
        int fd = open_below(parent, name);

        l->path[len++] = '/';
        if (fd >= 0) {
            list_folder(l, fd, len, depth + 1);
        } else {
            unless_gone(l, name);
        }
    } else if (S_ISREG(st.st_mode) &&
               library_files_format(name) != LIBRARY_FORMAT_NONE &&
               library_files_fault(l->path) == NULL) {
        file.name = arena_strdup(l->arena, l->path);
        file.bytes = (int64_t)st.st_size;
        file.mtime_ns = mtime_of(&st);
        buf_add(&l->files, &file, sizeof(file));
        if (file.name == NULL) {
            l->rc = RC_TOO_LARGE;
        }
    }
}

/* What lies in the folder open at fd, which is closed; l->path holds its name
 * with a slash, in len bytes. */
static void list_folder(struct listing *l, int fd, size_t len, int depth)
{
    DIR *dir = folder_open_take(fd);
    const char *name;
    int error = 0;

    if (dir == NULL) {
        l->rc = library_files_complain("reading", "a folder");
        return;
    }
    while (l->rc == RC_OK && (name = folder_next(dir, &error)) != NULL) {
        size_t name_len = strlen(name);

        if (name[0] != '.' && len + name_len <= LIBRARY_FILES_MAX_NAME_BYTES) {
            memcpy(l->path + len, name, name_len + 1);
            list_one(l, fd, name, len + name_len, depth);
        }
    }
    (void)closedir(dir);
    if (error != 0) {
        errno = error;
        l->rc = library_files_complain("reading", "a folder");
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct library_file *)a)->name,
                  ((const struct library_file *)b)->name);
}

enum rc library_files_list_open(int folder, struct arena *arena,
                                struct library_file **out, size_t *n)
{
    struct listing l = {.arena = arena};
    int fd = open_below(folder, ".");
    void *copy = NULL;

    if (fd < 0) {
        return library_files_complain("reading", "a folder");
    }
    buf_init(&l.files, LIST_BYTES);
    list_folder(&l, fd, 0, 0);
    if (l.rc == RC_OK) {
        l.rc = buf_rc(&l.files);
    }
    if (l.rc == RC_OK) {
        copy = arena_alloc(arena, l.files.len + 1);
        l.rc = copy == NULL ? RC_TOO_LARGE : RC_OK;
    }
    if (l.rc == RC_OK && l.files.len > 0) {
        memcpy(copy, l.files.data, l.files.len);
    }
    if (l.rc == RC_OK) {
        *out = copy;
        *n = l.files.len / sizeof(struct library_file);
        qsort(*out, *n, sizeof(**out), by_name);
    }
    buf_free(&l.files);
    return l.rc;
}

enum rc library_files_list(const char *dir, const char *owner,
                           struct arena *arena, struct library_file **out,
                           size_t *n)
{
    int folder;
    enum rc rc = library_files_open(dir, owner, false, &folder);

    if (rc == RC_NOT_FOUND) {
        *out = NULL;
        *n = 0;
        return RC_OK;
    }
    if (rc == RC_OK) {
        rc = library_files_list_open(folder, arena, out, n);
        (void)close(folder);
    }
    return rc;
}

/* --- what was left behind --------------------------------------------------- */

static bool is_left(const char *name)
{
    return strncmp(name, LIBRARY_FILES_NEW, strlen(LIBRARY_FILES_NEW)) == 0 ||
           strncmp(name, LIBRARY_FILES_GONE, strlen(LIBRARY_FILES_GONE)) == 0;
}

void library_files_remove_left(int folder)
{
    int fd = open_below(folder, ".");
    DIR *dir = fd < 0 ? NULL : folder_open_take(fd);
    const char *name;
    struct stat st;
    int error;

    if (dir == NULL) {
        return;
    }
    while ((name = folder_next(dir, &error)) != NULL) {
        if (is_left(name) &&
            fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_ctim.tv_sec < time(NULL) - TEMP_LEFT_S) {
            (void)unlinkat(folder, name, 0);
        }
    }
    (void)closedir(dir);
}
