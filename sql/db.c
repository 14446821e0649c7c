/* db.c - the only user of sqlite3.h, beside db_wal.c.
 *
 * Every wait for a lock goes through lock_wait: short random naps up to a
 * bound. SQLite's own busy handler is off, because its growing sleeps starve a
 * process beside a busy one. Where the wait stands follows from what may be
 * repeated: BEGIN IMMEDIATE (nothing has happened yet), the first step of a
 * reading statement outside a write transaction, and all of opening.
 */
#include "sql/db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/db_inside.h"
#include "sql/db_wal.h"

#define NAP_MIN_US   100
#define NAP_MAX_US   500
#define LONG_WAIT_MS 500
/* Who finds an older database waits so long for whoever is bringing it up to
 * date: a large one takes its time, and giving up would only start anew. */
#define MIGRATION_MS 60000
#define OPEN_TRIES   8 /* each is lost only to a replaced file */

enum control {
    CONTROL_BEGIN_READ,
    CONTROL_BEGIN_WRITE,
    CONTROL_COMMIT,
    CONTROL_ROLLBACK,
    CONTROL_SAVEPOINT,
    CONTROL_RELEASE,
    CONTROL_ROLLBACK_TO,
    CONTROL_DATA_VERSION,
    CONTROL__MAX
};

static const char *const CONTROL[CONTROL__MAX] = {
    [CONTROL_BEGIN_READ] = "BEGIN DEFERRED",
    [CONTROL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [CONTROL_COMMIT] = "COMMIT",
    [CONTROL_ROLLBACK] = "ROLLBACK",
    [CONTROL_SAVEPOINT] = "SAVEPOINT member",
    [CONTROL_RELEASE] = "RELEASE member",
    [CONTROL_ROLLBACK_TO] = "ROLLBACK TO member",
    [CONTROL_DATA_VERSION] = "PRAGMA data_version",
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

/* --- failures and waiting ---------------------------------------------- */

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

/* Damage that was seen stays seen: other pages may still be written well. */
static void note_trouble(struct db *db, enum db_trouble trouble)
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
        note_trouble(db, trouble);
    }
}

/* The one place where SQLite's codes become ours and its messages are logged.
 * what: the statement's name. Bound values never get here, except that FTS5
 * quotes a faulty search expression: plain tells to leave its message out. */
static enum rc failure(struct db *db, int code, const char *what, bool plain)
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

struct lock_wait {
    int64_t from_us;
    int64_t bound_us;
};

static struct lock_wait wait_start(int64_t busy_ms)
{
    return (struct lock_wait){.from_us = clock_boot_us(),
                              .bound_us = busy_ms * 1000};
}

static int64_t waited_ms(const struct lock_wait *w)
{
    return (clock_boot_us() - w->from_us) / 1000;
}

/* Nap and return true, or false when the bound has passed. */
static bool wait_again(const struct lock_wait *w)
{
    if (clock_boot_us() - w->from_us >= w->bound_us) {
        return false;
    }
    clock_nap_us(NAP_MIN_US + random_below(NAP_MAX_US - NAP_MIN_US + 1));
    return true;
}

static void log_long_wait(int64_t ms, enum rc rc)
{
    if (ms > LONG_WAIT_MS) {
        log_warn(NULL, "sql: waited %lld ms for the write lock: %s",
                 (long long)ms, rc_name(rc));
    }
}

static bool is_busy(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

static int prepare(struct db *db, const char *text, sqlite3_stmt **out)
{
    struct lock_wait w = wait_start(db->busy_ms);
    int code;

    do {
        code = sqlite3_prepare_v3(db->sqlite, text, -1,
                                  SQLITE_PREPARE_PERSISTENT, out, NULL);
    } while (is_busy(code) && wait_again(&w));
    return code;
}

/* One of our own statements; its first column as a number if out is given. */
static enum rc control(struct db *db, enum control c, int64_t *out)
{
    enum rc rc = RC_OK;
    int code = SQLITE_OK;

    if (db->control[c] == NULL) {
        code = prepare(db, CONTROL[c], &db->control[c]);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(db->control[c]);
    }
    if (code == SQLITE_ROW && out != NULL) {
        *out = sqlite3_column_int64(db->control[c], 0);
    } else if (code != SQLITE_DONE) {
        rc = failure(db, code, CONTROL[c], false);
    }
    (void)sqlite3_reset(db->control[c]);
    return rc;
}

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
    rc = control(db, CONTROL_COMMIT, NULL);
    if (fault == FAULT_ABORT && rc == RC_OK) {
        abort();
    }
    return rc;
}

