#include "sql/store_library.h"

#include <string.h>

#include "sql/store_audit.h"
#include "sql/store_priv.h"

static enum rc tell(struct store *st, int64_t account_id)
{
    const struct change_new c = {.kind = CHANGE_LIBRARY_UPDATED,
                                 .account_id = account_id};

    return store_change_add(st, &c);
}

enum rc store_library_want(struct store *st, struct store_call *call,
                           enum audit_action why)
{
    int64_t account_id = 0;
    enum rc rc =
        store_account_ensure(st, call->account, call->now_ms, &account_id);
    struct dbq *q;

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_SCAN_WANT);
    db_bind_i64(q, ":account", account_id);
    rc = db_run(q);
    if (rc == RC_OK) {
        rc = tell(st, account_id);
    }
    if (rc == RC_OK) {
        rc = store_audit_call(st, call, account_id, why, ID_RUN, 0);
    }
    return rc == RC_OK ? store_as_of(st, &call->as_of) : rc;
}

enum rc store_library_remove(struct store *st, struct store_call *call,
                             bool found)
{
    struct key_refs refs = {0};
    int64_t account_id = 0;
    enum rc rc = store_account_find(st, call->account, &account_id);

    if (rc == RC_OK) {
        rc = store_key_find(st, call, account_id, &refs);
    }
    if (rc == RC_OK && call->replayed) {
        return store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK || rc == RC_NOT_FOUND) {
        rc = found ? store_library_want(st, call, AUDIT_LIBRARY_REMOVE)
                   : RC_NOT_FOUND;
    }
    if (rc == RC_OK) {
        rc = store_account_find(st, call->account, &account_id);
    }
    return rc == RC_OK ? store_key_bind(st, call, account_id, &refs) : rc;
}

enum rc store_library_open(struct store *st, int64_t account_id, bool *open)
{
    struct dbq *q = db_use(st->db, STMT_SCAN_OPEN);
    int64_t value = 0;
    enum rc rc;

    db_bind_i64(q, ":account", account_id);
    rc = db_one_i64(q, &value);
    if (rc == RC_NOT_FOUND) {
        rc = RC_OK;
    }
    if (rc == RC_OK) {
        *open = value != 0;
    }
    return rc;
}

static void read_want(struct dbq *q, struct arena *a, void *item)
{
    struct library_want *w = item;

    (void)a;
    w->account_id = db_i64(q, 0);
    w->wanted = db_i64(q, 1);
}

enum rc store_library_wants(struct store *st, struct arena *a,
                            struct library_want **out, size_t *n)
{
    return store_read_list(db_use(st->db, STMT_SCAN_LIST), a, read_want,
                           sizeof(**out), out, n);
}

enum rc store_library_done(struct store *st, const struct library_want *list,
                           size_t n)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        struct dbq *q = db_use(st->db, STMT_SCAN_DONE);

        db_bind_i64(q, ":account", list[i].account_id);
        db_bind_i64(q, ":wanted", list[i].wanted);
        rc = db_run(q);
        if (rc == RC_OK) {
            rc = tell(st, list[i].account_id);
        }
    }
    return rc;
}

enum rc store_library_run_get(struct store *st, struct arena *a,
                              struct library_run *out)
{
    struct dbq *q = db_use(st->db, STMT_SCAN_RUN_GET);
    struct library_run run = {0};
    enum rc rc;

    if (db_next(q)) {
        run.failures = db_i64(q, 0);
        run.reason = db_text(q, 1, a);
        run.retry_ms = db_i64(q, 2);
    }
    rc = db_end(q);
    if (rc == RC_OK && run.reason == NULL) {
        rc = RC_TOO_LARGE;
    }
    if (rc == RC_OK) {
        *out = run;
    }
    return rc;
}

static enum rc tell_all(struct store *st, struct arena *a)
{
    struct library_want *list = NULL;
    size_t n = 0;
    enum rc rc = store_read_list(db_use(st->db, STMT_SCAN_ACCOUNTS), a,
                                 read_want, sizeof(*list), &list, &n);

    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        rc = tell(st, list[i].account_id);
    }
    return rc;
}

enum rc store_library_run_set(struct store *st, struct arena *a,
                              const struct library_run *run)
{
    struct library_run before;
    struct dbq *q;
    enum rc rc = store_library_run_get(st, a, &before);

    if (rc != RC_OK ||
        (before.failures == run->failures && before.retry_ms == run->retry_ms &&
         strcmp(before.reason, run->reason) == 0)) {
        return rc;
    }
    q = db_use(st->db, STMT_SCAN_RUN_SET);
    db_bind_i64(q, ":failures", run->failures);
    db_bind_text(q, ":reason", run->reason);
    db_bind_i64(q, ":retry_ms", run->retry_ms);
    rc = db_run(q);
    return rc == RC_OK ? tell_all(st, a) : rc;
}
