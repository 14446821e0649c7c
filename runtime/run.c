/* run.c - the state machine of a Run: what its rows call for next.
 *
 * A step applies what happened (facts), then decides from the rows alone, so
 * that a runtime that just started decides the same as one that was there all
 * along. Precedence: stop > deadline > budget > adjustment (R26).
 */
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/base/utf8.h"

/* Decisions in one step; a Run that wants more is called again. */
#define DECISIONS_MAX 8

#define RETRIES_MAX      3
#define BACKOFF_MS       1000
#define BACKOFF_LIMIT_MS 60000
#define QUOTA_RECHECK_MS 60000
#define CRASHES_MAX      3
#define TOOL_GRACE_MS    2000
#define CLOSEOUT_TIME_MS 60000
#define PROGRESS_BYTES   160
#define AGAIN_MS         10

/* --- small pieces ------------------------------------------------------ */

void run_hit_limit(struct step *s, enum run_reason reason)
{
    if (s->run.limit_reason == REASON_NONE) {
        s->run.limit_reason = reason;
        s->save = true;
    }
}

/* One line, without Markdown's marks at its front, clipped. */
void run_set_progress(struct step *s, const char *text)
{
    const char *end;
    size_t len;
    char *line;

    while (*text != '\0' &&
           (strchr("#*->", *text) != NULL || (unsigned char)*text <= ' ')) {
        text++;
    }
    end = strchr(text, '\n');
    len = end != NULL ? (size_t)(end - text) : strlen(text);
    len = utf8_clip(text, len, PROGRESS_BYTES);
    line = arena_strndup(s->mem, text, len);
    if (line != NULL && len > 0 && strcmp(line, s->run.progress) != 0) {
        s->run.progress = line;
        s->save = true;
    }
}

/* Want another step in so many milliseconds at the latest. */
static void wake_in(struct step *s, int64_t ms)
{
    int64_t at = s->boot_ms + (ms > 0 ? ms : 1);

    if (s->wake_ms == 0 || at < s->wake_ms) {
        s->wake_ms = at;
    }
}

static void set_phase(struct step *s, enum run_phase phase)
{
    if (s->run.phase != phase) {
        s->run.phase = phase;
        s->save = true;
    }
}

static enum run_phase phase_of(enum request_purpose p)
{
    switch (p) {
    case PURPOSE_ENTRY:
        return PHASE_ENTRY;
    case PURPOSE_ANSWER:
        return PHASE_ANSWERING;
    case PURPOSE_RESEARCH:
        return PHASE_RESEARCHING;
    case PURPOSE_CLOSEOUT:
    case REQUEST_PURPOSE__MAX:
        break;
    }
    return PHASE_CLOSEOUT;
}

static enum rc save(struct step *s)
{
    s->save = false;
    s->counted = true;
    return store_run_save(s->rt->store, &s->run);
}

enum rc run_end(struct step *s, enum run_state state, enum run_reason reason,
                const char *progress)
{
    const struct run_end end = {.state = state,
                                .reason = reason,
                                .progress = progress,
                                .now_ms = s->now_ms};
    char id[ID_TEXT_BYTES];
    enum rc rc = RC_OK;

    /* What this step changed is written first: an ended row takes nothing. */
    if (s->save) {
        rc = save(s);
    }
    if (rc == RC_OK) {
        rc = store_run_end(s->rt->store, &s->run, &end);
    }
    if (rc == RC_OK) {
        s->live->effects.gone = true;
        s->live->effects.drop_flight = true;
        log_info(id_text(ID_RUN, s->run.id, id), "%s%s%s",
                 states_text(LIST_RUN_STATE, (int)state),
                 reason != REASON_NONE ? ": " : "",
                 reason != REASON_NONE
                     ? states_text(LIST_RUN_REASON, (int)reason)
                     : "");
    }
    return rc;
}

static bool ended(const struct step *s)
{
    return states_run_ended(s->run.state);
}

