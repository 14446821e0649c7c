#include "sql/store_forget.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/folder.h"
#include "sql/base/log.h"
#include "sql/db_copy.h"
#include "sql/library.h"
#include "sql/library_files.h"
#include "sql/search.h"
#include "sql/store_audit.h"
#include "sql/store_conversation.h"
#include "sql/store_priv.h"

#define PATH_BYTES 4096

/* --- an account ----------------------------------------------------------- */

static enum rc of_account(struct store *st, enum stmt_id stmt,
                          int64_t account_id)
{
    struct dbq *q = db_use(st->db, stmt);

    db_bind_i64(q, ":account", account_id);
    return db_run(q);
}

static enum rc no_run_is_active(struct store *st, int64_t account_id)
{
    struct dbq *q = db_use(st->db, STMT_FORGET_ACTIVE);
    int64_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":account", account_id);
    rc = db_one_i64(q, &n);
    return rc == RC_OK && n > 0 ? RC_CONFLICT : rc;
}

enum rc store_account_delete(struct store *st, const struct store_call *call)
{
    struct change_new gone = {.kind = CHANGE_CONVERSATION_DELETED};
    enum rc rc = store_account_find(st, call->account, &gone.account_id);

    if (rc == RC_OK) {
        rc = no_run_is_active(st, gone.account_id);
    }
    if (rc == RC_OK) {
        rc = of_account(st, STMT_FORGET_CHANGES, gone.account_id);
    }
    if (rc == RC_OK) {
        rc = of_account(st, STMT_FORGET_ACCOUNT, gone.account_id);
    }
    if (rc == RC_OK) {
        /* The search index sees by it that it must be made anew. */
        rc = store_change_add(st, &gone);
    }
    return rc == RC_OK ? store_audit_call(st, call, gone.account_id,
                                          AUDIT_ACCOUNT_DELETE, ID_AUDIT, 0)
                       : rc;
}

enum rc store_account_delete_files(const char *dir, const char *account)
{
    char owner[LIBRARY_FILES_OWNER_BYTES];
    char path[PATH_BYTES];
    int len;

    library_files_owner(account, owner);
    len = snprintf(path, sizeof(path), "%s/library/%s", dir, owner);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return RC_TOO_LARGE;
    }
    if (access(path, F_OK) != 0) {
        return errno == ENOENT ? RC_OK : RC_IO;
    }
    if (!folder_remove(path)) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    return RC_OK;
}

static enum rc clear_search(struct db *db, void *arg)
{
    struct dbq *q;
    enum rc rc = db_run(db_use(db, STMT_SEARCH_CLEAR));

    (void)arg;
    if (rc == RC_OK) {
        rc = db_run(db_use(db, STMT_SEARCH_CLEAR_WORDS));
    }
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(db, STMT_SEARCH_STATE_SET);
    db_bind_text(q, ":feed", "");
    db_bind_i64(q, ":deleted_seq", 0);
    db_bind_i64(q, ":message_id", 0);
    db_bind_i64(q, ":ended_seq", 0);
    return db_run(q);
}

static enum rc merge_library(struct db *db, void *arg)
{
    (void)arg;
    return db_run(db_use(db, STMT_LIBRARY_FTS_OPTIMIZE));
}

/* One that is made of others, if it is there. */
static enum rc compact_made(const char *dir, const struct db_options *like,
                            const char *name, db_fn *prepare)
{
    struct db_options o = *like;
    char path[PATH_BYTES];
    struct db *db = NULL;
    int len = snprintf(path, sizeof(path), "%s/%s", dir, name);
    enum rc rc;

    if (len < 0 || (size_t)len >= sizeof(path)) {
        return RC_TOO_LARGE;
    }
    if (access(path, F_OK) != 0) {
        return RC_OK;
    }
    o.path = path;
    rc = db_open(&o, &db);
    if (rc == RC_OK) {
        rc = db_tx(db, prepare, NULL);
    }
    if (rc == RC_OK) {
        rc = db_copy_compact(db);
    }
    db_close(db);
    return rc;
}

enum rc store_forget_compact(struct store *st, const char *dir, int64_t busy_ms)
{
    const struct db_options search = {.migrations = SCHEMA_SEARCH,
                                      .n_migrations = SCHEMA_SEARCH_COUNT,
                                      .busy_ms = busy_ms};
    const struct db_options library = {.migrations = SCHEMA_LIBRARY,
                                       .n_migrations = SCHEMA_LIBRARY_COUNT,
                                       .busy_ms = busy_ms};
    enum rc rc;

    store_set_busy(st, busy_ms);
    rc = db_copy_compact(st->db);
    /* What is made of others and is damaged goes as a whole. */
    if (rc == RC_OK) {
        rc = compact_made(dir, &search, "search.db", clear_search);
        if (rc == RC_DB) {
            search_discard(dir);
            rc = RC_OK;
        }
    }
    if (rc == RC_OK) {
        rc = compact_made(dir, &library, "library.db", merge_library);
        if (rc == RC_DB) {
            library_discard(dir);
            rc = RC_OK;
        }
    }
    return rc;
}

/* --- retention ------------------------------------------------------------- */

static void read_old(struct dbq *q, struct arena *a, void *item)
{
    struct store_old *old = item;

    (void)a;
    old->conversation_id = db_i64(q, 0);
    old->account_id = db_i64(q, 1);
    old->touched_ms = db_i64(q, 2);
}

enum rc store_old_list(struct store *st, int64_t before_ms, int64_t keep,
                       int64_t limit, struct arena *a, struct store_old **out,
                       size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_FORGET_OLD);

    db_bind_i64(q, ":before_ms", before_ms);
    db_bind_i64(q, ":keep", keep);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_old, sizeof(**out), out, n);
}

enum rc store_old_delete(struct store *st, const struct store_old *old,
                         int64_t now_ms, struct arena *a)
{
    const struct audit_new line = {.actor = {.kind = ACTOR_RUNTIME},
                                   .action = AUDIT_RETENTION,
                                   .account_id = old->account_id,
                                   .subject_kind = ID_CONVERSATION,
                                   .subject_id = old->conversation_id,
                                   .at_ms = now_ms};
    struct dbq *q = db_use(st->db, STMT_FORGET_TOUCHED);
    int64_t touched_ms = 0;
    enum rc rc;

    db_bind_i64(q, ":id", old->conversation_id);
    rc = db_one_i64(q, &touched_ms);
    if (rc == RC_OK && touched_ms != old->touched_ms) {
        rc = RC_CONFLICT;
    }
    if (rc == RC_OK) {
        rc = store_conversation_remove(st, old->account_id,
                                       old->conversation_id, a);
    }
    return rc == RC_OK ? store_audit_add(st, &line) : rc;
}
