#include "sql/db_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/db_inside.h"

/* Pages copied between two looks at what came of it. */
#define STEP_PAGES 1024
/* How often the log is asked to be emptied: readers come and go. */
#define EMPTY_TRIES  200
#define EMPTY_NAP_US 10000
#define SETTLE_MS    1000

/* Where SQLite's locks on a file lie, by the format of its files. */
#define LOCKS_AT    0x40000000
#define LOCKS_BYTES 512

/* In the header of a file. */
#define HEADER_BYTES 100
#define VERSION_AT   60

/* --- copying ------------------------------------------------------------ */

static enum rc copy_pages(struct db *from, sqlite3 *to)
{
    sqlite3_backup *copy =
        sqlite3_backup_init(to, "main", from->sqlite, "main");
    int code = SQLITE_OK;

    while (copy != NULL && code == SQLITE_OK) {
        code = sqlite3_backup_step(copy, STEP_PAGES);
    }
    code = copy == NULL ? sqlite3_errcode(to) : sqlite3_backup_finish(copy);
    if (code == SQLITE_OK) {
        return RC_OK;
    }
    log_error(NULL, "sql: copying: %d: %s", code, sqlite3_errmsg(to));
    return (code & 0xff) == SQLITE_BUSY ? RC_BUSY : RC_IO;
}

/* While the read stands, what is read does not change: the copy is never begun
 * anew, however much is written meanwhile. */
static enum rc copy_as_read(struct db *from, sqlite3 *to)
{
    enum rc rc = db_begin_read(from);

    if (rc != RC_OK) {
        return rc;
    }
    rc = db_inside_exec(from, "SELECT 1 FROM sqlite_schema");
    if (rc == RC_OK) {
        rc = copy_pages(from, to);
    }
    db_end_read(from);
    return rc;
}

enum rc db_copy_to(struct db *from, const char *path)
{
    sqlite3 *to = NULL;
    int code = sqlite3_open_v2(
        path, &to,
        SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    enum rc rc = RC_IO;

    if (code == SQLITE_OK) {
        rc = copy_as_read(from, to);
    } else {
        log_error(NULL, "sql: %s: %s", path, sqlite3_errmsg(to));
    }
    (void)sqlite3_close(to);
    return rc;
}

/* --- judging ------------------------------------------------------------ */

/* Each row of a pragma that tells of faults. */
static enum rc tell_rows(struct db *db, const char *pragma, db_fault_fn *fn,
                         void *arg)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(db->sqlite, pragma, -1, &s, NULL);
    int n = 0;

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(s);
        if (code == SQLITE_ROW && n++ < DB_COPY_FAULTS) {
            const char *line = (const char *)sqlite3_column_text(s, 0);

            if (line != NULL && strcmp(line, "ok") != 0) {
                fn(arg, line);
            }
        }
    }
    (void)sqlite3_finalize(s);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
        fn(arg, sqlite3_errstr(code));
        return RC_OK;
    }
    return code == SQLITE_DONE ? RC_OK
                               : db_inside_failure(db, code, pragma, false);
}

enum rc db_copy_verify(struct db *db, bool quick, db_fault_fn *fn, void *arg)
{
    enum rc rc = tell_rows(
        db, quick ? "PRAGMA quick_check" : "PRAGMA integrity_check", fn, arg);

    return rc == RC_OK
               ? tell_rows(db,
                           "SELECT 'row ' || rowid || ' of ' || \"table\" || "
                           "' refers to a row of ' || parent || "
                           "' that is not there' FROM pragma_foreign_key_check",
                           fn, arg)
               : rc;
}

enum rc db_copy_schema(struct db *db, uint8_t out[HASH_BYTES])
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(
        db->sqlite,
        "SELECT COALESCE(group_concat(line, char(10)), '')"
        "  FROM (SELECT type || ' ' || name || ' ' || COALESCE(sql, '') AS line"
        "          FROM sqlite_schema ORDER BY 1)",
        -1, &s, NULL);

    if (code == SQLITE_OK) {
        code = sqlite3_step(s);
    }
    if (code == SQLITE_ROW) {
        hash_sha256(sqlite3_column_text(s, 0),
                    (size_t)sqlite3_column_bytes(s, 0), out);
    }
    (void)sqlite3_finalize(s);
    return code == SQLITE_ROW ? RC_OK
                              : db_inside_failure(db, code, "schema", false);
}

/* --- what was deleted ----------------------------------------------------- */

static int empty_log(sqlite3 *db)
{
    int code = SQLITE_BUSY;

    for (int i = 0; i < EMPTY_TRIES && (code & 0xff) == SQLITE_BUSY; i++) {
        if (i > 0) {
            clock_nap_us(EMPTY_NAP_US);
        }
        code = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                         NULL, NULL);
    }
    return code;
}

enum rc db_copy_compact(struct db *db)
{
    /* What it sorts may be larger than memory. */
    enum rc rc = db_inside_exec(db, "PRAGMA temp_store=FILE");
    int code;

    if (rc == RC_OK) {
        rc = db_inside_exec(db, "VACUUM");
    }
    if (rc != RC_OK) {
        return rc;
    }
    code = empty_log(db->sqlite);
    return code == SQLITE_OK
               ? RC_OK
               : db_inside_failure(db, code, "wal_checkpoint", false);
}

void db_copy_settle(const char *path)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db, SETTLE_MS);
        code = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                         NULL, NULL);
    }
    if (code != SQLITE_OK) {
        log_warn(NULL, "sql: %s: its log stays beside it: %s", path,
                 sqlite3_errstr(code));
    }
    (void)sqlite3_close(db);
}

/* --- as a file ------------------------------------------------------------ */

struct db_claim {
    int fd;
};

enum rc db_copy_claim(const char *path, struct db_claim **out)
{
    struct db_claim *claim = calloc(1, sizeof(*claim));
    struct flock fl;
    enum rc rc = RC_IO;

    if (claim == NULL) {
        return RC_NOMEM;
    }
    memset(&fl, 0, sizeof(fl));
    fl.l_type = F_WRLCK;
    fl.l_whence = SEEK_SET;
    fl.l_start = LOCKS_AT;
    fl.l_len = LOCKS_BYTES;
    claim->fd = open(path, O_RDWR | O_CLOEXEC);
    if (claim->fd < 0) {
        rc = errno == ENOENT ? RC_NOT_FOUND : RC_IO;
    } else if (fcntl(claim->fd, F_OFD_SETLK, &fl) == 0) {
        *out = claim;
        return RC_OK;
    } else if (errno == EAGAIN || errno == EACCES) {
        rc = RC_BUSY;
    }
    if (rc == RC_IO) {
        log_error(NULL, "%s: %s", path, strerror(errno));
    }
    db_copy_release(claim);
    return rc;
}

void db_copy_release(struct db_claim *claim)
{
    if (claim != NULL) {
        if (claim->fd >= 0) {
            (void)close(claim->fd);
        }
        free(claim);
    }
}

enum rc db_copy_version(const char *path, int64_t *out)
{
    static const char MAGIC[] = "SQLite format 3";
    unsigned char header[HEADER_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0) {
        return errno == ENOENT ? RC_NOT_FOUND : RC_IO;
    }
    n = read(fd, header, sizeof(header));
    (void)close(fd);
    if (n != (ssize_t)sizeof(header) ||
        memcmp(header, MAGIC, sizeof(MAGIC)) != 0) {
        return RC_INVALID;
    }
    *out = 0;
    for (int i = 0; i < 4; i++) {
        *out = *out << 8 | header[VERSION_AT + i];
    }
    return RC_OK;
}
