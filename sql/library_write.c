/* The half of library.h that the indexer uses to write. */
#include "sql/library.h"

#include <stdlib.h>
#include <string.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/db.h"
#include "sql/library_inside.h"
#include "sql/library_query.h"

/* Ids are kept below 2^53, the integers that JSON readers hold exactly. */
#define ID_MASK     ((INT64_C(1) << 53) - 1)
#define TRY_IDS     8
#define START_BYTES 400

/* --- one document ------------------------------------------------------ */

/* A passage to be, and what became of it. */
struct fresh {
    int64_t id;
    size_t n;    /* index in the document's texts */
    bool stored; /* the library has it already */
};

/* A passage that is. */
struct stale {
    int64_t seq;
    int64_t id;
    int64_t n;
    const char *heading;
    const char *text;
};

static int64_t hash_number(const char *s, size_t len)
{
    uint8_t hash[HASH_BYTES];
    int64_t number = 0;

    hash_sha256(s, len, hash);
    for (size_t i = 0; i < 7; i++) {
        number = number << 8 | hash[i];
    }
    return number & ID_MASK;
}

/* Copies of a passage often differ in their ends, where they were cut. */
static int64_t start_hash(const char *text)
{
    size_t len = strlen(text);

    return hash_number(text, len < START_BYTES ? len : START_BYTES);
}

/* The id of the same words' k-th occurrence in the document; 0 on failure. */
static int64_t passage_id(const char *path, const struct library_text *t,
                          size_t k)
{
    struct buf key;
    int64_t id = 0;

    buf_init(&key, LIBRARY_WORK_BYTES);
    buf_add(&key, path, strlen(path) + 1);
    buf_add(&key, t->heading, strlen(t->heading) + 1);
    buf_add(&key, t->text, strlen(t->text) + 1);
    buf_printf(&key, "%zu", k);
    if (buf_rc(&key) == RC_OK) {
        id = hash_number(key.data, key.len);
        id = id == 0 ? 1 : id;
    }
    buf_free(&key);
    return id;
}

static int by_id(const void *a, const void *b)
{
    const struct fresh *x = a;
    const struct fresh *y = b;

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->n < y->n ? -1 : x->n > y->n;
}

static int by_n(const void *a, const void *b)
{
    const struct fresh *x = a;
    const struct fresh *y = b;

    return x->n < y->n ? -1 : x->n > y->n;
}

/* The passages to be, ordered by id; repetitions numbered in their order. */
static struct fresh *plan_passages(const struct library_document *d,
                                   struct arena *arena)
{
    struct fresh *list = arena_alloc(arena, d->n_texts * sizeof(*list));
    size_t repeated = 0;
    int64_t last = 0;

    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < d->n_texts; i++) {
        list[i] =
            (struct fresh){.id = passage_id(d->path, &d->texts[i], 0), .n = i};
        if (list[i].id == 0) {
            return NULL;
        }
    }
    qsort(list, d->n_texts, sizeof(*list), by_id);
    for (size_t i = 0; i < d->n_texts; i++) {
        repeated = list[i].id == last ? repeated + 1 : 0;
        last = list[i].id;
        if (repeated > 0) {
            list[i].id = passage_id(d->path, &d->texts[list[i].n], repeated);
        }
        if (list[i].id == 0) {
            return NULL;
        }
    }
    qsort(list, d->n_texts, sizeof(*list), by_id);
    return list;
}

/* Put a passage's words into the search index, or take them out. */
static enum rc index_words(struct library *lib, enum stmt_id stmt, int64_t seq,
                           const char *title, const char *heading,
                           const char *text)
{
    const char *spaced_title = library_query_spaced(title, lib->work);
    const char *spaced_heading = library_query_spaced(heading, lib->work);
    const char *spaced_text = library_query_spaced(text, lib->work);
    struct dbq *q;

    if (spaced_title == NULL || spaced_heading == NULL || spaced_text == NULL) {
        return RC_TOO_LARGE;
    }
    q = db_use(lib->db, stmt);
    db_bind_i64(q, ":seq", seq);
    db_bind_text(q, ":title", spaced_title);
    db_bind_text(q, ":heading", spaced_heading);
    db_bind_text(q, ":text", spaced_text);
    return db_run(q);
}

