/* store_idempotency.c - what an Idempotency-Key stands for (R02).
 *
 * Looked up before state, capacity or rate, inside the transaction that would
 * do the work; bound in the same transaction, so that only a 2xx binds it. */
#include <string.h>

#include "sql/store_priv.h"

enum rc store_key_find(struct store *st, struct store_call *call,
                       int64_t account_id, struct key_refs *refs)
{
    struct dbq *q;
    bool known = false;
    bool same = false;
    enum rc rc;

    call->replayed = false;
    if (call->key == NULL) {
        return RC_OK;
    }
    q = db_use(st->db, STMT_IDEMPOTENCY_GET);
    db_bind_i64(q, ":account", account_id);
    db_bind_text(q, ":key", call->key);
    if (db_next(q)) {
        size_t len = 0;
        const void *mark = db_blob(q, 0, call->arena, &len);

        known = true;
        same = len == HASH_BYTES &&
               memcmp(mark, call->fingerprint, HASH_BYTES) == 0;
        refs->conversation_id = db_i64_or(q, 1, 0);
        refs->message_id = db_i64_or(q, 2, 0);
        refs->run_id = db_i64_or(q, 3, 0);
        refs->handoff_id = db_i64_or(q, 4, 0);
        refs->token_id = db_i64_or(q, 5, 0);
    }
    rc = db_end(q);
    if (rc != RC_OK) {
        return rc;
    }
    call->replayed = known && same;
    return known && !same ? RC_KEY_REUSED : RC_OK;
}

enum rc store_call_replayed(struct store *st, struct store_call *call)
{
    struct key_refs refs = {0};
    int64_t account_id = 0;
    enum rc rc = store_account_find(st, call->account, &account_id);

    if (rc == RC_NOT_FOUND) {
        return RC_OK;
    }
    return rc == RC_OK ? store_key_find(st, call, account_id, &refs) : rc;
}

enum rc store_key_bind(struct store *st, const struct store_call *call,
                       int64_t account_id, const struct key_refs *refs)
{
    struct dbq *q;

    if (call->key == NULL) {
        return RC_OK;
    }
    q = db_use(st->db, STMT_IDEMPOTENCY_INSERT);
    db_bind_i64(q, ":account", account_id);
    db_bind_text(q, ":key", call->key);
    db_bind_blob(q, ":fingerprint", call->fingerprint, HASH_BYTES);
    db_bind_i64_or_null(q, ":conversation", refs->conversation_id);
    db_bind_i64_or_null(q, ":message", refs->message_id);
    db_bind_i64_or_null(q, ":run", refs->run_id);
    db_bind_i64_or_null(q, ":handoff", refs->handoff_id);
    db_bind_i64_or_null(q, ":token", refs->token_id);
    db_bind_i64(q, ":now_ms", call->now_ms);
    return db_run(q);
}
