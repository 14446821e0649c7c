/* db_tx.c - transactions and savepoints. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "sql/base/log.h"
#include "sql/db_inside.h"

/* --- faults for the crash tests ---------------------------------------- */

#ifdef ASIDE_FAULTS

enum fault { FAULT_NONE, FAULT_ABORT, FAULT_BEFORE, FAULT_FAIL };

/* Write transactions that this process tried to commit. */
static int64_t fault_commits;

/* ASIDE_FAULT_COMMIT = "abort:N" (die right after the N-th commit of a write
 * transaction of this process), "before:N" (die just before it) or "fail:N"
 * (roll it back and report a failure). */
static enum fault fault_now(void)
{
    int64_t n = __atomic_add_fetch(&fault_commits, 1, __ATOMIC_RELAXED);
    const char *plan = getenv("ASIDE_FAULT_COMMIT");
    char kind[8] = "";
    long long at = 0;

    if (plan == NULL || sscanf(plan, "%7[a-z]:%lld", kind, &at) != 2 ||
        at != n) {
        return FAULT_NONE;
    }
    if (strcmp(kind, "abort") == 0) {
        return FAULT_ABORT;
    }
    return strcmp(kind, "before") == 0 ? FAULT_BEFORE : FAULT_FAIL;
}

static enum rc commit_with_faults(struct db *db)
{
    enum fault fault = fault_now();
    enum rc rc;

    if (fault == FAULT_BEFORE) {
        abort();
    }
    if (fault == FAULT_FAIL) {
        log_error(NULL, "sql: COMMIT: made to fail by ASIDE_FAULT_COMMIT");
        return RC_DB;
    }
    rc = db_inside_control(db, CONTROL_COMMIT);
    if (fault == FAULT_ABORT && rc == RC_OK) {
        abort();
    }
    return rc;
}

#else

static enum rc commit_with_faults(struct db *db)
{
    return db_inside_control(db, CONTROL_COMMIT);
}

#endif

/* --- writing ----------------------------------------------------------- */

bool db_is_lost(struct db *db)
{
    int moved = 0;

    return sqlite3_file_control(db->sqlite, NULL, SQLITE_FCNTL_HAS_MOVED,
                                &moved) == SQLITE_OK &&
           moved != 0;
}

static enum rc begin_once(struct db *db)
{
    enum rc rc;

    if (db_is_lost(db)) {
        log_error(NULL, "sql: %s was deleted or replaced under us",
                  sqlite3_db_filename(db->sqlite, NULL));
        return RC_FENCED;
    }
    rc = db_inside_control(db, CONTROL_BEGIN_WRITE);
    db->in_tx = rc == RC_OK;
    db->n_savepoints = 0;
    db->changes_before = sqlite3_total_changes64(db->sqlite);
    return rc;
}

bool db_inside_tx_is_gone(const struct db *db)
{
    return sqlite3_get_autocommit(db->sqlite) != 0;
}

enum rc db_begin(struct db *db, int64_t busy_ms)
{
    struct db_wait w = db_wait_start(busy_ms);
    enum rc rc;

    assert(!db->in_tx && !db->in_read && !db->read_only && db->n_in_use == 0);
    do {
        rc = begin_once(db);
    } while (rc == RC_BUSY && db_wait_again(&w));
    db_wait_log(db_wait_ms(&w), rc);
    return rc;
}

enum rc db_commit(struct db *db)
{
    enum rc rc;

    assert(db->in_tx && db->n_savepoints == 0 && db->n_in_use == 0);
    rc = db_inside_tx_is_gone(db) ? RC_DB : commit_with_faults(db);
    if (rc != RC_OK) {
        db_rollback(db);
        return rc;
    }
    if (sqlite3_total_changes64(db->sqlite) != db->changes_before) {
        db_inside_note_trouble(db, DB_SOUND);
    }
    db->in_tx = false;
    return RC_OK;
}

void db_rollback(struct db *db)
{
    assert(db->n_in_use == 0);
    if (!db_inside_tx_is_gone(db)) {
        enum rc rc = db_inside_control(db, CONTROL_ROLLBACK);
        /* ROLLBACK fails only where there is nothing to roll back. */
        assert(rc == RC_OK || db_inside_tx_is_gone(db));
    }
    db->in_tx = false;
    db->n_savepoints = 0;
}

enum rc db_savepoint(struct db *db)
{
    enum rc rc;

    assert(db->in_tx);
    if (db_inside_tx_is_gone(db)) {
        return RC_DB;
    }
    rc = db_inside_control(db, CONTROL_SAVEPOINT);
    if (rc == RC_OK) {
        db->n_savepoints++;
    }
    return rc;
}

enum rc db_release(struct db *db)
{
    assert(db->in_tx && db->n_savepoints > 0 && db->n_in_use == 0);
    db->n_savepoints--;
    return db_inside_tx_is_gone(db) ? RC_DB
                                    : db_inside_control(db, CONTROL_RELEASE);
}

enum rc db_rollback_to(struct db *db)
{
    enum rc rc;

    assert(db->in_tx && db->n_savepoints > 0 && db->n_in_use == 0);
    db->n_savepoints--;
    if (db_inside_tx_is_gone(db)) {
        return RC_DB;
    }
    rc = db_inside_control(db, CONTROL_ROLLBACK_TO);
    if (rc == RC_OK) {
        rc = db_inside_control(db, CONTROL_RELEASE);
    }
    return rc == RC_OK ? RC_OK : RC_DB;
}

int64_t db_mark(const struct db *db)
{
    return sqlite3_total_changes64(db->sqlite);
}

bool db_stands_at(const struct db *db, int64_t mark)
{
    return !db_inside_tx_is_gone(db) &&
           sqlite3_total_changes64(db->sqlite) == mark;
}

enum rc db_tx(struct db *db, db_fn *fn, void *arg)
{
    struct db_wait w = db_wait_start(db->busy_ms);
    int64_t lock_wait_ms;
    enum rc rc;

    assert(!db->in_tx && !db->in_read && !db->read_only && db->n_in_use == 0);
    do {
        rc = begin_once(db);
        lock_wait_ms = db_wait_ms(&w);
        if (rc != RC_OK) {
            continue;
        }
        rc = fn(db, arg);
        if (rc == RC_OK) {
            rc = db_commit(db);
        } else {
            db_rollback(db);
        }
    } while (rc == RC_BUSY && db_wait_again(&w));
    db_wait_log(lock_wait_ms, rc);
    return rc;
}

/* --- reading ----------------------------------------------------------- */

enum rc db_begin_read(struct db *db)
{
    enum rc rc;

    assert(!db->in_tx && !db->in_read && db->n_in_use == 0);
    rc = db_inside_control(db, CONTROL_BEGIN_READ);
    db->in_read = rc == RC_OK;
    return rc;
}

void db_end_read(struct db *db)
{
    assert(db->in_read && db->n_in_use == 0);
    db->in_read = false;
    db_rollback(db);
}