static enum rc drop_passage(struct library *lib, const char *title,
                            const struct stale *old)
{
    enum rc rc = index_words(lib, STMT_LIBRARY_FTS_DELETE, old->seq, title,
                             old->heading, old->text);

    if (rc == RC_OK) {
        struct dbq *q = db_use(lib->db, STMT_LIBRARY_PASSAGE_DELETE);

        db_bind_i64(q, ":seq", old->seq);
        rc = db_run_one(q);
    }
    return rc;
}

/* Ids are unique in the library; another document's is stepped over, which
 * chance alone can ask for. */
static enum rc free_id(struct library *lib, const struct library_document *d,
                       struct fresh *f)
{
    for (size_t k = 0; k < TRY_IDS; k++) {
        struct dbq *q = db_use(lib->db, STMT_LIBRARY_PASSAGE_TAKEN);
        int64_t one;
        enum rc rc;

        db_bind_i64(q, ":id", f->id);
        rc = db_one_i64(q, &one);
        if (rc == RC_NOT_FOUND) {
            return RC_OK;
        }
        if (rc != RC_OK) {
            return rc;
        }
        f->id = passage_id(d->path, &d->texts[f->n], d->n_texts + k);
    }
    return RC_CONFLICT;
}

/* The passage that was added last is its owner's alone. */
static enum rc own_passage(struct library *lib, int64_t seq, const char *owner)
{
    struct dbq *q;

    if (owner == NULL || owner[0] == '\0') {
        return RC_OK;
    }
    q = db_use(lib->db, STMT_LIBRARY_OWNED_ADD);
    db_bind_i64(q, ":seq", seq);
    db_bind_text(q, ":owner", owner);
    return db_run(q);
}

static enum rc add_passage(struct library *lib, int64_t document_id,
                           const struct library_document *d, struct fresh *f)
{
    const struct library_text *t = &d->texts[f->n];
    enum rc rc = free_id(lib, d, f);
    int64_t seq;
    struct dbq *q;

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(lib->db, STMT_LIBRARY_PASSAGE_ADD);
    db_bind_i64(q, ":id", f->id);
    db_bind_i64(q, ":document_id", document_id);
    db_bind_i64(q, ":n", (int64_t)f->n);
    db_bind_i64(q, ":start_hash", start_hash(t->text));
    db_bind_i64(q, ":links", t->links);
    db_bind_text(q, ":heading", t->heading);
    db_bind_text(q, ":text", t->text);
    rc = db_run(q);
    seq = db_last_id(lib->db);
    if (rc == RC_OK) {
        rc = own_passage(lib, seq, d->owner);
    }
    if (rc == RC_OK) {
        rc = index_words(lib, STMT_LIBRARY_FTS_ADD, seq, d->title, t->heading,
                         t->text);
    }
    return rc;
}

static enum rc load_stale(struct library *lib, int64_t document_id,
                          struct stale **out, size_t *n)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_PASSAGE_OF_DOCUMENT);
    struct buf list;
    enum rc rc;

    buf_init(&list, LIBRARY_WORK_BYTES);
    db_bind_i64(q, ":document_id", document_id);
    while (db_next(q)) {
        struct stale old = {.seq = db_i64(q, 0),
                            .id = db_i64(q, 1),
                            .n = db_i64(q, 2),
                            .heading = db_text(q, 3, lib->work),
                            .text = db_text(q, 4, lib->work)};

        buf_add(&list, &old, sizeof(old));
    }
    rc = db_end(q);
    rc = rc == RC_OK ? buf_rc(&list) : rc;
    if (rc == RC_OK) {
        *out = arena_alloc(lib->work, list.len);
        *n = list.len / sizeof(struct stale);
        rc = *out == NULL ? RC_TOO_LARGE : RC_OK;
    }
    if (rc == RC_OK && list.len > 0) {
        memcpy(*out, list.data, list.len);
    }
    buf_free(&list);
    return rc;
}