#else

static enum rc commit_with_faults(struct db *db)
{
    return control(db, CONTROL_COMMIT, NULL);
}

#endif

/* --- opening ----------------------------------------------------------- */

/* Run a pragma or migration, waiting for locks. Rows are thrown away, but the
 * first column of the first goes to out (out_len bytes) if it is given. */
static int exec_one(struct db *db, const char *text, char *out, size_t out_len)
{
    struct lock_wait w = wait_start(db->busy_ms);
    sqlite3_stmt *s = NULL;
    int code = prepare(db, text, &s);

    if (code != SQLITE_OK) {
        return code;
    }
    do {
        (void)sqlite3_reset(s);
        code = sqlite3_step(s);
    } while (is_busy(code) && wait_again(&w));
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

static enum rc exec_or_log(struct db *db, const char *text)
{
    int code = exec_one(db, text, NULL, 0);

    return code == SQLITE_OK ? RC_OK : failure(db, code, text, false);
}

static enum rc set_up(struct db *db)
{
    static const char *const pragmas[] = {
        "PRAGMA synchronous=FULL",
        /* Savepoints would spill their journals into temporary files. */
        "PRAGMA temp_store=MEMORY",
        /* 16 MiB of log before its pages are copied into the database: under
         * load most of them are written again before that. */
        "PRAGMA wal_autocheckpoint=4000",
        /* A log that a reader kept from being begun anew shrinks again. */
        "PRAGMA journal_size_limit=67108864",
        /* What is deleted is overwritten: in its page, and pages that become
         * free. */
        "PRAGMA secure_delete=ON",
        /* Off until the migrations have run: some must rebuild tables. */
        "PRAGMA foreign_keys=OFF",
    };
    const char *journal =
        db->one_file ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";
    char mode[16] = "";
    enum rc rc = RC_OK;
    int code;

    (void)sqlite3_extended_result_codes(db->sqlite, 1);
    (void)sqlite3_busy_timeout(db->sqlite, 0);
    /* A misspelt "column" would become a string. */
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (!db->read_only) {
        code = exec_one(db, journal, mode, sizeof(mode));
        if (code != SQLITE_OK) {
            return failure(db, code, journal, false);
        }
        if (strcmp(mode, db->one_file ? "delete" : "wal") != 0) {
            log_error(NULL, "sql: %s: journal mode is %s", journal, mode);
            return RC_DB;
        }
    }
    for (size_t i = 0; rc == RC_OK && i < sizeof(pragmas) / sizeof(*pragmas);
         i++) {
        rc = exec_or_log(db, pragmas[i]);
    }
    return rc;
}

static enum rc read_version(struct db *db, int64_t *version)
{
    char text[24] = "0";
    int code = exec_one(db, "PRAGMA user_version", text, sizeof(text));

    if (code != SQLITE_OK) {
        return failure(db, code, "PRAGMA user_version", false);
    }
    *version = strtoll(text, NULL, 10);
    return RC_OK;
}

/* The migrations from version on, inside a transaction. */
static enum rc apply(struct db *db, const struct db_options *o, size_t version)
{
    char text[48], orphan[128] = "";
    int code;

    for (size_t i = version; i < o->n_migrations; i++) {
        code = sqlite3_exec(db->sqlite, o->migrations[i].sql, NULL, NULL, NULL);
        if (code != SQLITE_OK) {
            return failure(db, code, o->migrations[i].name, false);
        }
        log_info(NULL, "sql: %s: migrated to %s", o->path,
                 o->migrations[i].name);
    }
    code = exec_one(db, "PRAGMA foreign_key_check", orphan, sizeof(orphan));
    if (code != SQLITE_OK) {
        return failure(db, code, "PRAGMA foreign_key_check", false);
    }
    if (orphan[0] != '\0') {
        log_error(NULL, "sql: a row of %s refers to nothing after migration",
                  orphan);
        return RC_DB;
    }
    (void)snprintf(text, sizeof(text), "PRAGMA user_version=%zu",
                   o->n_migrations);
    return exec_or_log(db, text);
}

/* Of several programs that open a file at once, one migrates it; the others
 * wait for the lock and find nothing left to do. */
static enum rc migrate(struct db *db, const struct db_options *o)
{
    int64_t version = 0;
    enum rc rc = read_version(db, &version);

    if (rc != RC_OK || version == (int64_t)o->n_migrations) {
        return rc;
    }
    if (version > (int64_t)o->n_migrations) {
        log_error(NULL,
                  "sql: %s has schema %lld, this program knows %zu: install "
                  "the newer Aside again, or restore an older backup",
                  o->path, (long long)version, o->n_migrations);
        return RC_NEWER;
    }
    if (db->read_only) {
        log_error(NULL,
                  "sql: %s has schema %lld, this program expects %zu: start "
                  "the responder or the runtime once to bring it up to date",
                  o->path, (long long)version, o->n_migrations);
        return RC_NOT_FOUND;
    }
    rc = db_begin(db, db->busy_ms > MIGRATION_MS ? db->busy_ms : MIGRATION_MS);
    if (rc != RC_OK) {
        return rc;
    }
    rc = read_version(db, &version);
    if (rc == RC_OK && version < (int64_t)o->n_migrations) {
        rc = apply(db, o, (size_t)version);
    }
    if (rc == RC_OK) {
        /* Not db_commit: the crash tests count commits from here on. */
        rc = control(db, CONTROL_COMMIT, NULL);
    }
    db_rollback(db);
    return rc;
}

/* SQLite's count of allocated memory, which nobody reads, would take a lock of
 * the process at every allocation. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    db_wal_register();
}

/* Nobody else may read it, however open its folder is: SQLite would make it for
 * all to read. Its log gets the same rights. A file that is there is not
 * opened: closing it would drop this process's locks on it. */
static void make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0) {
        (void)close(fd);
    }
}

