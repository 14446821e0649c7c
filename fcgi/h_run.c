#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "fcgi/view.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX     200
/* Code points of all arguments, and of all sources, in the read of one Run: it
 * fits its reply and its memory however many there are. */
#define ARGUMENTS_CHARS INT64_C(1000000)
#define SOURCES_CHARS   INT64_C(4000000)

/* --- list ------------------------------------------------------------------
 */

static const char *const STATE[] = {
    [RUN_RUNNING] = "running",     [RUN_AWAITING_INPUT] = "awaiting_input",
    [RUN_COMPLETED] = "completed", [RUN_INCOMPLETE] = "incomplete",
    [RUN_FAILED] = "failed",       [RUN_STOPPED] = "stopped",
    [RUN_STATE__MAX] = "active", /* running or awaiting input */
};
static const char *const KIND[RUN_KIND__MAX] = {
    [RUN_SHORT] = "short",
    [RUN_RESEARCH] = "research",
};

static bool parse_filter_or_reply(const struct ask *ask, struct run_filter *f)
{
    if (!form_query_word_or_reply(ask, "state", STATE, RUN_STATE__MAX + 1,
                                  &f->state) ||
        !form_query_word_or_reply(ask, "kind", KIND, RUN_KIND__MAX, &f->kind) ||
        !form_query_id_or_reply(ask, "conversation", ID_CONVERSATION,
                                &f->conversation_id) ||
        !form_query_id_or_reply(ask, "before", ID_RUN, &f->before) ||
        !form_query_i64_or_reply(ask, "limit", 1, PAGE_MAX, PAGE_DEFAULT,
                                 &f->limit)) {
        return false;
    }
    if (f->state == RUN_STATE__MAX) {
        f->state = -1;
        f->active_only = true;
    }
    return true;
}

enum serve_then h_run_list(struct ask *ask)
{
    struct run_filter filter = {0};
    struct read read;
    struct run *runs = NULL;
    size_t n = 0;
    int64_t limit;
    struct reply reply;
    enum rc rc;

    if (!parse_filter_or_reply(ask, &filter)) {
        return SERVE_FINISH;
    }
    limit = filter.limit;
    filter.limit = limit + 1; /* one more tells whether there are more */
    rc = read_begin(ask, &read);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    filter.account_id = read.account_id;
    if (read.account_id != 0) {
        rc = store_run_list(ask->store, &filter, ask->arena, &runs, &n);
    }
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    read_put_view(&reply.json, &read);
    json_key(&reply.json, "runs");
    json_open_array(&reply.json);
    for (size_t i = 0; i < n && i < (size_t)limit; i++) {
        view_run(&reply.json, &runs[i]);
    }
    json_close_array(&reply.json);
    json_kbool(&reply.json, "has_more", n > (size_t)limit);
    return reply_send(&reply, ask->req, 200);
}

/* --- one Run ---------------------------------------------------------------
 */

struct whole {
    struct read read;
    struct run run;
    struct request *requests;
    size_t n_requests;
    struct tool_call *calls;
    size_t n_calls;
    struct handoff *handoffs;
    size_t n_handoffs;
    struct source *sources;
    size_t n_sources;
};

/* Of each of n texts as much as is shown of one, or an equal part of all. */
static int64_t chars_each(int64_t n, int64_t most, int64_t all)
{
    return n * most <= all ? most : all / n;
}

static enum rc read_calls(const struct ask *ask, struct whole *w)
{
    int64_t n = 0;
    enum rc rc = store_tool_call_count(ask->store, ask->id, &n);

    return rc == RC_OK
               ? store_tool_call_shown_of_run(
                     ask->store, ask->id,
                     chars_each(n, VIEW_ARGUMENT_CHARS, ARGUMENTS_CHARS),
                     ask->arena, &w->calls, &w->n_calls)
               : rc;
}

static enum rc read_sources(const struct ask *ask, struct whole *w)
{
    int64_t n = 0;
    enum rc rc = store_source_count(ask->store, ask->id, &n);

    return rc == RC_OK ? store_source_of_run(
                             ask->store, ask->id,
                             chars_each(n, VIEW_SOURCE_CHARS, SOURCES_CHARS),
                             ask->arena, &w->sources, &w->n_sources)
                       : rc;
}

static enum rc read_whole(const struct ask *ask, struct whole *w)
{
    struct arena *a = ask->arena;
    enum rc rc = RC_NOT_FOUND;

