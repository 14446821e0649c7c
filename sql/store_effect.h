/* store_effect.h - model requests and tool calls: whatever reaches outside.
 *
 * planned -> sent | skipped; sent -> done | interrupted | failed | unknown. The
 * commit that says "sent" comes before the first byte leaves (R01).
 */
#ifndef ASIDE_SQL_STORE_EFFECT_H
#define ASIDE_SQL_STORE_EFFECT_H

#include "sql/base/buf.h"
#include "sql/store_run.h"

struct usage {
    bool known;
    int64_t input_tokens;  /* with known */
    int64_t output_tokens; /* with known */
    int64_t cached_tokens; /* of the input, from a cache; -1: not told */
    int64_t estimate;      /* conservative, without known */
};

struct request {
    int64_t id;
    int64_t run_id;
    enum request_purpose purpose;
    enum effect_state state;
    enum effect_cause cause;
    int64_t attempt;
    int64_t segment_id;
    const char *tail; /* what follows the segments in the body */
    int64_t body_bytes;
    int64_t input_estimate; /* tokens */
    int64_t not_before_ms;
    const char *reply;  /* assistant item as JSON; NULL: none */
    const char *finish; /* NULL: none */
    const char *error;  /* NULL: none */
    struct usage usage;
    int64_t planned_ms;
    int64_t sent_ms;  /* 0: not sent */
    int64_t first_ms; /* 0: no chunk that carries a choice */
    int64_t ended_ms; /* 0: not settled */
};

struct tool_call {
    int64_t id;
    int64_t run_id;
    int64_t request_id;
    int64_t n;
    const char *call_id;
    const char *name;
    const char *arguments; /* JSON, as sent by the model */
    bool arguments_cut;    /* they are longer: read as they are shown */
    enum effect_state state;
    enum effect_cause cause;
    const char *result;  /* told to the model; NULL: none yet */
    const char *summary; /* told to the person */
    const char *error;   /* NULL: none */
    int64_t planned_ms;
    int64_t started_ms;
    int64_t ended_ms;
    int64_t repeats;     /* the call whose outcome it shares; 0: none */
    bool safe;           /* may be made again after a crash (R29) */
    bool acts;           /* does more than read, as its tool was when called */
    bool unknown;        /* to be planned: there is no tool of that name */
    const char *tool;    /* digest of what its server said of the tool when it
                          * was called; NULL: Aside's own, or an old row */
    int64_t admitted_ms; /* the policy let it through; 0: not yet */
    int64_t approval_id; /* 0: nobody was asked */
    enum approval_state approval; /* with approval_id */
    const char *approval_note;    /* NULL: none */
    bool unanswered;              /* denied, since nobody came */
};

struct source {
    int64_t id;
    int64_t run_id;
    int64_t tool_call_id;
    int64_t n;
    const char *passage; /* the tool's own id of the passage */
    const char *title;
    const char *location;
    const char *heading;
    const char *body;
    bool body_cut; /* it is longer than what was wanted of it */
};

/* All of a text, in code points. */
#define SOURCE_WHOLE INT32_MAX

struct note {
    int64_t id;
    const char *body;
};

/* --- reading ----------------------------------------------------------- */

/* account_id 0: of any account. */
enum rc store_request_get(struct store *, int64_t account_id, int64_t id,
                          struct arena *, struct request *) RC_MUST_CHECK;
enum rc store_request_of_run(struct store *, int64_t run_id, struct arena *,
                             struct request **, size_t *n) RC_MUST_CHECK;
/* The newest of a Run; RC_NOT_FOUND if it has none. */
enum rc store_request_last(struct store *, int64_t run_id, struct arena *,
                           struct request *) RC_MUST_CHECK;
/* The exact bytes of the request's body, appended to out (R13). RC_DB if they
 * do not have the stored SHA-256. */
enum rc store_request_input(struct store *, int64_t request_id,
                            struct buf *out) RC_MUST_CHECK;

enum rc store_tool_call_get(struct store *, int64_t account_id, int64_t id,
                            struct arena *, struct tool_call *) RC_MUST_CHECK;
/* In the order that the model made them in, without their results. */
enum rc store_tool_call_of_run(struct store *, int64_t run_id, struct arena *,
                               struct tool_call **, size_t *n) RC_MUST_CHECK;
