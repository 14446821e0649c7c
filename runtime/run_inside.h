/* run_inside.h - what the parts of a Run's state machine share: run.c, facts.c,
 * decide.c, plan.c, settle.c. No other file includes it. */
#ifndef ASIDE_RUNTIME_RUN_INSIDE_H
#define ASIDE_RUNTIME_RUN_INSIDE_H

#include "runtime/runtime.h"

/* --- run.c -------------------------------------------------------------- */

/* Write what the step changed, active time included. */
enum rc run_save(struct step *) RC_MUST_CHECK;
bool run_over(const struct step *); /* it has ended */
bool run_is_research(const struct step *);
void run_set_phase(struct step *, enum run_phase);
/* Want another step in so many milliseconds at the latest. */
void run_wake_in(struct step *, int64_t ms);
/* Working time left; a research keeps some of it for the closeout. */
int64_t run_time_left_ms(const struct step *, bool closeout);
/* The first received handoff that stands in no request yet. */
enum rc run_find_pending(struct step *, struct handoff *,
                         bool *found) RC_MUST_CHECK;
enum effect_cause run_cause_of(const struct handoff *);
void run_count_usage(struct step *, const struct usage *);

/* --- facts.c ------------------------------------------------------------ */

enum rc facts_apply(struct step *) RC_MUST_CHECK;
/* The streamed text alone. */
enum rc facts_apply_text(struct step *) RC_MUST_CHECK;

/* --- decide.c ----------------------------------------------------------- */

/* Decide until something outside has to happen, or the Run has ended. */
enum rc decide_next(struct step *) RC_MUST_CHECK;

/* --- plan.c ------------------------------------------------------------- */

/* The request after last (NULL: the first), or the end at a limit. */
enum rc plan_next(struct step *, const struct request *last) RC_MUST_CHECK;
/* The same with its attempt and back-off (Unix milliseconds; 0: at once). */
enum rc plan_request(struct step *, const struct request *last, int64_t attempt,
                     int64_t not_before_ms) RC_MUST_CHECK;
/* The provider asked for patience: 429, 503, or words to that effect. */
bool plan_is_throttled(const struct outcome *);
/* Turned away at the door: known to have used nothing. */
bool plan_was_refused(const struct request *);
/* After a failed request: wait for the provider, try again, or end. */
enum rc plan_retry_or_end(struct step *, struct request *last,
                          const struct outcome *) RC_MUST_CHECK;

/* --- settle.c ----------------------------------------------------------- */

/* A sent request without a proper end; its connection is closed. */
enum rc settle_cut_short(struct step *, struct request *, enum effect_state,
                         enum effect_cause) RC_MUST_CHECK;
enum rc settle_tool(struct step *, struct tool_call *, enum effect_state,
                    enum effect_cause, const char *result) RC_MUST_CHECK;
/* Told to the model of a call that is not safe, and whose outcome nobody knows.
 */
extern const char settle_unknown[];
/* Calls of the request that are under way and not safe become unknown. */
enum rc settle_unsafe(struct step *, const struct request *last,
                      enum effect_cause) RC_MUST_CHECK;
/* A Run that has ended: close what is under way, settle the rows (R24). */
enum rc settle_ended(struct step *) RC_MUST_CHECK;
/* The same for one that has brought the runtime down too often: nothing of what
 * it has said or got is read. */
enum rc settle_untouched(struct step *) RC_MUST_CHECK;

#endif
