/* db.c - statements: bound, stepped and read.
 *
 * Opening is in db_open.c, transactions are in db_tx.c, and whatever waits for a
 * lock in db_wait.c.
 */
#include "sql/db.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "sql/base/log.h"
#include "sql/db_inside.h"

/* Keep the first failure of this use. */
static void keep(struct dbq *q, enum rc rc)
{
    if (q->rc == RC_OK) {
        q->rc = rc;
    }
}

static void keep_code(struct dbq *q, int code)
{
    if (code != SQLITE_OK) {
        keep(q, db_inside_failure(q->db, code, STMT[q->id].name,
                                  STMT[q->id].database != STMT_DB_MAIN));
    }
}

static void prepare_use(struct dbq *q)
{
    const struct stmt *st = &STMT[q->id];

    assert(st->params <= 64);
    if (q->asked == NULL && st->params > 0) {
        q->asked = calloc((size_t)st->params, sizeof(q->asked[0]));
        if (q->asked == NULL) {
            keep(q, RC_NOMEM);
            return;
        }
    }
    keep_code(q, db_inside_prepare(q->db, st->text, &q->stmt));
}

struct dbq *db_use(struct db *db, enum stmt_id id)
{
    struct dbq *q;

    assert((int)id >= 0 && (int)id < (int)STMT__MAX);
    assert(db->in_tx || !STMT[id].write);
    q = &db->q[id];
    assert(!q->in_use);
    q->in_use = true;
    q->started = q->row = false;
    q->bound = 0;
    q->rc = RC_OK;
    db->n_in_use++;
    if (db->in_tx && db_inside_tx_is_gone(db)) {
        keep(q, RC_DB);
    } else if (q->stmt == NULL) {
        prepare_use(q);
    }
    return q;
}

/* --- binding ----------------------------------------------------------- */

/* The number of a parameter of this statement. */
static int number_of(struct dbq *q, const char *name)
{
    int n;

    for (n = 1; n <= STMT[q->id].params; n++) {
        if (q->asked[n - 1] == name) {
            return n;
        }
    }
    n = sqlite3_bind_parameter_index(q->stmt, name);
    assert(n > 0 && n <= STMT[q->id].params);
    q->asked[n - 1] = name;
    return n;
}

/* The parameter's number, or 0 after a failure. */
static int parameter(struct dbq *q, const char *name)
{
    int n;

    assert(q->in_use && !q->started);
    if (q->rc != RC_OK) {
        return 0;
    }
    n = number_of(q, name);
    q->bound |= UINT64_C(1) << (n - 1);
    return n;
}

void db_bind_i64(struct dbq *q, const char *name, int64_t value)
{
    int n = parameter(q, name);

    if (n > 0) {
        keep_code(q, sqlite3_bind_int64(q->stmt, n, value));
    }
}

void db_bind_textn(struct dbq *q, const char *name, const char *text,
                   size_t len)
{
    int n = parameter(q, name);

    if (n > 0) {
        keep_code(q, sqlite3_bind_text64(q->stmt, n, text == NULL ? "" : text,
                                         len, SQLITE_STATIC, SQLITE_UTF8));
    }
}

void db_bind_text(struct dbq *q, const char *name, const char *text)
{
    if (text == NULL) {
        db_bind_null(q, name);
    } else {
        db_bind_textn(q, name, text, strlen(text));
    }
}

void db_bind_blob(struct dbq *q, const char *name, const void *bytes,
                  size_t len)
{
    int n = parameter(q, name);

    if (n > 0) {
        /* A NULL pointer would bind null instead of an empty blob. */
        keep_code(q, sqlite3_bind_blob64(q->stmt, n, bytes == NULL ? "" : bytes,
                                         len, SQLITE_STATIC));
    }
}

void db_bind_null(struct dbq *q, const char *name)
{
    int n = parameter(q, name);

    if (n > 0) {
        keep_code(q, sqlite3_bind_null(q->stmt, n));
    }
}

void db_bind_i64_or_null(struct dbq *q, const char *name, int64_t value)
{
    if (value == 0) {
        db_bind_null(q, name);
    } else {
        db_bind_i64(q, name, value);
    }
}

/* --- stepping ---------------------------------------------------------- */

/* The first step, where a lock may be in the way: a reader meets one while
 * another process recovers or closes the database. A write transaction holds
 * its lock already, and is repeated as a whole if at all. */
static int first_step(struct dbq *q)
{
    struct db_wait w = db_wait_start(q->db->busy_ms);
    int n = sqlite3_bind_parameter_count(q->stmt);
    int code;

    assert(n == 0 || q->bound == UINT64_MAX >> (64 - n));
    q->started = true;
    code = sqlite3_step(q->stmt);
    while (db_wait_is_due(code) && !q->db->in_tx && db_wait_again(&w)) {
        (void)sqlite3_reset(q->stmt);
        code = sqlite3_step(q->stmt);
    }
    return code;
}

bool db_next(struct dbq *q)
{
    int code;

    assert(q->in_use);
    if (q->rc != RC_OK || (q->started && !q->row)) {
        q->row = false;
        return false;
    }
    code = q->started ? sqlite3_step(q->stmt) : first_step(q);
    q->row = code == SQLITE_ROW;
    if (q->row) {
        return true;
    }
    if (code != SQLITE_DONE) {
        keep_code(q, code);
    }
    /* No read transaction stays open because its reader stopped here. */
    (void)sqlite3_reset(q->stmt);
    return false;
}

