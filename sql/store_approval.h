/* store_approval.h - calls that wait for a person: asking, deciding.
 *
 * open -> approved_once | approved_run | denied | void. A Run has at most one
 * that is open. While it is, free text to the Run is kept and neither decides
 * nor resumes anything; the decision alone does, or an end of the Run, which
 * makes it void.
 */
#ifndef ASIDE_SQL_STORE_APPROVAL_H
#define ASIDE_SQL_STORE_APPROVAL_H

#include "sql/store_effect.h"
#include "sql/store_run.h"

struct approval {
    int64_t id;
    int64_t run_id;
    int64_t tool_call_id;
    enum approval_state state;
    enum approval_reason reason;
    const char *note;      /* NULL: none */
    const char *tool;      /* as the model called it */
    const char *arguments; /* as the model sent them */
    int64_t created_ms;
    int64_t decided_ms; /* 0: open */
    bool unanswered;    /* denied by the runtime, since nobody came */
    bool changed; /* it was allowed before, and its server has changed it */
};

/* account_id 0: of any account. */
enum rc store_approval_get(struct store *, int64_t account_id, int64_t id,
                           struct arena *, struct approval *) RC_MUST_CHECK;

#define APPROVAL_NOTE_BYTES 4000

struct approval_decision {
    enum approval_state state; /* APPROVAL_ONCE, _RUN or _DENIED */
    const char *note;          /* of a denial, at most APPROVAL_NOTE_BYTES of
                                * UTF-8; NULL: none */
};
/* Decide; a Run that waited for it goes on. The same decision once more is a
 * replay, if it has no other note. RC_CONFLICT: it was decided otherwise, or is
 * void. RC_NOT_FOUND,
 * RC_KEY_REUSED. */
enum rc store_approval_decide(struct store *, struct store_call *, int64_t id,
                              const struct approval_decision *,
                              struct approval *, struct run *) RC_MUST_CHECK;

/* --- what the runtime does, inside a transaction ------------------------- */

struct approval_question {
    enum approval_reason reason;
    bool changed; /* as in struct approval */
};
/* Ask for a call; run->approval is set, call->approval_id too. */
enum rc store_approval_ask(struct store *, struct run *, struct tool_call *,
                           const struct approval_question *, int64_t now_ms,
                           struct arena *) RC_MUST_CHECK;
/* Nobody came: denied by the runtime. The Run is not saved. */
enum rc store_approval_expire(struct store *, struct run *,
                              int64_t now_ms) RC_MUST_CHECK;
/* What is open becomes void; nothing may be. */
enum rc store_approval_void(struct store *, struct run *,
                            int64_t now_ms) RC_MUST_CHECK;

/* What was decided in a Run that concerns the next call of a tool. */
struct approval_standing {
    bool for_run;    /* the tool was approved for the whole Run */
    bool changed;    /* approved was one that its server described otherwise */
    bool unanswered; /* nobody came, whatever the tool */
};
/* tool: the digest of what its server says of it now; NULL: Aside's own. */
enum rc store_approval_standing(struct store *, int64_t run_id,
                                const char *name, const char *tool,
                                struct approval_standing *) RC_MUST_CHECK;

#endif
