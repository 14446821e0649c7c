#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/document/html.h"
#include "runtime/document/index_inside.h"
#include "runtime/document/markdown_text.h"
#include "runtime/document/passages.h"
#include "runtime/document/pdf.h"
#include "sql/base/buf.h"
#include "sql/base/hash.h"
#include "sql/base/log.h"

#define MAX_FILE_BYTES LIBRARY_FILES_MAX_BYTES
#define MAX_PASSAGES   20000 /* of one document */

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
static const char *parse(struct index_run *run, enum library_format format,
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
        index_fail(run, rc);
    }
    return rc == RC_INVALID ? "not a text file" : "too many passages";
}

/* The library's index of path, or -1. */
static ssize_t find_known(const struct index_run *run, const char *path)
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

static void put_failed(struct index_run *run, const struct index_found *f,
                       ssize_t known, struct library_document d,
                       const char *error)
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
    index_batch_put(run, d, known >= 0);
}

/* What the file says, into the batch, or why it could not be read. */
static void read_document(struct index_run *run, const struct index_found *f,
                          ssize_t known, struct library_document d, int fd,
                          struct buf *bytes)
{
    bool again = false;
    const char *error = NULL;

    if (index_mark_is_deadly(run->mark, f->path)) {
        put_failed(run, f, known, d, "reading it broke off");
        index_batch_store(run); /* before another document is tried */
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
        index_batch_put(run, d, known >= 0);
    }
}

/* The file was opened and differs from what the library knows. */
static void index_bytes(struct index_run *run, const struct index_found *f,
                        ssize_t known, struct library_document d, int fd)
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
        index_batch_store_if_full(run);
    } else if (error != NULL) {
        d.mtime_ns = again ? 0 : d.mtime_ns;
        put_failed(run, f, known, d, error);
    } else {
        read_document(run, f, known, d, fd, &bytes);
    }
    buf_free(&bytes);
}

void index_file_read(struct index_run *run, const struct index_found *f)
{
    ssize_t known = find_known(run, f->path);
    struct library_document d = {
        .path = f->path, .title = f->name, .error = ""};
    struct stat st;
    int fd;

    if (++run->n_files > LIBRARY_INDEX_MAX_DOCUMENTS) {
        index_fail(run, RC_FULL);
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
