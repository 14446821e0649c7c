/* db_wait.c - calls of SQLite that may wait for a lock, or fail.
 *
 * Every wait for a lock goes through struct db_wait: short random naps up to a
 * bound. SQLite's own busy handler is off, because its growing sleeps starve a
 * process beside a busy one. Where the wait stands follows from what may be
 * repeated: BEGIN IMMEDIATE (nothing has happened yet), the first step of a
 * reading statement outside a write transaction, and all of opening.
 */
#include <errno.h>
#include <stdio.h>

#include <sqlite3.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/db_inside.h"
#include "sql/db_wal.h"

#define NAP_MIN_US   100
#define NAP_MAX_US   500
#define LONG_WAIT_MS 500

static const char *const CONTROL[CONTROL__MAX] = {
    [CONTROL_BEGIN_READ] = "BEGIN DEFERRED",
    [CONTROL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [CONTROL_COMMIT] = "COMMIT",
    [CONTROL_ROLLBACK] = "ROLLBACK",
    [CONTROL_SAVEPOINT] = "SAVEPOINT member",
    [CONTROL_RELEASE] = "RELEASE member",
    [CONTROL_ROLLBACK_TO] = "ROLLBACK TO member",
};

/* --- failures ---------------------------------------------------------- */

static enum db_trouble trouble_of_errno(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return DB_FULL;
    case EROFS:
        return DB_READ_ONLY;
    default:
        return DB_FAILING;
    }
}

static enum db_trouble trouble_of(struct db *db, int code)
{
    int error = db_wal_take_errno();

    switch (code & 0xff) {
    case SQLITE_FULL:
        return DB_FULL;
    case SQLITE_READONLY:
        return DB_READ_ONLY;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return trouble_of_errno(error != 0 ? error
                                           : sqlite3_system_errno(db->sqlite));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return DB_DAMAGED;
    default:
        return DB_SOUND;
    }
}

void db_inside_note_trouble(struct db *db, enum db_trouble trouble)
{
    int was;

    if (db->trouble == NULL) {
        return;
    }
    was = __atomic_load_n(db->trouble, __ATOMIC_RELAXED);
    if (was != (int)trouble && was != DB_DAMAGED) {
        __atomic_store_n(db->trouble, (int)trouble, __ATOMIC_RELAXED);
    }
}

static void note_failure(struct db *db, int code)
{
    enum db_trouble trouble = trouble_of(db, code);

    if (trouble != DB_SOUND) {
        db_inside_note_trouble(db, trouble);
    }
}

enum rc db_inside_failure(struct db *db, int code, const char *what, bool plain)
{
    int extended = sqlite3_extended_errcode(db->sqlite);
    const char *message =
        plain ? sqlite3_errstr(code) : sqlite3_errmsg(db->sqlite);

    note_failure(db, code);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return RC_BUSY;
    case SQLITE_CONSTRAINT:
        log_debug(NULL, "sql: %s: %d/%d: %s", what, code & 0xff, extended,
                  message);
        return RC_CONFLICT;
    case SQLITE_TOOBIG:
        return RC_TOO_LARGE;
    case SQLITE_FULL:
    case SQLITE_IOERR:
        log_error(NULL, "sql: %s: %d/%d: %s", what, code & 0xff, extended,
                  message);
        return RC_IO;
    case SQLITE_NOMEM:
        log_error(NULL, "sql: %s: out of memory", what);
        return RC_NOMEM;
    default:
        log_error(NULL, "sql: %s: %d/%d: %s", what, code & 0xff, extended,
                  message);
        return RC_DB;
    }
}

/* --- waiting ----------------------------------------------------------- */

struct db_wait db_wait_start(int64_t busy_ms)
{
    return (struct db_wait){.from_us = clock_boot_us(),
                            .bound_us = busy_ms * 1000};
}

int64_t db_wait_ms(const struct db_wait *w)
{
    return (clock_boot_us() - w->from_us) / 1000;
}

bool db_wait_again(const struct db_wait *w)
{
    if (clock_boot_us() - w->from_us >= w->bound_us) {
        return false;
    }
    clock_nap_us(NAP_MIN_US + random_below(NAP_MAX_US - NAP_MIN_US + 1));
    return true;
}

void db_wait_log(int64_t ms, enum rc rc)
{
    if (ms > LONG_WAIT_MS) {
        log_warn(NULL, "sql: waited %lld ms for the write lock: %s",
                 (long long)ms, rc_name(rc));
    }
}

bool db_wait_is_due(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int db_inside_prepare(struct db *db, const char *text, sqlite3_stmt **out)
{
    struct db_wait w = db_wait_start(db->busy_ms);
    int code;

    do {
        code = sqlite3_prepare_v3(db->sqlite, text, -1,
                                  SQLITE_PREPARE_PERSISTENT, out, NULL);
    } while (db_wait_is_due(code) && db_wait_again(&w));
    return code;
}

enum rc db_inside_control(struct db *db, enum db_control c)
{
    enum rc rc = RC_OK;
    int code = SQLITE_OK;

    if (db->control[c] == NULL) {
        code = db_inside_prepare(db, CONTROL[c], &db->control[c]);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(db->control[c]);
    }
    if (code != SQLITE_DONE) {
        rc = db_inside_failure(db, code, CONTROL[c], false);
    }
    (void)sqlite3_reset(db->control[c]);
    return rc;
}

int db_inside_exec_one(struct db *db, const char *text, char *out,
                       size_t out_len)
{
    struct db_wait w = db_wait_start(db->busy_ms);
    sqlite3_stmt *s = NULL;
    int code = db_inside_prepare(db, text, &s);

    if (code != SQLITE_OK) {
        return code;
    }
    do {
        (void)sqlite3_reset(s);
        code = sqlite3_step(s);
    } while (db_wait_is_due(code) && db_wait_again(&w));
    if (code == SQLITE_ROW && out != NULL) {
        const char *value = (const char *)sqlite3_column_text(s, 0);
        (void)snprintf(out, out_len, "%s", value == NULL ? "" : value);
    }
    for (int i = 0; code == SQLITE_ROW && i < 1000; i++) {
        code = sqlite3_step(s);
    }
    (void)sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

enum rc db_inside_exec(struct db *db, const char *text)
{
    int code = db_inside_exec_one(db, text, NULL, 0);

    return code == SQLITE_OK ? RC_OK : db_inside_failure(db, code, text, false);
}
