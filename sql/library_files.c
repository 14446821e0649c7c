#include "sql/library_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <utf8proc.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/folder.h"
#include "sql/base/hash.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/base/utf8.h"

#define FOLDER      "library"
#define LOCK_NAME   ".lock"
#define TEMP_PREFIX ".new-"
#define GONE_PREFIX ".gone-"
#define TEMP_BYTES  32
#define GONE_BYTES  (sizeof(GONE_PREFIX) + (size_t)2 * HASH_BYTES)
/* What an upload or a removal that died has left is removed after so long. */
#define TEMP_LEFT_S 3600
#define LIST_BYTES  ((size_t)64 << 20)
#define PATH_BYTES  1024
/* Between two tries to have the lock. */
#define NAP_US 500

/* --- names ------------------------------------------------------------------ */

/* The plain letters of a folder's name, and how long it may be without hash. */
#define PLAIN      "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define PLAIN_MOST 120

void library_files_owner(const char *account,
                         char out[LIBRARY_FILES_OWNER_BYTES])
{
    size_t len = strlen(account);
    size_t n = 0;

    if (len > PLAIN_MOST / 3) {
        uint8_t hash[HASH_BYTES];

        hash_sha256(account, len, hash);
        out[n++] = '=';
        out[n++] = '=';
        hash_hex(hash, out + n);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (strchr(PLAIN, account[i]) != NULL) {
            out[n++] = account[i];
        } else {
            n += (size_t)snprintf(out + n, 4, "=%02x",
                                  (unsigned char)account[i]);
        }
    }
    out[n] = '\0';
}

enum library_format library_files_format(const char *name)
{
    static const struct {
        const char *ending;
        enum library_format format;
    } FORMATS[] = {
        {".html", LIBRARY_FORMAT_HTML},   {".htm", LIBRARY_FORMAT_HTML},
        {".md", LIBRARY_FORMAT_MARKDOWN}, {".txt", LIBRARY_FORMAT_PLAIN},
        {".pdf", LIBRARY_FORMAT_PDF},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot != NULL && i < sizeof(FORMATS) / sizeof(FORMATS[0]);
         i++) {
        if (strcasecmp(dot, FORMATS[i].ending) == 0) {
            return FORMATS[i].format;
        }
    }
    return LIBRARY_FORMAT_NONE;
}

static const char *part_fault(const char *part, size_t len)
{
    if (len == 0) {
        return "The name has an empty part between slashes.";
    }
    if (part[0] == '.') {
        return "Hidden names, and names with . or .. as a part, are not "
               "taken.";
    }
    if (len > LIBRARY_FILES_MAX_PART_BYTES) {
        return "A part of the name is longer than 200 bytes.";
    }
    return NULL;
}

const char *library_files_fault(const char *name)
{
    size_t len = strlen(name);
    const char *fault = NULL;
    size_t parts = 0;

    if (len > LIBRARY_FILES_MAX_NAME_BYTES) {
        return "The name is longer than 400 bytes.";
    }
    if (!utf8_valid(name, len)) {
        return "The name is not UTF-8.";
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f ||
            name[i] == '\\') {
            return "The name has a control character or a backslash.";
        }
    }
    for (const char *part = name; fault == NULL;) {
        size_t part_len = strcspn(part, "/");

        fault = part_fault(part, part_len);
        if (fault == NULL && ++parts > LIBRARY_FILES_MAX_PARTS) {
            fault = "The name has more than 16 parts.";
        }
        if (part[part_len] == '\0') {
            break;
        }
        part += part_len + 1;
    }
    return fault;
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

/* --- folders ---------------------------------------------------------------- */

