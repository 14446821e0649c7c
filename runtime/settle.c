/* settle.c - requests and tool calls that were cut short: interrupted, unknown,
 * or left by a Run that has ended. */
#include "runtime/fault.h"
#include "runtime/run_inside.h"

const char settle_unknown[] =
    "{\"error\":\"the outcome is unknown: it may have been carried out, and "
    "is not repeated\"}";

/* What a request without a proper end has used: as told, if its end had come
 * already; else an estimate on the safe side (R25). */
static struct usage usage_of(struct step *s, const struct request *r)
{
    const struct outcome *o = &s->live->facts.outcome;
    struct usage u = {.estimate = r->input_estimate +
                                  s->rt->conf.model_max_output_tokens};

    if (flight_is(s->live, r->id)) {
        u.estimate = flight_estimate(s->live, r->input_estimate);
        if (o->there && o->reply.usage.known) {
            u.known = true;
            u.input_tokens = o->reply.usage.input_tokens;
            u.output_tokens = o->reply.usage.output_tokens;
            u.cached_tokens = o->reply.usage.cached_tokens;
        }
    }
    return u;
}

enum rc settle_cut_short(struct step *s, struct request *last,
                         enum effect_state state, enum effect_cause cause)
{
    enum rc rc;

    last->state = state;
    last->cause = cause;
    last->usage = usage_of(s, last);
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_SENT,
                              s->now_ms);
    if (rc == RC_OK) {
        s->live->effects.drop_flight = true;
        if (run_over(s)) {
            rc = store_request_count_late(s->rt->store, &s->run, &last->usage);
        } else {
            run_count_usage(s, &last->usage);
        }
    }
    return rc;
}

/* What of it is under way is cancelled once this is committed. */
static enum rc drop_tool(struct step *s, const struct tool_call *t)
{
    struct tool_drop *d = arena_alloc(s->live->jobs_mem, sizeof(*d));

    if (d == NULL) {
        return RC_TOO_LARGE;
    }
    d->call_id = t->id;
    d->next = s->live->effects.drops;
    s->live->effects.drops = d;
    return RC_OK;
}

enum rc settle_tool(struct step *s, struct tool_call *t,
                    enum effect_state state, enum effect_cause cause,
                    const char *result)
{
    enum effect_state from = t->state;
    enum rc rc = from == EFFECT_SENT ? drop_tool(s, t) : RC_OK;

    if (rc != RC_OK) {
        return rc;
    }
    t->state = state;
    t->cause = cause;
    t->result = result;
    return store_tool_call_move(s->rt->store, &s->run, t, from, s->now_ms);
}

/* What is safe stays sent, and is made again by the next runtime. */
enum rc settle_unsafe(struct step *s, const struct request *last,
                      enum effect_cause cause)
{
    struct tool_call *calls = NULL;
    size_t n = 0;
    enum rc rc =
        store_tool_call_of_request(s->rt->store, last->id, s->mem, &calls, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (calls[i].state == EFFECT_SENT &&
            tool_under_way(s->live, calls[i].id) && !calls[i].safe) {
            rc = settle_tool(s, &calls[i], EFFECT_UNKNOWN, cause,
                             settle_unknown);
        }
    }
    return rc;
}

enum rc settle_untouched(struct step *s)
{
    s->live->effects.drop_flight = true;
    s->live->effects.gone = true;
    return store_run_close_sent(s->rt->store, &s->run,
                                s->rt->conf.model_max_output_tokens, s->now_ms);
}

/* A Run that has ended: close what is under way, settle the rows (R24). */
enum rc settle_ended(struct step *s)
{
    enum effect_cause cause =
        s->run.state == RUN_STOPPED ? CAUSE_STOP : CAUSE_NONE;
    struct tool_call *calls = NULL;
    struct request last;
    size_t n = 0;
    enum rc rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);

    fault_at_settling();
    if (rc == RC_OK && last.state == EFFECT_SENT) {
        rc = settle_cut_short(s, &last,
                              flight_is(s->live, last.id) ? EFFECT_INTERRUPTED
                                                          : EFFECT_UNKNOWN,
                              cause);
    }
    if (rc == RC_OK) {
        rc = store_tool_call_of_request(s->rt->store, last.id, s->mem, &calls,
                                        &n);
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (calls[i].state == EFFECT_SENT) {
            rc = settle_tool(s, &calls[i], EFFECT_INTERRUPTED, cause, NULL);
        }
    }
    s->live->effects.drop_flight = true;
    s->live->effects.gone = true;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}