/* Keep an old passage at its new place. */
static enum rc keep_passage(struct library *lib, const struct stale *old,
                            struct fresh *f)
{
    struct dbq *q;

    f->stored = true;
    if (old->n == (int64_t)f->n) {
        return RC_OK;
    }
    q = db_use(lib->db, STMT_LIBRARY_PASSAGE_PLACE);
    db_bind_i64(q, ":seq", old->seq);
    db_bind_i64(q, ":n", (int64_t)f->n);
    return db_run_one(q);
}

/* Drop the old passages that are no more, keep those that are. A document
 * under a new title is indexed anew, since the title is part of the index. */
static enum rc sort_out_stale(struct library *lib, int64_t document_id,
                              const char *old_title,
                              const struct library_document *d,
                              struct fresh *list)
{
    bool same_title = strcmp(old_title, d->title) == 0;
    struct stale *old = NULL;
    size_t n = 0;
    enum rc rc = load_stale(lib, document_id, &old, &n);

    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        struct fresh *same = NULL;

        for (size_t low = 0, high = d->n_texts; same_title && low < high;) {
            size_t middle = low + (high - low) / 2;

            if (list[middle].id == old[i].id) {
                same = &list[middle];
                break;
            }
            if (list[middle].id < old[i].id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        rc = same != NULL ? keep_passage(lib, &old[i], same)
                          : drop_passage(lib, old_title, &old[i]);
    }
    return rc;
}

static enum rc store_row(struct library *lib, enum stmt_id stmt,
                         const struct library_document *d, int64_t id)
{
    const char *slash = strrchr(d->path, '/');
    struct dbq *q = db_use(lib->db, stmt);

    if (id == 0) {
        db_bind_text(q, ":path", d->path);
        db_bind_text(q, ":name", slash == NULL ? d->path : slash + 1);
        db_bind_text(q, ":owner", d->owner == NULL ? "" : d->owner);
    } else {
        db_bind_i64(q, ":id", id);
    }
    db_bind_text(q, ":title", d->title);
    db_bind_i64(q, ":mtime_ns", d->mtime_ns);
    db_bind_i64(q, ":size_bytes", d->size_bytes);
    db_bind_blob(q, ":hash", d->hash, HASH_BYTES);
    db_bind_i64(q, ":indexed_ms", clock_unix_ms());
    db_bind_text(q, ":error", d->error);
    return db_run_one(q);
}

static enum rc put_document(struct library *lib,
                            const struct library_document *d)
{
    struct fresh *list = plan_passages(d, lib->work);
    struct library_found old = {.title = ""};
    int64_t id = 0;
    enum rc rc;

    if (list == NULL) {
        return RC_TOO_LARGE;
    }
    rc = library_find_path(lib, d->path, &old);
    if (rc == RC_NOT_FOUND) {
        rc = store_row(lib, STMT_LIBRARY_DOCUMENT_ADD, d, 0);
        id = db_last_id(lib->db);
    } else if (rc == RC_OK) {
        id = old.id;
        rc = sort_out_stale(lib, id, old.title, d, list);
        if (rc == RC_OK) {
            rc = store_row(lib, STMT_LIBRARY_DOCUMENT_CHANGE, d, id);
        }
    }
    qsort(list, d->n_texts, sizeof(*list), by_n);
    for (size_t i = 0; rc == RC_OK && i < d->n_texts; i++) {
        if (!list[i].stored) {
            rc = add_passage(lib, id, d, &list[i]);
        }
    }
    return rc;
}

/* --- transactions ------------------------------------------------------ */

struct put {
    struct library *lib;
    const struct library_document *documents;
    size_t n;
};

static enum rc put_all(struct db *db, void *arg)
{
    const struct put *put = arg;
    enum rc rc = RC_OK;

