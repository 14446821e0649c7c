/* store_backup.c - making a backup; store_restore.c puts one back. */
#include "sql/store_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/folder.h"
#include "sql/base/log.h"
#include "sql/db_copy.h"
#include "sql/library.h"
#include "sql/library_files.h"
#include "sql/store_audit.h"
#include "sql/store_backup_inside.h"
#include "sql/store_priv.h"

enum rc store_backup_fail(struct store_backup *b, enum rc rc, const char *what,
                          const char *why)
{
    if (b->why[0] == '\0') {
        (void)snprintf(b->why, sizeof(b->why), "%s: %s", what, why);
    }
    return rc;
}

enum rc store_backup_fail_errno(struct store_backup *b, const char *what)
{
    return store_backup_fail(b, RC_IO, what, strerror(errno));
}

static void note_fault(void *arg, const char *line)
{
    struct store_backup *b = arg;

    (void)store_backup_fail(b, RC_DB, "damaged", line);
}

enum rc store_backup_verify(struct store_backup *b, struct db *db, bool quick)
{
    enum rc rc = db_copy_verify(db, quick, note_fault, b);

    return rc == RC_OK && b->why[0] != '\0' ? RC_DB : rc;
}

enum rc store_backup_sync(struct store_backup *b, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum rc rc = RC_OK;

    if (fd < 0 || fsync(fd) != 0) {
        rc = store_backup_fail_errno(b, path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* The folder that a file is in, as its path has it. NULL: no memory. */
static const char *parent_of(struct store_backup *b, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL
               ? "."
               : arena_strndup(b->arena, path, (size_t)(slash - path) + 1);
}

static enum rc sync_parent(struct store_backup *b, const char *path)
{
    const char *parent = parent_of(b, path);

    return parent == NULL ? RC_NOMEM : store_backup_sync(b, parent);
}

/* --- the libraries' files ------------------------------------------------- */

struct adding {
    struct store_backup *backup;
    const char *owner;
    const struct library_file *file;
    const char *path; /* below the data directory */
    char *bytes;
    size_t len;
};

static enum rc insert(struct db *db, void *arg)
{
    const struct adding *a = arg;
    struct dbq *q = db_use(db, STMT_ARCHIVE_ADD);

    db_bind_text(q, ":name", a->path);
    db_bind_i64(q, ":mode", S_IFREG | 0600);
    db_bind_i64(q, ":mtime", a->file->mtime_ns / 1000000000);
    db_bind_i64(q, ":bytes", (int64_t)a->len);
    db_bind_blob(q, ":data", a->bytes, a->len);
    return db_run_one(q);
}

/* RC_NOT_FOUND: it was taken out of the library meanwhile. */
static enum rc read_file(struct adding *a)
{
    const char *path =
        arena_printf(a->backup->arena, "%s/%s", a->backup->dir, a->path);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;

    if (fd < 0) {
        return errno == ENOENT ? RC_NOT_FOUND
                               : store_backup_fail_errno(a->backup, a->path);
    }
    a->len = 0;
    while (n > 0 && a->len < LIBRARY_FILES_MAX_BYTES) {
        n = read(fd, a->bytes + a->len, LIBRARY_FILES_MAX_BYTES - a->len);
        a->len += n > 0 ? (size_t)n : 0;
    }
    if (n < 0) {
        (void)store_backup_fail_errno(a->backup, a->path);
    }
    (void)close(fd);
    return n < 0 ? RC_IO : RC_OK;
}

static enum rc add_files_of(struct db *db, struct adding *a)
{
    struct library_file *list = NULL;
    size_t n = 0;
    enum rc rc = library_files_list(a->backup->dir, a->owner, a->backup->arena,
                                    &list, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        a->file = &list[i];
        a->path = arena_printf(a->backup->arena, LIBRARY_OWN_PATH, a->owner,
                               list[i].name);
        rc = a->path == NULL ? RC_TOO_LARGE : read_file(a);
        if (rc == RC_OK) {
            rc = db_tx(db, insert, a);
            a->backup->files += rc == RC_OK;
        }
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return rc;
}

/* Each account has a folder. */
static enum rc add_files(struct store_backup *b, struct db *db)
{
    struct adding a = {.backup = b};
    const char *path = arena_printf(b->arena, "%s/library", b->dir);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : folder_open_take(fd);
    int error = 0;
    enum rc rc = RC_OK;

    if (dir == NULL) {
        return errno == ENOENT ? RC_OK : store_backup_fail_errno(b, "library");
    }
    a.bytes = malloc(LIBRARY_FILES_MAX_BYTES);
    rc = a.bytes == NULL ? RC_NOMEM : RC_OK;
    while (rc == RC_OK && (a.owner = folder_next(dir, &error)) != NULL) {
        if (a.owner[0] != '.') {
            a.owner = arena_printf(b->arena, "%s", a.owner);
            rc = a.owner == NULL ? RC_TOO_LARGE : add_files_of(db, &a);
        }
    }
    (void)closedir(dir);
    free(a.bytes);
    if (rc == RC_OK && error != 0) {
        errno = error;
        rc = store_backup_fail_errno(b, "library");
    }
    return rc;
}

/* --- the copy ------------------------------------------------------------- */

/* What the copy holds. */
static enum rc read_view(struct store_backup *b, struct db *db)
{
    struct dbq *q;
    enum rc rc = db_one_i64(db_use(db, STMT_FACT_AS_OF), &b->view.as_of);

    if (rc == RC_OK) {
        rc = db_one_i64(db_use(db, STMT_FACT_ACTIVE_RUNS), &b->active_runs);
    }
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(db, STMT_FACT_FEED);
    if (db_next(q)) {
        (void)snprintf(b->view.feed, sizeof(b->view.feed), "%s",
                       (const char *)db_peek(q, 0));
    }
    return db_end(q);
}

static enum rc same_schema(struct store_backup *b, struct db *one,
                           struct db *other)
{
    uint8_t x[HASH_BYTES];
    uint8_t y[HASH_BYTES];
    enum rc rc = db_copy_schema(one, x);

    if (rc == RC_OK) {
        rc = db_copy_schema(other, y);
    }
    if (rc == RC_OK && memcmp(x, y, sizeof(x)) != 0) {
        rc = store_backup_fail(b, RC_DB, "the copy",
                               "its tables are not those of the database");
    }
    return rc;
}

static enum rc fill(struct store *st, struct store_backup *b, const char *part)
{
    const struct db_options o = {.path = part,
                                 .migrations = SCHEMA_MAIN,
                                 .n_migrations = SCHEMA_MAIN_COUNT,
                                 .busy_ms = b->busy_ms,
                                 .one_file = true};
    struct db *copy = NULL;
    enum rc rc = db_copy_to(st->db, part);

    if (rc == RC_OK) {
        rc = db_open(&o, &copy);
    }
    if (rc == RC_OK) {
        rc = same_schema(b, st->db, copy);
    }
    if (rc == RC_OK) {
        rc = read_view(b, copy);
    }
    if (rc == RC_OK) {
        rc = add_files(b, copy);
    }
    if (rc == RC_OK) {
        rc = store_backup_verify(b, copy, true);
    }
    db_close(copy);
    return rc;
}

/* The same without links; NULL: errno. To be freed. */
static char *folder_of(struct store_backup *b, const char *path)
{
    const char *parent = parent_of(b, path);

    return parent == NULL ? NULL : realpath(parent, NULL);
}

/* Is the file to be in the data's folder, or below it? There it would take the
 * name of what is at work, and be lost with what it is a copy of. */
static enum rc is_elsewhere(struct store_backup *b)
{
    char *folder = folder_of(b, b->file);
    char *data = realpath(b->dir, NULL);
    enum rc rc = RC_OK;
    size_t len;

    if (folder == NULL || data == NULL) {
        rc = store_backup_fail_errno(b, b->file);
    } else {
        len = strlen(data);
        if (strncmp(folder, data, len) == 0 &&
            (folder[len] == '/' || folder[len] == '\0')) {
            rc = store_backup_fail(b, RC_INVALID, b->file,
                                   "it would lie in the data's own folder: "
                                   "name a place elsewhere, best on another "
                                   "disk");
        }
    }
    free(folder);
    free(data);
    return rc;
}

/* May the file have this name? */
static enum rc is_free(struct store_backup *b)
{
    struct stat at;

    if (lstat(b->file, &at) != 0) {
        return errno == ENOENT ? is_elsewhere(b)
                               : store_backup_fail_errno(b, b->file);
    }
    if (!S_ISREG(at.st_mode)) {
        return store_backup_fail(b, RC_INVALID, b->file,
                                 "what has this name is no file");
    }
    return b->replace ? is_elsewhere(b)
                      : store_backup_fail(b, RC_CONFLICT, b->file,
                                          "there is such a file");
}

/* What backups of this name have left that were killed. Who is at work holds a
 * lock on its own. */
static void remove_left(struct store_backup *b)
{
    const char *slash = strrchr(b->file, '/');
    const char *base = slash == NULL ? b->file : slash + 1;
    size_t len = strlen(base);
    char *folder = folder_of(b, b->file);
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    const char *name;
    int error;

    while (dir != NULL && (name = folder_next(dir, &error)) != NULL) {
        const char *end = name + len;
        int fd;

        if (strncmp(name, base, len) != 0 || *end != '.') {
            continue;
        }
        end += 1 + strspn(end + 1, "0123456789");
        if (strcmp(end, ".part") != 0) {
            continue;
        }
        fd = openat(dirfd(dir), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)unlinkat(dirfd(dir), name, 0);
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(folder);
}

/* Nobody but its owner may read it, and nobody else's file is written to. The
 * descriptor, with its lock, is to stay open until it has its name. */
static enum rc make_part(struct store_backup *b, const char *part, int *fd)
{
    (void)unlink(part);
    *fd =
        open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0) {
        return store_backup_fail_errno(b, part);
    }
    (void)flock(*fd, LOCK_EX | LOCK_NB);
    return RC_OK;
}

/* Give the part the file's name. Some file systems cannot refuse by themselves
 * what is there. */
static enum rc place(struct store_backup *b, const char *part)
{
    unsigned flags = b->replace ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, part, AT_FDCWD, b->file, flags);

    if (failed != 0 && errno == EINVAL && access(b->file, F_OK) != 0) {
        failed = rename(part, b->file);
    }
    if (failed != 0) {
        enum rc rc = errno == EEXIST ? RC_CONFLICT : RC_IO;

        return store_backup_fail(b, rc, b->file,
                                 rc == RC_CONFLICT ? "there is such a file"
                                                   : strerror(errno));
    }
    return sync_parent(b, b->file);
}

static enum rc finish(struct store_backup *b, const char *part)
{
    struct stat at;
    enum rc rc = store_backup_sync(b, part);

    if (rc == RC_OK) {
        rc = place(b, part);
    }
    if (rc == RC_OK && stat(b->file, &at) == 0) {
        b->bytes = (int64_t)at.st_size;
    }
    return rc;
}

static enum rc tell(struct store *st, void *arg)
{
    const struct store_backup *b = arg;
    const struct audit_new line = {
        .actor = b->actor, .action = AUDIT_DATABASE_BACKUP, .at_ms = b->now_ms};

    return store_audit_add(st, &line);
}

/* On a disk that is full, or takes no writes, the backup is what is wanted, not
 * the line. */
static void note(struct store_backup *b)
{
    struct store *st = NULL;
    enum rc rc = store_open(b->dir, b->busy_ms, &st);

    if (rc == RC_OK) {
        rc = store_tx(st, tell, b);
    }
    store_close(st);
    if (rc != RC_OK) {
        log_warn(NULL, "the backup is not in the audit log: %s", rc_name(rc));
    }
}

enum rc store_backup_make(struct store *st, struct store_backup *b)
{
    const char *part =
        arena_printf(b->arena, "%s.%ld.part", b->file, (long)getpid());
    int fd = -1;
    enum rc rc;

    if (part == NULL) {
        return RC_NOMEM;
    }
    rc = is_free(b);
    if (rc == RC_OK) {
        remove_left(b);
        rc = make_part(b, part, &fd);
    }
    if (rc != RC_OK) {
        return rc;
    }
    rc = fill(st, b, part);
    if (rc == RC_OK) {
        rc = finish(b, part);
    }
    (void)close(fd);
    if (rc != RC_OK) {
        (void)unlink(part);
        return store_backup_fail(b, rc, b->file, rc_name(rc));
    }
    note(b);
    return RC_OK;
}
