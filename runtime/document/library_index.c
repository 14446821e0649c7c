#include "runtime/document/library_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/document/html.h"
#include "runtime/document/index_mark.h"
#include "runtime/document/markdown_text.h"
#include "runtime/document/passages.h"
#include "runtime/document/pdf.h"
#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/folder.h"
#include "sql/base/hash.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"
#include "sql/library.h"
#include "sql/library_files.h"

/* What accounts have put in lies there, as their documents' paths say. */
#define OWN_ROOT "library"

/* Raised whenever the same file gives other passages than before. */
#define READER_VERSION 1

#define MAX_FILE_BYTES   LIBRARY_FILES_MAX_BYTES
#define MAX_PASSAGES     20000 /* of one document */
#define MAX_FOLDERS      64
#define BATCH_DOCUMENTS  64
#define BATCH_FILE_BYTES ((size_t)4 << 20)
#define LIST_BYTES       ((size_t)512 << 20)
#define BATCH_BYTES      ((size_t)256 << 20)
/* Headings are repeated and PDFs unpacked: a batch that takes up so much is
 * full, which leaves room for any one document. */
#define BATCH_FULL_BYTES ((size_t)64 << 20)
/* A run that changed more than one document in so many merges the index. */
#define MERGE_SHARE 4
#define MERGE_LEAST 20
/* Between two tries to have the lock. */
#define LOCK_NAP_US 20000

struct run {
    const struct library_index_options *options;
    struct library *lib;
    struct library_index_counts counts;
    struct index_mark *mark;
    enum rc rc;        /* the first failure that ends the run */
    bool reread;       /* the reader is another one: read all files */
    int64_t n_files;   /* found so far */
    const char *owner; /* of the folder being read; NULL: shared */
    struct stat own;   /* the folder of the accounts' folders; zeros: none */

    struct arena *list; /* what the library knows */
    struct library_known *known;
    bool *seen; /* by index in known */
    size_t n_known;

    struct arena *batch;
    struct library_document put[BATCH_DOCUMENTS];
    bool put_known[BATCH_DOCUMENTS]; /* the library has it already */
    size_t n_put;
    struct library_known touched[BATCH_DOCUMENTS];
    size_t n_touched;
    size_t batch_bytes; /* of files in the batch */
};

/* A file found in a folder. */
struct found {
    const char *path; /* of the walk: copied if kept */
    const char *name;
    int parent; /* descriptor of its folder */
    enum library_format format;
};

/* --- batches ----------------------------------------------------------- */

static void fail(struct run *run, enum rc rc)
{
    if (run->rc == RC_OK) {
        run->rc = rc;
    }
}

/* True of what is wrong with the document alone, and would be so another time:
 * it is larger than can be stored, or a rule of the database is against it. All
 * else is a fault of the database or the machine, which ends the run. */
static bool is_own_fault(enum rc rc)
{
    return rc == RC_TOO_LARGE || rc == RC_CONFLICT || rc == RC_INVALID;
}

static void count_stored(struct run *run, size_t i)
{
    if (run->put[i].error[0] != '\0') {
        run->counts.failed++;
    } else if (run->put_known[i]) {
        run->counts.changed++;
    } else {
        run->counts.added++;
    }
}

/* One document; if it cannot be stored, that, and why. */
static enum rc store_one(struct run *run, struct library_document *d)
{
    enum rc rc = library_put(run->lib, d, 1);

    if (!is_own_fault(rc)) {
        return rc;
    }
    d->error = rc == RC_TOO_LARGE ? "too large to be stored" : "not stored";
    d->texts = NULL;
    d->n_texts = 0;
    log_warn(NULL, "library: %s: %s: %s", d->path, d->error, rc_name(rc));
    return library_put(run->lib, d, 1);
}

/* All documents of the batch in one transaction. If one of them cannot be
 * stored, each in its own. */
static enum rc store_documents(struct run *run)
{
    enum rc rc = library_put(run->lib, run->put, run->n_put);
    bool one_by_one = is_own_fault(rc);