/* On a disk that takes no writes SQLite cannot make the index of the log that
 * it wants to read by. Without a log it needs none, if it is told that nobody
 * writes. */
static bool is_frozen(const char *path)
{
    char log[PATH_MAX];
    struct stat at;
    int len = snprintf(log, sizeof(log), "%s-wal", path);

    return len > 0 && (size_t)len < sizeof(log) && access(path, W_OK) != 0 &&
           errno == EROFS && (stat(log, &at) != 0 || at.st_size == 0);
}

/* As an address for SQLite; false: the path is too long. */
static bool frozen_name(const char *path, char out[PATH_MAX])
{
    size_t n = (size_t)snprintf(out, PATH_MAX, "file:");

    for (const char *p = path; *p != '\0' && n < PATH_MAX - 20; p++) {
        if (strchr("%?#", *p) != NULL) {
            n += (size_t)snprintf(out + n, 4, "%%%02X", (unsigned)*p);
        } else {
            out[n++] = *p;
        }
    }
    (void)snprintf(out + n, PATH_MAX - n, "?immutable=1");
    return n < PATH_MAX - 20;
}

static enum rc open_file(struct db *db, const char *path)
{
    char name[PATH_MAX];
    int flags = SQLITE_OPEN_NOMUTEX |
                (db->read_only ? SQLITE_OPEN_READONLY
                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int code;

    if (!db->read_only) {
        make_private(path);
    } else if (is_frozen(path) && frozen_name(path, name)) {
        path = name;
        flags |= SQLITE_OPEN_URI;
    }
    code = sqlite3_open_v2(path, &db->sqlite, flags, db_wal_name());
    if (code == SQLITE_OK) {
        return RC_OK;
    }
    if (db->read_only && (code & 0xff) == SQLITE_CANTOPEN &&
        sqlite3_system_errno(db->sqlite) == ENOENT) {
        return RC_NOT_FOUND;
    }
    if (db->sqlite == NULL) {
        return RC_NOMEM;
    }
    return failure(db, code, path, false);
}

static enum rc open_once(const struct db_options *o, struct db **out)
{
    struct db *db = calloc(1, sizeof(*db));
    enum rc rc;

