/* store_restore.c - a backup takes the place of what is there.
 *
 * Everything new is made ready in a folder of its own, restoring/, and looked
 * through, before anything that is there is touched. What is there goes into
 * another one, before-<time>/ (store_exchange.c). The old database's log was
 * emptied into it before that, if it could be read: so a restore that is cut
 * short leaves the old database whole.
 *
 * Who was shut out since the backup stays shut out: of the backup's tokens those
 * stand that stand in what is replaced, if the one came of the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/folder.h"
#include "sql/db_copy.h"
#include "sql/library_files.h"
#include "sql/store_audit.h"
#include "sql/store_backup_inside.h"
#include "sql/store_exchange.h"
#include "sql/store_lease.h"
#include "sql/store_priv.h"
#include "sql/store_shut_out.h"

#define COPY_BYTES 65536
#define FTW_FDS    16

struct restore {
    struct store_backup *b;
    const char *ready; /* folder of what is new */
    const char *kept;  /* folder of what was there */
    struct shut_out old;
    struct lease_lock *lease;
    int indexer; /* descriptor of the indexer's lock; -1: none */
    struct db_claim *claim;
};

static const char *in_folder(const struct restore *r, const char *folder,
                             const char *name)
{
    return arena_printf(r->b->arena, "%s/%s", folder, name);
}

void store_backup_drop_left(const char *dir)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/restoring", dir);

    if (len > 0 && (size_t)len < sizeof(path)) {
        (void)folder_remove(path);
    }
}

/* --- what is new ------------------------------------------------------------ */

static enum rc copy_bytes(struct store_backup *b, int from, int to)
{
    char piece[COPY_BYTES];
    ssize_t n = read(from, piece, sizeof(piece));

    while (n > 0) {
        ssize_t put = write(to, piece, (size_t)n);

        if (put != n) {
            errno = put >= 0 ? ENOSPC : errno;
            return store_backup_fail_errno(b, b->dir);
        }
        b->bytes += n;
        n = read(from, piece, sizeof(piece));
    }
    return n < 0 ? store_backup_fail_errno(b, b->file) : RC_OK;
}

static enum rc copy_file(struct restore *r)
{
    const char *path = in_folder(r, r->ready, "aside.db");
    int from = open(r->b->file, O_RDONLY | O_CLOEXEC);
    int to = path == NULL
                 ? -1
                 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum rc rc = from < 0 || to < 0 ? store_backup_fail_errno(r->b, r->b->file)
                                    : copy_bytes(r->b, from, to);

    if (from >= 0) {
        (void)close(from);
    }
    if (to >= 0) {
        (void)close(to);
    }
    return rc;
}

static bool has_log(struct store_backup *b)
{
    static const char *const END[] = {"-wal", "-journal"};
    struct stat at;
    bool has = false;

    for (size_t i = 0; i < sizeof(END) / sizeof(END[0]); i++) {
        const char *path = arena_printf(b->arena, "%s%s", b->file, END[i]);

        has = has || (path != NULL && stat(path, &at) == 0 && at.st_size > 0);
    }
    return has;
}

/* What the file is and its header says, before anything is made of it. */
static enum rc is_backup(struct store_backup *b)
{
    int64_t version = 0;
    struct stat at;
    enum rc rc;

    if (stat(b->file, &at) != 0) {
        return errno == ENOENT ? store_backup_fail(b, RC_NOT_FOUND, b->file,
                                                   "there is no such file")
                               : store_backup_fail_errno(b, b->file);
    }
    if (!S_ISREG(at.st_mode)) {
        return store_backup_fail(b, RC_INVALID, b->file,
                                 "it is no file: a backup must lie on a disk");
    }
    if (has_log(b)) {
        return store_backup_fail(b, RC_INVALID, b->file,
                                 "it is a database with a log beside it, not a "
                                 "backup, and the log holds what is newest");
    }
    rc = db_copy_version(b->file, &version);
    if (rc == RC_INVALID || (rc == RC_OK && version == 0)) {
        return store_backup_fail(b, RC_INVALID, b->file,
                                 "it is no backup of Aside");
    }
    if (rc == RC_OK && version > (int64_t)SCHEMA_MAIN_COUNT) {
        return store_backup_fail(b, RC_NEWER, b->file,
                                 "it was made by a newer Aside");
    }
    return rc;
}

