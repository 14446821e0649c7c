/* facts.c - what happened outside since the last step, put into rows: streamed
 * text, the first chunk, a reply's end, tool results. */
#include <inttypes.h>
#include <string.h>

#include "runtime/run_inside.h"
#include "sql/base/id.h"
#include "sql/base/log.h"

static void note_endpoint(struct step *s, enum endpoint_state state)
{
    if (s->rt->endpoint != state) {
        s->rt->endpoint = state;
        s->rt->endpoint_told = false;
    }
}

static void judge_endpoint(struct step *s, const struct outcome *o)
{
    if (o->error.kind == MODEL_ERROR_AUTH || o->status == 401 ||
        o->status == 403) {
        note_endpoint(s, ENDPOINT_UNAUTHORIZED);
    } else if (o->status == 0) {
        note_endpoint(s, ENDPOINT_UNREACHABLE);
    } else if (o->status < 500) {
        note_endpoint(s, ENDPOINT_OK);
    }
}

enum rc facts_apply_text(struct step *s)
{
    const struct buf *text = &s->live->facts.text;
    enum rc rc = RC_OK;

    if (text->len == 0 || run_is_research(s)) {
        return buf_rc(text);
    }
    if (s->run.answer_revision == 0) {
        rc = store_answer_open(s->rt->store, &s->run);
    }
    if (rc == RC_OK) {
        rc = store_answer_add(s->rt->store, &s->run, buf_str(text), text->len);
    }
    return rc;
}

static void fill_done(struct step *s, struct request *last,
                      const struct outcome *o, const char *reply)
{
    const struct model_usage *u = &o->reply.usage;

    last->state = EFFECT_DONE;
    last->reply = reply;
    last->finish = o->reply.finish[0] != '\0' ? o->reply.finish : NULL;
    last->usage = (struct usage){
        .known = u->known,
        .input_tokens = u->input_tokens,
        .output_tokens = u->output_tokens,
        .cached_tokens = u->cached_tokens,
        .estimate = flight_estimate(s->live, last->input_estimate)};
}

/* A server with a small context of its own drops the front of what it is sent,
 * and the answer is to the rest. */
static void warn_of_dropped(const struct request *q,
                            const struct model_usage *u)
{
    char id[ID_TEXT_BYTES];

    if (model_input_was_dropped(q->input_estimate, u)) {
        log_warn(id_text(ID_REQUEST, q->id, id),
                 "the endpoint has read %" PRId64 " tokens of about %" PRId64
                 ": it drops the front; see model.context_tokens",
                 u->input_tokens, q->input_estimate);
    }
}

static void warn_of_limit(const struct request *q, const struct model_reply *r)
{
    char id[ID_TEXT_BYTES];

    if (strcmp(r->finish, MODEL_FINISH_LIMIT) == 0) {
        log_warn(id_text(ID_REQUEST, q->id, id),
                 "the reply was cut: it grew beyond what is taken");
    }
}

/* The reply verbatim, its usage, its calls and what they do: one transaction
 * (R01). */
static enum rc take_done(struct step *s, struct request *last,
                         const struct outcome *o)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, 16u << 20);
    rc = model_reply_print(&o->reply, &text);
    if (rc == RC_OK) {
        fill_done(s, last, o, buf_str(&text));
        rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_SENT,
                                  s->now_ms);
    }
    if (rc == RC_OK) {
        run_count_usage(s, &last->usage);
        warn_of_dropped(last, &o->reply.usage);
        warn_of_limit(last, &o->reply);
        if (s->run.limit_reason == REASON_PROVIDER_QUOTA) {
            s->run.limit_reason = REASON_NONE;
        }
        rc = run_is_research(s) ? research_take_reply(s, last, &o->reply)
                                : entry_take_reply(s, last, &o->reply);
    }
    buf_free(&text);
    return rc;
}

static enum rc take_failed(struct step *s, struct request *last,
                           const struct outcome *o)
{
    const struct model_usage *u = &o->reply.usage;
    bool refused = plan_is_throttled(o) || o->error.kind == MODEL_ERROR_QUOTA;
    char id[ID_TEXT_BYTES];
    enum rc rc;

    last->state = EFFECT_FAILED;
    last->error = o->detail;
    last->usage = (struct usage){
        .known = u->known || refused,
        .input_tokens = u->input_tokens,
        .output_tokens = u->output_tokens,
        .cached_tokens = u->cached_tokens,
        .estimate = flight_estimate(s->live, last->input_estimate)};
    log_warn(id_text(ID_REQUEST, last->id, id), "%s", o->detail);
    if (o->error.kind == MODEL_ERROR_NO_STREAM) {
        s->rt->no_stream = true; /* from now on it is asked for whole replies */
    }
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_SENT,
                              s->now_ms);
    if (rc != RC_OK) {
        return rc;
    }
    run_count_usage(s, &last->usage);
    if (plan_was_refused(last)) {
        s->run.requests.used--;
    }
    return plan_retry_or_end(s, last, o);
}

static enum rc apply_outcome(struct step *s, struct request *last)
{
    const struct outcome *o = &s->live->facts.outcome;

    judge_endpoint(s, o);
    s->live->effects.drop_flight = true;
    if (o->end == HTTP_END_DONE &&
        (o->verdict == MODEL_COMPLETE || o->verdict == MODEL_LENGTH)) {
        return take_done(s, last, o);
    }
    return take_failed(s, last, o);
}

static enum rc apply_results(struct step *s)
{
    enum rc rc = RC_OK;

    for (struct tool_work *w = tool_next_done(s->live, NULL);
         w != NULL && rc == RC_OK; w = tool_next_done(s->live, w)) {
        struct tool_call t;

        rc = store_tool_call_get(s->rt->store, 0, w->call_id, s->mem, &t);
        /* An interrupted call's late result changes nothing. */
        if (rc == RC_OK && t.state == EFFECT_SENT) {
            rc = tool_settle(s, &t, &w->result);
        }
    }
    return rc;
}

/* How calls under way go. */
static enum rc apply_said(struct step *s)
{
    enum rc rc = RC_OK;

    for (struct tool_work *w = tool_next_said(s->live, NULL);
         w != NULL && rc == RC_OK; w = tool_next_said(s->live, w)) {
        rc = store_tool_call_say(s->rt->store, &s->run, w->call_id, w->said);
    }
    return rc;
}

enum rc facts_apply(struct step *s)
{
    struct facts *f = &s->live->facts;
    struct request last;
    enum rc rc = facts_apply_text(s);

    if (rc == RC_OK) {
        rc = apply_results(s);
    }
    if (rc == RC_OK) {
        rc = apply_said(s);
    }
    if (rc == RC_OK && f->saying != NULL) {
        run_set_progress(s, f->saying);
    }
    if (rc != RC_OK || (!f->first && !f->outcome.there)) {
        return rc;
    }
    rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);
    if (rc != RC_OK || last.state != EFFECT_SENT ||
        !flight_is(s->live, last.id)) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    if (f->first && last.first_ms == 0) {
        rc = store_request_first(s->rt->store, &s->run, &last, s->now_ms);
        note_endpoint(s, ENDPOINT_OK);
    }
    if (rc == RC_OK && f->outcome.there) {
        rc = apply_outcome(s, &last);
    }
    return rc;
}
