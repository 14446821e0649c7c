/* store_slot.c - places in an account's capacity, as rows (R16). */
#include "sql/store_priv.h"

static enum rc ask(struct store *st, enum stmt_id stmt, int64_t account_id,
                   enum slot_class class, int64_t *out)
{
    struct dbq *q = db_use(st->db, stmt);

    db_bind_i64(q, ":account", account_id);
    store_bind_word(q, ":class", LIST_SLOT_CLASS, (int)class);
    return db_one_i64(q, out);
}

enum rc store_occupancy(struct store *st, int64_t account_id,
                        struct occupancy *out)
{
    for (int class = 0; class < SLOT_CLASS__MAX; class ++) {
        enum rc rc = ask(st, STMT_SLOT_COUNT, account_id,
                         (enum slot_class) class, &out->used[class]);

        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}

enum rc store_slot_find(struct store *st, int64_t account_id,
                        enum slot_class class, int64_t limit, int64_t *n)
{
    int64_t last = 0;
    int64_t used = 0;
    enum rc rc = ask(st, STMT_SLOT_LAST, account_id, class, &last);

    if (rc != RC_OK) {
        return rc;
    }
    if (last < limit) {
        *n = last + 1;
        return RC_OK;
    }
    /* At the limit by number; there may be gaps below, or the limit was
     * lowered under running work. */
    rc = ask(st, STMT_SLOT_COUNT, account_id, class, &used);
    if (rc == RC_OK && used >= limit) {
        rc = RC_FULL;
    }
    if (rc == RC_OK) {
        rc = ask(st, STMT_SLOT_GAP, account_id, class, n);
    }
    return rc;
}

enum rc store_slot_take(struct store *st, int64_t account_id,
                        enum slot_class class, int64_t n, int64_t run_id)
{
    struct dbq *q = db_use(st->db, STMT_SLOT_TAKE);

    db_bind_i64(q, ":account", account_id);
    store_bind_word(q, ":class", LIST_SLOT_CLASS, (int)class);
    db_bind_i64(q, ":n", n);
    db_bind_i64(q, ":run", run_id);
    return db_run(q);
}

enum rc store_slot_free(struct store *st, int64_t run_id)
{
    struct dbq *q = db_use(st->db, STMT_SLOT_FREE);

    db_bind_i64(q, ":run", run_id);
    return db_run(q);
}