static bool is_research(const struct step *s)
{
    return s->run.kind == RUN_RESEARCH;
}

/* The part of the time that is kept for the closeout (R26). */
static int64_t reserve_ms(const struct run *r)
{
    int64_t fifth = r->seconds_limit * 1000 / 5;

    return fifth < CLOSEOUT_TIME_MS ? fifth : CLOSEOUT_TIME_MS;
}

static int64_t time_left_ms(const struct step *s, bool closeout)
{
    int64_t limit = s->run.seconds_limit * 1000;

    if (is_research(s) && !closeout) {
        limit -= reserve_ms(&s->run);
    }
    return limit - s->run.active_ms;
}

/* The first received handoff that stands in no request yet. */
static enum rc find_pending(struct step *s, struct handoff *out, bool *found)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;

    *found = false;
    if (is_research(s)) {
        rc = store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);
    }
    for (size_t i = 0; i < n && !*found && rc == RC_OK; i++) {
        if (list[i].state == HANDOFF_RECEIVED &&
            list[i].planned_request_id == 0) {
            *found = true;
            *out = list[i];
        }
    }
    return rc;
}

static enum effect_cause cause_of(const struct handoff *h)
{
    return h->kind == HANDOFF_REPLY ? CAUSE_REPLY : CAUSE_ADJUSTMENT;
}

static void count_usage(struct step *s, const struct usage *u)
{
    s->run.tokens.used +=
        u->known ? u->input_tokens + u->output_tokens : u->estimate;
    s->run.unknown_requests += u->known ? 0 : 1;
    s->save = true;
}

/* --- settling a request that was sent ---------------------------------- */

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
        }
    }
    return u;
}

static enum rc settle_cut_short(struct step *s, struct request *last,
                                enum effect_state state,
                                enum effect_cause cause)
{
    enum rc rc;

    last->state = state;
    last->cause = cause;
    last->usage = usage_of(s, last);
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_SENT,
                              s->now_ms);
    if (rc == RC_OK) {
        s->live->effects.drop_flight = true;
        if (ended(s)) {
            rc = store_request_count_late(s->rt->store, &s->run, &last->usage);
        } else {
            count_usage(s, &last->usage);
        }
    }
    return rc;
}

static enum rc settle_tool(struct step *s, struct tool_call *t,
                           enum effect_state state, enum effect_cause cause,
                           const char *result)
{
    enum effect_state from = t->state;

    t->state = state;
    t->cause = cause;
    t->result = result;
    return store_tool_call_move(s->rt->store, &s->run, t, from, s->now_ms);
}

/* A Run that has ended: close what is under way, settle the rows (R24). */
static enum rc settle_ended(struct step *s)
{
    enum effect_cause cause =
        s->run.state == RUN_STOPPED ? CAUSE_STOP : CAUSE_NONE;
    struct tool_call *calls = NULL;
    struct request last;
    size_t n = 0;
    enum rc rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);

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

/* --- planning ---------------------------------------------------------- */

/* What the next research request is for: another one, or the closeout. */
static enum request_purpose next_research(struct step *s,
                                          const struct request *last)
{
    const struct conf *c = &s->rt->conf;
    const struct run *r = &s->run;
    int64_t input = last != NULL ? last->input_estimate : 0;
    int64_t cost = input + c->model_max_output_tokens;
    enum run_reason hit = REASON_NONE;

    if (time_left_ms(s, false) <= 0) {
        hit = REASON_DEADLINE;
    } else if (r->requests.used >= r->requests.limit - 1) {
        hit = REASON_BUDGET_REQUESTS;
    } else if (r->tokens.used + 2 * cost > r->tokens.limit) {
        hit = REASON_BUDGET_TOKENS;
    } else if (cost > c->model_context_tokens) {
        hit = REASON_LENGTH;
    }
    if (hit != REASON_NONE) {
        run_hit_limit(s, hit);
    }
    /* An exhausted quota is waited out: it alone ends nothing. */
    return hit != REASON_NONE || (r->limit_reason != REASON_NONE &&
                                  r->limit_reason != REASON_PROVIDER_QUOTA)
               ? PURPOSE_CLOSEOUT
               : PURPOSE_RESEARCH;
}