bool library_files_exist(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/" FOLDER, dir);

    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

static bool is_space(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static enum rc complain(const char *what, const char *name)
{
    int error = errno;

    log_error(NULL, "library: %s %s: %s", what, name, strerror(error));
    return is_space(error) ? RC_FULL : RC_IO;
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

/* The account's folder. RC_NOT_FOUND: it has none, and none is to be made. */
static enum rc open_folder(const char *dir, const char *owner, bool make,
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
        rc = errno == ENOENT && !make ? RC_NOT_FOUND
                                      : complain("the folder of", owner);
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

static enum rc take_lock(int folder, int64_t busy_ms, int *out)
{
    int64_t until_ms = clock_boot_ms() + busy_ms;
    int fd = openat(folder, LOCK_NAME,
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0) {
        return complain("the lock", LOCK_NAME);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            (void)close(fd);
            return complain("the lock", LOCK_NAME);
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
        l->rc = complain("reading", name);
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
        l->rc = complain("reading", "a folder");
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
        l->rc = complain("reading", "a folder");
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct library_file *)a)->name,
                  ((const struct library_file *)b)->name);
}

/* The files in the folder, which stays open. */
static enum rc list_open(int folder, struct arena *arena,
                         struct library_file **out, size_t *n)
{
    struct listing l = {.arena = arena};
    int fd = open_below(folder, ".");
    void *copy = NULL;

    if (fd < 0) {
        return complain("reading", "a folder");
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
    enum rc rc = open_folder(dir, owner, false, &folder);

    if (rc == RC_NOT_FOUND) {
        *out = NULL;
        *n = 0;
        return RC_OK;
    }
    if (rc == RC_OK) {
        rc = list_open(folder, arena, out, n);
        (void)close(folder);
    }
    return rc;
}

/* --- what was left behind ---------------------------------------------------- */

static bool is_left(const char *name)
{
    return strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) == 0 ||
           strncmp(name, GONE_PREFIX, strlen(GONE_PREFIX)) == 0;
}

/* Files that uploads and removals have left which died long ago. One that
 * cannot be seen now is left to the next. */
static void remove_left(int folder)
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

/* --- adding ----------------------------------------------------------------- */

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
    rc = open_folder(dir, owner, true, &u->folder);
    if (rc != RC_OK) {
        free(u);
        return rc;
    }
    random_hex(random, sizeof(random) - 1);
    (void)snprintf(u->temp, sizeof(u->temp), TEMP_PREFIX "%s", random);
    u->fd = openat(u->folder, u->temp,
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (u->fd < 0) {
        rc = complain("writing", u->temp);
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
            return complain("writing", u->temp);
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
    enum rc rc =
        own == NULL ? RC_NOMEM : list_open(u->folder, arena, &files, &n);

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

/* The folder that a name's last part is in, and that part; made where it is
 * not there. The result is to be closed. -1: errno. */
static int open_parent(int folder, const char *name, bool make,
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
    return refuse_if_full(complain("adding", name), out);
}

static enum rc put_in_place(struct library_upload *u, const char *name,
                            struct library_added *out)
{
    const char *last;
    int parent = open_parent(u->folder, name, true, &last);
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
        rc = refuse_if_full(take_lock(u->folder, busy_ms, &lock), out);
    }
    if (rc == RC_OK) {
        remove_left(u->folder);
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

/* --- removing --------------------------------------------------------------- */

/* The folders that a removed file was in, from the inside, as far as they are
 * empty. */
static void remove_empty(int folder, const char *name)
{
    char path[LIBRARY_FILES_MAX_NAME_BYTES + 1];
    char *slash;

    (void)snprintf(path, sizeof(path), "%s", name);
    while ((slash = strrchr(path, '/')) != NULL) {
        *slash = '\0';
        if (unlinkat(folder, path, AT_REMOVEDIR) != 0) {
            return;
        }
    }
}

/* Put the file aside under its mark, which tells a repetition that it is done.
 * Where there is no space for that, it is removed all the same. */
static int put_aside(int folder, int parent, const char *last, const char *mark)
{
    char aside[GONE_BYTES];

    if (mark != NULL) {
        (void)snprintf(aside, sizeof(aside), GONE_PREFIX "%s", mark);
        if (renameat(parent, last, folder, aside) == 0) {
            return fsync(folder);
        }
        if (!is_space(errno)) {
            return -1;
        }
    }
    return unlinkat(parent, last, 0);
}

static bool is_put_aside(int folder, const char *mark)
{
    char aside[GONE_BYTES];

    if (mark == NULL) {
        return false;
    }
    (void)snprintf(aside, sizeof(aside), GONE_PREFIX "%s", mark);
    return faccessat(folder, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum rc remove_locked(int folder, const char *name, const char *mark)
{
    const char *last;
    int parent = open_parent(folder, name, false, &last);
    struct stat st;
    enum rc rc = RC_OK;

    if (is_put_aside(folder, mark)) {
        /* What has the name now came later. */
        if (parent >= 0) {
            (void)close(parent);
        }
        return RC_OK;
    }
    if (parent < 0) {
        return folder_is_gone(errno) ? RC_NOT_FOUND
                                     : complain("removing", name);
    }
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        rc = folder_is_gone(errno) ? RC_NOT_FOUND : complain("removing", name);
    } else if (!S_ISREG(st.st_mode)) {
        rc = RC_NOT_FOUND;
    } else if (put_aside(folder, parent, last, mark) != 0 ||
               fsync(parent) != 0) {
        rc = complain("removing", name);
    }
    (void)close(parent);
    if (rc == RC_OK) {
        remove_empty(folder, name);
    }
    return rc;
}

enum rc library_files_remove(const char *dir, const char *owner,
                             const char *name, const char *mark,
                             int64_t busy_ms)
{
    int folder;
    int lock;
    enum rc rc;

    if (library_files_fault(name) != NULL) {
        return RC_NOT_FOUND;
    }
    rc = open_folder(dir, owner, false, &folder);
    if (rc != RC_OK) {
        return rc;
    }
    rc = take_lock(folder, busy_ms, &lock);
    if (rc == RC_OK) {
        remove_left(folder);
        rc = remove_locked(folder, name, mark);
        (void)close(lock);
    }
    (void)close(folder);
    return rc;
}

void library_files_removed(const char *dir, const char *owner, const char *mark)
{
    char aside[GONE_BYTES];
    int folder;

    if (open_folder(dir, owner, false, &folder) == RC_OK) {
        (void)snprintf(aside, sizeof(aside), GONE_PREFIX "%s", mark);
        (void)unlinkat(folder, aside, 0);
        (void)close(folder);
    }
}
