#include "sql/store_page.h"

#include "sql/store_priv.h"

static void read_page(struct dbq *q, struct arena *a, void *item)
{
    struct page *p = item;

    p->url = db_text(q, 0, a);
    p->location = db_text(q, 1, a);
    p->etag = db_text(q, 2, a);
    p->last_modified = db_text(q, 3, a);
    p->body = db_text(q, 4, a);
    p->fetched_ms = db_i64(q, 5);
}

enum rc store_page_of_run(struct store *st, int64_t run_id, const char *url,
                          struct arena *a, struct page *out)
{
    struct dbq *q = db_use(st->db, STMT_PAGE_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    db_bind_text(q, ":url", url);
    return store_read_one(q, a, read_page, out);
}

enum rc store_page_newest(struct store *st, int64_t run_id,
                          const char *location, struct arena *a,
                          struct page *out)
{
    struct dbq *q = db_use(st->db, STMT_PAGE_NEWEST);

    db_bind_i64(q, ":run", run_id);
    db_bind_text(q, ":location", location);
    return store_read_one(q, a, read_page, out);
}

enum rc store_page_put(struct store *st, const struct run *run,
                       const struct page *p)
{
    struct dbq *q = db_use(st->db, STMT_PAGE_PUT);
    enum rc rc;

    db_bind_i64(q, ":account", run->account_id);
    db_bind_i64(q, ":run", run->id);
    db_bind_text(q, ":url", p->url);
    db_bind_text(q, ":location", p->location);
    db_bind_text(q, ":etag", p->etag);
    db_bind_text(q, ":last_modified", p->last_modified);
    db_bind_text(q, ":body", p->body);
    db_bind_i64(q, ":now_ms", p->fetched_ms);
    rc = db_run(q);
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_PAGE_FORGET);
    db_bind_i64(q, ":account", run->account_id);
    db_bind_i64(q, ":keep", STORE_PAGES_MAX);
    return db_run(q);
}