static enum rc write_file(struct restore *r, const char *owner,
                          const char *name, const void *bytes, size_t len)
{
    const struct library_limits none = {.files = INT64_MAX, .bytes = INT64_MAX};
    struct library_upload *upload = NULL;
    struct library_added added;
    enum rc rc;

    if (library_files_fault(name) != NULL) {
        return store_backup_fail(r->b, RC_INVALID, name,
                                 library_files_fault(name));
    }
    rc = library_files_begin(r->ready, owner, &upload);
    if (rc != RC_OK) {
        return rc;
    }
    rc = library_files_write(upload, bytes, len);
    if (rc != RC_OK) {
        library_files_drop(upload);
        return rc;
    }
    return library_files_commit_take(upload, name, &none, r->b->busy_ms,
                                     r->b->arena, &added);
}

/* "library/<owner>/<name>" */
static enum rc extract_one(struct restore *r, char *path, const void *bytes,
                           size_t len)
{
    static const char FOLDER[] = "library/";
    char *owner;
    char *slash = NULL;

    if (path == NULL) {
        return RC_TOO_LARGE;
    }
    owner = path + sizeof(FOLDER) - 1;
    if (strncmp(path, FOLDER, sizeof(FOLDER) - 1) == 0) {
        slash = strchr(owner, '/');
    }
    if (slash == NULL || owner[0] == '.' || slash == owner) {
        return store_backup_fail(r->b, RC_INVALID, path,
                                 "no file of a library has such a name");
    }
    *slash = '\0';
    r->b->files++;
    return write_file(r, owner, slash + 1, bytes, len);
}

static enum rc extract(struct restore *r, struct store *st)
{
    struct arena *a = r->b->arena;
    const char *after = "";
    bool more = true;
    enum rc rc = RC_OK;

    while (more && rc == RC_OK) {
        struct dbq *q = db_use(st->db, STMT_ARCHIVE_NEXT);
        enum rc read;

        db_bind_text(q, ":after", after);
        more = db_next(q);
        if (more) {
            after = db_text(q, 0, a);
            rc = extract_one(r, arena_printf(a, "%s", after), db_peek(q, 1),
                             db_bytes(q, 1));
        }
        read = db_end(q);
        rc = rc == RC_OK ? read : rc;
    }
    return rc;
}

/* It is another database from now on. */
static enum rc make_own(struct store *st, void *arg)
{
    const struct restore *r = arg;
    const struct audit_new line = {.actor = r->b->actor,
                                   .action = AUDIT_DATABASE_RESTORE,
                                   .at_ms = r->b->now_ms};
    enum rc rc = db_run(db_use(st->db, STMT_ARCHIVE_CLEAR));

    if (rc == RC_OK) {
        rc = db_run(db_use(st->db, STMT_SESSION_CLEAR));
    }
    if (rc == RC_OK) {
        rc = db_run_one(db_use(st->db, STMT_FACT_NEW_FEED));
    }
    if (rc == RC_OK) {
        rc = store_shut_out_keep(st, r->b, &r->old);
    }
    return rc == RC_OK ? store_audit_add(st, &line) : rc;
}

static enum rc take_view(struct restore *r, struct store *st)
{
    enum rc rc = store_read_begin(st, &r->b->view);

    if (rc == RC_OK) {
        rc = db_one_i64(db_use(st->db, STMT_FACT_ACTIVE_RUNS),
                        &r->b->active_runs);
        store_read_end(st);
    }
    return rc;
}

static enum rc prepare_open(struct restore *r, struct store *st)
{
    enum rc rc = store_backup_verify(r->b, st->db, false);

    if (rc == RC_OK) {
        rc = extract(r, st);
    }
    if (rc == RC_OK) {
        rc = store_tx(st, make_own, r);
    }
    if (rc == RC_OK) {
        rc = db_copy_compact(st->db);
    }
    return rc == RC_OK ? take_view(r, st) : rc;
}

static enum rc prepare(struct restore *r)
{
    struct store *st = NULL;
    enum rc rc;

    (void)folder_remove(r->ready);
    if (mkdir(r->ready, 0700) != 0) {
        return store_backup_fail_errno(r->b, r->ready);
    }
    rc = copy_file(r);
    if (rc == RC_OK) {
        rc = store_open(r->ready, r->b->busy_ms, &st);
    }
    if (rc == RC_OK) {
        rc = prepare_open(r, st);
    }
    store_close(st);
    if (rc == RC_OK) {
        rc = store_backup_sync(r->b, in_folder(r, r->ready, "aside.db"));
    }
    if (rc == RC_DB) {
        rc = store_backup_fail(r->b, RC_INVALID, r->b->file,
                               "it is damaged, or no backup of Aside");
    }
    return rc;
}

/* --- nobody else -------------------------------------------------------------- */