/* How many replies the short exchange has had. */
static enum rc count_done(struct step *s, size_t *done)
{
    struct request *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *done = 0;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        *done += list[i].state == EFFECT_DONE ? 1 : 0;
    }
    return rc;
}

static enum rc next_short(struct step *s, const struct request *last,
                          enum request_purpose *purpose)
{
    struct offer o;
    size_t done = 0;
    enum rc rc = count_done(s, &done);

    if (rc == RC_OK) {
        rc = offer_find(s, &o);
    }
    if (rc != RC_OK) {
        return rc;
    }
    *purpose =
        done == 0 && offer_any_operation(&o) ? PURPOSE_ENTRY : PURPOSE_ANSWER;
    if (last != NULL && last->state != EFFECT_DONE) {
        *purpose = last->purpose;
    }
    return RC_OK;
}

/* The next request, or the end where the budget has none left. An input that
 * can no longer be put together has come to its length. */
static enum rc plan(struct step *s, const struct request *last, int64_t attempt,
                    int64_t not_before_ms)
{
    enum request_purpose purpose = PURPOSE_RESEARCH;
    struct request next;
    enum rc rc = RC_OK;

    if (is_research(s)) {
        purpose = next_research(s, last);
    } else if (s->run.requests.used >= s->run.requests.limit) {
        return run_end(s, RUN_INCOMPLETE, REASON_BUDGET_REQUESTS, NULL);
    } else {
        rc = next_short(s, last, &purpose);
    }
    if (rc == RC_OK) {
        rc = context_plan(s, purpose, last, attempt, not_before_ms, &next);
    }
    if (rc != RC_TOO_LARGE) {
        return rc;
    }
    if (!is_research(s)) {
        return run_end(s, RUN_INCOMPLETE, REASON_LENGTH,
                       "This has grown too long for the model.");
    }
    run_hit_limit(s, REASON_LENGTH);
    return research_assemble(s);
}

static enum rc plan_next(struct step *s, const struct request *last)
{
    return plan(s, last, 1, 0);
}

/* --- retrying (R27) ---------------------------------------------------- */

static int64_t backoff_ms(int64_t attempt)
{
    int64_t ms = BACKOFF_MS;

    for (int64_t i = 1; i < attempt && ms < BACKOFF_LIMIT_MS; i++) {
        ms *= 2;
    }
    if (ms > BACKOFF_LIMIT_MS) {
        ms = BACKOFF_LIMIT_MS;
    }
    /* Spread, so that many Runs do not come back together. */
    return ms + random_below((uint32_t)(ms / 4 + 1));
}

static bool is_rate(const struct outcome *o)
{
    return o->error.kind == MODEL_ERROR_RATE || o->status == 429 ||
           o->status == 503;
}

static enum rc plan_again(struct step *s, const struct request *last,
                          int64_t wait_ms)
{
    return plan(s, last, last->attempt + 1, s->now_ms + wait_ms);
}

/* Turned away at the door: nothing was executed. */
static bool was_refused(const struct request *q)
{
    return q->usage.known && q->usage.input_tokens == 0 &&
           q->usage.output_tokens == 0;
}

/* Failures in a row up to the newest request; refusals are no failures. */
static enum rc count_failures(struct step *s, int64_t *failures)
{
    struct request *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *failures = 0;
    while (rc == RC_OK && n > 0 && list[n - 1].state == EFFECT_FAILED) {
        *failures += was_refused(&list[--n]) ? 0 : 1;
    }
    return rc;
}

static enum rc fail(struct step *s, const char *detail)
{
    return run_end(s, RUN_FAILED, REASON_PROVIDER_ERROR, detail);
}

