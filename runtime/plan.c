/* plan.c - the next model request: what it is for within the budgets (R26), and
 * whether a failed one is tried again (R27). */
#include "runtime/run_inside.h"
#include "sql/base/random.h"

#define RETRIES_MAX      3
#define BACKOFF_MS       1000
#define BACKOFF_LIMIT_MS 60000
#define QUOTA_RECHECK_MS 60000
#define SAME_FAILED_MAX  3

/* A model that makes the same failing call again and again gets nowhere: the
 * loop ends, with the report that is possible (CASES J-4). */
static enum rc end_loop(struct step *s)
{
    int64_t times = 0;
    enum rc rc = RC_OK;

    if (run_is_research(s) && s->run.limit_reason == REASON_NONE) {
        rc = store_tool_call_same_failed(s->rt->store, s->run.id, &times);
    }
    if (rc == RC_OK && times >= SAME_FAILED_MAX) {
        run_hit_limit(s, REASON_PARTIAL_COVERAGE);
        run_set_progress(s, "The same call failed three times; closing.");
    }
    return rc;
}

/* What the next research request is for: another one, or the closeout. */
static enum request_purpose next_research(struct step *s,
                                          const struct request *last)
{
    const struct conf *c = &s->rt->conf;
    const struct run *r = &s->run;
    int64_t input = last != NULL ? last->input_estimate : 0;
    int64_t cost = input + c->model_max_output_tokens;
    enum run_reason hit = REASON_NONE;

    if (run_time_left_ms(s, false) <= 0) {
        hit = REASON_DEADLINE;
    } else if (r->requests.used >= r->requests.limit - 1) {
        hit = REASON_BUDGET_REQUESTS;
    } else if (r->tokens.used + 2 * cost > r->tokens.limit) {
        hit = REASON_BUDGET_TOKENS;
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

/* The input has come to its length. A closeout can do without the results of
 * look-ups; if even that does not fit, notes and sources make the report. */
static enum rc end_at_length(struct step *s, enum request_purpose purpose,
                             const struct request *last)
{
    struct request next;
    enum rc rc = RC_TOO_LARGE;

    if (purpose != PURPOSE_CLOSEOUT) {
        rc = context_plan(s, PURPOSE_CLOSEOUT, last, 1, 0, &next);
    }
    return rc == RC_TOO_LARGE ? deliver_assemble(s) : rc;
}

/* The next request, or the end where the budget has none left. */
enum rc plan_request(struct step *s, const struct request *last,
                     int64_t attempt, int64_t not_before_ms)
{
    enum request_purpose purpose = PURPOSE_RESEARCH;
    struct request next;
    enum rc rc = end_loop(s);

    if (rc != RC_OK) {
        return rc;
    }
    if (run_is_research(s)) {
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
    if (!run_is_research(s)) {
        return run_end(s, RUN_INCOMPLETE, REASON_LENGTH,
                       "This has grown too long for the model.");
    }
    run_hit_limit(s, REASON_LENGTH);
    return end_at_length(s, purpose, last);
}

enum rc plan_next(struct step *s, const struct request *last)
{
    return plan_request(s, last, 1, 0);
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

bool plan_is_throttled(const struct outcome *o)
{
    return o->error.kind == MODEL_ERROR_RATE || o->status == 429 ||
           o->status == 503;
}

static enum rc plan_again(struct step *s, const struct request *last,
                          int64_t wait_ms)
{
    return plan_request(s, last, last->attempt + 1, s->now_ms + wait_ms);
}

/* Turned away at the door: nothing was executed. */
bool plan_was_refused(const struct request *q)
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
        *failures += plan_was_refused(&list[--n]) ? 0 : 1;
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
enum rc plan_retry_or_end(struct step *s, struct request *last,
                          const struct outcome *o)
{
    int64_t failures = 0;
    enum rc rc;

    if (last->purpose == PURPOSE_CLOSEOUT) {
        return deliver_assemble(s);
    }
    if (o->error.kind == MODEL_ERROR_QUOTA) {
        run_hit_limit(s, REASON_PROVIDER_QUOTA);
        run_set_progress(s, o->detail);
        return plan_again(s, last, QUOTA_RECHECK_MS);
    }
    if (plan_is_throttled(o)) {
        run_set_progress(s, o->detail);
        return plan_again(s, last,
                          o->retry_after_ms >= 0 ? o->retry_after_ms
                                                 : backoff_ms(last->attempt));
    }
    if (o->error.kind == MODEL_ERROR_CONTEXT && run_is_research(s)) {
        run_hit_limit(s, REASON_LENGTH);
        return deliver_assemble(s);
    }
    if (is_hopeless(o) || (!run_is_research(s) && o->text_shown)) {
        return fail(s, o->detail);
    }
    rc = count_failures(s, &failures);
    if (rc != RC_OK) {
        return rc;
    }
    return failures > RETRIES_MAX ? fail(s, o->detail)
                                  : plan_again(s, last, backoff_ms(failures));
}
