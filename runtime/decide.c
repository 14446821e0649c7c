/* decide.c - what a Run's rows call for next: one function for each state of its
 * newest request, and one for the tool calls of its reply. */
#include <string.h>

#include "runtime/policy.h"
#include "runtime/run_inside.h"
#include "sql/store_approval.h"

/* Decisions in one step; a Run that wants more is called again. */
#define DECISIONS_MAX 8
#define TOOL_GRACE_MS 2000
#define AGAIN_MS      10

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
        run_set_phase(s, PHASE_WAITING_FOR_PROVIDER);
        return RC_OK;
    }
    /* A new request's text is another revision (R05). */
    if (rc == RC_OK && !run_is_research(s) && s->run.answer_parts > 0) {
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
        run_set_phase(s, phase_of(last->purpose));
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
    return plan_request(s, last, last->attempt, last->not_before_ms);
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
    return deliver_assemble(s);
}

static enum rc decide_planned(struct step *s, struct request *last, bool *wait)
{
    bool closeout = last->purpose == PURPOSE_CLOSEOUT;
    struct handoff h;
    bool pending = false;
    enum rc rc;

    if (closeout && run_time_left_ms(s, true) <= 0) {
        return lose_closeout(s, last);
    }
    if (run_is_research(s) && !closeout && run_time_left_ms(s, false) <= 0) {
        run_hit_limit(s, REASON_DEADLINE);
        return overtake(s, last, CAUSE_DEADLINE);
    }
    if (!run_is_research(s) && run_time_left_ms(s, false) <= 0) {
        return run_end(s, RUN_INCOMPLETE, REASON_DEADLINE,
                       "No answer in the time allowed.");
    }
    rc = run_find_pending(s, &h, &pending);
    if (rc == RC_OK && pending && !closeout) {
        return overtake(s, last, run_cause_of(&h));
    }
    if (rc == RC_OK && last->not_before_ms > s->now_ms) {
        run_wake_in(s, last->not_before_ms - s->now_ms);
        run_set_phase(s, PHASE_WAITING_FOR_PROVIDER);
        *wait = true;
        return RC_OK;
    }
    return rc == RC_OK ? send_request(s, last, wait) : rc;
}

/* Sent by a runtime that is no more. */
static enum rc recover(struct step *s, struct request *last)
{
    bool closeout = last->purpose == PURPOSE_CLOSEOUT;
    enum rc rc = settle_cut_short(s, last, EFFECT_UNKNOWN, CAUSE_NONE);

    run_set_phase(s, PHASE_RECOVERING);
    return rc == RC_OK && closeout ? deliver_assemble(s) : rc;
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
    if (run_time_left_ms(s, closeout) <= 0) {
        rc = settle_cut_short(s, last, EFFECT_INTERRUPTED, CAUSE_DEADLINE);
        if (rc != RC_OK) {
            return rc;
        }
        run_hit_limit(s, REASON_DEADLINE);
        if (run_is_research(s)) {
            return closeout ? deliver_assemble(s) : RC_OK;
        }
        return run_end(s, RUN_INCOMPLETE, REASON_DEADLINE,
                       "No answer in the time allowed.");
    }
    rc = run_find_pending(s, &h, &pending);
    if (rc == RC_OK && pending && !closeout && !flight_finished(s->live)) {
        return settle_cut_short(s, last, EFFECT_INTERRUPTED, run_cause_of(&h));
    }
    *wait = rc == RC_OK;
    return rc;
}

/* --- tool calls of the last reply -------------------------------------- */

