/* store_run.h - Runs: accepting, reading, moving and ending them.
 *
 * A Run holds a slot from the transaction that accepts it to the one that ends
 * it. Both the responder (accept, stop) and the runtime (everything else) use
 * this file; every end goes through store_run_end, every stop through
 * store_run_stop (R24), every adjustment through store_handoff_add.
 */
#ifndef ASIDE_SQL_STORE_RUN_H
#define ASIDE_SQL_STORE_RUN_H

#include "sql/store.h"
#include "sql/store_conversation.h"

struct approval;

struct used_of {
    int64_t used;
    int64_t limit;
};

/* One line of a coverage list (R31). */
struct coverage {
    int64_t handoff_id; /* 0: the request itself */
    int64_t message_id; /* of the requirement; 0: continued without words */
    enum coverage_status status;
    const char *remark;
    const char *evidence; /* JSON list of numbers of sources; NULL: empty */
};

struct run {
    int64_t id;
    int64_t account_id;
    int64_t conversation_id;
    int64_t message_id; /* 0: continued without words */
    int64_t continues;  /* the Run it goes on from; 0: none */
    enum run_kind kind;
    enum run_depth depth;
    enum missing_info missing_info;
    enum run_state state;
    enum run_phase phase; /* while running */
    enum run_reason reason;
    const char *title;
    const char *progress;
    const char *lead;     /* NULL: none */
    const char *question; /* NULL: none */
    int64_t created_ms;
    int64_t started_ms; /* 0: not yet */
    int64_t ended_ms;   /* 0: not yet */
    int64_t accepted_seq;
    int64_t ended_seq;
    struct used_of requests;
    struct used_of tool_calls;
    struct used_of tokens;
    int64_t unknown_requests;
    int64_t active_ms;
    int64_t seconds_limit;
    enum run_reason limit_reason; /* first limit met, REASON_NONE so far */
    int64_t crashes;
    int64_t waiting_since_ms; /* 0: not awaiting input */
    int64_t answer_revision;
    int64_t answer_parts;
    bool answer_complete;
    bool answer_draft;         /* the revision is a draft of a report */
    const char *answer_body;   /* NULL unless asked for */
    struct approval *approval; /* that is open; NULL: none */
    struct coverage *coverage; /* research that ended */
    size_t n_coverage;
};

/* --- what the responder does ------------------------------------------- */

struct message_new {
    int64_t conversation_id;
    const char *body;
    bool background; /* research at once, without entry (R10) */
    enum run_depth depth;
    enum missing_info missing_info;
};

/* Save a message and the Run that answers it, taking a slot (R16).
 * RC_NOT_FOUND: conversation. RC_FULL: no slot; call->full and ->occupancy say
 * of what. RC_KEY_REUSED. RC_TOO_LONG: background, and more than a research
 * can cover. */
enum rc store_message_send(struct store *, struct store_call *,
                           const struct message_new *, struct message *,
                           struct run *) RC_MUST_CHECK;

/* End a Run by the user's wish (R24); an ended one is left as it is. */
enum rc store_run_stop(struct store *, struct store_call *, int64_t run_id,
                       struct run *) RC_MUST_CHECK;

/* Go on from an ended research with a new Run (R30). body may be NULL, then
 * message->id is 0. RC_NOT_ELIGIBLE, RC_FULL, RC_NOT_FOUND, RC_TOO_LONG. */
enum rc store_run_continue(struct store *, struct store_call *, int64_t run_id,
                           const char *body, struct message *,
                           struct run *) RC_MUST_CHECK;

/* --- reading ----------------------------------------------------------- */

/* account_id 0: of any account (the runtime). with_body: fill answer_body. */
enum rc store_run_get(struct store *, int64_t account_id, int64_t id,
                      bool with_body, struct arena *,
                      struct run *) RC_MUST_CHECK;

