/* db_inside.h - a connection, and what the files of db.h share: db.c, db_open.c,
 * db_tx.c, db_wait.c, db_check.c and db_copy.c. No other file includes it. */
#ifndef ASIDE_SQL_DB_INSIDE_H
#define ASIDE_SQL_DB_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "sql/db.h"

/* Statements of our own, which are not in the catalogue. */
enum db_control {
    CONTROL_BEGIN_READ,
    CONTROL_BEGIN_WRITE,
    CONTROL_COMMIT,
    CONTROL_ROLLBACK,
    CONTROL_SAVEPOINT,
    CONTROL_RELEASE,
    CONTROL_ROLLBACK_TO,
    CONTROL__MAX
};

struct dbq {
    struct db *db;
    sqlite3_stmt *stmt; /* NULL until first used */
    /* By parameter, the name it was last asked for by: names are constants, so
     * the same place in the code asks with the same address. */
    const char **asked;
    enum stmt_id id;
    uint64_t bound; /* bit n: parameter n + 1 was bound */
    enum rc rc;     /* first failure of this use */
    bool in_use;
    bool started; /* stepped at least once */
    bool row;     /* a row stands */
};

struct db {
    sqlite3 *sqlite;
    int64_t busy_ms;
    bool read_only;
    bool one_file;
    int *trouble;           /* NULL: nobody wants to know */
    int64_t changes_before; /* this write transaction */
    bool in_tx;             /* between db_begin and its end */
    bool in_read;           /* between db_begin_read and db_end_read */
    int n_savepoints;
    int n_in_use;
    sqlite3_stmt *control[CONTROL__MAX];
    struct dbq q[STMT__MAX + 1];
};

/* --- db_wait.c ---------------------------------------------------------- */

/* A wait for a lock. */
struct db_wait {
    int64_t from_us;
    int64_t bound_us;
};

/* busy_ms: the bound of the whole wait, from now on. */
struct db_wait db_wait_start(int64_t busy_ms);
/* Nap and return true, or false when the bound has passed. */
bool db_wait_again(const struct db_wait *);
int64_t db_wait_ms(const struct db_wait *); /* so far */
/* Log a wait for the write lock that was long. */
void db_wait_log(int64_t ms, enum rc);
/* SQLite's code says that a lock was in the way. */
bool db_wait_is_due(int code);

/* The one place where SQLite's codes become ours and its messages are logged.
 * what: the statement's name. Bound values never get here, except that FTS5
 * quotes a faulty search expression: plain tells to leave its message out. */
enum rc db_inside_failure(struct db *, int code, const char *what,
                          bool plain) RC_MUST_CHECK;
/* Tell what a call has met. Damage that was seen stays seen: other pages may
 * still be written well. */
void db_inside_note_trouble(struct db *, enum db_trouble);

/* A statement that stays; waits for locks. SQLite's code. */
int db_inside_prepare(struct db *, const char *text, sqlite3_stmt **out);
/* One of our own statements. */
enum rc db_inside_control(struct db *, enum db_control) RC_MUST_CHECK;
/* Run a pragma or migration, waiting for locks. Rows are thrown away, but the
 * first column of the first goes to out (out_len bytes) if it is given. SQLite's
 * code. */
int db_inside_exec_one(struct db *, const char *text, char *out,
                       size_t out_len);
/* The same without a result; a failure is logged. */
enum rc db_inside_exec(struct db *, const char *text) RC_MUST_CHECK;

/* --- db_tx.c ------------------------------------------------------------ */

/* Some failures (a full disk, no memory) end the transaction by themselves;
 * what is written after that would commit row by row. */
bool db_inside_tx_is_gone(const struct db *);

#endif
