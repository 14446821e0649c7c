
#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "fcgi/view.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX     200

/* --- reading ---------------------------------------------------------------
 */

struct page {
    struct read read;
    int64_t before;
    int64_t limit;
    struct conversation conversation;
    struct message *messages;
    size_t n_messages;
    struct run *runs;
    size_t n_runs;
    struct handoff *handoffs;
    size_t n_handoffs;
    bool more;
};

/* Where the time of the page ends: with the message that the next newer page
 * begins with. */
static enum rc read_end_ms(const struct ask *ask, const struct page *p,
                           int64_t *to_ms)
{
    struct message next;
    enum rc rc;

    if (p->before == 0) {
        *to_ms = INT64_MAX;
        return RC_OK;
    }
    rc = store_message_get(ask->store, p->read.account_id, p->before,
                           ask->arena, &next);
    if (rc == RC_NOT_FOUND) {
        *to_ms = p->messages[p->n_messages - 1].created_ms + 1;
        return RC_OK;
    }
    if (rc == RC_OK) {
        *to_ms = next.created_ms;
    }
    return rc;
}

/* What belongs to the messages of the page. */
static enum rc read_companions(const struct ask *ask, struct page *p)
{
    struct run_span span = {
        .conversation_id = ask->id,
        .from = p->messages[0].id,
        .to = p->messages[p->n_messages - 1].id,
        .from_ms = p->more ? p->messages[0].created_ms : 0,
    };
    enum rc rc = read_end_ms(ask, p, &span.to_ms);

    if (rc == RC_OK) {
        rc = store_run_of_messages(ask->store, &span, ask->arena, &p->runs,
                                   &p->n_runs);
    }
    if (rc == RC_OK) {
        rc =
            store_handoff_of_messages(ask->store, ask->id, span.from, span.to,
                                      ask->arena, &p->handoffs, &p->n_handoffs);
    }
    return rc;
}

static enum rc read_page(const struct ask *ask, struct page *p)
{
    enum rc rc = RC_NOT_FOUND;

    if (p->read.account_id != 0) {
        rc = store_conversation_get(ask->store, p->read.account_id, ask->id,
                                    ask->arena, &p->conversation);
    }
    if (rc == RC_OK) {
        rc = store_message_page(ask->store, ask->id, p->before, p->limit,
                                ask->arena, &p->messages, &p->n_messages,
                                &p->more);
    }
    if (rc == RC_OK && p->n_messages > 0) {
        rc = read_companions(ask, p);
    }
    return rc;
}

static void put_page(struct json_out *json, const struct page *p)
{
    read_put_view(json, &p->read);
    json_key(json, "conversation");
    view_conversation(json, &p->conversation);
    json_key(json, "messages");
    json_open_array(json);
    for (size_t i = 0; i < p->n_messages; i++) {
        view_message(json, &p->messages[i]);
    }
    json_close_array(json);
    json_key(json, "runs");
    json_open_array(json);
    for (size_t i = 0; i < p->n_runs; i++) {
        view_run(json, &p->runs[i]);
    }
    json_close_array(json);
    json_key(json, "handoffs");
    json_open_array(json);
    for (size_t i = 0; i < p->n_handoffs; i++) {
        view_handoff(json, &p->handoffs[i]);
    }
    json_close_array(json);
    json_kbool(json, "has_more", p->more);
}

enum serve_then h_conversation_get(struct ask *ask)
{
    struct page p = {0};
    struct reply reply;
    enum rc rc;

    if (!form_query_id_or_reply(ask, "before", ID_MESSAGE, &p.before) ||
        !form_query_i64_or_reply(ask, "limit", 1, PAGE_MAX, PAGE_DEFAULT,
                                 &p.limit)) {
        return SERVE_FINISH;
    }
    rc = read_begin(ask, &p.read);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc = read_page(ask, &p);
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    put_page(&reply.json, &p);
    return reply_send(&reply, ask->req, 200);
}

/* --- writing ---------------------------------------------------------------
 */

struct change_call {
    struct store_call call;
    int64_t id;
    const char *title;
    bool seen;
    struct conversation out;
};

static const struct form_text TITLE = {.name = "title",
                                       .max_bytes = ASK_MAX_TITLE_BYTES,
                                       .may_be_empty = true,
                                       .one_line = true};

static enum serve_then reply_conversation(const struct ask *ask,
                                          const struct change_call *c,
                                          const char *feed, int status)
{
    struct reply reply;

    reply_open(&reply);
    json_key(&reply.json, "conversation");
    view_conversation(&reply.json, &c->out);
    call_put_end(&reply.json, &c->call, feed);
    return reply_send(&reply, ask->req, status);
}

static enum rc create(struct store *st, void *arg)
{
    struct change_call *c = arg;

    return store_conversation_create(st, &c->call, c->title, &c->out);
}

static enum serve_then created(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    const struct change_call *c = arg;

    return rc == RC_OK ? reply_conversation(ask, c, feed, 201)
                       : call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
}

enum serve_then h_conversation_create(struct ask *ask)
{
    static const char *const KNOWN[] = {"title", NULL};
    struct change_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &TITLE, &c->title)) {
        return SERVE_FINISH;
    }
    if (c->title == NULL) {
        c->title = "";
    }
    if (!call_open_or_reply(
            ask, CALL_KEY_REQUIRED,
            (const struct call_field[]){{"title", c->title}, {NULL, NULL}},
            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, create, c, created);
}

static enum rc update(struct store *st, void *arg)
{
    struct change_call *c = arg;

    return store_conversation_update(st, &c->call, c->id, c->title, c->seen,
                                     &c->out);
}

static enum serve_then updated(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    const struct change_call *c = arg;

    return rc == RC_OK ? reply_conversation(ask, c, feed, 200)
                       : call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
}

enum serve_then h_conversation_update(struct ask *ask)
{
    static const char *const KNOWN[] = {"title", "seen", NULL};
    struct change_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    c->id = ask->id;
    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &TITLE, &c->title) ||
        !form_flag_or_reply(ask, "seen", &c->seen)) {
        return SERVE_FINISH;
    }
    if (c->title == NULL && !c->seen) {
        return reply_problem(ask->req, REPLY_INVALID_FIELD,
                             "There is nothing to change: give a title, or "
                             "seen = true.");
    }
    if (!call_open_or_reply(
            ask, CALL_KEY_OPTIONAL,
            (const struct call_field[]){{"title", c->title},
                                        {"seen", c->seen ? "true" : "false"},
                                        {NULL, NULL}},
            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, update, c, updated);
}

static enum rc erase(struct store *st, void *arg)
{
    struct change_call *c = arg;

    return store_conversation_delete(st, &c->call, c->id);
}

static enum serve_then erased(const struct ask *ask, void *arg, enum rc rc,
                              const char *feed)
{
    const struct change_call *c = arg;
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &c->call, rc, REPLY_RUN_ACTIVE);
    }
    reply_open(&reply);
    call_put_end(&reply.json, &c->call, feed);
    return reply_send(&reply, ask->req, 200);
}

enum serve_then h_conversation_delete(struct ask *ask)
{
    struct change_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    c->id = ask->id;
    if (!call_open_or_reply(ask, CALL_KEY_OPTIONAL,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, erase, c, erased);
}
