/* store.c - connections, transactions, accounts. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_exchange.h"
#include "sql/store_priv.h"

/* How often the lease row is renewed while there is something to commit. */
#define LEASE_RENEW_MS 1000

static enum rc open_in(const char *dir, int64_t busy_ms, bool read_only,
                       struct store **out)
{
    struct db_options opt = {.migrations = SCHEMA_MAIN,
                             .n_migrations = SCHEMA_MAIN_COUNT,
                             .busy_ms = busy_ms,
                             .read_only = read_only,
                             .trouble = store_trouble()};
    struct store *st = calloc(1, sizeof(*st));
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/aside.db", dir);
    bool is_new;
    enum rc rc;

    if (st == NULL) {
        return RC_NOMEM;
    }
    if (len < 0 || (size_t)len >= sizeof(path)) {
        log_error(NULL, "data: the path is longer than %zu bytes",
                  sizeof(path) - 1);
        free(st);
        return RC_INVALID;
    }
    opt.path = path;
    is_new = !read_only && access(path, F_OK) != 0;
    st->busy_ms = busy_ms;
    st->heads = hash_heads_new();
    if (asprintf(&st->log, "%s-wal", path) < 0) {
        st->log = NULL;
    }
    rc = st->heads == NULL || st->log == NULL ? RC_NOMEM
                                              : db_open(&opt, &st->db);
    if (rc != RC_OK) {
        hash_heads_free(st->heads);
        free(st->log);
        free(st);
        return rc;
    }
    if (is_new) {
        log_warn(
            NULL,
            "there was no database in %s: a new one was made, and is empty",
            dir);
    }
    *out = st;
    return RC_OK;
}

/* What is of two times is nobody's to work on, nor to show. */
static enum rc refuse_half(const char *dir)
{
    if (!store_exchange_is_open(dir)) {
        return RC_OK;
    }
    log_error(NULL,
              "%s: a restore was cut short: do it again, with `aside restore` "
              "(see restore.unfinished there)",
              dir);
    return RC_CONFLICT;
}

enum rc store_open(const char *dir, int64_t busy_ms, struct store **out)
{
    enum rc rc = refuse_half(dir);

    return rc == RC_OK ? open_in(dir, busy_ms, false, out) : rc;
}

enum rc store_open_read(const char *dir, int64_t busy_ms, struct store **out)
{
    enum rc rc = refuse_half(dir);

    return rc == RC_OK ? open_in(dir, busy_ms, true, out) : rc;
}

enum rc store_open_half(const char *dir, int64_t busy_ms, struct store **out)
{
    return open_in(dir, busy_ms, true, out);
}

void store_close(struct store *st)
{
    if (st != NULL) {
        db_close(st->db);
        hash_heads_free(st->heads);
        free(st->log);
        free(st);
    }
}

/* --- reading ----------------------------------------------------------- */

void store_set_busy(struct store *st, int64_t busy_ms)
{
    st->busy_ms = busy_ms;
    db_set_busy(st->db, busy_ms);
}

enum rc store_as_of(struct store *st, int64_t *seq)
{
    return db_one_i64(db_use(st->db, STMT_FACT_AS_OF), seq);
}

bool store_has_fts5(void)
{
    return db_has_fts5();
}

enum rc store_newest(struct store *st, int64_t *seq)
{
    return store_as_of(st, seq);
}

static enum rc read_feed(struct store *st, char out[STORE_FEED_BYTES])
{
    struct dbq *q = db_use(st->db, STMT_FACT_FEED);

    if (db_next(q)) {
        (void)snprintf(out, STORE_FEED_BYTES, "%s",
                       (const char *)db_peek(q, 0));
    }
    return db_end(q);
}

enum rc store_read_begin(struct store *st, struct store_view *view)
{
    enum rc rc = db_begin_read(st->db);

    if (rc != RC_OK) {
        return rc;
    }
    memset(view, 0, sizeof(*view));
    rc = store_as_of(st, &view->as_of);
    if (rc == RC_OK) {
        rc = read_feed(st, view->feed);
    }
    if (rc != RC_OK) {
        db_end_read(st->db);
    }
    return rc;
}

void store_read_end(struct store *st)
{
    db_end_read(st->db);
}

/* --- writing ----------------------------------------------------------- */

/* Fence: a runtime that is no longer the owner writes nothing (DESIGN 1). */
static enum rc check_owner(struct store *st)
{
    int64_t epoch = 0;
    int64_t now = clock_boot_ms();
    struct dbq *q;
    enum rc rc;

    if (st->epoch == 0) {
        return RC_OK;
    }
    rc = db_one_i64(db_use(st->db, STMT_LEASE_EPOCH), &epoch);
    if (rc != RC_OK) {
        return rc;
    }
    if (epoch != st->epoch) {
        return RC_FENCED;
    }
    if (now - st->renewed_boot_ms < LEASE_RENEW_MS) {
        return RC_OK;
    }
    st->renewed_boot_ms = now;
    q = db_use(st->db, STMT_LEASE_RENEW);
    db_bind_i64(q, ":boot_ms", now);
    db_bind_i64(q, ":epoch", epoch);
    return db_run(q);
}

