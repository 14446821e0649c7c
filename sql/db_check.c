/* db_check.c - the guard of the catalogue of statements. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "sql/db_inside.h"

static enum rc fault_found(char *err, size_t err_len, const struct stmt *st,
                           const char *what, const char *detail)
{
    (void)snprintf(err, err_len, "%s: %s%s%s", st->name, what,
                   detail[0] == '\0' ? "" : ": ", detail);
    return RC_INVALID;
}

static enum rc check_header(sqlite3_stmt *s, const struct stmt *st, char *err,
                            size_t err_len)
{
    int params = sqlite3_bind_parameter_count(s);
    int cols = sqlite3_column_count(s);

    if (params != st->params || cols != st->cols) {
        (void)snprintf(err, err_len,
                       "%s: has params=%d cols=%d, says params=%d cols=%d",
                       st->name, params, cols, st->params, st->cols);
        return RC_INVALID;
    }
    for (int i = 1; i <= params; i++) {
        if (sqlite3_bind_parameter_name(s, i) == NULL) {
            return fault_found(err, err_len, st, "a parameter has no name", "");
        }
    }
    if ((sqlite3_stmt_readonly(s) != 0) == st->write) {
        return fault_found(
            err, err_len, st,
            st->write ? "reads, says write" : "writes, says read", "");
    }
    return RC_OK;
}

/* Does this line of a query plan walk a whole table, or sort? Constant rows
 * and sub-queries (whose own lines follow) do not, and of virtual tables only
 * those without a constraint: "... VIRTUAL TABLE INDEX 0:". */
static bool is_slow(const char *detail)
{
    static const char whole[] = "VIRTUAL TABLE INDEX 0:";
    size_t len = strlen(detail);

    if (strncmp(detail, "USE TEMP B-TREE", 15) == 0) {
        return true;
    }
    if (strncmp(detail, "SCAN ", 5) != 0 ||
        strstr(detail, "CONSTANT ROW") != NULL ||
        strncmp(detail, "SCAN (", 6) == 0) {
        return false;
    }
    if (strstr(detail, "VIRTUAL TABLE INDEX") == NULL) {
        return true;
    }
    return len >= sizeof(whole) - 1 &&
           strcmp(detail + len - (sizeof(whole) - 1), whole) == 0;
}

static enum rc check_plan(struct db *db, const struct stmt *st, char *err,
                          size_t err_len)
{
    char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", st->text);
    sqlite3_stmt *s = NULL;
    enum rc rc = RC_OK;
    int code;

    if (text == NULL) {
        return RC_NOMEM;
    }
    code = db_inside_prepare(db, text, &s);
    sqlite3_free(text);
    if (code != SQLITE_OK) {
        return db_inside_failure(db, code, st->name, false);
    }
    while (rc == RC_OK && sqlite3_step(s) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(s, 3);
        if (detail != NULL && is_slow(detail)) {
            rc = fault_found(err, err_len, st, "is slow", detail);
        }
    }
    (void)sqlite3_finalize(s);
    return rc;
}

enum rc db_check_statement(struct db *db, enum stmt_id id, char *err,
                           size_t err_len)
{
    const struct stmt *st = &STMT[id];
    sqlite3_stmt *s = NULL;
    const char *tail = "";
    enum rc rc;

    if (sqlite3_prepare_v3(db->sqlite, st->text, -1, 0, &s, &tail) !=
        SQLITE_OK) {
        return fault_found(err, err_len, st, "does not prepare",
                           sqlite3_errmsg(db->sqlite));
    }
    rc = check_header(s, st, err, err_len);
    if (rc == RC_OK && tail[strspn(tail, " \t\r\n")] != '\0') {
        rc = fault_found(err, err_len, st, "more than one statement", "");
    }
    if (rc == RC_OK && !st->scan) {
        rc = check_plan(db, st, err, err_len);
    }
    (void)sqlite3_finalize(s);
    return rc;
}
