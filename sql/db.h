/* db.h - SQLite behind a small door: open, migrate, statements, transactions.
 *
 * Only the files of sql/ include this header; only those named db*
 * include sqlite3.h. SQL text lives in the folders query and schema, and reaches here
 * as the generated table of statements (gen/stmt.h).
 *
 * A handle belongs to one thread. Text that is read is copied into the arena
 * passed in; text that is bound must stay until db_end.
 *
 * Reading a statement:
 *
 *     struct dbq *q = db_use(db, STMT_RUN_GET);
 *     db_bind_i64(q, ":id", id);
 *     while (db_next(q)) {
 *         row->state = db_i64(q, 0);
 *         row->title = db_text(q, 1, arena);
 *     }
 *     return db_end(q);
 *
 * Binding, stepping and reading keep the first failure, which db_end returns;
 * db_end also resets, so that no read transaction stays open by accident.
 */
#ifndef ASIDE_SQL_DB_H
#define ASIDE_SQL_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen/stmt.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

struct db;  /* a connection */
struct dbq; /* a prepared statement in use */

/* One migration, from schema/NNNN_name.sql. */
struct db_migration {
    const char *name;
    const char *sql;
};

/* What is wrong with the disk or the file, as far as calls have met it. */
enum db_trouble {
    DB_SOUND = 0,
    DB_FULL,      /* no space, or another limit of the system */
    DB_READ_ONLY, /* nothing can be written */
    DB_FAILING,   /* reading or writing fails otherwise */
    DB_DAMAGED,   /* what is in the file makes no sense: stays until the end */
    DB_TROUBLE__MAX
};

struct db_options {
    const char *path;
    const struct db_migration *migrations; /* applied in order; the count is */
    size_t n_migrations;                   /* the schema's version */
    int64_t busy_ms; /* bound of every wait for a lock, but for one that is held
                      * for a migration: that is a minute */
    bool read_only;  /* no migration; db_tx asserts */
    /* Where failures and successes of writing leave what they tell: an enum
     * db_trouble, shared by any number of connections and threads. May be
     * NULL. */
    int *trouble;
    bool one_file; /* no log beside it: for a copy that is given away */
};

/* Open, set the pragmas (WAL, synchronous=FULL, foreign keys, temporary
 * tables in memory, deleted content overwritten, no double-quoted strings) and
 * migrate.
 * RC_NEWER: the file was written by a newer Aside. RC_NOT_FOUND: read_only and
 * no file, a file without schema or with an older one. */
enum rc db_open(const struct db_options *, struct db **out) RC_MUST_CHECK;
/* Another bound for every wait from now on. */
void db_set_busy(struct db *, int64_t busy_ms);
void db_close(
    struct db *); /* NULL is allowed; asserts that nothing is in use */

/* The one door for writing: BEGIN IMMEDIATE, fn, COMMIT. Anything but RC_OK
 * from fn, or a failing COMMIT, rolls back and is returned; RC_BUSY is tried
 * again as a whole, with short random naps, until busy_ms have passed. fn must
 * be repeatable and touch only the database and what it overwrites anyway.
 * Asserts that no statement is in use before, and none is left in use. */
typedef enum rc db_fn(struct db *, void *arg);
enum rc db_tx(struct db *, db_fn *fn, void *arg) RC_MUST_CHECK;

/* One consistent view over several statements, for store_read_* alone. Writing
 * statements assert until db_end_read. */
enum rc db_begin_read(struct db *) RC_MUST_CHECK;
void db_end_read(struct db *);

/* The pieces of a group commit, for store_batch_* alone: begin waits for the
 * lock as db_tx does; a savepoint undoes one member without the others. A
 * failing commit has rolled back. db_rollback may be called when SQLite, or a
 * failed commit, has ended the transaction already. */
enum rc db_begin(struct db *, int64_t busy_ms) RC_MUST_CHECK;
enum rc db_commit(struct db *) RC_MUST_CHECK;
void db_rollback(struct db *);
enum rc db_savepoint(struct db *) RC_MUST_CHECK;
enum rc db_release(struct db *) RC_MUST_CHECK;
/* Undo to the savepoint and drop it (so that each db_savepoint is followed by
 * one db_release or one db_rollback_to). RC_DB: the whole transaction is gone
 * already. */
enum rc db_rollback_to(struct db *) RC_MUST_CHECK;

/* For members without savepoints: how much this connection has changed so far;
 * and whether that is still all, in a transaction that is still there. */
int64_t db_mark(const struct db *);
bool db_stands_at(const struct db *, int64_t mark);

/* The prepared statement, reset and unbound. Asserts that it is not in use,
 * and that a writing statement stands inside a write transaction. A failure
 * to prepare is kept and comes from db_end. */
struct dbq *db_use(struct db *, enum stmt_id);

/* By name, with the colon; a constant, whose address is remembered. An unknown
 * name is a bug and asserts, and so is a parameter that is still unbound at the
 * first db_next. */
void db_bind_i64(struct dbq *, const char *name, int64_t);
void db_bind_text(struct dbq *, const char *name,
                  const char *); /* NULL: null */
void db_bind_textn(struct dbq *, const char *name, const char *, size_t len);
void db_bind_blob(struct dbq *, const char *name, const void *, size_t len);
void db_bind_null(struct dbq *, const char *name);
/* 0 binds null: for references that may be unset. */
void db_bind_i64_or_null(struct dbq *, const char *name, int64_t);

/* True while a row stands; false at the end or on failure. A reading statement
 * that finds the database busy waits as db_tx does. */
bool db_next(struct dbq *);
enum rc db_end(struct dbq *) RC_MUST_CHECK;
/* Keep a failure found while reading: the row makes no sense, or the caller
 * has no room for it. db_next ends and db_end returns it. */
void db_fail(struct dbq *, enum rc);

/* Columns of the standing row, counted from 0. NULL or another type where a
 * value is expected is kept as RC_DB, a full arena as RC_TOO_LARGE; the _or
 * variants accept NULL. After a failure numbers are 0 and texts "". */
int64_t db_i64(struct dbq *, int col);
int64_t db_i64_or(struct dbq *, int col, int64_t fallback);
double db_real(struct dbq *, int col);
const char *db_text(struct dbq *, int col, struct arena *);
const char *db_text_or(struct dbq *, int col, struct arena *,
                       const char *fallback);
/* Text or blob in place, without a copy: valid until the next db_next or
 * db_end. NULL for null. db_bytes: its length, 0 for null. */
const void *db_peek(struct dbq *, int col);
size_t db_bytes(struct dbq *, int col);
/* Bytes of a text or blob column; *len set. */
const void *db_blob(struct dbq *, int col, struct arena *, size_t *len);

/* Run a statement that returns no row. */
enum rc db_run(struct dbq *) RC_MUST_CHECK;
/* The same, RC_CONFLICT unless it changed exactly one row. */
enum rc db_run_one(struct dbq *) RC_MUST_CHECK;
int64_t db_last_id(struct db *); /* row id of the last INSERT */
bool db_has_fts5(void);          /* this SQLite was built with it */
/* One integer; RC_NOT_FOUND without a row. The statement is ended. */
enum rc db_one_i64(struct dbq *, int64_t *out) RC_MUST_CHECK;

/* Is the file that is open no longer the one at its path? What is written to it
 * would be gone with the process, so every db_begin looks. */
bool db_is_lost(struct db *);

/* For the test that guards the catalogue: prepare statement id and compare it
 * with its header; a line about the first fault into err. */
enum rc db_check_statement(struct db *, enum stmt_id, char *err,
                           size_t err_len) RC_MUST_CHECK;

#endif
