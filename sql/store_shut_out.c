/* store_shut_out.c - see store_shut_out.h. */
#include "sql/store_shut_out.h"

#include <string.h>

#include "sql/store_audit.h"
#include "sql/store_priv.h"

static void read_token(struct dbq *q, struct arena *a, void *item)
{
    struct access_token *t = item;

    (void)a;
    t->id = db_i64(q, 0);
    t->account_id = db_i64(q, 1);
    if (db_bytes(q, 2) != HASH_BYTES) {
        db_fail(q, RC_DB);
        return;
    }
    memcpy(t->hash, db_peek(q, 2), HASH_BYTES);
}

static enum rc read_access(struct store *st, struct arena *a,
                           struct shut_out *out)
{
    enum rc rc =
        store_read_list(db_use(st->db, STMT_TOKEN_ALL), a, read_token,
                        sizeof(*out->tokens), &out->tokens, &out->n_tokens);

    if (rc == RC_OK) {
        rc = store_account_list(st, INT64_MAX, a, &out->accounts,
                                &out->n_accounts);
    }
    return rc == RC_OK
               ? db_one_i64(db_use(st->db, STMT_FACT_CREATED), &out->created_ms)
               : rc;
}

/* Of what is to be replaced, as far as it can be read. */
void store_shut_out_read(struct store_backup *b, struct shut_out *out)
{
    struct store *st = NULL;
    enum rc rc = store_open_half(b->dir, b->busy_ms, &st);

    if (rc == RC_OK) {
        rc = read_access(st, b->arena, out);
    }
    if (rc != RC_OK) {
        *out = (struct shut_out){.created_ms = 0};
    }
    store_close(st);
}

static bool stood(const struct shut_out *old, const uint8_t *hash)
{
    size_t low = 0;
    size_t high = old->n_tokens;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(old->tokens[middle].hash, hash, HASH_BYTES);

        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static enum rc end_token(struct store *st, const struct store_backup *b,
                         const struct access_token *t)
{
    const struct audit_new line = {.actor = b->actor,
                                   .action = AUDIT_TOKEN_REVOKE,
                                   .account_id = t->account_id,
                                   .subject_kind = ID_TOKEN,
                                   .subject_id = t->id,
                                   .at_ms = b->now_ms};
    struct dbq *q = db_use(st->db, STMT_TOKEN_REVOKE);
    enum rc rc;

    db_bind_i64(q, ":id", t->id);
    db_bind_i64(q, ":account", t->account_id);
    db_bind_i64(q, ":now_ms", b->now_ms);
    rc = db_run_one(q);
    return rc == RC_OK ? store_audit_add(st, &line) : rc;
}

/* Accounts that were deleted since are there again: that is to be told. */
static const char *accounts_back(const struct shut_out *old,
                                 const struct shut_out *new, struct arena *a)
{
    const char *names = NULL;
    size_t k = 0;

    for (size_t i = 0; i < new->n_accounts; i++) {
        while (k < old->n_accounts &&
               old->accounts[k].id < new->accounts[i].id) {
            k++;
        }
        if (k == old->n_accounts ||
            old->accounts[k].id != new->accounts[i].id) {
            names = names == NULL ? new->accounts[i].name
                                  : arena_printf(a, "%s, %s", names,
                                                 new->accounts[i].name);
        }
    }
    return names;
}

enum rc store_shut_out_keep(struct store *st, struct store_backup *b,
                            const struct shut_out *old)
{
    struct shut_out new = {.created_ms = 0};
    enum rc rc = read_access(st, b->arena, &new);

    b->tokens_kept_out = -1;
    if (rc != RC_OK || new.created_ms != old->created_ms) {
        return rc;
    }
    b->tokens_kept_out = 0;
    for (size_t i = 0; i < new.n_tokens &&rc == RC_OK; i++) {
        if (!stood(old, new.tokens[i].hash)) {
            rc = end_token(st, b, &new.tokens[i]);
            b->tokens_kept_out++;
        }
    }
    b->back = accounts_back(old, &new, b->arena);
    return rc;
}
