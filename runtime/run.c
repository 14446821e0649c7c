/* run.c - a Run's step, and the pieces that its parts share.
 *
 * A step applies what happened (facts.c), then decides from the rows alone
 * (decide.c), so that a runtime that just started decides the same as one that
 * was there all along. plan.c says what the next request is for, settle.c ends
 * what was cut short. Precedence: stop > deadline > budget > adjustment (R26).
 */
#include <string.h>

#include "runtime/run_inside.h"
#include "sql/base/id.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"

#define CLOSEOUT_TIME_MS 60000
#define CRASHES_MAX      3
#define PROGRESS_BYTES   160

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
void run_wake_in(struct step *s, int64_t ms)
{
    int64_t at = s->boot_ms + (ms > 0 ? ms : 1);

    if (s->wake_ms == 0 || at < s->wake_ms) {
        s->wake_ms = at;
    }
}

void run_set_phase(struct step *s, enum run_phase phase)
{
    if (s->run.phase != phase) {
        s->run.phase = phase;
        s->save = true;
    }
}

enum rc run_save(struct step *s)
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
        rc = run_save(s);
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

bool run_over(const struct step *s)
{
    return states_run_ended(s->run.state);
}

bool run_is_research(const struct step *s)
{
    return s->run.kind == RUN_RESEARCH;
}

/* The part of the time that is kept for the closeout (R26). */
static int64_t reserve_ms(const struct run *r)
{
    int64_t fifth = r->seconds_limit * 1000 / 5;

    return fifth < CLOSEOUT_TIME_MS ? fifth : CLOSEOUT_TIME_MS;
}

int64_t run_time_left_ms(const struct step *s, bool closeout)
{
    int64_t limit = s->run.seconds_limit * 1000;

    if (run_is_research(s) && !closeout) {
        limit -= reserve_ms(&s->run);
    }
    return limit - s->run.active_ms;
}

/* The first received handoff that stands in no request yet. */
enum rc run_find_pending(struct step *s, struct handoff *out, bool *found)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;

    *found = false;
    if (run_is_research(s)) {
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

enum rc run_has_received(struct step *s, bool *out)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        *out = *out || list[i].state == HANDOFF_RECEIVED;
    }
    return rc;
}

enum effect_cause run_cause_of(const struct handoff *h)
{
    return h->kind == HANDOFF_REPLY ? CAUSE_REPLY : CAUSE_ADJUSTMENT;
}

void run_count_usage(struct step *s, const struct usage *u)
{
    s->run.tokens.used +=
        u->known ? u->input_tokens + u->output_tokens : u->estimate;
    s->run.unknown_requests += u->known ? 0 : 1;
    s->save = true;
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
        s->live->is_research = run_is_research(s);
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
    if (run_over(s)) {
        s->wake_ms = 0;
    } else if (s->run.state == RUN_AWAITING_INPUT) {
        run_wake_in(s, s->rt->conf.max_wait_seconds * 1000 -
                           (s->now_ms - s->run.waiting_since_ms));
    } else {
        run_wake_in(s, run_time_left_ms(s, s->closeout));
    }
}

static enum rc save_if_changed(struct step *s)
{
    return s->save && !run_over(s) ? run_save(s) : RC_OK;
}

/* Nothing more is done for it: it may go wrong at the first touch (R29), and that
 * of its end as well. */
static bool is_poison(const struct step *s)
{
    return s->run.crashes >= CRASHES_MAX;
}

static enum rc end_poison(struct step *s)
{
    enum rc rc = run_over(s) ? RC_OK
                             : run_end(s, RUN_FAILED, REASON_CRASHED,
                                       "The runtime went down three times over "
                                       "this.");

    return rc == RC_OK ? settle_untouched(s) : rc;
}

enum rc run_step(struct step *s)
{
    enum rc rc = load(s);

    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    if (is_poison(s)) {
        return end_poison(s);
    }
    if (run_over(s)) {
        return settle_ended(s);
    }
    rc = facts_apply(s);
    if (rc == RC_OK) {
        rc = decide_next(s);
    }
    set_timer(s);
    return rc == RC_OK ? save_if_changed(s) : rc;
}

enum rc run_step_text(struct step *s)
{
    enum rc rc = load(s);

    if (rc != RC_OK || run_over(s)) {
        return rc == RC_NOT_FOUND ? RC_OK : rc == RC_OK ? settle_ended(s) : rc;
    }
    return facts_apply_text(s);
}

enum rc run_step_shutdown(struct step *s)
{
    struct request last;
    enum rc rc = load(s);

    if (rc != RC_OK || run_over(s) || is_poison(s)) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    /* What has come by now is not done again. */
    rc = facts_apply(s);
    if (rc != RC_OK || run_over(s)) {
        return rc;
    }
    rc = store_request_last(s->rt->store, s->run.id, s->mem, &last);
    if (rc == RC_OK && last.state == EFFECT_SENT) {
        rc = settle_cut_short(s, &last, EFFECT_INTERRUPTED, CAUSE_SHUTDOWN);
    }
    if (rc == RC_OK) {
        rc = settle_unsafe(s, &last, CAUSE_SHUTDOWN);
    }
    s->save = true; /* active_ms so far */
    return rc == RC_OK || rc == RC_NOT_FOUND ? save_if_changed(s) : rc;
}

enum rc run_step_give_up(struct step *s)
{
    enum rc rc = load(s);

    if (rc == RC_OK && !run_over(s)) {
        rc = run_end(s, RUN_FAILED, REASON_CRASHED,
                     "An internal error; the log of the runtime tells more.");
    }
    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    /* A request left as sent would hold a place of the provider for good. */
    return settle_ended(s);
}