/* The same request would fail in the same way. */
static bool is_hopeless(const struct outcome *o)
{
    return o->error.kind == MODEL_ERROR_AUTH ||
           o->error.kind == MODEL_ERROR_CONTEXT ||
           o->verdict == MODEL_FILTERED ||
           (o->status >= 400 && o->status < 500 && o->status != 408 &&
            o->status != 409);
}

/* A failed request: wait for the provider, try again, or end. */
static enum rc retry_or_end(struct step *s, struct request *last,
                            const struct outcome *o)
{
    int64_t failures = 0;
    enum rc rc;

    if (last->purpose == PURPOSE_CLOSEOUT) {
        return research_assemble(s);
    }
    if (o->error.kind == MODEL_ERROR_QUOTA) {
        run_hit_limit(s, REASON_PROVIDER_QUOTA);
        run_set_progress(s, o->detail);
        return plan_again(s, last, QUOTA_RECHECK_MS);
    }
    if (is_rate(o)) {
        run_set_progress(s, o->detail);
        return plan_again(s, last,
                          o->retry_after_ms >= 0 ? o->retry_after_ms
                                                 : backoff_ms(last->attempt));
    }
    if (o->error.kind == MODEL_ERROR_CONTEXT && is_research(s)) {
        run_hit_limit(s, REASON_LENGTH);
        return research_assemble(s);
    }
    if (is_hopeless(o) || (!is_research(s) && o->text_shown)) {
        return fail(s, o->detail);
    }
    rc = count_failures(s, &failures);
    if (rc != RC_OK) {
        return rc;
    }
    return failures > RETRIES_MAX ? fail(s, o->detail)
                                  : plan_again(s, last, backoff_ms(failures));
}

/* --- facts ------------------------------------------------------------- */

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

static enum rc apply_text(struct step *s)
{
    const struct buf *text = &s->live->facts.text;
    enum rc rc = RC_OK;

    if (text->len == 0 || is_research(s)) {
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
        .estimate = flight_estimate(s->live, last->input_estimate)};
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
        count_usage(s, &last->usage);
        s->run.crashes = 0;
        if (s->run.limit_reason == REASON_PROVIDER_QUOTA) {
            s->run.limit_reason = REASON_NONE;
        }
        rc = is_research(s) ? research_take_reply(s, last, &o->reply)
                            : entry_take_reply(s, last, &o->reply);
    }
    buf_free(&text);
    return rc;
}

static enum rc take_failed(struct step *s, struct request *last,
                           const struct outcome *o)
{
    const struct model_usage *u = &o->reply.usage;
    bool refused = is_rate(o) || o->error.kind == MODEL_ERROR_QUOTA;
    char id[ID_TEXT_BYTES];
    enum rc rc;

    last->state = EFFECT_FAILED;
    last->error = o->detail;
    last->usage = (struct usage){
        .known = u->known || refused,
        .input_tokens = u->input_tokens,
        .output_tokens = u->output_tokens,
        .estimate = flight_estimate(s->live, last->input_estimate)};
    log_warn(id_text(ID_REQUEST, last->id, id), "%s", o->detail);
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_SENT,
                              s->now_ms);
    if (rc != RC_OK) {
        return rc;
    }
    count_usage(s, &last->usage);
    if (was_refused(last)) {
        s->run.requests.used--;
    }
    return retry_or_end(s, last, o);
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

    for (struct tool_result *r = s->live->facts.results;
         r != NULL && rc == RC_OK; r = r->next) {
        struct tool_call t;

        rc = store_tool_call_get(s->rt->store, 0, r->call_id, s->mem, &t);
        /* An interrupted call's late result changes nothing. */
        if (rc == RC_OK && t.state == EFFECT_SENT) {
            rc = tool_settle(s, &t, r);
        }
    }
    return rc;
}

static enum rc apply_facts(struct step *s)
{
    struct facts *f = &s->live->facts;
    struct request last;
    enum rc rc = apply_text(s);

