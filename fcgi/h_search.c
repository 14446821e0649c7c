#include <inttypes.h>

#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "fcgi/view.h"
#include "sql/search.h"

#define PAGE_DEFAULT    20
#define PAGE_MAX        50
#define MAX_QUERY_BYTES 1000
#define SNIPPET_BYTES   240

/* What a hit is of, as it is now. */
struct result {
    struct search_hit hit;
    struct message message; /* of a hit in a message */
    struct run run;         /* of a hit in an answer */
    struct conversation conversation;
};

struct results {
    struct result *list;
    size_t n;
    int64_t last_place;
    bool more;
    bool complete;
};

static enum rc read_one(const struct ask *ask, int64_t account,
                        struct result *r)
{
    int64_t conversation = 0;
    enum rc rc;

    if (r->hit.message_id != 0) {
        rc = store_message_get(ask->store, account, r->hit.message_id,
                               ask->arena, &r->message);
        conversation = r->message.conversation_id;
    } else {
        rc = store_run_get(ask->store, account, r->hit.run_id, true, ask->arena,
                           &r->run);
        conversation = r->run.conversation_id;
    }
    return rc == RC_OK
               ? store_conversation_get(ask->store, account, conversation,
                                        ask->arena, &r->conversation)
               : rc;
}

/* What was deleted since the index was made is passed over. */
static enum rc read_all(const struct ask *ask, int64_t account,
                        const struct search_hit *hits, size_t n,
                        struct results *out)
{
    out->list = arena_alloc(ask->arena, (n + 1) * sizeof(out->list[0]));
    if (out->list == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < n; i++) {
        struct result *r = &out->list[out->n];
        enum rc rc;

        *r = (struct result){.hit = hits[i]};
        out->last_place = hits[i].place;
        rc = read_one(ask, account, r);
        if (rc == RC_OK) {
            out->n++;
        } else if (rc != RC_NOT_FOUND) {
            return rc;
        }
    }
    return RC_OK;
}

struct hits {
    struct search_hit *list;
    size_t n;
};

static enum rc look_up(const struct ask *ask, struct search_query *query,
                       const struct read *read, struct hits *hits,
                       bool *complete)
{
    const struct conf *conf = ask->app->conf;
    struct search *s = NULL;
    enum rc rc = search_open(conf->data, conf->busy_timeout_ms, &s);

    if (rc != RC_OK) {
        return rc;
    }
    rc = search_catch_up(s, ask->store, &read->view, complete);
    query->account_id = read->account_id;
    if (rc == RC_OK && read->account_id != 0) {
        rc = search_find(s, query, ask->arena, &hits->list, &hits->n);
    }
    search_close(s);
    return rc;
}

/* The index is made of rows, so one that is damaged is made anew. */
static enum rc find(const struct ask *ask, struct search_query *query,
                    const struct read *read, struct results *out)
{
    struct hits hits = {.list = NULL};
    enum rc rc = look_up(ask, query, read, &hits, &out->complete);

    if (rc == RC_DB) {
        search_discard(ask->app->conf->data);
        hits = (struct hits){.list = NULL};
        rc = look_up(ask, query, read, &hits, &out->complete);
    }
    out->more = hits.n == (size_t)query->limit;
    return rc == RC_OK ? read_all(ask, read->account_id, hits.list, hits.n, out)
                       : rc;
}

static void put_result(struct json_out *j, const struct ask *ask,
                       const char *text, const struct result *r)
{
    bool is_message = r->hit.message_id != 0;
    bool is_report = !is_message && r->run.kind == RUN_RESEARCH;
    int64_t message = is_message ? r->message.id : r->run.message_id;
    const char *found = is_message ? r->message.body : r->run.answer_body;

    json_open_object(j);
    json_kstr(j, "kind",
              is_message  ? "message"
              : is_report ? "report"
                          : "answer");
    view_id(j, "conversation_id", ID_CONVERSATION, r->conversation.id);
    json_kstr(j, "conversation_title", r->conversation.title);
    view_id(j, "message_id", ID_MESSAGE, message);
    view_id(j, "run_id", ID_RUN, is_message ? r->message.run_id : r->run.id);
    json_kstr(j, "title", is_message ? NULL : r->run.title);
    json_kstr(j, "snippet",
              search_snippet(text, found, SNIPPET_BYTES, ask->arena));
    json_ki64(j, "at", is_message ? r->message.created_ms : r->run.ended_ms);
    json_close_object(j);
}

static enum serve_then send_results(const struct ask *ask, const char *text,
                                    const struct read *read,
                                    const struct results *found)
{
    struct reply reply;
    struct json_out *j = &reply.json;

    reply_open(&reply);
    read_put_view(j, read);
    json_key(j, "results");
    json_open_array(j);
    for (size_t i = 0; i < found->n; i++) {
        put_result(j, ask, text, &found->list[i]);
    }
    json_close_array(j);
    /* A text: it is beyond the whole numbers of JavaScript. */
    json_kstr(j, "next",
              found->more
                  ? arena_printf(ask->arena, "%" PRId64, found->last_place)
                  : NULL);
    json_kbool(j, "complete", found->complete);
    return reply_send(&reply, ask->req, 200);
}

enum serve_then h_search(struct ask *ask)
{
    struct search_query query = {0};
    struct results found = {0};
    struct read read;
    enum rc rc;

    if (!form_query_text_or_reply(ask, "q", MAX_QUERY_BYTES, &query.text) ||
        !form_query_i64_or_reply(ask, "before", 0, INT64_MAX, INT64_MAX,
                                 &query.before) ||
        !form_query_i64_or_reply(ask, "limit", 1, PAGE_MAX, PAGE_DEFAULT,
                                 &query.limit)) {
        return SERVE_FINISH;
    }
    rc = read_begin(ask, &read);
    if (rc == RC_OK) {
        rc = find(ask, &query, &read, &found);
        read_end(ask);
    }
    return rc == RC_OK ? send_results(ask, query.text, &read, &found)
                       : reply_rc(ask->req, rc);
}
