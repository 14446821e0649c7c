#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "sql/store_audit.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX     200

struct page {
    int64_t before;
    int64_t limit;
    struct read read;
    struct audit *list;
    size_t n; /* one more than the limit tells that there are more */
};

static enum serve_then reply_page(const struct ask *ask, const struct page *p)
{
    struct reply reply;

    reply_open(&reply);
    read_put_view(&reply.json, &p->read);
    json_key(&reply.json, "audit");
    json_open_array(&reply.json);
    for (size_t i = 0; i < p->n && i < (size_t)p->limit; i++) {
        store_audit_put(&reply.json, &p->list[i]);
    }
    json_close_array(&reply.json);
    json_kbool(&reply.json, "has_more", p->n > (size_t)p->limit);
    return reply_send(&reply, ask->req, 200);
}

enum serve_then h_audit_list(struct ask *ask)
{
    struct page p = {.list = NULL};
    enum rc rc;

    if (!form_query_id_or_reply(ask, "before", ID_AUDIT, &p.before) ||
        !form_query_i64_or_reply(ask, "limit", 1, PAGE_MAX, PAGE_DEFAULT,
                                 &p.limit)) {
        return SERVE_FINISH;
    }
    rc = read_begin(ask, &p.read);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    if (p.read.account_id != 0) {
        rc = store_audit_page(ask->store, p.read.account_id,
                              p.before == 0 ? INT64_MAX : p.before, p.limit + 1,
                              ask->arena, &p.list, &p.n);
    }
    read_end(ask);
    return rc == RC_OK ? reply_page(ask, &p) : reply_rc(ask->req, rc);
}