    if (rc == RC_OK && f->results != NULL) {
        rc = apply_results(s);
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

/* --- deciding ---------------------------------------------------------- */

static enum rc send_request(struct step *s, struct request *last, bool *wait)
{
    enum rc rc =
        live_must_yield(s->rt, s->live)
            ? RC_FULL
            : store_request_send(s->rt->store, &s->run, last,
                                 s->rt->conf.model_max_concurrent, s->now_ms);

    *wait = true;
    if (rc == RC_FULL) {
        live_await_place(s->rt, s->live);
        set_phase(s, PHASE_WAITING_FOR_PROVIDER);
        return RC_OK;
    }
    /* A new request's text is another revision (R05). */
    if (rc == RC_OK && !is_research(s) && s->run.answer_parts > 0) {
        rc = store_answer_open(s->rt->store, &s->run);
    }
    if (rc == RC_OK) {
        rc =
            store_request_input(s->rt->store, last->id, &s->live->effects.body);
    }
    if (rc == RC_OK) {
        s->live->place_turn = 0;
        s->live->effects.send_request = last->id;
        s->live->effects.purpose = last->purpose;
        s->run.requests.used++;
        if (s->run.started_ms == 0) {
            s->run.started_ms = s->now_ms;
        }
        set_phase(s, phase_of(last->purpose));
        s->save = true;
    }
    return rc;
}

static enum rc overtake(struct step *s, struct request *last,
                        enum effect_cause cause)
{
    enum rc rc;

    /* Never sent: known to have used nothing. */
    last->state = EFFECT_SKIPPED;
    last->cause = cause;
    last->usage = (struct usage){.known = true};
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_PLANNED,
                              s->now_ms);
    if (rc != RC_OK || cause == CAUSE_DEADLINE) {
        return rc == RC_OK ? plan_next(s, last) : rc;
    }
    /* What is said meanwhile does not shorten the provider's wait. */
    return plan(s, last, last->attempt, last->not_before_ms);
}

/* The closeout's own time is over before it was sent. */
static enum rc lose_closeout(struct step *s, struct request *last)
{
    enum rc rc;

    last->state = EFFECT_SKIPPED;
    last->cause = CAUSE_DEADLINE;
    last->usage = (struct usage){.known = true};
    rc = store_request_settle(s->rt->store, &s->run, last, EFFECT_PLANNED,
                              s->now_ms);
    if (rc != RC_OK) {
        return rc;
    }
    run_hit_limit(s, REASON_DEADLINE);
    return research_assemble(s);
}

static enum rc decide_planned(struct step *s, struct request *last, bool *wait)
{
    bool closeout = last->purpose == PURPOSE_CLOSEOUT;
    struct handoff h;
    bool pending = false;
    enum rc rc;

    if (closeout && time_left_ms(s, true) <= 0) {
        return lose_closeout(s, last);
    }
    if (is_research(s) && !closeout && time_left_ms(s, false) <= 0) {
        run_hit_limit(s, REASON_DEADLINE);
        return overtake(s, last, CAUSE_DEADLINE);
    }
    if (!is_research(s) && time_left_ms(s, false) <= 0) {
        return run_end(s, RUN_INCOMPLETE, REASON_DEADLINE,
                       "No answer in the time allowed.");
    }
    rc = find_pending(s, &h, &pending);
    if (rc == RC_OK && pending && !closeout) {
        return overtake(s, last, cause_of(&h));
    }
    if (rc == RC_OK && last->not_before_ms > s->now_ms) {
        wake_in(s, last->not_before_ms - s->now_ms);
        set_phase(s, PHASE_WAITING_FOR_PROVIDER);
        *wait = true;
        return RC_OK;
    }
    return rc == RC_OK ? send_request(s, last, wait) : rc;
}

/* A runtime went down while something of this Run was under way (R29). */
static enum rc note_crash(struct step *s)
{
    s->run.crashes++;
    s->save = true;
    set_phase(s, PHASE_RECOVERING);
    return s->run.crashes < CRASHES_MAX
               ? RC_OK
               : run_end(s, RUN_FAILED, REASON_CRASHED,
                         "The runtime went down three times over this.");
}

/* Sent by a runtime that is no more. */
static enum rc recover(struct step *s, struct request *last)
{
    bool closeout = last->purpose == PURPOSE_CLOSEOUT;
    enum rc rc = settle_cut_short(s, last, EFFECT_UNKNOWN, CAUSE_NONE);

