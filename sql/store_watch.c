#include "sql/store_watch.h"

#include "sql/store_priv.h"

enum rc store_watch_accounts(struct store *st, int64_t after, struct arena *a,
                             const char ***names, size_t *n, int64_t *newest)
{
    int64_t upto = 0;
    void *items = NULL;
    size_t count = 0;
    struct dbq *q;
    enum rc rc = store_as_of(st, &upto);

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_WATCH_ACCOUNTS);
    db_bind_i64(q, ":after", after);
    db_bind_i64(q, ":newest", upto);
    while (db_next(q)) {
        const char **name = store_list_add(a, &items, &count, sizeof(*name));

        if (name == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        *name = db_text(q, 0, a);
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        *names = items;
        *n = count;
        *newest = upto;
    }
    return rc;
}
