/* states.h - the words of DESIGN 2 and 3 as C enums, their texts, and the
 * moves of each state machine.
 *
 * The text of a value is what stands in the database, in JSON and in the
 * documentation; states_text_* and states_*_of are the only conversions. Each
 * machine's moves stand in one table in states.c, which a test prints into
 * docs/states.md; the store commits no move outside it.
 */
#ifndef ASIDE_SQL_STATES_H
#define ASIDE_SQL_STATES_H

#include <stdbool.h>

#include "sql/base/rc.h"

enum run_kind { RUN_SHORT = 0, RUN_RESEARCH, RUN_KIND__MAX };
enum run_depth { DEPTH_NORMAL = 0, DEPTH_DEEP, RUN_DEPTH__MAX };
enum missing_info {
    MISSING_ASK = 0,
    MISSING_ASSUME,
    MISSING_FAIL,
    MISSING_INFO__MAX
};

enum run_state {
    RUN_RUNNING = 0,
    RUN_AWAITING_INPUT,
    RUN_COMPLETED, /* from here on: ends, which never change again */
    RUN_INCOMPLETE,
    RUN_FAILED,
    RUN_STOPPED,
    RUN_STATE__MAX
};

/* What a running Run does. */
enum run_phase {
    PHASE_ENTRY = 0,
    PHASE_ANSWERING,
    PHASE_RESEARCHING,
    PHASE_WAITING_FOR_PROVIDER,
    PHASE_CLOSEOUT,
    PHASE_RECOVERING,
    RUN_PHASE__MAX
};

/* Why a Run ended other than completed. */
enum run_reason {
    REASON_NONE = 0, /* NULL in the database */
    REASON_BUDGET_REQUESTS,
    REASON_BUDGET_TOOLS,
    REASON_BUDGET_TOKENS,
    REASON_DEADLINE,
    REASON_NO_REPLY,
    REASON_PARTIAL_COVERAGE,
    REASON_LENGTH,
    REASON_PROVIDER_ERROR,
    REASON_PROVIDER_QUOTA,
    REASON_STOPPED_BY_USER,
    REASON_CRASHED,
    RUN_REASON__MAX
};

enum slot_class { SLOT_SHORT = 0, SLOT_BACKGROUND, SLOT_CLASS__MAX };

enum handoff_kind { HANDOFF_ADJUSTMENT = 0, HANDOFF_REPLY, HANDOFF_KIND__MAX };
enum handoff_origin {
    ORIGIN_PANEL = 0,
    ORIGIN_ENTRY,
    ORIGIN_CONTINUATION,
    HANDOFF_ORIGIN__MAX
};
enum handoff_state {
    HANDOFF_RECEIVED = 0,
    HANDOFF_HANDED,
    HANDOFF_NOT_APPLIED,
    HANDOFF_STATE__MAX
};
enum handoff_reason {
    HANDOFF_NO_REASON = 0, /* NULL in the database */
    HANDOFF_RUN_ENDED,
    HANDOFF_RUN_STOPPED,
    HANDOFF_RUN_FAILED,
    HANDOFF_BUDGET,
    HANDOFF_REASON__MAX
};

enum request_purpose {
    PURPOSE_ENTRY = 0,
    PURPOSE_ANSWER,
    PURPOSE_RESEARCH,
    PURPOSE_CLOSEOUT,
    REQUEST_PURPOSE__MAX
};

/* Model requests and tool calls move through the same states. */
enum effect_state {
    EFFECT_PLANNED = 0,
    EFFECT_SENT,
    EFFECT_SKIPPED, /* from here on: settled */
    EFFECT_DONE,
    EFFECT_INTERRUPTED,
    EFFECT_FAILED,
    EFFECT_UNKNOWN,
    EFFECT_STATE__MAX
};
enum effect_cause {
    CAUSE_NONE = 0, /* NULL in the database */
    CAUSE_ADJUSTMENT,
    CAUSE_REPLY,
    CAUSE_STOP,
    CAUSE_DEADLINE,
    CAUSE_SHUTDOWN,
    EFFECT_CAUSE__MAX
};

/* A call that waits for the person. */
enum approval_state {
    APPROVAL_OPEN = 0,
    APPROVAL_ONCE,
    APPROVAL_RUN, /* the same tool, in the same Run */
    APPROVAL_DENIED,
    APPROVAL_VOID, /* its Run has ended, or nothing is to be asked any more */
    APPROVAL_STATE__MAX
};
enum approval_reason {
    APPROVAL_CONFIGURED = 0, /* policy.<name> = ask */
    APPROVAL_ACTS,           /* a server's tool that does more than read */
    APPROVAL_REASON__MAX
};

enum coverage_status {
    COVERED = 0,
    COVERED_PARTIAL,
    COVERED_NOT,
    COVERAGE_STATUS__MAX
};