/* As they are shown: without their results and digests, and of the arguments, of
 * which all together may be many megabytes, as many code points as wanted. */
enum rc store_tool_call_shown(struct store *, int64_t account_id, int64_t id,
                              int64_t chars, struct arena *,
                              struct tool_call *) RC_MUST_CHECK;
enum rc store_tool_call_shown_of_run(struct store *, int64_t run_id,
                                     int64_t chars, struct arena *,
                                     struct tool_call **,
                                     size_t *n) RC_MUST_CHECK;
enum rc store_tool_call_count(struct store *, int64_t run_id,
                              int64_t *n) RC_MUST_CHECK;
/* Calls of a Run are numbered in that order, from 1. RC_NOT_FOUND. */
enum rc store_tool_call_number(struct store *, int64_t run_id, int64_t id,
                               int64_t *number) RC_MUST_CHECK;
enum rc store_tool_call_nth(struct store *, int64_t run_id, int64_t number,
                            struct arena *, struct tool_call *) RC_MUST_CHECK;
enum rc store_tool_call_of_request(struct store *, int64_t request_id,
                                   struct arena *, struct tool_call **,
                                   size_t *n) RC_MUST_CHECK;
/* Of the text no more than so many code points. */
enum rc store_source_get(struct store *, int64_t account_id, int64_t id,
                         int64_t chars, struct arena *,
                         struct source *) RC_MUST_CHECK;
/* By their numbers. A continuation's begin with those that the Runs it goes on
 * from had found: a number means the same passage over the whole chain. Of each
 * text as many code points as wanted: all together they may be many
 * megabytes. */
enum rc store_source_of_run(struct store *, int64_t run_id, int64_t chars,
                            struct arena *, struct source **,
                            size_t *n) RC_MUST_CHECK;
/* How many those are. */
enum rc store_source_count(struct store *, int64_t run_id,
                           int64_t *n) RC_MUST_CHECK;
/* The one of this number, whole. */
enum rc store_source_by_number(struct store *, int64_t run_id, int64_t number,
                               struct arena *, struct source *) RC_MUST_CHECK;
/* Numbers of passages that are kept word for word, from the highest. */
enum rc store_pin_of_run(struct store *, int64_t run_id, struct arena *,
                         int64_t **numbers, size_t *n) RC_MUST_CHECK;
enum rc store_note_of_run(struct store *, int64_t run_id, struct arena *,
                          struct note **, size_t *n) RC_MUST_CHECK;

/* Runs with effects in state sent, over all accounts: what a runtime that
 * starts finds left by one that died. A Run may be listed twice. */
enum rc store_request_sent_runs(struct store *, struct arena *, int64_t **,
                                size_t *n) RC_MUST_CHECK;
enum rc store_tool_call_sent_runs(struct store *, struct arena *, int64_t **,
                                  size_t *n) RC_MUST_CHECK;

/* Has a call of t's Run and tool failed with t's error, in another reply than
 * t's? */
enum rc store_tool_call_failed_so(struct store *, const struct tool_call *t,
                                  bool *out) RC_MUST_CHECK;

struct tool_asked {
    int64_t id;
    const char *arguments;
};
/* The calls of a tool that a Run has made or is about to make, oldest first,
 * without those that failed, were cut short, or repeat another. */
enum rc store_tool_call_asked(struct store *, int64_t run_id, const char *name,
                              struct arena *, struct tool_asked **,
                              size_t *n) RC_MUST_CHECK;

/* In how many replies of a Run the same call (name and arguments) was asked for
 * and failed; of the call that did so most often. */
enum rc store_tool_call_same_failed(struct store *, int64_t run_id,
                                    int64_t *times) RC_MUST_CHECK;

/* --- writing, inside a transaction ------------------------------------- */

struct request_new {
    enum request_purpose purpose;
    int64_t attempt;
    int64_t segment_id; /* last segment of the body */
    const char *tail;
    int64_t input_estimate;
    int64_t not_before_ms;
    int64_t now_ms;
};
/* Plan a model request; its input is fixed by this. */
enum rc store_request_plan(struct store *, const struct run *,
                           const struct request_new *, struct arena *,
                           struct request *) RC_MUST_CHECK;

/* planned -> sent, if the provider has a place (R20): max_concurrent places in
 * all, one of which research never takes where there are two or more. RC_FULL:
 * no place. RC_CONFLICT: no longer planned. */
