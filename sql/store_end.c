/* store_end.c - the one way a Run ends, and the one way it is stopped.
 *
 * All that an end means happens in one transaction: the state, the slot, what
 * becomes of handoffs and planned effects, the answer's text, one
 * notification. */
#include "sql/store_approval.h"
#include "sql/store_audit.h"
#include "sql/store_priv.h"

static enum handoff_reason reason_for_handoffs(const struct run *r,
                                               enum run_state end)
{
    switch (end) {
    case RUN_STOPPED:
        return HANDOFF_RUN_STOPPED;
    case RUN_FAILED:
        return HANDOFF_RUN_FAILED;
    case RUN_COMPLETED:
    case RUN_INCOMPLETE:
    case RUN_RUNNING:
    case RUN_AWAITING_INPUT:
    case RUN_STATE__MAX:
        break;
    }
    return r->limit_reason != REASON_NONE ? HANDOFF_BUDGET : HANDOFF_RUN_ENDED;
}

/* R22: a Run is not completed past an adjustment, unless a limit ends it. */
static enum rc check_waiting(struct store *st, const struct run *r,
                             enum run_state end)
{
    struct dbq *q;
    int64_t waiting = 0;
    enum rc rc;

    if ((end != RUN_COMPLETED && end != RUN_INCOMPLETE) ||
        r->limit_reason != REASON_NONE) {
        return RC_OK;
    }
    q = db_use(st->db, STMT_HANDOFF_WAITING);
    db_bind_i64(q, ":run", r->id);
    rc = db_one_i64(q, &waiting);
    return rc == RC_OK && waiting > 0 ? RC_CONFLICT : rc;
}

static enum rc keep_answer(struct store *st, struct run *r)
{
    struct arena *a = arena_new(16u << 20);
    const char *text = "";
    struct dbq *q;
    enum rc rc;

    if (a == NULL) {
        return RC_NOMEM;
    }
    rc = store_answer_text(st, r, a, &text);
    if (rc == RC_OK) {
        q = db_use(st->db, STMT_ANSWER_PUT);
        db_bind_i64(q, ":run", r->id);
        db_bind_text(q, ":body", text);
        rc = db_run(q);
    }
    arena_free(a);
    return rc;
}

static enum rc write_end(struct store *st, struct run *r,
                         const struct run_end *end)
{
    struct dbq *q;
    int64_t seq = 0;
    bool whole = end->state == RUN_COMPLETED || end->state == RUN_INCOMPLETE;
    enum rc rc = store_as_of(st, &seq);

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_RUN_END);
    db_bind_i64(q, ":id", r->id);
    store_bind_word(q, ":from", LIST_RUN_STATE, (int)r->state);
    store_bind_word(q, ":state", LIST_RUN_STATE, (int)end->state);
    store_bind_word(q, ":reason", LIST_RUN_REASON, (int)end->reason);
    db_bind_text(q, ":progress",
                 end->progress != NULL ? end->progress : r->progress);
    db_bind_i64(q, ":now_ms", end->now_ms);
    /* The first of the changes that this end is about to append. */
    db_bind_i64(q, ":ended_seq", seq + 1);
    db_bind_i64(q, ":active_ms", r->active_ms);
    db_bind_i64(q, ":answer_complete", whole ? 1 : 0);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        r->state = end->state;
        r->reason = end->reason;
        r->ended_ms = end->now_ms;
        r->ended_seq = seq + 1;
        r->answer_complete = whole;
    }
    return rc;
}

static enum rc notify_once(struct store *st, const struct run *r,
                           int64_t now_ms)
{
    struct dbq *q;
    enum rc rc;

    if (r->kind != RUN_RESEARCH) {
        return RC_OK;
    }
    q = db_use(st->db, STMT_NOTIFICATION_INSERT);
    db_bind_i64(q, ":account", r->account_id);
    db_bind_i64(q, ":run", r->id);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        rc = store_change_of_run(st, r, CHANGE_NOTIFICATION_CREATED,
                                 db_last_id(st->db));
    }
    return rc == RC_CONFLICT ? RC_OK : rc;
}

static enum effect_cause cause_of(enum run_state end)
{
    return end == RUN_STOPPED ? CAUSE_STOP : CAUSE_NONE;
}

enum rc store_run_end(struct store *st, struct run *r,
                      const struct run_end *end)
{
    enum rc rc;

    if (!states_run_may_move(r->state, end->state)) {
        return RC_CONFLICT;
    }
    rc = check_waiting(st, r, end->state);
    if (rc == RC_OK) {
        rc = keep_answer(st, r);
    }
    if (rc == RC_OK) {
        rc = store_approval_void(st, r, end->now_ms);
    }
    if (rc == RC_OK) {
        rc =
            store_effect_skip_planned(st, r, cause_of(end->state), end->now_ms);
    }
    if (rc == RC_OK) {
        rc = store_handoff_drop(st, r, reason_for_handoffs(r, end->state));
    }
    if (rc == RC_OK) {
        rc = write_end(st, r, end);
    }
    if (rc == RC_OK) {
        rc = store_slot_free(st, r->id);
    }
    if (rc == RC_OK) {
        rc = store_change_of_run(st, r, CHANGE_RUN_UPDATED, 0);
    }
    if (rc == RC_OK) {
        rc = notify_once(st, r, end->now_ms);
    }
    if (rc == RC_OK) {
        rc = store_change_conversation(st, r->account_id, r->conversation_id);
    }
    return rc;
}

/* --- stop (R24) -------------------------------------------------------- */

enum rc store_run_stop_row(struct store *st, struct run *r, int64_t now_ms)
{
    const struct run_end end = {.state = RUN_STOPPED,
                                .reason = REASON_STOPPED_BY_USER,
                                .now_ms = now_ms};

    if (states_run_ended(r->state)) {
        return RC_OK;
    }
    return store_run_end(st, r, &end);
}

enum rc store_run_stop(struct store *st, struct store_call *call,
                       int64_t run_id, struct run *out)
{
    struct key_refs refs = {.run_id = run_id};
    int64_t account = 0;
    enum rc rc;

    rc = store_account_find(st, call->account, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK) {
        rc = store_run_get(st, account, run_id, false, call->arena, out);
    }
    if (rc == RC_OK && !call->replayed) {
        rc =
            store_audit_call(st, call, account, AUDIT_RUN_STOP, ID_RUN, run_id);
        if (rc == RC_OK) {
            rc = store_run_stop_row(st, out, call->now_ms);
        }
        if (rc == RC_OK) {
            rc = store_key_bind(st, call, account, &refs);
        }
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = store_run_get(st, account, run_id, true, call->arena, out);
    }
    return rc;
}
