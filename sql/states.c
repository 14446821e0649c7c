/* states.c - word lists and move tables. */
#include "sql/states.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct words {
    const char *const *word;
    int n;
};

#define WORDS(list)                                                            \
    {                                                                          \
        (list), (int)(sizeof(list) / sizeof((list)[0]))                        \
    }

static const char *const RUN_KIND[RUN_KIND__MAX] = {
    [RUN_SHORT] = "short",
    [RUN_RESEARCH] = "research",
};
static const char *const RUN_DEPTH[RUN_DEPTH__MAX] = {
    [DEPTH_NORMAL] = "normal",
    [DEPTH_DEEP] = "deep",
};
static const char *const MISSING[MISSING_INFO__MAX] = {
    [MISSING_ASK] = "ask",
    [MISSING_ASSUME] = "assume",
    [MISSING_FAIL] = "fail",
};
static const char *const RUN_STATE[RUN_STATE__MAX] = {
    [RUN_RUNNING] = "running",     [RUN_AWAITING_INPUT] = "awaiting_input",
    [RUN_COMPLETED] = "completed", [RUN_INCOMPLETE] = "incomplete",
    [RUN_FAILED] = "failed",       [RUN_STOPPED] = "stopped",
};
static const char *const RUN_PHASE[RUN_PHASE__MAX] = {
    [PHASE_ENTRY] = "entry",
    [PHASE_ANSWERING] = "answering",
    [PHASE_RESEARCHING] = "researching",
    [PHASE_WAITING_FOR_PROVIDER] = "waiting_for_provider",
    [PHASE_CLOSEOUT] = "closeout",
    [PHASE_RECOVERING] = "recovering",
};
static const char *const RUN_REASON[RUN_REASON__MAX] = {
    [REASON_NONE] = NULL,
    [REASON_BUDGET_REQUESTS] = "budget_requests",
    [REASON_BUDGET_TOOLS] = "budget_tools",
    [REASON_BUDGET_TOKENS] = "budget_tokens",
    [REASON_DEADLINE] = "deadline",
    [REASON_NO_REPLY] = "no_reply",
    [REASON_PARTIAL_COVERAGE] = "partial_coverage",
    [REASON_LENGTH] = "length",
    [REASON_PROVIDER_ERROR] = "provider_error",
    [REASON_PROVIDER_QUOTA] = "provider_quota",
    [REASON_STOPPED_BY_USER] = "stopped_by_user",
    [REASON_CRASHED] = "crashed",
};
static const char *const SLOT_CLASS[SLOT_CLASS__MAX] = {
    [SLOT_SHORT] = "short",
    [SLOT_BACKGROUND] = "background",
};
static const char *const HANDOFF_KIND[HANDOFF_KIND__MAX] = {
    [HANDOFF_ADJUSTMENT] = "adjustment",
    [HANDOFF_REPLY] = "reply",
};
static const char *const HANDOFF_ORIGIN[HANDOFF_ORIGIN__MAX] = {
    [ORIGIN_PANEL] = "panel",
    [ORIGIN_ENTRY] = "entry",
    [ORIGIN_CONTINUATION] = "continuation",
};
static const char *const HANDOFF_STATE[HANDOFF_STATE__MAX] = {
    [HANDOFF_RECEIVED] = "received",
    [HANDOFF_HANDED] = "handed",
    [HANDOFF_NOT_APPLIED] = "not_applied",
};
static const char *const HANDOFF_REASON[HANDOFF_REASON__MAX] = {
    [HANDOFF_NO_REASON] = NULL,
    [HANDOFF_RUN_ENDED] = "run_ended",
    [HANDOFF_RUN_STOPPED] = "run_stopped",
    [HANDOFF_RUN_FAILED] = "run_failed",
    [HANDOFF_BUDGET] = "budget",
};
static const char *const PURPOSE[REQUEST_PURPOSE__MAX] = {
    [PURPOSE_ENTRY] = "entry",
    [PURPOSE_ANSWER] = "answer",
    [PURPOSE_RESEARCH] = "research",
    [PURPOSE_CLOSEOUT] = "closeout",
};
static const char *const EFFECT_STATE[EFFECT_STATE__MAX] = {
    [EFFECT_PLANNED] = "planned",         [EFFECT_SENT] = "sent",
    [EFFECT_SKIPPED] = "skipped",         [EFFECT_DONE] = "done",
    [EFFECT_INTERRUPTED] = "interrupted", [EFFECT_FAILED] = "failed",
    [EFFECT_UNKNOWN] = "unknown",
};
static const char *const EFFECT_CAUSE[EFFECT_CAUSE__MAX] = {
    [CAUSE_NONE] = NULL,           [CAUSE_ADJUSTMENT] = "adjustment",
    [CAUSE_REPLY] = "reply",       [CAUSE_STOP] = "stop",
    [CAUSE_DEADLINE] = "deadline", [CAUSE_SHUTDOWN] = "shutdown",
};
static const char *const APPROVAL[APPROVAL_STATE__MAX] = {
    [APPROVAL_OPEN] = "open",        [APPROVAL_ONCE] = "approved_once",
    [APPROVAL_RUN] = "approved_run", [APPROVAL_DENIED] = "denied",
    [APPROVAL_VOID] = "void",
};
static const char *const ASKED[APPROVAL_REASON__MAX] = {
    [APPROVAL_CONFIGURED] = "configured",
    [APPROVAL_ACTS] = "acts",
};
static const char *const COVERAGE[COVERAGE_STATUS__MAX] = {
    [COVERED] = "covered",
    [COVERED_PARTIAL] = "partial",
    [COVERED_NOT] = "not_covered",
};
static const char *const ENDPOINT[ENDPOINT_STATE__MAX] = {
    [ENDPOINT_UNKNOWN] = "unknown",
    [ENDPOINT_OK] = "ok",
    [ENDPOINT_UNAUTHORIZED] = "unauthorized",
    [ENDPOINT_UNREACHABLE] = "unreachable",
};
static const char *const CHANGE_KIND[CHANGE_KIND__MAX] = {
    [CHANGE_MESSAGE_CREATED] = "message.created",
    [CHANGE_RUN_CREATED] = "run.created",
    [CHANGE_RUN_UPDATED] = "run.updated",
    [CHANGE_ANSWER_PART] = "answer.part",
    [CHANGE_HANDOFF_UPDATED] = "handoff.updated",
    [CHANGE_REQUEST_UPDATED] = "request.updated",
    [CHANGE_TOOL_CALL_UPDATED] = "tool_call.updated",
    [CHANGE_SOURCE_ADDED] = "source.added",
    [CHANGE_CONVERSATION_UPDATED] = "conversation.updated",
    [CHANGE_CONVERSATION_DELETED] = "conversation.deleted",
    [CHANGE_NOTIFICATION_CREATED] = "notification.created",
    [CHANGE_LIBRARY_UPDATED] = "library.updated",
};
static const char *const ACTOR[ACTOR_KIND__MAX] = {
    [ACTOR_USER] = "user",   [ACTOR_SESSION] = "session",
    [ACTOR_TOKEN] = "token", [ACTOR_COMMAND] = "command",
    [ACTOR_RUN] = "run",     [ACTOR_RUNTIME] = "runtime",
};
static const char *const AUDIT_ACTION[AUDIT_ACTION__MAX] = {
    [AUDIT_REQUEST] = "request",
    [AUDIT_TOOL_CALL] = "tool_call",
    [AUDIT_RUN_END] = "run.end",
    [AUDIT_MESSAGE_SEND] = "message.send",
    [AUDIT_RUN_START_RESEARCH] = "run.start_research",
    [AUDIT_RUN_ADJUST] = "run.adjust",
    [AUDIT_RUN_REPLY] = "run.reply",
    [AUDIT_RUN_STOP] = "run.stop",
    [AUDIT_RUN_CONTINUE] = "run.continue",
    [AUDIT_CONVERSATION_CREATE] = "conversation.create",
    [AUDIT_CONVERSATION_UPDATE] = "conversation.update",
    [AUDIT_CONVERSATION_DELETE] = "conversation.delete",
    [AUDIT_LIBRARY_ADD] = "library.add",
    [AUDIT_LIBRARY_REMOVE] = "library.remove",
    [AUDIT_LIBRARY_INDEX] = "library.index",
    [AUDIT_DATABASE_BACKUP] = "database.backup",
    [AUDIT_DATABASE_RESTORE] = "database.restore",
    [AUDIT_RETENTION] = "retention",
    [AUDIT_ACCOUNT_DELETE] = "account.delete",
    [AUDIT_ACCOUNT_CREATE] = "account.create",
    [AUDIT_TOKEN_CREATE] = "token.create",
    [AUDIT_TOKEN_REVOKE] = "token.revoke",
    [AUDIT_SESSION_OPEN] = "session.open",
    [AUDIT_SESSION_CLOSE] = "session.close",
    [AUDIT_APPROVAL_DECIDE] = "approval.decide",
    [AUDIT_PRUNE] = "audit.prune",
};

