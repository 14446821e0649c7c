/* store_handoff.h - receipts: what became of an adjustment or a reply.
 *
 * received -> handed | not_applied. All doors (panel, entry, continuation) end
 * in store_handoff_add. */
#ifndef ASIDE_SQL_STORE_HANDOFF_H
#define ASIDE_SQL_STORE_HANDOFF_H

#include "sql/store_run.h"

struct handoff {
    int64_t id;
    enum handoff_kind kind;
    enum handoff_origin origin;
    int64_t message_id;
    int64_t run_id;
    int64_t decided_by; /* entry request; 0: none */
    enum handoff_state state;
    enum handoff_reason reason;
    int64_t planned_request_id; /* 0: in no request yet */
    int64_t request_id;         /* the request that handed it; 0: none */
    int64_t created_ms;
    int64_t handed_ms; /* 0: not handed */
};

/* Adjust from the Run's own control: the message is saved in the Run's
 * conversation and handed over. An ended research gives a handoff that is
 * not_applied (R23). RC_NOT_FOUND, RC_NOT_ELIGIBLE (short), RC_KEY_REUSED,
 * RC_TOO_LONG. */
enum rc store_run_adjust(struct store *, struct store_call *, int64_t run_id,
                         const char *body, struct message *,
                         struct handoff *) RC_MUST_CHECK;

/* Answer the question of a research that awaits input; else RC_CONFLICT. */
enum rc store_run_reply(struct store *, struct store_call *, int64_t run_id,
                        const char *body, struct message *,
                        struct handoff *) RC_MUST_CHECK;

/* The texts that a research has to cover: the message it began with and every
 * handoff, whatever became of it. */
struct requirements {
    int64_t run_id;    /* those of this Run; 0: of none */
    int64_t continues; /* what a continuation of this one takes over; 0: none */
    int64_t added_message_id; /* 0: none */
    const char *added;        /* a text that is not stored yet, or NULL */
};
/* RC_TOO_LONG if all of it together takes up more than half of
 * model.context_tokens: what is asked stands whole in every prompt, and must
 * leave room to work on it. Asked by every door of a research, before it stores
 * anything. */
enum rc store_requirements_fit(struct store *, const struct conf *,
                               const struct requirements *) RC_MUST_CHECK;

struct handoff_new {
    enum handoff_kind kind;
    enum handoff_origin origin;
    int64_t message_id;
    int64_t decided_by; /* 0: none */
    const struct conf *conf;
    int64_t now_ms;
};
/* The one mechanism: add a handoff to run, received or, where the Run has
 * ended or can take no more, not_applied with the reason. Resumes a Run that
 * awaits input (R28). Once per (message, Run): a second gives the first.
 * RC_TOO_LONG: the requirements would not fit; nothing was changed. */
enum rc store_handoff_add(struct store *, struct run *,
                          const struct handoff_new *,
                          struct handoff *) RC_MUST_CHECK;

/* account_id 0: of any account. */
enum rc store_handoff_get(struct store *, int64_t account_id, int64_t id,
                          struct handoff *) RC_MUST_CHECK;
/* Of one Run, in order of arrival. */
enum rc store_handoff_of_run(struct store *, int64_t run_id, struct arena *,
                             struct handoff **, size_t *n) RC_MUST_CHECK;
/* Caused by a page of messages (ids from..to of one conversation). */
enum rc store_handoff_of_messages(struct store *, int64_t conversation_id,
                                  int64_t from, int64_t to, struct arena *,
                                  struct handoff **, size_t *n) RC_MUST_CHECK;

/* Received handoffs of a Run that stand in no request yet go into this one. */
enum rc store_handoff_plan(struct store *, int64_t run_id,
                           int64_t request_id) RC_MUST_CHECK;
/* The first chunk of request has come: everything its input contains is
 * handed. */
enum rc store_handoff_hand(struct store *, const struct run *,
                           int64_t request_id, int64_t now_ms) RC_MUST_CHECK;

#endif