    if (rc == RC_OK) {
        rc = note_crash(s);
    }
    return rc == RC_OK && !ended(s) && closeout ? research_assemble(s) : rc;
}

static enum rc interrupt(struct step *s, struct request *last,
                         enum effect_cause cause)
{
    return settle_cut_short(s, last, EFFECT_INTERRUPTED, cause);
}

static enum rc decide_sent(struct step *s, struct request *last, bool *wait)
{
    bool closeout = last->purpose == PURPOSE_CLOSEOUT;
    struct handoff h;
    bool pending = false;
    enum rc rc;

    if (!flight_is(s->live, last->id)) {
        return recover(s, last);
    }
    if (time_left_ms(s, closeout) <= 0) {
        rc = interrupt(s, last, CAUSE_DEADLINE);
        if (rc != RC_OK) {
            return rc;
        }
        run_hit_limit(s, REASON_DEADLINE);
        if (is_research(s)) {
            return closeout ? research_assemble(s) : RC_OK;
        }
        return run_end(s, RUN_INCOMPLETE, REASON_DEADLINE,
                       "No answer in the time allowed.");
    }
    rc = find_pending(s, &h, &pending);
    if (rc == RC_OK && pending && !closeout && !flight_finished(s->live)) {
        return interrupt(s, last, cause_of(&h));
    }
    *wait = rc == RC_OK;
    return rc;
}

/* --- tool calls of the last reply -------------------------------------- */

static enum rc send_tool(struct step *s, struct tool_call *t)
{
    struct tool_job *job = arena_alloc(s->live->jobs_mem, sizeof(*job));
    enum rc rc;