/* digest: what the tool must be, or NULL. */
static enum rc add_job(struct step *s, const struct tool_call *t,
                       const char *digest)
{
    struct tool_job **at = &s->live->effects.jobs;
    struct tool_job *job = arena_alloc(s->live->jobs_mem, sizeof(*job));

    if (job == NULL) {
        return RC_TOO_LARGE;
    }
    job->call_id = t->id;
    job->name = arena_strdup(s->live->jobs_mem, t->name);
    job->arguments = arena_strdup(s->live->jobs_mem, t->arguments);
    job->digest =
        digest != NULL ? arena_strdup(s->live->jobs_mem, digest) : NULL;
    job->safe = t->safe;
    if (job->name == NULL || job->arguments == NULL ||
        (digest != NULL && job->digest == NULL)) {
        return RC_TOO_LARGE;
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = job;
    return RC_OK;
}

static enum rc send_tool(struct step *s, struct tool_call *t)
{
    enum rc rc = add_job(s, t, policy_digest(s, t));

    return rc == RC_OK && t->state == EFFECT_PLANNED
               ? settle_tool(s, t, EFFECT_SENT, CAUSE_NONE, NULL)
               : rc;
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
    if (run_time_left_ms(s, false) <= 0) {
        return (struct break_off){
            .yes = true,
            .cause = CAUSE_DEADLINE,
            .grace_end_ms = s->now_ms,
            .result = "{\"error\":\"not carried out: the time is over\"}"};
    }
    return (struct break_off){
        .yes = pending,
        .cause = pending ? run_cause_of(h) : CAUSE_NONE,
        .grace_end_ms = h->created_ms + TOOL_GRACE_MS,
        .result = "{\"error\":\"not carried out: the person said something "
                  "new, which follows\"}"};
}

/* The calls of one reply, in its order. */
struct calls {
    struct break_off off;
    int64_t open; /* under way */
    bool alone;   /* one that is made alone is under way */
    bool queued;  /* one waits to be made alone: none passes it */
    bool held;    /* what acts waits for one before it that the person has to
                   * allow */
    bool asked;   /* one waits for the person */
    bool wait;    /* something is under way, or will be */
};

/* A call that only its row knows of was under way in a runtime that is no
 * more (R29). */
static bool left_behind(const struct step *s, const struct tool_call *t)
{
    return t->state == EFFECT_SENT && !s->live->known;
}

/* A call that the person was asked about is not broken off by what they say:
 * they decide on it (R28). */
static bool is_off(const struct calls *c, const struct tool_call *t)
{
    return c->off.yes &&
           (t->approval_id == 0 || c->off.cause == CAUSE_DEADLINE);
}

/* What does not only read is made alone. */
static bool is_alone(const struct tool_call *t)
{
    return !t->safe || t->acts;
}

/* Room for one more: as many as are allowed at once, or one alone. */
static bool has_room(const struct step *s, const struct calls *c, bool alone)
{
    return !c->alone && !c->queued && !(alone && c->held) &&
           c->open < (alone ? 1 : s->rt->conf.tools_parallel);
}

static enum rc skip_call(struct step *s, struct tool_call *t,
                         const struct calls *c)
{
    enum rc rc = t->approval_id != 0
                     ? store_approval_void(s->rt->store, &s->run, s->now_ms)
                     : RC_OK;

    return rc == RC_OK
               ? settle_tool(s, t, EFFECT_SKIPPED, c->off.cause, c->off.result)
               : rc;
}

/* Let through, with room: a tool that touches only rows is carried out here. */
static enum rc make_call(struct step *s, struct tool_call *t, bool alone,
                         struct calls *c)
{
    const struct tool *tool = tool_find(s->rt, t->name);

    if (tool != NULL && tool->run == NULL) {
        return tool_carry_out(s, t, tool);
    }
    c->wait = true;
    c->open++;
    c->alone = alone;
    return send_tool(s, t);
}

static enum rc decide_planned_call(struct step *s, struct tool_call *t,
                                   struct calls *c)
{
    bool alone = is_alone(t);
    enum policy_outcome outcome = POLICY_SETTLED;
    enum rc rc;

    if (is_off(c, t)) {
        return skip_call(s, t, c);
    }
    rc = policy_rule(s, t, has_room(s, c, alone), &outcome);
    if (rc != RC_OK) {
        return rc;
    }
    switch (outcome) {
    case POLICY_GOES:
        return make_call(s, t, alone, c);
    case POLICY_NO_ROOM:
        c->wait = true;
        c->queued = c->queued || alone;
        break;
    case POLICY_WAITS:
        c->wait = c->asked = true;
        c->held = c->held || alone;
        break;
    case POLICY_SETTLED:
        break;
    }
    return RC_OK;
}

/* Cut it short? What is not safe runs to its time-out (R21), but not past the
 * end of the Run's own time. */
static bool must_cut(const struct step *s, const struct calls *c,
                     const struct tool_call *t)
{
    return is_off(c, t) && (t->safe ? s->now_ms >= c->off.grace_end_ms
                                    : c->off.cause == CAUSE_DEADLINE);
}

/* One that was under way has its outcome. */
static void close_call(struct calls *c, const struct tool_call *t)
{
    c->open--;
    c->alone = c->alone && !is_alone(t);
}

/* What is safe is made again under the same row, if it still may be. */
static enum rc send_again(struct step *s, struct tool_call *t, struct calls *c)
{
    enum policy_outcome outcome = POLICY_SETTLED;
    enum rc rc = policy_rule(s, t, true, &outcome);

    if (rc == RC_OK && outcome == POLICY_GOES) {
        c->wait = true;
        return send_tool(s, t);
    }
    close_call(c, t);
    return rc;
}

static enum rc decide_sent_call(struct step *s, struct tool_call *t,
                                struct calls *c)
{
    if (left_behind(s, t)) {
        run_set_phase(s, PHASE_RECOVERING);
        if (!t->safe) {
            close_call(c, t);
            return settle_tool(s, t, EFFECT_UNKNOWN, CAUSE_NONE,
                               settle_unknown);
        }
    }
    if (must_cut(s, c, t)) {
        close_call(c, t);
        return t->safe ? settle_tool(s, t, EFFECT_INTERRUPTED, c->off.cause,
                                     c->off.result)
                       : settle_tool(s, t, EFFECT_UNKNOWN, c->off.cause,
                                     settle_unknown);
    }
    if (is_off(c, t) && t->safe) {
        run_wake_in(s, c->off.grace_end_ms - s->now_ms);
    }
    if (!tool_under_way(s->live, t->id)) {
        return send_again(s, t, c);
    }
    c->wait = true;
    return RC_OK;
}

static enum rc decide_call(struct step *s, struct tool_call *t, struct calls *c)
{
    if (t->state != EFFECT_PLANNED && t->state != EFFECT_SENT) {
        return RC_OK;
    }
    if (t->repeats != 0 && !(t->state == EFFECT_PLANNED && c->off.yes)) {
        return tool_share(s, t, &c->wait);
    }
    return t->state == EFFECT_PLANNED ? decide_planned_call(s, t, c)
                                      : decide_sent_call(s, t, c);
}

static bool is_question(const struct tool_call *t)
{
    return strcmp(t->name, "ask_user") == 0;
}

/* What is under way already, wherever it stands in the reply. */
static void find_open(const struct tool_call *calls, size_t n, struct calls *c)
{
    for (size_t i = 0; i < n; i++) {
        if (calls[i].state == EFFECT_SENT && !is_question(&calls[i])) {
            c->open++;
            c->alone = c->alone || is_alone(&calls[i]);
        }
    }
}

/* Nothing is left to do but to wait for the person's decision. */
static void pause_for_decision(struct step *s)
{
    s->run.state = RUN_AWAITING_INPUT;
    s->run.question = NULL;
    s->run.waiting_since_ms = s->now_ms;
    s->save = true;
}

static enum rc decide_calls(struct step *s, const struct request *last,
                            const struct handoff *h, bool pending, bool *wait)
{
    struct calls c = {.off = find_break(s, h, pending)};
    struct tool_call *calls = NULL;
    size_t n = 0;
    enum rc rc =
        store_tool_call_of_request(s->rt->store, last->id, s->mem, &calls, &n);

    find_open(calls, n, &c);
    for (size_t i = 0; i < n && rc == RC_OK && !run_over(s); i++) {
        rc = calls[i].state == EFFECT_SENT && is_question(&calls[i])
                 ? close_question(s, &calls[i], h, pending)
                 : decide_call(s, &calls[i], &c);
    }
    if (rc == RC_OK && c.asked && c.open == 0 && !run_over(s)) {
        pause_for_decision(s);
    }
    *wait = *wait || c.wait;
    return rc;
}

static enum rc decide_done(struct step *s, struct request *last, bool *wait)
{
    struct handoff h = {0};
    bool pending = false;
    bool is_end = false;
    enum rc rc = run_find_pending(s, &h, &pending);

    if (rc == RC_OK) {
        rc = decide_calls(s, last, &h, pending, wait);
    }
    if (rc != RC_OK || *wait || run_over(s)) {
        return rc;
    }
    if (run_is_research(s)) {
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

/* Nobody answered in time (R28): a research closes; a short answer is given
 * from what there is. */
static enum rc stop_waiting(struct step *s)
{
    int64_t max_ms = s->rt->conf.max_wait_seconds * 1000;

    if (s->now_ms - s->run.waiting_since_ms < max_ms) {
        return RC_OK;
    }
    s->run.state = RUN_RUNNING;
    s->run.waiting_since_ms = 0;
    if (run_is_research(s)) {
        run_hit_limit(s, REASON_NO_REPLY);
    }
    s->save = true;
    return s->run.approval != NULL
               ? store_approval_expire(s->rt->store, &s->run, s->now_ms)
               : RC_OK;
}

enum rc decide_next(struct step *s)
{
    bool wait = false;
    enum rc rc = RC_OK;

    if (!run_over(s) && s->run.state == RUN_AWAITING_INPUT) {
        rc = stop_waiting(s);
    }
    for (int i = 0; i < DECISIONS_MAX && rc == RC_OK && !wait && !run_over(s) &&
                    s->run.state == RUN_RUNNING;
         i++) {
        rc = decide_once(s, &wait);
    }
    if (!wait && s->run.state == RUN_RUNNING) {
        run_wake_in(s, AGAIN_MS); /* it is not through; others come first */
    }
    return rc;
}
