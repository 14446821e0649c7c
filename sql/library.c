#include "sql/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/buf.h"
#include "sql/base/log.h"
#include "sql/db.h"
#include "sql/library_inside.h"

#define READ_ROWS 200

/* --- opening ----------------------------------------------------------- */

static enum rc open_file(const char *dir, int64_t busy_ms, bool read_only,
                         struct library **out)
{
    struct library *lib = calloc(1, sizeof(*lib));
    enum rc rc = RC_NOMEM;
    const char *path = NULL;

    if (lib == NULL) {
        return RC_NOMEM;
    }
    lib->work = arena_new(LIBRARY_WORK_BYTES);
    if (lib->work != NULL) {
        path = arena_printf(lib->work, "%s/library.db", dir);
    }
    if (path != NULL) {
        rc = db_open(&(struct db_options){.path = path,
                                          .migrations = SCHEMA_LIBRARY,
                                          .n_migrations = SCHEMA_LIBRARY_COUNT,
                                          .busy_ms = busy_ms,
                                          .read_only = read_only},
                     &lib->db);
    }
    if (rc != RC_OK) {
        library_close(lib);
        return rc;
    }
    *out = lib;
    return RC_OK;
}

enum rc library_open(const char *dir, int64_t busy_ms, struct library **out)
{
    return open_file(dir, busy_ms, false, out);
}

enum rc library_open_read(const char *dir, int64_t busy_ms,
                          struct library **out)
{
    return open_file(dir, busy_ms, true, out);
}

void library_close(struct library *lib)
{
    if (lib != NULL) {
        if (lib->db != NULL) {
            db_close(lib->db);
        }
        arena_free(lib->work);
        free(lib);
    }
}

bool library_is_lost(struct library *lib)
{
    return db_is_lost(lib->db);
}

void library_discard(const char *dir)
{
    static const char *const END[] = {"", "-wal", "-shm"};
    char path[PATH_MAX];

    log_warn(NULL, "library.db is damaged: it is made anew");
    for (size_t i = 0; i < sizeof(END) / sizeof(END[0]); i++) {
        int len = snprintf(path, sizeof(path), "%s/library.db%s", dir, END[i]);

        if (len > 0 && (size_t)len < sizeof(path)) {
            (void)unlink(path);
        }
    }
}

bool library_is_there(const char *dir)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/library.db", dir);

    return len > 0 && (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

/* --- reading ----------------------------------------------------------- */

/* The name of an own document, which is not absolute: behind the second
 * slash. */
const char *library_shown_path(const char *path)
{
    const char *slash =
        path == NULL || path[0] == '/' ? NULL : strchr(path, '/');

    slash = slash == NULL ? NULL : strchr(slash + 1, '/');
    return slash == NULL ? path : slash + 1;
}

static enum rc find_by_id(struct library *lib, const char *owner, int64_t id,
                          int64_t *document_id, int64_t *n)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_PASSAGE_FIND);
    bool found;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_text(q, ":owner", owner);
    found = db_next(q);
    if (found) {
        *document_id = db_i64(q, 0);
        *n = db_i64(q, 1);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

/* True if path is tail, or ends in a slash and tail. */
static bool ends_in(const char *path, const char *tail)
{
    size_t len = strlen(path);
    size_t tail_len = strlen(tail);

    return len > tail_len && strcmp(path + len - tail_len, tail) == 0 &&
           (tail[0] == '/' || path[len - tail_len - 1] == '/');
}

static enum rc find_by_tail(struct library *lib, const char *owner,
                            const char *tail, int64_t *id)
{
    const char *slash = strrchr(tail, '/');
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_BY_NAME);
    size_t found = 0;
    enum rc rc;

    db_bind_text(q, ":name", slash == NULL ? tail : slash + 1);
    db_bind_text(q, ":owner", owner);
    while (db_next(q)) {
        const char *path = library_shown_path(db_text(q, 1, lib->work));

        if (path != NULL && ends_in(path, tail)) {
            *id = db_i64(q, 0);
            found++;
        }
    }
    rc = db_end(q);
    return rc == RC_OK && found != 1 ? RC_NOT_FOUND : rc;
}