    if (job == NULL) {
        return RC_TOO_LARGE;
    }
    job->call_id = t->id;
    (void)snprintf(job->name, sizeof(job->name), "%s", t->name);
    job->arguments = arena_strdup(s->live->jobs_mem, t->arguments);
    if (job->arguments == NULL) {
        return RC_TOO_LARGE;
    }
    if (t->state == EFFECT_PLANNED) {
        rc = settle_tool(s, t, EFFECT_SENT, CAUSE_NONE, NULL);
        if (rc != RC_OK) {
            return rc;
        }
    }
    job->next = s->live->effects.jobs;
    s->live->effects.jobs = job;
    return RC_OK;
}

/* A question that was open when the Run went on: its call gets its result. */
static enum rc close_question(struct step *s, struct tool_call *t,
                              const struct handoff *h, bool pending)
{
    const char *result =
        !pending ? "No reply came in the time allowed."
        : h->kind == HANDOFF_REPLY
            ? "The person replied; the reply follows."
            : "The question was left unanswered; the person said something "
              "else, which follows. Go on, and state what you assume.";

    return settle_tool(s, t, EFFECT_DONE, CAUSE_NONE, result);
}

/* Why the calls of a reply do not go on: the time is over, or the person said
 * something new. What is in flight may end until grace_end_ms. */
struct break_off {
    bool yes;
    enum effect_cause cause;
    int64_t grace_end_ms; /* Unix */
    const char *result;   /* told to the model */
};

static struct break_off find_break(const struct step *s,
                                   const struct handoff *h, bool pending)
{
    if (time_left_ms(s, false) <= 0) {
        return (struct break_off){
            .yes = true,
            .cause = CAUSE_DEADLINE,
            .grace_end_ms = s->now_ms,
            .result = "{\"error\":\"not carried out: the time is over\"}"};
    }
    return (struct break_off){
        .yes = pending,
        .cause = pending ? cause_of(h) : CAUSE_NONE,
        .grace_end_ms = h->created_ms + TOOL_GRACE_MS,
        .result = "{\"error\":\"not carried out: the person said something "
                  "new, which follows\"}"};
}

static enum rc decide_call(struct step *s, struct tool_call *t,
                           const struct break_off *b, bool *wait)
{
    if (t->state == EFFECT_PLANNED && b->yes) {
        return settle_tool(s, t, EFFECT_SKIPPED, b->cause, b->result);
    }
    if (t->state == EFFECT_SENT && b->yes && s->now_ms >= b->grace_end_ms) {
        return settle_tool(s, t, EFFECT_INTERRUPTED, b->cause, b->result);
    }
    if (t->state != EFFECT_PLANNED && t->state != EFFECT_SENT) {
        return RC_OK;
    }
    *wait = true;
    if (b->yes) {
        wake_in(s, b->grace_end_ms - s->now_ms);
    }
    /* What is sent but does not run was left by a runtime that is no more. All
     * tools so far only read: they are done again under the same row. */
    return live_tool_running(s->live, t->id) ? RC_OK : send_tool(s, t);
}

/* Calls that only rows know of were under way when a runtime went down. */
static bool left_behind(const struct step *s, const struct tool_call *calls,
                        size_t n)
{
    bool found = false;

    for (size_t i = 0; i < n && !s->live->known; i++) {
        found = found || (calls[i].state == EFFECT_SENT &&
                          tool_find(calls[i].name) != NULL);
    }
    return found;
}

static enum rc decide_calls(struct step *s, const struct request *last,
                            const struct handoff *h, bool pending, bool *wait)
{
    const struct break_off b = find_break(s, h, pending);
    struct tool_call *calls = NULL;
    size_t n = 0;
    enum rc rc =
        store_tool_call_of_request(s->rt->store, last->id, s->mem, &calls, &n);

    if (rc == RC_OK && left_behind(s, calls, n)) {
        rc = note_crash(s);
    }
    for (size_t i = 0; i < n && rc == RC_OK && !ended(s); i++) {
        rc = calls[i].state == EFFECT_SENT && tool_find(calls[i].name) == NULL
                 ? close_question(s, &calls[i], h, pending)
                 : decide_call(s, &calls[i], &b, wait);
    }
    return rc;
}

static enum rc decide_done(struct step *s, struct request *last, bool *wait)
{
    struct handoff h = {0};
    bool pending = false;
    bool is_end = false;
    enum rc rc = find_pending(s, &h, &pending);

    if (rc == RC_OK) {
        rc = decide_calls(s, last, &h, pending, wait);
    }
    if (rc != RC_OK || *wait || ended(s)) {
        return rc;
    }
    if (is_research(s)) {
        rc = research_go_on(s, last, pending, &is_end);
    }
    return rc == RC_OK && !is_end ? plan_next(s, last) : rc;
}

static enum rc decide_once(struct step *s, bool *wait)
{
    struct request last;
    enum rc rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);

    if (rc == RC_NOT_FOUND) {
        return plan_next(s, NULL);
    }
    if (rc != RC_OK) {
        return rc;
    }
    s->closeout = last.purpose == PURPOSE_CLOSEOUT;
    switch (last.state) {
    case EFFECT_PLANNED:
        return decide_planned(s, &last, wait);
    case EFFECT_SENT:
        return decide_sent(s, &last, wait);
    case EFFECT_DONE:
        return decide_done(s, &last, wait);
    case EFFECT_SKIPPED:
    case EFFECT_INTERRUPTED:
    case EFFECT_FAILED:
    case EFFECT_UNKNOWN:
    case EFFECT_STATE__MAX:
        break;
    }
    return plan_next(s, &last);
}