    if (db == NULL) {
        return RC_NOMEM;
    }
    db->busy_ms = o->busy_ms;
    db->read_only = o->read_only;
    db->one_file = o->one_file;
    db->trouble = o->trouble;
    for (int i = 0; i < (int)STMT__MAX; i++) {
        db->q[i].db = db;
        db->q[i].id = (enum stmt_id)i;
    }
    rc = open_file(db, o->path);
    if (rc == RC_OK) {
        rc = set_up(db);
    }
    if (rc == RC_OK) {
        rc = migrate(db, o);
    }
    if (rc == RC_OK) {
        rc = exec_or_log(db, "PRAGMA foreign_keys=ON");
    }
    if (rc != RC_OK) {
        db_close(db);
        return rc;
    }
    *out = db;
    return RC_OK;
}

/* A file may be replaced by a restore while its opening waits for the lock that
 * the restore holds. From here on it cannot be: an open connection keeps a lock
 * of its own. */
enum rc db_open(const struct db_options *o, struct db **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct db *db = NULL;
    enum rc rc = RC_BUSY;

    (void)pthread_once(&once, configure);
    for (int i = 0; i < OPEN_TRIES && db == NULL; i++) {
        rc = open_once(o, &db);
        if (rc == RC_OK && db_is_lost(db)) {
            db_close(db);
            db = NULL;
            rc = RC_BUSY;
        } else if (rc != RC_OK) {
            return rc;
        }
    }
    if (rc == RC_OK) {
        *out = db;
    }
    return rc;
}

void db_set_busy(struct db *db, int64_t busy_ms)
{
    db->busy_ms = busy_ms;
}

void db_close(struct db *db)
{
    int code;

    if (db == NULL) {
        return;
    }
    assert(db->n_in_use == 0 && !db->in_tx && !db->in_read);
    for (int i = 0; i < (int)STMT__MAX; i++) {
        (void)sqlite3_finalize(db->q[i].stmt);
        free(db->q[i].asked);
    }
    for (int i = 0; i < CONTROL__MAX; i++) {
        (void)sqlite3_finalize(db->control[i]);
    }
    code = sqlite3_close(db->sqlite);
    assert(code == SQLITE_OK);
    free(db);
}

/* --- transactions ------------------------------------------------------ */

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
    rc = control(db, CONTROL_BEGIN_WRITE, NULL);
    db->in_tx = rc == RC_OK;
    db->n_savepoints = 0;
    db->changes_before = sqlite3_total_changes64(db->sqlite);
    return rc;
}

/* Some failures (a full disk, no memory) end the transaction by themselves;
 * what is written after that would commit row by row. */
static bool tx_is_gone(const struct db *db)
{
    return sqlite3_get_autocommit(db->sqlite) != 0;
}

enum rc db_begin(struct db *db, int64_t busy_ms)
{
    struct lock_wait w = wait_start(busy_ms);
    enum rc rc;

    assert(!db->in_tx && !db->in_read && !db->read_only && db->n_in_use == 0);
    do {
        rc = begin_once(db);
    } while (rc == RC_BUSY && wait_again(&w));
    log_long_wait(waited_ms(&w), rc);
    return rc;
}

enum rc db_commit(struct db *db)
{
    enum rc rc;

    assert(db->in_tx && db->n_savepoints == 0 && db->n_in_use == 0);
    rc = tx_is_gone(db) ? RC_DB : commit_with_faults(db);
    if (rc != RC_OK) {
        db_rollback(db);
        return rc;
    }
    if (sqlite3_total_changes64(db->sqlite) != db->changes_before) {
        note_trouble(db, DB_SOUND);
    }
    db->in_tx = false;
    return RC_OK;
}

void db_rollback(struct db *db)
{
    assert(db->n_in_use == 0);
    if (!tx_is_gone(db)) {
        enum rc rc = control(db, CONTROL_ROLLBACK, NULL);
        /* ROLLBACK fails only where there is nothing to roll back. */
        assert(rc == RC_OK || tx_is_gone(db));
    }
    db->in_tx = false;
    db->n_savepoints = 0;
}

enum rc db_savepoint(struct db *db)
{
    enum rc rc;

