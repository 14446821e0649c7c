/* store_approval.c - calls that wait for a person. */
#include "sql/store_approval.h"

#include <string.h>

#include "sql/store_audit.h"
#include "sql/store_priv.h"

static void read_approval(struct dbq *q, struct arena *a, void *item)
{
    struct approval *p = item;

    p->id = db_i64(q, 0);
    p->run_id = db_i64(q, 1);
    p->tool_call_id = db_i64(q, 2);
    p->state = (enum approval_state)store_word(q, 3, LIST_APPROVAL_STATE);
    p->reason = (enum approval_reason)store_word(q, 4, LIST_APPROVAL_REASON);
    p->note = db_text_or(q, 5, a, NULL);
    p->created_ms = db_i64(q, 6);
    p->decided_ms = db_i64_or(q, 7, 0);
    p->tool = db_text(q, 8, a);
    p->arguments = db_text(q, 9, a);
    p->unanswered = db_i64_or(q, 10, 0) != 0;
    p->changed = db_i64(q, 11) != 0;
}

enum rc store_approval_get(struct store *st, int64_t account_id, int64_t id,
                           struct arena *a, struct approval *out)
{
    struct dbq *q = db_use(st->db, STMT_APPROVAL_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_approval, out);
}

enum rc store_approval_standing(struct store *st, int64_t run_id,
                                const char *name, const char *tool,
                                struct approval_standing *out)
{
    struct dbq *q = db_use(st->db, STMT_APPROVAL_STANDING);

    db_bind_i64(q, ":run", run_id);
    db_bind_text(q, ":name", name);
    db_bind_text(q, ":tool", tool);
    if (db_next(q)) {
        out->for_run = db_i64(q, 0) != 0;
        out->changed = db_i64(q, 1) != 0;
        out->unanswered = db_i64(q, 2) != 0;
    }
    return db_end(q);
}

/* --- asking ------------------------------------------------------------ */

enum rc store_approval_ask(struct store *st, struct run *r, struct tool_call *t,
                           const struct approval_question *question,
                           int64_t now_ms, struct arena *a)
{
    struct dbq *q = db_use(st->db, STMT_APPROVAL_INSERT);
    enum rc rc;

    db_bind_i64(q, ":run", r->id);
    db_bind_i64(q, ":tool_call", t->id);
    store_bind_word(q, ":reason", LIST_APPROVAL_REASON, (int)question->reason);
    db_bind_i64(q, ":changed", question->changed ? 1 : 0);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run(q);
    if (rc != RC_OK) {
        return rc;
    }
    t->approval_id = db_last_id(st->db);
    t->approval = APPROVAL_OPEN;
    r->approval = arena_alloc(a, sizeof(*r->approval));
    rc = r->approval == NULL
             ? RC_TOO_LARGE
             : store_approval_get(st, 0, t->approval_id, a, r->approval);
    if (rc == RC_OK) {
        rc = store_change_of_run(st, r, CHANGE_TOOL_CALL_UPDATED, t->id);
    }
    return rc == RC_OK ? store_change_of_run(st, r, CHANGE_RUN_UPDATED, 0) : rc;
}

enum rc store_approval_void(struct store *st, struct run *r, int64_t now_ms)
{
    struct dbq *q;

    if (r->approval == NULL) {
        return RC_OK;
    }
    r->approval = NULL;
    q = db_use(st->db, STMT_APPROVAL_VOID);
    db_bind_i64(q, ":run", r->id);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_run(q);
}

/* --- deciding ---------------------------------------------------------- */

/* open -> decided, told and logged. RC_CONFLICT: it is no longer open. */
static enum rc settle(struct store *st, const struct run *r,
                      const struct approval *p,
                      const struct approval_decision *d,
                      const struct store_actor *actor, int64_t now_ms)
{
    const struct audit_new line = {
        .actor = *actor,
        .action = AUDIT_APPROVAL_DECIDE,
        .account_id = r->account_id,
        .subject_kind = ID_APPROVAL,
        .subject_id = p->id,
        .outcome = states_text(LIST_APPROVAL_STATE, (int)d->state),
        .at_ms = now_ms};
    struct dbq *q;
    enum rc rc;

    if (!states_approval_may_move(p->state, d->state)) {
        return RC_CONFLICT;
    }
    q = db_use(st->db, STMT_APPROVAL_DECIDE);
    db_bind_i64(q, ":id", p->id);
    store_bind_word(q, ":state", LIST_APPROVAL_STATE, (int)d->state);
    db_bind_text(q, ":note", d->note);
    db_bind_i64(q, ":now_ms", now_ms);
    store_bind_word(q, ":by", LIST_ACTOR_KIND, (int)actor->kind);
    db_bind_i64(q, ":by_id", actor->id);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        rc = store_change_of_run(st, r, CHANGE_TOOL_CALL_UPDATED,
                                 p->tool_call_id);
    }
    return rc == RC_OK ? store_audit_add(st, &line) : rc;
}

enum rc store_approval_expire(struct store *st, struct run *r, int64_t now_ms)
{
    const struct approval_decision d = {.state = APPROVAL_DENIED};
    const struct store_actor runtime = {.kind = ACTOR_RUNTIME};
    enum rc rc = settle(st, r, r->approval, &d, &runtime, now_ms);

    if (rc == RC_OK) {
        r->approval = NULL;
    }
    return rc;
}

/* A Run that waited for nothing else goes on. */
static enum rc resume(struct store *st, struct run *r)
{
    r->approval = NULL;
    if (r->state != RUN_AWAITING_INPUT) {
        return store_change_of_run(st, r, CHANGE_RUN_UPDATED, 0);
    }
    r->state = RUN_RUNNING;
    r->waiting_since_ms = 0;
    return store_run_save(st, r);
}

/* The same was decided, by a person, and the model is told what this decision
 * says. */
static bool is_same(const struct approval *p, const struct approval_decision *d)
{
    return p->state == d->state && !p->unanswered &&
           (d->note == NULL ||
            (p->note != NULL && strcmp(p->note, d->note) == 0));
}

static enum rc decide(struct store *st, struct store_call *call,
                      int64_t account_id, const struct approval *p,
                      const struct approval_decision *d, struct run *r)
{
    const struct key_refs refs = {.run_id = p->run_id};
    enum rc rc;

    if (is_same(p, d)) {
        call->replayed = true;
        return RC_OK;
    }
    rc = store_run_get(st, account_id, p->run_id, false, call->arena, r);
    if (rc == RC_OK) {
        rc = settle(st, r, p, d, &call->actor, call->now_ms);
    }
    if (rc == RC_OK) {
        rc = resume(st, r);
    }
    return rc == RC_OK ? store_key_bind(st, call, account_id, &refs) : rc;
}

enum rc store_approval_decide(struct store *st, struct store_call *call,
                              int64_t id, const struct approval_decision *d,
                              struct approval *out, struct run *r)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    enum rc rc = store_account_find(st, call->account, &account);

    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK) {
        rc = store_approval_get(st, account, id, call->arena, out);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = decide(st, call, account, out, d, r);
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = store_approval_get(st, account, id, call->arena, out);
    }
    return rc == RC_OK
               ? store_run_get(st, account, out->run_id, true, call->arena, r)
               : rc;
}