/* Nobody answered in time (R28). */
static void stop_waiting(struct step *s)
{
    int64_t max_ms = s->rt->conf.max_wait_seconds * 1000;

    if (s->now_ms - s->run.waiting_since_ms < max_ms) {
        return;
    }
    s->run.state = RUN_RUNNING;
    s->run.waiting_since_ms = 0;
    run_hit_limit(s, REASON_NO_REPLY);
    s->save = true;
}

static enum rc decide(struct step *s)
{
    bool wait = false;
    enum rc rc = RC_OK;

    if (!ended(s) && s->run.state == RUN_AWAITING_INPUT) {
        stop_waiting(s);
    }
    for (int i = 0; i < DECISIONS_MAX && rc == RC_OK && !wait && !ended(s) &&
                    s->run.state == RUN_RUNNING;
         i++) {
        rc = decide_once(s, &wait);
    }
    if (!wait) {
        wake_in(s, AGAIN_MS); /* it is not through; others come first */
    }
    return rc;
}

/* --- steps ------------------------------------------------------------- */

static enum rc load(struct step *s)
{
    enum rc rc =
        store_run_get(s->rt->store, 0, s->live->id, false, s->mem, &s->run);

    if (rc == RC_NOT_FOUND) {
        /* Its conversation was deleted. */
        s->live->effects.drop_flight = true;
        s->live->effects.gone = true;
        return rc;
    }
    if (rc == RC_OK) {
        s->live->is_research = is_research(s);
        if (s->run.state == RUN_RUNNING && s->live->clock_stopped) {
            s->counted = true; /* it goes on from here (R28) */
        } else if (s->run.state == RUN_RUNNING) {
            s->run.active_ms += s->boot_ms - s->live->clock_ms;
        }
    }
    return rc;
}

/* The Run's own deadline, or the end of its patience. */
static void set_timer(struct step *s)
{
    if (ended(s)) {
        s->wake_ms = 0;
    } else if (s->run.state == RUN_AWAITING_INPUT) {
        wake_in(s, s->rt->conf.max_wait_seconds * 1000 -
                       (s->now_ms - s->run.waiting_since_ms));
    } else {
        wake_in(s, time_left_ms(s, s->closeout));
    }
}

static enum rc save_if_changed(struct step *s)
{
    return s->save && !ended(s) ? save(s) : RC_OK;
}

enum rc run_step(struct step *s)
{
    enum rc rc = load(s);

    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    if (ended(s)) {
        return settle_ended(s);
    }
    rc = apply_facts(s);
    if (rc == RC_OK) {
        rc = decide(s);
    }
    set_timer(s);
    return rc == RC_OK ? save_if_changed(s) : rc;
}

enum rc run_step_text(struct step *s)
{
    enum rc rc = load(s);

    if (rc != RC_OK || ended(s)) {
        return rc == RC_NOT_FOUND ? RC_OK : rc == RC_OK ? settle_ended(s) : rc;
    }
    return apply_text(s);
}

enum rc run_step_shutdown(struct step *s)
{
    struct request last;
    enum rc rc = load(s);

    if (rc != RC_OK || ended(s)) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    rc = apply_text(s);
    if (rc == RC_OK) {
        rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);
    }
    if (rc == RC_OK && last.state == EFFECT_SENT) {
        rc = interrupt(s, &last, CAUSE_SHUTDOWN);
    }
    s->save = true; /* active_ms so far */
    return rc == RC_OK || rc == RC_NOT_FOUND ? save_if_changed(s) : rc;
}

enum rc run_step_give_up(struct step *s)
{
    enum rc rc = load(s);

    if (rc == RC_OK && !ended(s)) {
        rc = run_end(s, RUN_FAILED, REASON_CRASHED,
                     "An internal error; the log of the runtime tells more.");
    }
    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    /* A request left as sent would hold a place of the provider for good. */
    return settle_ended(s);
}