struct run_filter {
    int64_t account_id;
    int64_t conversation_id; /* 0: all */
    int64_t before;          /* id; 0: from the newest */
    int64_t limit;
    int state;        /* enum run_state, -1: all */
    int kind;         /* enum run_kind, -1: all */
    bool active_only; /* running or awaiting input */
};
/* Newest first, without bodies. */
enum rc store_run_list(struct store *, const struct run_filter *,
                       struct arena *, struct run **, size_t *n) RC_MUST_CHECK;

/* A page of messages, by ids (both ends in) and by time (from_ms in, to_ms out;
 * 0 and INT64_MAX where the page is the first or the last). */
struct run_span {
    int64_t conversation_id;
    int64_t from;
    int64_t to;
    int64_t from_ms;
    int64_t to_ms;
};
/* The Runs of a page of messages, with bodies: those that the messages started,
 * oldest first, then those continued without words in that time. */
enum rc store_run_of_messages(struct store *, const struct run_span *,
                              struct arena *, struct run **,
                              size_t *n) RC_MUST_CHECK;

/* Ids of all active Runs of all accounts, oldest first. */
enum rc store_run_active_ids(struct store *, struct arena *, int64_t **,
                             size_t *n) RC_MUST_CHECK;

/* --- what the runtime does, inside a transaction
 * -------------------------------- run is the row as the caller read it in this
 * transaction; it is brought up to date with what was changed. RC_CONFLICT: the
 * Run has ended meanwhile. */

/* Columns that a step of a Run changes, written as one update and told as one
 * change row. Strings of *run must stay until the end of the transaction. */
enum rc store_run_save(struct store *, struct run *) RC_MUST_CHECK;

struct run_end {
    enum run_state state; /* an end */
    enum run_reason reason;
    const char *progress; /* last line for the person; NULL: as it is */
    int64_t now_ms;
};
/* The one way a Run ends. Frees the slot, settles planned effects and received
 * handoffs (reason by the kind of end), stores the answer's text, notifies
 * once (R32). RC_CONFLICT: it has ended already, or it may not be completed
 * since an adjustment is waiting (R22); nothing was changed. */
enum rc store_run_end(struct store *, struct run *,
                      const struct run_end *) RC_MUST_CHECK;

/* Short becomes research in place (R18): class swapped, kind, depth, budget,
 * title and lead set. RC_FULL: no background slot; RC_TOO_LONG: more than a
 * research can cover; nothing was changed. */
enum rc store_run_to_research(struct store *, struct run *, const char *title,
                              enum run_depth, const char *lead,
                              const struct conf *) RC_MUST_CHECK;

/* A new research by an entry decision: continue (R30). RC_FULL,
 * RC_NOT_ELIGIBLE, RC_TOO_LONG. */
enum rc store_run_continue_by_entry(struct store *, const struct run *entry,
                                    int64_t target_run_id, const struct conf *,
                                    int64_t now_ms, struct arena *,
                                    struct run *) RC_MUST_CHECK;

/* Stop by an entry decision; the same function behind store_run_stop. */
enum rc store_run_stop_row(struct store *, struct run *,
                           int64_t now_ms) RC_MUST_CHECK;

/* Begin a new revision of the answer: parts start at 0 again. */
enum rc store_answer_open(struct store *, struct run *) RC_MUST_CHECK;
/* The same for a draft of a report, which a later revision supersedes. */
enum rc store_answer_open_draft(struct store *, struct run *) RC_MUST_CHECK;
/* Append text (whole code points) to the open revision, as one part or, if it
 * is long, as several. */
enum rc store_answer_add(struct store *, struct run *, const char *text,
                         size_t len) RC_MUST_CHECK;
/* Text of the current revision so far. */
enum rc store_answer_text(struct store *, const struct run *, struct arena *,
                          const char **) RC_MUST_CHECK;

enum rc store_coverage_set(struct store *, int64_t run_id,
                           const struct coverage *, size_t n) RC_MUST_CHECK;

#endif