    if (w->read.account_id != 0) {
        rc = store_run_get(ask->store, w->read.account_id, ask->id, true, a,
                           &w->run);
    }
    if (rc == RC_OK) {
        rc = store_request_of_run(ask->store, ask->id, a, &w->requests,
                                  &w->n_requests);
    }
    if (rc == RC_OK) {
        rc = read_calls(ask, w);
    }
    if (rc == RC_OK) {
        rc = store_handoff_of_run(ask->store, ask->id, a, &w->handoffs,
                                  &w->n_handoffs);
    }
    if (rc == RC_OK) {
        rc = read_sources(ask, w);
    }
    return rc;
}

static void put_whole(struct json_out *json, const struct whole *w)
{
    read_put_view(json, &w->read);
    json_key(json, "run");
    view_run(json, &w->run);
    json_key(json, "requests");
    json_open_array(json);
    for (size_t i = 0; i < w->n_requests; i++) {
        view_request(json, &w->requests[i]);
    }
    json_close_array(json);
    json_key(json, "tool_calls");
    json_open_array(json);
    for (size_t i = 0; i < w->n_calls; i++) {
        view_tool_call(json, &w->calls[i]);
    }
    json_close_array(json);
    json_key(json, "handoffs");
    json_open_array(json);
    for (size_t i = 0; i < w->n_handoffs; i++) {
        view_handoff(json, &w->handoffs[i]);
    }
    json_close_array(json);
    json_key(json, "sources");
    json_open_array(json);
    for (size_t i = 0; i < w->n_sources; i++) {
        view_source(json, &w->sources[i]);
    }
    json_close_array(json);
}

enum serve_then h_run_get(struct ask *ask)
{
    struct whole w = {0};
    struct reply reply;
    enum rc rc = read_begin(ask, &w.read);

    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc = read_whole(ask, &w);
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    put_whole(&reply.json, &w);
    return reply_send(&reply, ask->req, 200);
}

/* --- stop, continue --------------------------------------------------------
 */

struct run_call {
    struct store_call call;
    int64_t run_id;
    const char *body;
    struct message message; /* id 0: none */
    struct run run;
};

static enum serve_then reply_run(const struct ask *ask,
                                 const struct run_call *c, const char *feed)
{
    struct reply reply;

    reply_open(&reply);
    if (c->message.id != 0) {
        json_key(&reply.json, "message");
        view_message(&reply.json, &c->message);
    }
    json_key(&reply.json, "run");
    view_run(&reply.json, &c->run);
    call_put_end(&reply.json, &c->call, feed);
    return reply_send(&reply, ask->req, 202);
}

static enum rc stop(struct store *st, void *arg)
{
    struct run_call *c = arg;

    return store_run_stop(st, &c->call, c->run_id, &c->run);
}

static enum serve_then stopped(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    const struct run_call *c = arg;

    return rc == RC_OK ? reply_run(ask, c, feed)
                       : call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
}

/* Stopping creates nothing and may be said twice, so it needs no key. */
enum serve_then h_run_stop(struct ask *ask)
{
    static const char *const KNOWN[] = {NULL};
    struct run_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    c->run_id = ask->id;
    if (!form_known_or_reply(ask, KNOWN) ||
        !call_open_or_reply(ask, CALL_ENDS,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, stop, c, stopped);
}

static enum rc go_on(struct store *st, void *arg)
{
    struct run_call *c = arg;

    return store_run_continue(st, &c->call, c->run_id, c->body, &c->message,
                              &c->run);
}

static enum serve_then gone_on(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    const struct run_call *c = arg;

    /* The only other state it can be in: not ended. */
    return rc == RC_OK ? reply_run(ask, c, feed)
                       : call_reply_rc(ask, &c->call, rc, REPLY_RUN_ACTIVE);
}

enum serve_then h_run_continue(struct ask *ask)
{
    static const char *const KNOWN[] = {"body", NULL};
    static const struct form_text BODY = {.name = "body",
                                          .max_bytes = ASK_MAX_MESSAGE_BYTES,
                                          .too_large_is_413 = true};
    struct run_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    c->run_id = ask->id;
    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &BODY, &c->body) ||
        !call_open_or_reply(
            ask, CALL_KEY_REQUIRED,
            (const struct call_field[]){{"body", c->body}, {NULL, NULL}},
            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, go_on, c, gone_on);
}