    for (size_t i = 0; i < run->n_put; i++) {
        if (one_by_one) {
            rc = store_one(run, &run->put[i]);
        }
        if (rc != RC_OK) {
            return rc;
        }
        count_stored(run, i);
    }
    if (run->options->progress != NULL) {
        run->options->progress(run->options->progress_arg, &run->counts);
    }
    return RC_OK;
}

static void store_batch(struct run *run)
{
    enum rc rc = RC_OK;

    if (run->n_put > 0) {
        rc = store_documents(run);
    }
    if (rc == RC_OK && run->n_touched > 0) {
        rc = library_touch(run->lib, run->touched, run->n_touched);
    }
    fail(run, rc);
    run->n_put = 0;
    run->n_touched = 0;
    run->batch_bytes = 0;
    arena_reset(run->batch);
}

static void store_batch_if_full(struct run *run)
{
    if (run->n_put == BATCH_DOCUMENTS || run->n_touched == BATCH_DOCUMENTS ||
        run->batch_bytes >= BATCH_FILE_BYTES ||
        arena_used(run->batch) >= BATCH_FULL_BYTES) {
        store_batch(run);
    }
}

/* --- one file ---------------------------------------------------------- */

/* All bytes of the file. NULL, or why it cannot be read; *again then tells
 * whether the reason may pass without the file changing. */
static const char *read_file(int fd, struct buf *out, bool *again)
{
    char piece[65536];
    ssize_t n;

    *again = false;
    do {
        n = read(fd, piece, sizeof(piece));
        if (n > 0) {
            buf_add(out, piece, (size_t)n);
        }
    } while ((n > 0 && out->rc == RC_OK) || (n < 0 && errno == EINTR));
    if (n < 0) {
        *again = true;
        return strerror(errno);
    }
    if (buf_rc(out) == RC_TOO_LARGE) {
        return "larger than 5 MB";
    }
    *again = buf_rc(out) != RC_OK;
    return *again ? "not enough memory" : NULL;
}

/* The text of the PDF open at fd. NULL, or why there is none, as above. */
static const char *read_pdf(int fd, struct buf *text, bool *again)
{
    char piece[65536];
    bool is_cut = false;
    const char *why;
    ssize_t n;
    int out;

    why = pdf_text(fd, &out, &is_cut, again);
    if (why != NULL) {
        return why;
    }
    (void)lseek(out, 0, SEEK_SET);
    while ((n = read(out, piece, sizeof(piece))) > 0) {
        buf_add(text, piece, (size_t)n);
    }
    (void)close(out);
    *again = n != 0 || buf_rc(text) != RC_OK;
    return *again ? "not enough memory" : NULL;
}

static enum rc read_blocks(enum library_format format, const struct buf *bytes,
                           struct passages *p)
{
    const char *data = buf_str(bytes);

    switch (format) {
    case LIBRARY_FORMAT_HTML:
        return html_read(data, bytes->len, NULL, passages_add, p);
    case LIBRARY_FORMAT_MARKDOWN:
        return markdown_text_read(data, bytes->len, passages_add, p);
    case LIBRARY_FORMAT_PLAIN:
        return markdown_text_read_plain(data, bytes->len, passages_add, p);
    case LIBRARY_FORMAT_PDF:
        return pdf_read(data, bytes->len, passages_add, p);
    case LIBRARY_FORMAT_NONE:
    case LIBRARY_FORMAT__MAX:
        break;
    }
    return RC_INVALID;
}

/* Fill in title and texts. NULL, or why not. */
static const char *parse(struct run *run, enum library_format format,
                         const struct buf *bytes, struct library_document *d)
{
    struct passages *p = passages_new(run->batch, MAX_PASSAGES);
    const char *title = "";
    enum rc rc = RC_NOMEM;

    if (p != NULL) {
        rc = read_blocks(format, bytes, p);
        if (rc == RC_OK) {
            rc = passages_end(p, &title, &d->texts, &d->n_texts);
        }
        passages_free(p);
    }
    if (rc == RC_OK) {
        d->title = title[0] == '\0' ? d->title : title;
        return NULL;
    }
    if (rc == RC_NOMEM) {
        fail(run, rc);
    }
    return rc == RC_INVALID ? "not a text file" : "too many passages";
}