enum rc store_request_send(struct store *, const struct run *, struct request *,
                           int64_t max_concurrent,
                           int64_t now_ms) RC_MUST_CHECK;
/* The purpose of a Run's newest request; RC_NOT_FOUND if it has none. */
enum rc store_request_last_purpose(struct store *, int64_t run_id,
                                   enum request_purpose *) RC_MUST_CHECK;

/* The first chunk that carries a choice has come. */
enum rc store_request_first(struct store *, const struct run *,
                            struct request *, int64_t now_ms) RC_MUST_CHECK;

/* Settle: to skipped from planned, to the others from sent. What changes is
 * read from *request: state, cause, reply, finish, usage, error. */
enum rc store_request_settle(struct store *, const struct run *,
                             struct request *, enum effect_state from,
                             int64_t now_ms) RC_MUST_CHECK;

/* Usage of a request that was settled after its Run had ended: it is added to
 * the ended Run's use, which is no state (R25). */
enum rc store_request_count_late(struct store *, const struct run *,
                                 const struct usage *) RC_MUST_CHECK;

/* Append a piece of a body. parent_id 0: a shared root, found again by its
 * content; else a piece of run_id. *id: the segment. */
enum rc store_segment_add(struct store *, int64_t run_id, int64_t parent_id,
                          const char *body, size_t len,
                          int64_t *id) RC_MUST_CHECK;
/* The root of the chain that ends in this segment. */
enum rc store_segment_root_of(struct store *, int64_t id,
                              int64_t *root) RC_MUST_CHECK;
/* What the chain that ends in this segment holds after its root, appended to
 * out: to go on under another root. */
enum rc store_segment_after_root(struct store *, int64_t id,
                                 struct buf *out) RC_MUST_CHECK;

/* Insert a planned call. call->id is set. */
enum rc store_tool_call_plan(struct store *, const struct run *,
                             struct tool_call *, int64_t now_ms) RC_MUST_CHECK;
/* Move and write state, cause, result, summary, error. RC_CONFLICT: it was not
 * in from. */
enum rc store_tool_call_move(struct store *, const struct run *,
                             struct tool_call *, enum effect_state from,
                             int64_t now_ms) RC_MUST_CHECK;

/* The policy has let it through: from here on limits count it, those of the day
 * also when it is deleted with its conversation. */
enum rc store_tool_call_admit(struct store *, const struct run *,
                              const struct tool_call *,
                              int64_t now_ms) RC_MUST_CHECK;
/* Calls that were let through: of the tool of this name, or with prefix of all
 * whose name begins so. In one Run, or for an account on the day (UTC) of a
 * time. */
struct tool_calls_made {
    const char *name;
    bool prefix;
    int64_t run_id;     /* 0: of the account */
    int64_t account_id; /* without run_id */
    int64_t day_of_ms;  /* without run_id; one of the last two days */
};
enum rc store_tool_call_made(struct store *, const struct tool_calls_made *,
                             int64_t *n) RC_MUST_CHECK;

/* How a call in state sent goes; of one that is in another, nothing. */
enum rc store_tool_call_say(struct store *, const struct run *, int64_t id,
                            const char *summary) RC_MUST_CHECK;

/* Calls of a Run that are planned become skipped, without a cause. */
enum rc store_run_skip_planned(struct store *, const struct run *,
                               int64_t now_ms) RC_MUST_CHECK;

/* What of an ended Run is still sent becomes unknown, by ids and numbers alone:
 * no text of the Run is read or looked at. Each request may have used so many
 * tokens beside its input (R25). */
enum rc store_run_close_sent(struct store *, const struct run *,
                             int64_t output_tokens,
                             int64_t now_ms) RC_MUST_CHECK;

/* The passage as a source of the Run: n is its number, an old one if the Run
 * has retrieved the passage before, or a Run that it goes on from. */
enum rc store_source_add(struct store *, const struct run *,
                         struct source *) RC_MUST_CHECK;
enum rc store_note_add(struct store *, int64_t run_id, const char *body,
                       int64_t now_ms) RC_MUST_CHECK;
/* Pinned twice is pinned once. */
enum rc store_pin_add(struct store *, int64_t run_id,
                      int64_t number) RC_MUST_CHECK;

#endif