    assert(db->in_tx);
    if (tx_is_gone(db)) {
        return RC_DB;
    }
    rc = control(db, CONTROL_SAVEPOINT, NULL);
    if (rc == RC_OK) {
        db->n_savepoints++;
    }
    return rc;
}

enum rc db_release(struct db *db)
{
    assert(db->in_tx && db->n_savepoints > 0 && db->n_in_use == 0);
    db->n_savepoints--;
    return tx_is_gone(db) ? RC_DB : control(db, CONTROL_RELEASE, NULL);
}

enum rc db_rollback_to(struct db *db)
{
    enum rc rc;

    assert(db->in_tx && db->n_savepoints > 0 && db->n_in_use == 0);
    db->n_savepoints--;
    if (tx_is_gone(db)) {
        return RC_DB;
    }
    rc = control(db, CONTROL_ROLLBACK_TO, NULL);
    if (rc == RC_OK) {
        rc = control(db, CONTROL_RELEASE, NULL);
    }
    return rc == RC_OK ? RC_OK : RC_DB;
}

bool db_in_tx(const struct db *db)
{
    return db->in_tx;
}

int64_t db_mark(const struct db *db)
{
    return sqlite3_total_changes64(db->sqlite);
}

bool db_stands_at(const struct db *db, int64_t mark)
{
    return !tx_is_gone(db) && sqlite3_total_changes64(db->sqlite) == mark;
}

enum rc db_tx(struct db *db, db_fn *fn, void *arg)
{
    struct lock_wait w = wait_start(db->busy_ms);
    int64_t lock_wait_ms;
    enum rc rc;

    assert(!db->in_tx && !db->in_read && !db->read_only && db->n_in_use == 0);
    do {
        rc = begin_once(db);
        lock_wait_ms = waited_ms(&w);
        if (rc != RC_OK) {
            continue;
        }
        rc = fn(db, arg);
        if (rc == RC_OK) {
            rc = db_commit(db);
        } else {
            db_rollback(db);
        }
    } while (rc == RC_BUSY && wait_again(&w));
    log_long_wait(lock_wait_ms, rc);
    return rc;
}

enum rc db_begin_read(struct db *db)
{
    enum rc rc;

    assert(!db->in_tx && !db->in_read && db->n_in_use == 0);
    rc = control(db, CONTROL_BEGIN_READ, NULL);
    db->in_read = rc == RC_OK;
    return rc;
}

void db_end_read(struct db *db)
{
    assert(db->in_read && db->n_in_use == 0);
    db->in_read = false;
    db_rollback(db);
}

/* --- statements -------------------------------------------------------- */

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
        keep(q, failure(q->db, code, STMT[q->id].name,
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
    keep_code(q, prepare(q->db, st->text, &q->stmt));
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
    if (db->in_tx && tx_is_gone(db)) {
        keep(q, RC_DB);
    } else if (q->stmt == NULL) {
        prepare_use(q);
    }
    return q;
}

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

/* The first step, where a lock may be in the way: a reader meets one while
 * another process recovers or closes the database. A write transaction holds
 * its lock already, and is repeated as a whole if at all. */
static int first_step(struct dbq *q)
{
    struct lock_wait w = wait_start(q->db->busy_ms);
    int n = sqlite3_bind_parameter_count(q->stmt);
    int code;

    assert(n == 0 || q->bound == UINT64_MAX >> (64 - n));
    q->started = true;
    code = sqlite3_step(q->stmt);
    while (is_busy(code) && !q->db->in_tx && wait_again(&w)) {
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

enum rc db_data_version(struct db *db, int64_t *out)
{
    return control(db, CONTROL_DATA_VERSION, out);
}

/* --- for db_copy.c ------------------------------------------------------- */

sqlite3 *db_inside_handle(struct db *db)
{
    return db->sqlite;
}

enum rc db_inside_failure(struct db *db, int code, const char *what)
{
    return failure(db, code, what, false);
}

enum rc db_inside_exec(struct db *db, const char *text)
{
    return exec_or_log(db, text);
}

/* --- the catalogue's guard --------------------------------------------- */

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
    code = prepare(db, text, &s);
    sqlite3_free(text);
    if (code != SQLITE_OK) {
        return failure(db, code, st->name, false);
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