/* The library's index of path, or -1. */
static ssize_t find_known(const struct run *run, const char *path)
{
    size_t low = 0;
    size_t high = run->n_known;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(run->known[middle].path, path);

        if (order == 0) {
            return (ssize_t)middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

static int64_t mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Put the document into the batch; its path and title are copied. */
static void put(struct run *run, struct library_document d, bool is_known)
{
    d.path = arena_strdup(run->batch, d.path);
    d.title = arena_strdup(run->batch, d.title);
    d.error = arena_strdup(run->batch, d.error);
    d.owner = run->owner;
    if (d.path == NULL || d.title == NULL || d.error == NULL) {
        fail(run, RC_NOMEM);
        return;
    }
    run->put_known[run->n_put] = is_known;
    run->put[run->n_put++] = d;
    store_batch_if_full(run);
}

static void put_failed(struct run *run, const struct found *f, ssize_t known,
                       struct library_document d, const char *error)
{
    d.error = error;
    d.texts = NULL;
    d.n_texts = 0;
    if (known >= 0 && d.mtime_ns == 0 && run->known[known].mtime_ns == 0 &&
        strcmp(run->known[known].error, error) == 0) {
        run->counts.failed++; /* as the run before found it */
        return;
    }
    log_warn(NULL, "library: %s: %s", f->path, error);
    put(run, d, known >= 0);
}

/* What the file says, into the batch, or why it could not be read. */
static void read_document(struct run *run, const struct found *f, ssize_t known,
                          struct library_document d, int fd, struct buf *bytes)
{
    bool again = false;
    const char *error = NULL;

    if (index_mark_is_deadly(run->mark, f->path)) {
        put_failed(run, f, known, d, "reading it broke off");
        store_batch(run); /* before another document is tried */
        return;
    }
    index_mark_begin(run->mark, f->path);
    if (f->format == LIBRARY_FORMAT_PDF) {
        buf_clear(bytes);
        error = read_pdf(fd, bytes, &again);
    }
    error = error != NULL ? error : parse(run, f->format, bytes, &d);
    index_mark_end(run->mark);
    if (error != NULL) {
        d.mtime_ns = again ? 0 : d.mtime_ns;
        put_failed(run, f, known, d, error);
    } else {
        put(run, d, known >= 0);
    }
}

/* The file was opened and differs from what the library knows. */
static void index_bytes(struct run *run, const struct found *f, ssize_t known,
                        struct library_document d, int fd)
{
    struct buf bytes;
    bool again;
    const char *error;

    buf_init(&bytes, MAX_FILE_BYTES);
    error = read_file(fd, &bytes, &again);
    if (error == NULL) {
        hash_sha256(buf_str(&bytes), bytes.len, d.hash);
        run->batch_bytes += bytes.len;
    }
    if (error == NULL && known >= 0 && !run->reread &&
        run->known[known].error[0] == '\0' &&
        memcmp(run->known[known].hash, d.hash, HASH_BYTES) == 0) {
        run->touched[run->n_touched++] =
            (struct library_known){.id = run->known[known].id,
                                   .mtime_ns = d.mtime_ns,
                                   .size_bytes = d.size_bytes};
        store_batch_if_full(run);
    } else if (error != NULL) {
        d.mtime_ns = again ? 0 : d.mtime_ns;
        put_failed(run, f, known, d, error);
    } else {
        read_document(run, f, known, d, fd, &bytes);
    }
    buf_free(&bytes);
}

static void index_file(struct run *run, const struct found *f)
{
    ssize_t known = find_known(run, f->path);
    struct library_document d = {
        .path = f->path, .title = f->name, .error = ""};
    struct stat st;
    int fd;

    if (++run->n_files > LIBRARY_INDEX_MAX_DOCUMENTS) {
        fail(run, RC_FULL);
        return;
    }
    if (known >= 0) {
        run->seen[known] = true;
    }
    fd = openat(f->parent, f->name,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        put_failed(run, f, known, d, strerror(errno));
    } else if (S_ISREG(st.st_mode)) {
        d.mtime_ns = mtime_ns(&st);
        d.size_bytes = (int64_t)st.st_size;
        if (known < 0 || run->reread ||
            run->known[known].mtime_ns != d.mtime_ns ||
            run->known[known].size_bytes != d.size_bytes) {
            index_bytes(run, f, known, d, fd);
        } else {
            run->counts.failed += run->known[known].error[0] != '\0';
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* --- folders ----------------------------------------------------------- */

/* What cannot be read, or not to its end, says nothing about what is there: the
 * file of that path, or all in the folder, stays as it is known. */
static void keep_unread(struct run *run, const char *path, const char *why)
{
    size_t len = strlen(path);

    log_warn(NULL, "library: %s: %s", path, why);
    for (size_t i = 0; i < run->n_known; i++) {
        const char *known = run->known[i].path;

        if (strncmp(known, path, len) == 0 &&
            (known[len] == '/' || known[len] == '\0')) {
            run->seen[i] = true;
        }
    }
}

static void walk(struct run *run, int fd, struct buf *path, int depth);

static void walk_below(struct run *run, int parent, const char *name,
                       struct buf *path, int depth)
{
    int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        if (!folder_is_gone(errno)) {
            keep_unread(run, buf_str(path), strerror(errno));
        }
        return;
    }
    if (depth >= LIBRARY_INDEX_MAX_DEPTH) {
        keep_unread(run, buf_str(path), "too many folders in folders");
        (void)close(fd);
        return;
    }
    walk(run, fd, path, depth + 1);
}

/* A shared folder may hold the data directory: what accounts have put in is
 * theirs even so. */
static bool is_own_root(const struct run *run, const struct stat *st)
{
    return run->owner == NULL && S_ISDIR(st->st_mode) &&
           st->st_ino == run->own.st_ino && st->st_dev == run->own.st_dev;
}

static void visit(struct run *run, int parent, const char *name,
                  struct buf *path, int depth)
{
    enum library_format format = library_files_format(name);
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!folder_is_gone(errno)) {
            keep_unread(run, buf_str(path), strerror(errno));
        }
        return;
    }
    if (is_own_root(run, &st)) {
        return; /* not shared */
    }
    if (S_ISDIR(st.st_mode)) {
        walk_below(run, parent, name, path, depth);
    } else if (S_ISREG(st.st_mode) && format != LIBRARY_FORMAT_NONE &&
               (run->owner == NULL || library_files_fault(name) == NULL)) {
        index_file(run, &(struct found){.path = buf_str(path),
                                        .name = name,
                                        .parent = parent,
                                        .format = format});
    }
}

/* Everything in the folder open at fd, which is closed. path names it. */
static void walk(struct run *run, int fd, struct buf *path, int depth)
{
    DIR *dir = folder_open_take(fd);
    size_t len = path->len;
    const char *name;
    int error = 0;

    if (dir == NULL) {
        keep_unread(run, buf_str(path), strerror(errno));
        return;
    }
    while (run->rc == RC_OK && (name = folder_next(dir, &error)) != NULL) {
        if (name[0] == '.') {
            continue;
        }
        if (!utf8_valid(name, strlen(name))) {
            log_warn(NULL, "library: a name in %s is not UTF-8", buf_str(path));
            continue;
        }
        buf_printf(path, "/%s", name);
        if (buf_rc(path) != RC_OK) {
            fail(run, buf_rc(path));
            break;
        }
        visit(run, fd, name, path, depth);
        path->len = len;
        path->data[len] = '\0';
    }
    (void)closedir(dir);
    if (error != 0) {
        keep_unread(run, buf_str(path), strerror(error));
    }
}

static void walk_folder(struct run *run, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct buf path;

    if (fd < 0) {
        keep_unread(run, folder, strerror(errno));
        run->counts.folders_failed++;
        return;
    }
    buf_init(&path, (LIBRARY_INDEX_MAX_DEPTH + 2) * (NAME_MAX + 2) + PATH_MAX);
    buf_puts(&path, strcmp(folder, "/") == 0 ? "" : folder);
    buf_puts(&path, "");
    walk(run, fd, &path, 0);
    buf_free(&path);
}

/* The files of one account, by names that do not say where the data directory
 * is: ids of passages follow from them. */
static void walk_owner(struct run *run, int parent, const char *owner)
{
    struct buf path;

    run->owner = arena_strdup(run->list, owner);
    if (run->owner == NULL) {
        fail(run, RC_NOMEM);
        return;
    }
    buf_init(&path, (LIBRARY_INDEX_MAX_DEPTH + 2) * (NAME_MAX + 2));
    buf_printf(&path, OWN_ROOT "/%s", owner);
    walk_below(run, parent, owner, &path, 0);
    buf_free(&path);
    run->owner = NULL;
}

static void walk_owners(struct run *run)
{
    char path[PATH_MAX];
    const char *name;
    int error = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/" OWN_ROOT, run->options->dir);
    dir = opendir(path);
    if (dir == NULL) {
        if (errno != ENOENT) {
            keep_unread(run, OWN_ROOT, strerror(errno));
            run->counts.folders_failed++;
        }
        return;
    }
    if (fstat(dirfd(dir), &run->own) != 0) {
        fail(run, RC_IO);
    }
    while (run->rc == RC_OK && (name = folder_next(dir, &error)) != NULL) {
        if (name[0] != '.') {
            walk_owner(run, dirfd(dir), name);
        }
    }
    (void)closedir(dir);
    if (error != 0) {
        keep_unread(run, OWN_ROOT, strerror(error));
        run->counts.folders_failed++;
    }
}

/* True if folder is one of the others, or in one of them. */
static bool is_within(const char *folder, char *const *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(others[i]);

        if (strncmp(folder, others[i], len) == 0 &&
            (folder[len] == '\0' || folder[len] == '/' || len == 1)) {
            return true;
        }
    }
    return false;
}

/* True if the folder lies where the accounts' files do. */
static bool is_in_own(const struct run *run, const char *folder)
{
    char path[PATH_MAX];
    char *own;
    bool in;

    (void)snprintf(path, sizeof(path), "%s/" OWN_ROOT, run->options->dir);
    own = realpath(path, NULL);
    in = own != NULL && is_within(folder, &own, 1);
    free(own);
    return in;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A folder that was named has no place now. Where it had one, behind a link
 * say, is not known: what lies in no other folder stays as it is known. */
static void keep_outside(struct run *run, char *const *folders, size_t n)
{
    for (size_t i = 0; i < run->n_known; i++) {
        const char *path = run->known[i].path;

        run->seen[i] =
            run->seen[i] || (path[0] == '/' && !is_within(path, folders, n));
    }
}

/* The configured folders by their real paths, outer ones before inner. */
static size_t list_folders(struct run *run, char **out)
{
    const char *named = run->options->folders;
    char *all = strdup(named == NULL ? "" : named);
    char *rest = all;
    const char *name;
    bool lost = named == NULL;
    size_t n = 0;

    if (all == NULL) {
        fail(run, RC_NOMEM);
        return 0;
    }
    while ((name = strsep(&rest, ":")) != NULL) {
        if (name[0] == '\0') {
            continue;
        }
        if (n == MAX_FOLDERS) {
            fail(run, RC_FULL);
            break;
        }
        out[n] = realpath(name, NULL);
        if (out[n] != NULL && is_in_own(run, out[n])) {
            free(out[n]);
            out[n] = NULL;
            errno = EACCES; /* it holds what accounts have put in */
        }
        if (out[n] == NULL) {
            keep_unread(run, name, strerror(errno));
            run->counts.folders_failed++;
            lost = true;
        } else {
            n++;
        }
    }
    free(all);
    qsort(out, n, sizeof(out[0]), by_text);
    if (lost) {
        keep_outside(run, out, n);
    }
    return n;
}

static void walk_all(struct run *run)
{
    char *folders[MAX_FOLDERS];
    size_t n;

    walk_owners(run);
    n = list_folders(run, folders);

    for (size_t i = 0; run->rc == RC_OK && i < n; i++) {
        if (!is_within(folders[i], folders, i)) {
            walk_folder(run, folders[i]);
        }
    }
    if (run->rc == RC_OK || run->rc == RC_FULL) {
        store_batch(run);
    }
    for (size_t i = 0; i < n; i++) {
        free(folders[i]);
    }
}

/* --- the run ----------------------------------------------------------- */

static void remove_vanished(struct run *run)
{
    int64_t ids[BATCH_DOCUMENTS];
    size_t n = 0;

    for (size_t i = 0; i <= run->n_known && run->rc == RC_OK; i++) {
        if (i < run->n_known && !run->seen[i]) {
            ids[n++] = run->known[i].id;
            run->counts.removed++;
        }
        if (n == BATCH_DOCUMENTS || (i == run->n_known && n > 0)) {
            fail(run, library_remove(run->lib, ids, n));
            n = 0;
        }
    }
}

static enum rc load_known(struct run *run)
{
    int64_t reader;
    enum rc rc = library_reader(run->lib, &reader);

    if (rc != RC_OK) {
        return rc;
    }
    run->reread = reader != READER_VERSION;
    rc = library_list(run->lib, run->list, &run->known, &run->n_known);
    if (rc != RC_OK) {
        return rc;
    }
    run->seen = calloc(run->n_known + 1, sizeof(*run->seen));
    return run->seen == NULL ? RC_NOMEM : RC_OK;
}

static void finish(struct run *run)
{
    struct library_totals totals;
    int64_t news =
        run->counts.added + run->counts.changed + run->counts.removed;

    fail(run, library_stats(run->lib, &totals));
    if (run->rc == RC_OK) {
        run->counts.documents = totals.documents;
        run->counts.passages = totals.passages;
    }
    if (run->rc == RC_OK && news >= MERGE_LEAST &&
        news * MERGE_SHARE >= totals.documents) {
        fail(run, library_optimize(run->lib));
    }
    /* Only who has looked at all has read them with this reader. */
    if (run->rc == RC_OK && run->options->folders != NULL) {
        fail(run, library_scan_done(run->lib, clock_unix_ms(), READER_VERSION));
    }
}

static void index_all(struct run *run)
{
    fail(run, load_known(run));
    if (run->rc != RC_OK) {
        return;
    }
    walk_all(run);
    if (run->rc == RC_OK) {
        remove_vanished(run);
    }
    if (run->rc == RC_OK) {
        finish(run);
    }
}

/* RC_CONFLICT: another run has it, and kept it so long. The lock goes with the
 * descriptor. */
static enum rc take_lock(const char *dir, int64_t wait_ms, int *fd)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/library.lock", dir);
    int64_t until_ms = clock_boot_ms() + wait_ms;

    if (n < 0 || (size_t)n >= sizeof(path)) {
        return RC_TOO_LARGE;
    }
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    while (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
        int cause = errno;

        if (cause == EWOULDBLOCK && clock_boot_ms() < until_ms) {
            clock_nap_us(LOCK_NAP_US);
            continue;
        }
        (void)close(*fd);
        return cause == EWOULDBLOCK ? RC_CONFLICT : RC_IO;
    }
    return RC_OK;
}

/* As before it began. */
static void clear(struct run *run)
{
    free(run->seen);
    arena_free(run->list);
    arena_free(run->batch);
    *run = (struct run){.options = run->options, .mark = run->mark};
}

static enum rc run_locked(struct run *run)
{
    enum rc rc;

    html_init();
    run->list = arena_new(LIST_BYTES);
    run->batch = arena_new(BATCH_BYTES);
    if (run->list == NULL || run->batch == NULL) {
        return RC_NOMEM;
    }
    rc = library_open(run->options->dir, run->options->busy_ms, &run->lib);
    if (rc != RC_OK) {
        return rc;
    }
    index_all(run);
    library_close(run->lib);
    return run->rc;
}

enum rc library_index_run(const struct library_index_options *options,
                          struct library_index_counts *out)
{
    struct run *run = calloc(1, sizeof(*run));
    int64_t start_ms = clock_boot_ms();
    struct index_mark mark;
    int lock = -1;
    enum rc rc;

    if (run == NULL) {
        return RC_NOMEM;
    }
    run->options = options;
    rc = take_lock(options->dir, options->wait_ms, &lock);
    if (rc == RC_OK) {
        index_mark_open(&mark, lock);
        run->mark = &mark;
        rc = run_locked(run);
        if (rc == RC_DB) {
            library_discard(options->dir);
            clear(run);
            rc = run_locked(run);
        }
        run->counts.ms = clock_boot_ms() - start_ms;
        *out = run->counts;
        index_mark_close(&mark);
        (void)close(lock);
    }
    clear(run);
    free(run);
    return rc;
}