enum rc db_end(struct dbq *q)
{
    assert(q->in_use);
    if (q->stmt != NULL) {
        (void)sqlite3_reset(q->stmt);
        /* What was bound by reference may be gone from now on. */
        (void)sqlite3_clear_bindings(q->stmt);
    }
    q->in_use = q->row = false;
    q->db->n_in_use--;
    return q->rc;
}

void db_fail(struct dbq *q, enum rc rc)
{
    assert(q->in_use && rc != RC_OK);
    keep(q, rc);
}

/* --- columns ----------------------------------------------------------- */

static const char *type_name(int type)
{
    static const char *const name[] = {
        [SQLITE_INTEGER] = "an integer", [SQLITE_FLOAT] = "a real",
        [SQLITE_TEXT] = "a text",        [SQLITE_BLOB] = "a blob",
        [SQLITE_NULL] = "null",
    };

    return name[type];
}

/* True if a value of this type stands in the column. A failure is kept. */
static bool column_is(struct dbq *q, int col, int type, int or_type)
{
    int found;

    assert(q->in_use);
    if (q->rc != RC_OK) {
        return false;
    }
    assert(q->row && col >= 0 && col < sqlite3_data_count(q->stmt));
    found = sqlite3_column_type(q->stmt, col);
    if (found == type || found == or_type) {
        return true;
    }
    log_error(NULL, "sql: %s: column %d is %s, not %s", STMT[q->id].name, col,
              type_name(found), type_name(type));
    keep(q, RC_DB);
    return false;
}

static bool column_is_null(struct dbq *q, int col)
{
    assert(q->in_use);
    if (q->rc != RC_OK) {
        return false;
    }
    assert(q->row && col >= 0 && col < sqlite3_data_count(q->stmt));
    return sqlite3_column_type(q->stmt, col) == SQLITE_NULL;
}

int64_t db_i64(struct dbq *q, int col)
{
    if (!column_is(q, col, SQLITE_INTEGER, SQLITE_INTEGER)) {
        return 0;
    }
    return sqlite3_column_int64(q->stmt, col);
}

int64_t db_i64_or(struct dbq *q, int col, int64_t fallback)
{
    return column_is_null(q, col) ? fallback : db_i64(q, col);
}

double db_real(struct dbq *q, int col)
{
    if (!column_is(q, col, SQLITE_FLOAT, SQLITE_INTEGER)) {
        return 0;
    }
    return sqlite3_column_double(q->stmt, col);
}

/* The column's bytes, copied, with a NUL behind them. "" after a failure. */
static const char *copy_column(struct dbq *q, int col, struct arena *a,
                               size_t *len)
{
    const void *bytes = sqlite3_column_blob(q->stmt, col);
    size_t n = (size_t)sqlite3_column_bytes(q->stmt, col);
    char *copy;

    *len = 0;
    if (bytes == NULL && n > 0) {
        keep(q, RC_NOMEM);
        return "";
    }
    copy = arena_strndup(a, bytes, n);
    if (copy == NULL) {
        keep(q, RC_TOO_LARGE);
        return "";
    }
    *len = n;
    return copy;
}

const char *db_text(struct dbq *q, int col, struct arena *a)
{
    size_t ignored;

    if (!column_is(q, col, SQLITE_TEXT, SQLITE_TEXT)) {
        return "";
    }
    return copy_column(q, col, a, &ignored);
}

const char *db_text_or(struct dbq *q, int col, struct arena *a,
                       const char *fallback)
{
    return column_is_null(q, col) ? fallback : db_text(q, col, a);
}

const void *db_peek(struct dbq *q, int col)
{
    if (column_is_null(q, col) ||
        !column_is(q, col, SQLITE_TEXT, SQLITE_BLOB)) {
        return NULL;
    }
    return sqlite3_column_type(q->stmt, col) == SQLITE_TEXT
               ? (const void *)sqlite3_column_text(q->stmt, col)
               : sqlite3_column_blob(q->stmt, col);
}

size_t db_bytes(struct dbq *q, int col)
{
    return db_peek(q, col) == NULL ? 0
                                   : (size_t)sqlite3_column_bytes(q->stmt, col);
}

const void *db_blob(struct dbq *q, int col, struct arena *a, size_t *len)
{
    *len = 0;
    if (!column_is(q, col, SQLITE_BLOB, SQLITE_TEXT)) {
        return "";
    }
    return copy_column(q, col, a, len);
}

/* --- whole statements -------------------------------------------------- */

enum rc db_run(struct dbq *q)
{
    bool row = db_next(q);

    assert(!row);
    return db_end(q);
}

enum rc db_run_one(struct dbq *q)
{
    struct db *db = q->db;
    enum rc rc = db_run(q);

    if (rc == RC_OK && sqlite3_changes64(db->sqlite) != 1) {
        rc = RC_CONFLICT;
    }
    return rc;
}

bool db_has_fts5(void)
{
    return sqlite3_compileoption_used("ENABLE_FTS5") != 0;
}

int64_t db_last_id(struct db *db)
{
    return sqlite3_last_insert_rowid(db->sqlite);
}

enum rc db_one_i64(struct dbq *q, int64_t *out)
{
    bool row = db_next(q);
    int64_t value = row ? db_i64(q, 0) : 0;
    enum rc rc = db_end(q);

    if (rc != RC_OK) {
        return rc;
    }
    if (!row) {
        return RC_NOT_FOUND;
    }
    *out = value;
    return RC_OK;
}
