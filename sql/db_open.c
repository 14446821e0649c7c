/* db_open.c - opening a database: its file, its pragmas, its migrations. */
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

#include "sql/base/log.h"
#include "sql/db_inside.h"
#include "sql/db_wal.h"

/* Who finds an older database waits so long for whoever is bringing it up to
 * date: a large one takes its time, and giving up would only start anew. */
#define MIGRATION_MS 60000
#define OPEN_TRIES   8 /* each is lost only to a replaced file */

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
        code = db_inside_exec_one(db, journal, mode, sizeof(mode));
        if (code != SQLITE_OK) {
            return db_inside_failure(db, code, journal, false);
        }
        if (strcmp(mode, db->one_file ? "delete" : "wal") != 0) {
            log_error(NULL, "sql: %s: journal mode is %s", journal, mode);
            return RC_DB;
        }
    }
    for (size_t i = 0; rc == RC_OK && i < sizeof(pragmas) / sizeof(*pragmas);
         i++) {
        rc = db_inside_exec(db, pragmas[i]);
    }
    return rc;
}

/* --- migrations -------------------------------------------------------- */

static enum rc read_version(struct db *db, int64_t *version)
{
    char text[24] = "0";
    int code =
        db_inside_exec_one(db, "PRAGMA user_version", text, sizeof(text));

    if (code != SQLITE_OK) {
        return db_inside_failure(db, code, "PRAGMA user_version", false);
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
            return db_inside_failure(db, code, o->migrations[i].name, false);
        }
        log_info(NULL, "sql: %s: migrated to %s", o->path,
                 o->migrations[i].name);
    }
    code = db_inside_exec_one(db, "PRAGMA foreign_key_check", orphan,
                              sizeof(orphan));
    if (code != SQLITE_OK) {
        return db_inside_failure(db, code, "PRAGMA foreign_key_check", false);
    }
    if (orphan[0] != '\0') {
        log_error(NULL, "sql: a row of %s refers to nothing after migration",
                  orphan);
        return RC_DB;
    }
    (void)snprintf(text, sizeof(text), "PRAGMA user_version=%zu",
                   o->n_migrations);
    return db_inside_exec(db, text);
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
        rc = db_inside_control(db, CONTROL_COMMIT);
    }
    db_rollback(db);
    return rc;
}

/* --- the file ---------------------------------------------------------- */

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
    return db_inside_failure(db, code, path, false);
}

/* --- the whole --------------------------------------------------------- */

/* SQLite's count of allocated memory, which nobody reads, would take a lock of
 * the process at every allocation. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    db_wal_register();
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
        rc = db_inside_exec(db, "PRAGMA foreign_keys=ON");
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