struct tx {
    struct store *st;
    store_fn *fn;
    void *arg;
};

static enum rc run_tx(struct db *db, void *arg)
{
    struct tx *tx = arg;
    enum rc rc = check_owner(tx->st);

    assert(db == tx->st->db);
    return rc == RC_OK ? tx->fn(tx->st, tx->arg) : rc;
}

enum rc store_tx(struct store *st, store_fn *fn, void *arg)
{
    struct tx tx = {st, fn, arg};

    return db_tx(st->db, run_tx, &tx);
}

enum rc store_batch_begin(struct store *st)
{
    enum rc rc = db_begin(st->db, st->busy_ms);

    if (rc != RC_OK) {
        return rc;
    }
    rc = check_owner(st);
    if (rc != RC_OK) {
        db_rollback(st->db);
    }
    return rc;
}

enum rc store_batch_call(struct store *st, store_fn *fn, void *arg,
                         enum rc *result)
{
    enum rc rc = db_savepoint(st->db);

    if (rc != RC_OK) {
        db_rollback(st->db);
        return rc;
    }
    *result = fn(st, arg);
    if (*result == RC_OK) {
        rc = db_release(st->db);
    } else {
        /* Some failures have ended the whole transaction already. */
        rc = db_rollback_to(st->db);
    }
    if (rc != RC_OK) {
        db_rollback(st->db);
    }
    return rc;
}

enum rc store_batch_try(struct store *st, store_fn *fn, void *arg,
                        enum rc *result)
{
    int64_t mark = db_mark(st->db);

    *result = fn(st, arg);
    return *result == RC_OK || db_stands_at(st->db, mark) ? RC_OK : RC_CONFLICT;
}

enum rc store_batch_commit(struct store *st)
{
    return db_commit(st->db);
}

void store_batch_abort(struct store *st)
{
    db_rollback(st->db);
}

/* --- accounts ---------------------------------------------------------- */

enum rc store_account_find(struct store *st, const char *name, int64_t *id)
{
    struct dbq *q = db_use(st->db, STMT_ACCOUNT_FIND);

    db_bind_text(q, ":name", name);
    return db_one_i64(q, id);
}

enum rc store_account_name(struct store *st, int64_t id, struct arena *a,
                           const char **name)
{
    struct dbq *q = db_use(st->db, STMT_ACCOUNT_NAME);
    bool found;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    found = db_next(q);
    if (found) {
        *name = db_text(q, 0, a);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc store_account_ensure(struct store *st, const char *name, int64_t now_ms,
                             int64_t *id)
{
    enum rc rc = store_account_find(st, name, id);
    struct dbq *q;

    if (rc != RC_NOT_FOUND) {
        return rc;
    }
    q = db_use(st->db, STMT_ACCOUNT_INSERT);
    db_bind_text(q, ":name", name);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run(q);
    if (rc == RC_OK) {
        *id = db_last_id(st->db);
    }
    return rc;
}

/* --- shared small pieces ----------------------------------------------- */

int store_word(struct dbq *q, int col, enum states_list list)
{
    int value = 0;

    if (states_value(list, db_peek(q, col), &value) != RC_OK) {
        db_fail(q, RC_DB);
    }
    return value;
}

void store_bind_word(struct dbq *q, const char *name, enum states_list list,
                     int value)
{
    db_bind_text(q, name, states_text(list, value));
}

void *store_list_add(struct arena *a, void **items, size_t *n, size_t item_size)
{
    size_t have = *n;

    /* Full at 0 and at every power of two from 8 on. */
    if (have == 0 || (have >= 8 && (have & (have - 1)) == 0)) {
        size_t cap = have == 0 ? 8 : 2 * have;
        void *bigger = arena_alloc(a, cap * item_size);

        if (bigger == NULL) {
            return NULL;
        }
        if (have > 0) {
            memcpy(bigger, *items, have * item_size);
        }
        *items = bigger;
    }
    *n = have + 1;
    return (char *)*items + have * item_size;
}

enum rc store_read_one(struct dbq *q, struct arena *a, store_read_fn *read,
                       void *item)
{
    bool found = false;
    enum rc rc;

    if (db_next(q)) {
        found = true;
        read(q, a, item);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc store_read_list(struct dbq *q, struct arena *a, store_read_fn *read,
                        size_t item_size, void *items, size_t *n)
{
    void *list = NULL;
    size_t count = 0;
    enum rc rc;

    while (db_next(q)) {
        void *item = store_list_add(a, &list, &count, item_size);

        if (item == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        read(q, a, item);
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        /* A pointer to an array of the caller's type. */
        memcpy(items, &list, sizeof(list));
        *n = count;
    }
    return rc;
}

static void read_id(struct dbq *q, struct arena *a, void *item)
{
    (void)a;
    *(int64_t *)item = db_i64(q, 0);
}

enum rc store_read_ids(struct dbq *q, struct arena *a, int64_t **ids, size_t *n)
{
    return store_read_list(q, a, read_id, sizeof(**ids), ids, n);
}