/* A run of the indexer may have outlived its runtime, or be somebody's own. The
 * lock goes with the descriptor. */
static enum rc claim_indexer(struct restore *r)
{
    const char *path = in_folder(r, r->b->dir, "library.lock");

    r->indexer =
        path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->indexer < 0) {
        return store_backup_fail_errno(r->b, "library.lock");
    }
    return flock(r->indexer, LOCK_EX | LOCK_NB) == 0
               ? RC_OK
               : store_backup_fail(r->b, RC_BUSY, r->b->dir,
                                   "the library is being indexed: wait for it, "
                                   "or stop it");
}

/* As root, in place of the account that runs Aside: what is new is its. */
static uid_t owner_uid;
static gid_t owner_gid;

static int give_one(const char *path, const struct stat *st, int type,
                    struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return lchown(path, owner_uid, owner_gid);
}

static enum rc hand_over(struct restore *r)
{
    static const char *const MADE[] = {"restoring", "asided.lock",
                                       "library.lock"};
    struct stat dir;
    int failed = 0;

    if (geteuid() != 0 || stat(r->b->dir, &dir) != 0 || dir.st_uid == 0) {
        return RC_OK;
    }
    owner_uid = dir.st_uid;
    owner_gid = dir.st_gid;
    for (size_t i = 0; i < sizeof(MADE) / sizeof(MADE[0]) && failed == 0; i++) {
        const char *path = in_folder(r, r->b->dir, MADE[i]);

        failed = path == NULL
                     ? -1
                     : nftw(path, give_one, FTW_FDS, FTW_DEPTH | FTW_PHYS);
    }
    return failed == 0 ? RC_OK : store_backup_fail_errno(r->b, r->b->dir);
}

static enum rc claim(struct restore *r)
{
    const char *path = in_folder(r, r->b->dir, "aside.db");
    struct stat at;
    enum rc rc =
        path == NULL ? RC_NOMEM : store_lease_try(r->b->dir, &r->lease);

    /* Its log lies where it leads to, out of reach. */
    if (rc == RC_OK && lstat(path, &at) == 0 && S_ISLNK(at.st_mode)) {
        return store_backup_fail(r->b, RC_INVALID, path,
                                 "it is a link: name in `data` the folder that "
                                 "it leads to, or put the file here");
    }

    if (rc == RC_BUSY) {
        return store_backup_fail(r->b, rc, r->b->dir,
                                 "a runtime is at work: stop Aside first");
    }
    if (rc == RC_OK) {
        rc = claim_indexer(r);
    }
    if (rc != RC_OK) {
        return rc;
    }
    rc = db_copy_claim(path, &r->claim);
    if (rc == RC_OK) {
        /* Bring its log into it, by a connection of our own. */
        db_copy_release(r->claim);
        r->claim = NULL;
        store_shut_out_read(r->b, &r->old);
        db_copy_settle(path);
        rc = db_copy_claim(path, &r->claim);
    }
    if (rc == RC_BUSY) {
        return store_backup_fail(r->b, rc, path,
                                 "a responder or another program has it open: "
                                 "stop Aside first");
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static bool name_folders(struct restore *r)
{
    char at[32];
    time_t seconds = (time_t)(r->b->now_ms / 1000);
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(at, sizeof(at), "%Y-%m-%dT%H-%M-%SZ", &tm) == 0) {
        return false;
    }
    r->ready = in_folder(r, r->b->dir, "restoring");
    r->kept = arena_printf(r->b->arena, "%s/before-%s", r->b->dir, at);
    return r->ready != NULL && r->kept != NULL;
}

enum rc store_backup_restore(struct store_backup *b)
{
    struct restore r = {.b = b, .indexer = -1};
    enum rc rc = name_folders(&r) ? is_backup(b) : RC_NOMEM;

    if (rc == RC_OK && ((mkdir(b->dir, 0700) != 0 && errno != EEXIST) ||
                        access(b->dir, W_OK) != 0)) {
        rc = store_backup_fail_errno(b, b->dir);
    }
    if (rc == RC_OK) {
        rc = claim(&r);
    }
    if (rc == RC_OK) {
        rc = prepare(&r);
        if (rc == RC_OK) {
            rc = hand_over(&r);
        }
        if (rc == RC_OK) {
            rc = store_exchange_make(b, r.ready, r.kept);
        }
        (void)folder_remove(r.ready);
    }
    db_copy_release(r.claim);
    if (r.indexer >= 0) {
        (void)close(r.indexer);
    }
    store_lease_release(r.lease);
    return rc == RC_OK ? rc : store_backup_fail(b, rc, b->file, rc_name(rc));
}