static const char *const ACCESS_SCOPE[ACCESS_SCOPE__MAX] = {
    [SCOPE_READ] = "read",
    [SCOPE_WRITE] = "write",
    [SCOPE_ADMIN] = "admin",
};

static const struct words LISTS[STATES_LIST__MAX] = {
    [LIST_RUN_KIND] = WORDS(RUN_KIND),
    [LIST_RUN_DEPTH] = WORDS(RUN_DEPTH),
    [LIST_MISSING_INFO] = WORDS(MISSING),
    [LIST_RUN_STATE] = WORDS(RUN_STATE),
    [LIST_RUN_PHASE] = WORDS(RUN_PHASE),
    [LIST_RUN_REASON] = WORDS(RUN_REASON),
    [LIST_SLOT_CLASS] = WORDS(SLOT_CLASS),
    [LIST_HANDOFF_KIND] = WORDS(HANDOFF_KIND),
    [LIST_HANDOFF_ORIGIN] = WORDS(HANDOFF_ORIGIN),
    [LIST_HANDOFF_STATE] = WORDS(HANDOFF_STATE),
    [LIST_HANDOFF_REASON] = WORDS(HANDOFF_REASON),
    [LIST_REQUEST_PURPOSE] = WORDS(PURPOSE),
    [LIST_EFFECT_STATE] = WORDS(EFFECT_STATE),
    [LIST_EFFECT_CAUSE] = WORDS(EFFECT_CAUSE),
    [LIST_APPROVAL_STATE] = WORDS(APPROVAL),
    [LIST_APPROVAL_REASON] = WORDS(ASKED),
    [LIST_COVERAGE_STATUS] = WORDS(COVERAGE),
    [LIST_ENDPOINT_STATE] = WORDS(ENDPOINT),
    [LIST_CHANGE_KIND] = WORDS(CHANGE_KIND),
    [LIST_ACTOR_KIND] = WORDS(ACTOR),
    [LIST_AUDIT_ACTION] = WORDS(AUDIT_ACTION),
    [LIST_ACCESS_SCOPE] = WORDS(ACCESS_SCOPE),
};