enum rc library_find_path(struct library *lib, const char *path,
                          struct library_found *out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_FIND);
    bool found;
    enum rc rc;

    db_bind_text(q, ":path", path);
    found = db_next(q);
    if (found) {
        out->id = db_i64(q, 0);
        out->title = db_text(q, 1, lib->work);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

/* An own document by its name, or a shared one by its path. */
static enum rc find_whole(struct library *lib, const char *owner,
                          const char *path, int64_t *id)
{
    struct library_found found;
    enum rc rc;

    if (path[0] != '/') {
        if (owner[0] == '\0') {
            return RC_NOT_FOUND;
        }
        path = arena_printf(lib->work, LIBRARY_OWN_PATH, owner, path);
        if (path == NULL) {
            return RC_TOO_LARGE;
        }
    }
    rc = library_find_path(lib, path, &found);
    if (rc == RC_OK) {
        *id = found.id;
    }
    return rc;
}

static enum rc locate(struct library *lib, const struct library_place *place,
                      int64_t *document_id, int64_t *from)
{
    const char *owner = place->owner == NULL ? "" : place->owner;
    int64_t named = 0;
    enum rc rc;

    if (place->passage_id != 0) {
        rc = find_by_id(lib, owner, place->passage_id, document_id, &named);
    } else if (place->path == NULL || place->path[0] == '\0') {
        return RC_NOT_FOUND;
    } else {
        rc = find_whole(lib, owner, place->path, document_id);
        if (rc == RC_NOT_FOUND) {
            rc = find_by_tail(lib, owner, place->path, document_id);
        }
    }
    *from = place->from < 0 ? named : place->from;
    return rc;
}

static enum rc get_document(struct library *lib, int64_t id,
                            struct arena *arena, struct library_pages *out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_GET);
    bool found;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    found = db_next(q);
    if (found) {
        out->title = db_text(q, 0, arena);
        out->path = library_shown_path(db_text(q, 1, arena));
        out->total = db_i64(q, 2);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

static enum rc get_passages(struct library *lib, int64_t document_id,
                            int64_t from, size_t max_bytes, struct arena *arena,
                            struct library_pages *out)
{
    struct dbq *q;
    size_t bytes = 0;
    bool room = true;

    out->passages = arena_alloc(arena, READ_ROWS * sizeof(*out->passages));
    if (out->passages == NULL) {
        return RC_TOO_LARGE;
    }
    q = db_use(lib->db, STMT_LIBRARY_PASSAGE_FROM);
    db_bind_i64(q, ":document_id", document_id);
    db_bind_i64(q, ":from", from);
    db_bind_i64(q, ":limit", READ_ROWS);
    while (room && db_next(q)) {
        const char *text = db_text(q, 3, arena);

        bytes += text == NULL ? 0 : strlen(text);
        room = out->n == 0 || bytes <= max_bytes;
        if (room) {
            out->passages[out->n++] =
                (struct library_passage){.id = db_i64(q, 0),
                                         .n = db_i64(q, 1),
                                         .title = out->title,
                                         .path = out->path,
                                         .heading = db_text(q, 2, arena),
                                         .text = text};
        }
    }
    out->has_more = out->n > 0 && out->passages[out->n - 1].n + 1 < out->total;
    return db_end(q);
}

enum rc library_read(struct library *lib, const struct library_place *place,
                     struct arena *arena, struct library_pages *out)
{
    struct library_pages pages = {.n = 0};
    int64_t document_id = 0;
    int64_t from = 0;
    enum rc rc;

    arena_reset(lib->work);
    rc = db_begin_read(lib->db);
    if (rc != RC_OK) {
        return rc;
    }
    rc = locate(lib, place, &document_id, &from);
    if (rc == RC_OK) {
        rc = get_document(lib, document_id, arena, &pages);
    }
    if (rc == RC_OK) {
        rc = get_passages(lib, document_id, from, place->max_bytes, arena,
                          &pages);
    }
    db_end_read(lib->db);
    if (rc == RC_OK) {
        *out = pages;
    }
    return rc;
}

enum rc library_entries(struct library *lib, const char *owner,
                        const char *after, size_t limit, struct arena *arena,
                        struct library_entry **out, size_t *n)
{
    struct library_entry *list =
        arena_alloc(arena, (limit + 1) * sizeof(*list));
    size_t count = 0;
    struct dbq *q;
    enum rc rc;

    if (list == NULL) {
        return RC_TOO_LARGE;
    }
    q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_PAGE);
    db_bind_text(q, ":owner", owner);
    db_bind_text(q, ":after", after);
    db_bind_i64(q, ":limit", (int64_t)limit);
    while (db_next(q)) {
        list[count++] = (struct library_entry){
            .path = library_shown_path(db_text(q, 0, arena)),
            .mtime_ns = db_i64(q, 1),
            .size_bytes = db_i64(q, 2),
            .error = db_text(q, 3, arena),
            .title = db_text(q, 4, arena),
            .passages = db_i64(q, 5)};
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        *out = list;
        *n = count;
    }
    return rc;
}

enum rc library_count(struct library *lib, const char *owner, int64_t *out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_COUNT);

    db_bind_text(q, ":owner", owner);
    return db_one_i64(q, out);
}

enum rc library_stats(struct library *lib, struct library_totals *out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_STATS);
    struct library_totals totals = {0};
    enum rc rc;

    if (db_next(q)) {
        totals.documents = db_i64(q, 0);
        totals.failed = db_i64(q, 1);
        totals.passages = db_i64(q, 2);
        totals.scanned_ms = db_i64(q, 3);
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        *out = totals;
    }
    return rc;
}

enum rc library_list(struct library *lib, struct arena *arena,
                     struct library_known **out, size_t *n)
{
    struct buf list; /* of struct library_known, copied at the end */
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_DOCUMENT_LIST);
    void *copy;
    enum rc rc;

    buf_init(&list, LIBRARY_WORK_BYTES);
    while (db_next(q)) {
        struct library_known known = {.id = db_i64(q, 0),
                                      .path = db_text(q, 1, arena),
                                      .mtime_ns = db_i64(q, 2),
                                      .size_bytes = db_i64(q, 3),
                                      .error = db_text(q, 5, arena)};
        size_t hash_len = 0;
        const void *hash = db_blob(q, 4, arena, &hash_len);

        if (hash != NULL && hash_len == HASH_BYTES) {
            memcpy(known.hash, hash, HASH_BYTES);
        }
        buf_add(&list, &known, sizeof(known));
    }
    rc = db_end(q);
    rc = rc == RC_OK ? buf_rc(&list) : rc;
    copy = rc == RC_OK ? arena_alloc(arena, list.len) : NULL;
    if (rc == RC_OK && copy == NULL) {
        rc = RC_TOO_LARGE;
    }
    if (rc == RC_OK) {
        if (list.len > 0) {
            memcpy(copy, list.data, list.len);
        }
        *out = copy;
        *n = list.len / sizeof(struct library_known);
    }
    buf_free(&list);
    return rc;
}