    (void)db;
    for (size_t i = 0; rc == RC_OK && i < put->n; i++) {
        arena_reset(put->lib->work);
        rc = put_document(put->lib, &put->documents[i]);
    }
    return rc;
}

enum rc library_put(struct library *lib, const struct library_document *d,
                    size_t n)
{
    return db_tx(lib->db, put_all,
                 &(struct put){.lib = lib, .documents = d, .n = n});
}

struct removal {
    struct library *lib;
    const int64_t *ids;
    size_t n;
};

static enum rc get_title(struct library *lib, int64_t id, const char **out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_TITLE);
    bool found;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    found = db_next(q);
    if (found) {
        *out = db_text(q, 0, lib->work);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

static enum rc remove_document(struct library *lib, int64_t id)
{
    const char *title = NULL;
    struct stale *old = NULL;
    size_t n = 0;
    enum rc rc = get_title(lib, id, &title);

    if (rc == RC_NOT_FOUND) {
        return RC_OK; /* gone already, which is what was asked for */
    }
    if (rc == RC_OK) {
        rc = load_stale(lib, id, &old, &n);
    }
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        rc = drop_passage(lib, title, &old[i]);
    }
    if (rc == RC_OK) {
        struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_DELETE);

        db_bind_i64(q, ":id", id);
        rc = db_run_one(q);
    }
    return rc;
}

static enum rc remove_all(struct db *db, void *arg)
{
    const struct removal *r = arg;
    enum rc rc = RC_OK;

    (void)db;
    for (size_t i = 0; rc == RC_OK && i < r->n; i++) {
        arena_reset(r->lib->work);
        rc = remove_document(r->lib, r->ids[i]);
    }
    return rc;
}

enum rc library_remove(struct library *lib, const int64_t *ids, size_t n)
{
    return db_tx(lib->db, remove_all,
                 &(struct removal){.lib = lib, .ids = ids, .n = n});
}

struct touch {
    const struct library_known *known;
    size_t n;
};

static enum rc touch_all(struct db *db, void *arg)
{
    const struct touch *t = arg;
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < t->n; i++) {
        struct dbq *q = db_use(db, STMT_LIBRARY_DOCUMENT_TOUCH);

        db_bind_i64(q, ":id", t->known[i].id);
        db_bind_i64(q, ":mtime_ns", t->known[i].mtime_ns);
        db_bind_i64(q, ":size_bytes", t->known[i].size_bytes);
        rc = db_run(q);
    }
    return rc;
}

enum rc library_touch(struct library *lib, const struct library_known *known,
                      size_t n)
{
    return db_tx(lib->db, touch_all, &(struct touch){.known = known, .n = n});
}

struct scan {
    int64_t now_ms;
    int64_t reader;
};

static enum rc set_scanned(struct db *db, void *arg)
{
    const struct scan *scan = arg;
    struct dbq *q = db_use(db, STMT_LIBRARY_SCANNED_SET);

    db_bind_i64(q, ":now_ms", scan->now_ms);
    db_bind_i64(q, ":reader", scan->reader);
    return db_run_one(q);
}

enum rc library_scan_done(struct library *lib, int64_t now_ms, int64_t reader)
{
    return db_tx(lib->db, set_scanned,
                 &(struct scan){.now_ms = now_ms, .reader = reader});
}

enum rc library_reader(struct library *lib, int64_t *out)
{
    return db_one_i64(db_use(lib->db, STMT_LIBRARY_READER_GET), out);
}

static enum rc optimize(struct db *db, void *arg)
{
    (void)arg;
    return db_run(db_use(db, STMT_LIBRARY_FTS_OPTIMIZE));
}

enum rc library_optimize(struct library *lib)
{
    return db_tx(lib->db, optimize, NULL);
}

static enum rc check(struct db *db, void *arg)
{
    int64_t missing = 0;
    enum rc rc = db_run(db_use(db, STMT_LIBRARY_FTS_CHECK));

    (void)arg;
    if (rc == RC_OK) {
        rc = db_one_i64(db_use(db, STMT_LIBRARY_FTS_MISSING), &missing);
    }
    return rc == RC_OK && missing != 0 ? RC_DB : rc;
}

enum rc library_check(struct library *lib)
{
    return db_tx(lib->db, check, NULL);
}