const char *states_text(enum states_list list, int value)
{
    const struct words *w = &LISTS[list];

    assert(value >= 0 && value < w->n);
    return w->word[value];
}

const char *states_text_or_null(enum states_list list, int value)
{
    return value < LISTS[list].n ? states_text(list, value) : NULL;
}

enum rc states_value(enum states_list list, const char *word, int *value)
{
    const struct words *w = &LISTS[list];

    for (int i = 0; i < w->n; i++) {
        if (word == NULL
                ? w->word[i] == NULL
                : w->word[i] != NULL && strcmp(word, w->word[i]) == 0) {
            *value = i;
            return RC_OK;
        }
    }
    return RC_INVALID;
}

/* --- the machines: rows are where from, columns where to --------------- */

static const bool RUN_MOVES[RUN_STATE__MAX][RUN_STATE__MAX] = {
    [RUN_RUNNING] = {[RUN_AWAITING_INPUT] = true,
                     [RUN_COMPLETED] = true,
                     [RUN_INCOMPLETE] = true,
                     [RUN_FAILED] = true,
                     [RUN_STOPPED] = true},
    [RUN_AWAITING_INPUT] =
        {[RUN_RUNNING] = true, [RUN_FAILED] = true, [RUN_STOPPED] = true},
};

static const bool HANDOFF_MOVES[HANDOFF_STATE__MAX][HANDOFF_STATE__MAX] = {
    [HANDOFF_RECEIVED] =
        {[HANDOFF_HANDED] = true, [HANDOFF_NOT_APPLIED] = true},
};

static const bool EFFECT_MOVES[EFFECT_STATE__MAX][EFFECT_STATE__MAX] = {
    [EFFECT_PLANNED] = {[EFFECT_SENT] = true, [EFFECT_SKIPPED] = true},
    [EFFECT_SENT] = {[EFFECT_DONE] = true,
                     [EFFECT_INTERRUPTED] = true,
                     [EFFECT_FAILED] = true,
                     [EFFECT_UNKNOWN] = true},
};

static const bool APPROVAL_MOVES[APPROVAL_STATE__MAX][APPROVAL_STATE__MAX] = {
    [APPROVAL_OPEN] = {[APPROVAL_ONCE] = true,
                       [APPROVAL_RUN] = true,
                       [APPROVAL_DENIED] = true,
                       [APPROVAL_VOID] = true},
};

bool states_run_may_move(enum run_state from, enum run_state to)
{
    return RUN_MOVES[from][to];
}

bool states_handoff_may_move(enum handoff_state from, enum handoff_state to)
{
    return HANDOFF_MOVES[from][to];
}

bool states_effect_may_move(enum effect_state from, enum effect_state to)
{
    return EFFECT_MOVES[from][to];
}

bool states_approval_may_move(enum approval_state from, enum approval_state to)
{
    return APPROVAL_MOVES[from][to];
}

bool states_run_ended(enum run_state state)
{
    return state >= RUN_COMPLETED;
}
