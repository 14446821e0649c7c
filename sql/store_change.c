/* store_change.c - appending to the feed, and reading it from a cursor. */
#include "sql/store_change.h"

#include <assert.h>
#include <stdlib.h>

#include "sql/store_priv.h"

enum rc store_change_add(struct store *st, const struct change_new *c)
{
    struct dbq *q = db_use(st->db, STMT_CHANGE_INSERT);

    assert(c->kind != CHANGE_ANSWER_PART);
    db_bind_i64(q, ":account", c->account_id);
    store_bind_word(q, ":kind", LIST_CHANGE_KIND, (int)c->kind);
    db_bind_i64_or_null(q, ":conversation", c->conversation_id);
    db_bind_i64_or_null(q, ":run", c->run_id);
    db_bind_i64_or_null(q, ":ref", c->ref);
    db_bind_null(q, ":revision");
    db_bind_null(q, ":part");
    db_bind_null(q, ":body");
    return db_run(q);
}

enum rc store_change_of_run(struct store *st, const struct run *run,
                            enum change_kind kind, int64_t ref)
{
    const struct change_new c = {.kind = kind,
                                 .account_id = run->account_id,
                                 .conversation_id = run->conversation_id,
                                 .run_id = run->id,
                                 .ref = ref};

    return store_change_add(st, &c);
}

enum rc store_change_conversation(struct store *st, int64_t account_id,
                                  int64_t conversation_id)
{
    const struct change_new c = {.kind = CHANGE_CONVERSATION_UPDATED,
                                 .account_id = account_id,
                                 .conversation_id = conversation_id};

    return store_change_add(st, &c);
}

enum rc store_change_run_created(struct store *st, const struct run *run)
{
    struct dbq *q = db_use(st->db, STMT_CHANGE_RUN_CREATED);

    db_bind_i64(q, ":account", run->account_id);
    db_bind_i64(q, ":conversation", run->conversation_id);
    db_bind_i64(q, ":run", run->id);
    return db_run(q);
}

int64_t store_change_last(struct store *st)
{
    return db_last_id(st->db);
}

static void read_change(struct dbq *q, struct arena *a, struct change *c)
{
    c->seq = db_i64(q, 0);
    c->kind = (enum change_kind)store_word(q, 1, LIST_CHANGE_KIND);
    c->account_id = db_i64(q, 2);
    c->conversation_id = db_i64_or(q, 3, 0);
    c->run_id = db_i64_or(q, 4, 0);
    c->ref = db_i64_or(q, 5, 0);
    c->revision = db_i64_or(q, 6, 0);
    c->part = db_i64_or(q, 7, 0);
    c->body = db_text_or(q, 8, a, "");
}

/* A cursor is good if it is not newer than the newest change and everything
 * after it is still kept. */
static enum rc check_cursor(struct store *st, int64_t after, int64_t as_of,
                            bool *reset)
{
    int64_t oldest = 0;
    enum rc rc;

    *reset = after > as_of;
    if (*reset || after == as_of) {
        return RC_OK;
    }
    rc = db_one_i64(db_use(st->db, STMT_CHANGE_OLDEST), &oldest);
    if (rc == RC_OK) {
        /* Nothing kept at all, or a hole between cursor and the oldest. The
         * pruned rows of ended Runs leave holes too, but those are never the
         * front: pruning keeps the first row that it did not remove. */
        *reset = oldest == 0 || (after > 0 && after + 1 < oldest);
    }
    return rc;
}

/* Whoever follows an account that is not there may hold what was one's. */
static enum rc check_gone(struct store *st, int64_t after, bool *reset)
{
    struct dbq *q = db_use(st->db, STMT_CHANGE_ACCOUNT_GONE);
    int64_t gone = 0;
    enum rc rc;

    db_bind_i64(q, ":after", after);
    rc = db_one_i64(q, &gone);
    *reset = gone != 0;
    return rc;
}

enum rc store_change_page(struct store *st, int64_t account_id, int64_t after,
                          int64_t as_of, size_t max_n, size_t max_bytes,
                          struct arena *a, struct change_page *page)
{
    void *items = NULL;
    size_t n = 0;
    size_t bytes = 0;
    struct dbq *q;
    enum rc rc;

    *page = (struct change_page){.next = as_of};
    rc = check_cursor(st, after, as_of, &page->reset);
    if (rc == RC_OK && !page->reset && account_id == 0) {
        return after > 0 ? check_gone(st, after, &page->reset) : RC_OK;
    }
    if (rc != RC_OK || page->reset) {
        return rc;
    }
    q = db_use(st->db, STMT_CHANGE_PAGE);
    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":after", after);
    db_bind_i64(q, ":limit", (int64_t)max_n + 1);
    while (db_next(q)) {
        struct change *c;

        if (n == max_n || (n > 0 && bytes >= max_bytes)) {
            page->more = true;
            break;
        }
        c = store_list_add(a, &items, &n, sizeof(*c));
        if (c == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        read_change(q, a, c);
        bytes += c->kind == CHANGE_ANSWER_PART ? db_bytes(q, 8) : 512;
    }
    rc = db_end(q);
    if (rc != RC_OK) {
        return rc;
    }
    page->changes = items;
    page->n = n;
    if (page->more && n > 0) {
        page->next = page->changes[n - 1].seq;
    }
    return RC_OK;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

enum rc store_change_runs(struct store *st, int64_t after, struct arena *a,
                          int64_t **runs, size_t *n, int64_t *newest)
{
    void *items = NULL;
    size_t count = 0;
    size_t kept = 0;
    int64_t *ids;
    struct dbq *q;
    enum rc rc = store_as_of(st, newest);

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_CHANGE_RUNS);
    db_bind_i64(q, ":after", after);
    db_bind_i64(q, ":newest", *newest);
    while (db_next(q)) {
        int64_t id = db_i64(q, 1);
        int64_t *slot;

        /* Changes of one Run come in rows: skip the plain repetition here. */
        if (count > 0 && ((int64_t *)items)[count - 1] == id) {
            continue;
        }
        slot = store_list_add(a, &items, &count, sizeof(*slot));
        if (slot == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        *slot = id;
    }
    rc = db_end(q);
    if (rc != RC_OK) {
        return rc;
    }
    ids = items;
    if (count > 1) {
        qsort(ids, count, sizeof(ids[0]), by_id);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ids[kept - 1] != ids[i]) {
            ids[kept++] = ids[i];
        }
    }
    *runs = ids;
    *n = kept;
    return RC_OK;
}

static void read_notification(struct dbq *q, struct arena *a, void *item)
{
    struct notification *n = item;

    (void)a;
    n->id = db_i64(q, 0);
    n->run_id = db_i64(q, 1);
    n->created_ms = db_i64(q, 2);
    n->seen_ms = db_i64_or(q, 3, 0);
}

enum rc store_notification_get(struct store *st, int64_t account_id, int64_t id,
                               struct notification *out)
{
    struct dbq *q = db_use(st->db, STMT_NOTIFICATION_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, NULL, read_notification, out);
}

enum rc store_notification_unseen(struct store *st, int64_t account_id,
                                  int64_t limit, struct arena *a,
                                  struct notification **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_NOTIFICATION_UNSEEN);

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_notification, sizeof(**out), out, n);
}