enum endpoint_state {
    ENDPOINT_UNKNOWN = 0,
    ENDPOINT_OK,
    ENDPOINT_UNAUTHORIZED,
    ENDPOINT_UNREACHABLE,
    ENDPOINT_STATE__MAX
};

/* Who did something, for the audit log. */
enum actor_kind {
    ACTOR_USER = 0, /* whoever the account is: auth = none or proxy */
    ACTOR_SESSION,
    ACTOR_TOKEN,
    ACTOR_COMMAND, /* the command line; its id is the uid */
    ACTOR_RUN,     /* a model's decision; its id is the Run */
    ACTOR_RUNTIME,
    ACTOR_KIND__MAX
};
enum audit_action {
    AUDIT_REQUEST = 0, /* effects and ends: by the database's triggers */
    AUDIT_TOOL_CALL,
    AUDIT_RUN_END,
    AUDIT_MESSAGE_SEND,
    AUDIT_RUN_START_RESEARCH,
    AUDIT_RUN_ADJUST,
    AUDIT_RUN_REPLY,
    AUDIT_RUN_STOP,
    AUDIT_RUN_CONTINUE,
    AUDIT_CONVERSATION_CREATE,
    AUDIT_CONVERSATION_UPDATE,
    AUDIT_CONVERSATION_DELETE,
    AUDIT_LIBRARY_ADD,
    AUDIT_LIBRARY_REMOVE,
    AUDIT_LIBRARY_INDEX,
    AUDIT_DATABASE_BACKUP,
    AUDIT_DATABASE_RESTORE,
    AUDIT_RETENTION,
    AUDIT_ACCOUNT_DELETE,
    AUDIT_ACCOUNT_CREATE,
    AUDIT_TOKEN_CREATE,
    AUDIT_TOKEN_REVOKE,
    AUDIT_SESSION_OPEN,
    AUDIT_SESSION_CLOSE,
    AUDIT_APPROVAL_DECIDE,
    AUDIT_PRUNE,
    AUDIT_ACTION__MAX
};

/* What a token or session may ask for; each includes those before it. */
enum access_scope {
    SCOPE_READ = 0,
    SCOPE_WRITE,
    SCOPE_ADMIN, /* who else may: tokens and sessions */
    ACCESS_SCOPE__MAX
};

enum change_kind {
    CHANGE_MESSAGE_CREATED = 0,
    CHANGE_RUN_CREATED,
    CHANGE_RUN_UPDATED,
    CHANGE_ANSWER_PART,
    CHANGE_HANDOFF_UPDATED,
    CHANGE_REQUEST_UPDATED,
    CHANGE_TOOL_CALL_UPDATED,
    CHANGE_SOURCE_ADDED,
    CHANGE_CONVERSATION_UPDATED,
    CHANGE_CONVERSATION_DELETED,
    CHANGE_NOTIFICATION_CREATED,
    CHANGE_LIBRARY_UPDATED,
    CHANGE_KIND__MAX
};

/* One word list per enum. */
enum states_list {
    LIST_RUN_KIND = 0,
    LIST_RUN_DEPTH,
    LIST_MISSING_INFO,
    LIST_RUN_STATE,
    LIST_RUN_PHASE,
    LIST_RUN_REASON,
    LIST_SLOT_CLASS,
    LIST_HANDOFF_KIND,
    LIST_HANDOFF_ORIGIN,
    LIST_HANDOFF_STATE,
    LIST_HANDOFF_REASON,
    LIST_REQUEST_PURPOSE,
    LIST_EFFECT_STATE,
    LIST_EFFECT_CAUSE,
    LIST_APPROVAL_STATE,
    LIST_APPROVAL_REASON,
    LIST_COVERAGE_STATUS,
    LIST_ENDPOINT_STATE,
    LIST_CHANGE_KIND,
    LIST_ACTOR_KIND,
    LIST_AUDIT_ACTION,
    LIST_ACCESS_SCOPE,
    STATES_LIST__MAX
};

/* The word, or NULL for the value 0 of a list whose first word is "nothing"
 * (reasons and causes). A value out of range is a bug and asserts. */
const char *states_text(enum states_list, int value);

/* The same, NULL also beyond the end of the list: to walk it. */
const char *states_text_or_null(enum states_list, int value);

/* The value of a word; RC_INVALID if the list has no such word. NULL stands
 * for "nothing" where the list has that. */
enum rc states_value(enum states_list, const char *word,
                     int *value) RC_MUST_CHECK;

/* The state machines. A move to the same state is none. */
bool states_run_may_move(enum run_state from, enum run_state to);
bool states_handoff_may_move(enum handoff_state from, enum handoff_state to);
bool states_effect_may_move(enum effect_state from, enum effect_state to);

bool states_approval_may_move(enum approval_state from, enum approval_state to);

bool states_run_ended(enum run_state);

#endif
