/* store_handoff.c - receipts. A handoff becomes *handed* in
 * store_handoff_hand, when the first chunk of a request that contains it has
 * come back; nothing else makes it so. */
#include "sql/store_handoff.h"

#include "sql/store_audit.h"
#include "sql/store_effect.h"
#include "sql/store_priv.h"

static void read_handoff(struct dbq *q, struct handoff *h)
{
    h->id = db_i64(q, 0);
    h->kind = (enum handoff_kind)store_word(q, 1, LIST_HANDOFF_KIND);
    h->origin = (enum handoff_origin)store_word(q, 2, LIST_HANDOFF_ORIGIN);
    h->message_id = db_i64(q, 3);
    h->run_id = db_i64(q, 4);
    h->decided_by = db_i64_or(q, 5, 0);
    h->state = (enum handoff_state)store_word(q, 6, LIST_HANDOFF_STATE);
    h->reason = (enum handoff_reason)store_word(q, 7, LIST_HANDOFF_REASON);
    h->planned_request_id = db_i64_or(q, 8, 0);
    h->request_id = db_i64_or(q, 9, 0);
    h->created_ms = db_i64(q, 10);
    h->handed_ms = db_i64_or(q, 11, 0);
}

enum rc store_handoff_get(struct store *st, int64_t account_id, int64_t id,
                          struct handoff *out)
{
    struct dbq *q = db_use(st->db, STMT_HANDOFF_GET);
    bool found = false;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    if (db_next(q)) {
        found = true;
        read_handoff(q, out);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

static enum rc read_list(struct dbq *q, struct arena *a, struct handoff **out,
                         size_t *n)
{
    void *items = NULL;
    size_t count = 0;
    enum rc rc;

    while (db_next(q)) {
        struct handoff *h = store_list_add(a, &items, &count, sizeof(*h));

        if (h == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        read_handoff(q, h);
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        *out = items;
        *n = count;
    }
    return rc;
}

enum rc store_handoff_of_run(struct store *st, int64_t run_id, struct arena *a,
                             struct handoff **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_HANDOFF_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    return read_list(q, a, out, n);
}

enum rc store_handoff_of_messages(struct store *st, int64_t conversation_id,
                                  int64_t from, int64_t to, struct arena *a,
                                  struct handoff **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_HANDOFF_OF_MESSAGES);

    db_bind_i64(q, ":conversation", conversation_id);
    db_bind_i64(q, ":from", from);
    db_bind_i64(q, ":to", to);
    return read_list(q, a, out, n);
}

/* --- adding ------------------------------------------------------------ */

/* What becomes of a handoff that arrives now. After the closeout request is
 * planned nothing more can reach the model (R26). */
static enum rc judge(struct store *st, const struct run *r,
                     enum handoff_state *state, enum handoff_reason *reason)
{
    enum request_purpose last = PURPOSE_ENTRY;
    enum rc rc;

    *state = HANDOFF_NOT_APPLIED;
    if (states_run_ended(r->state)) {
        *reason = r->state == RUN_STOPPED  ? HANDOFF_RUN_STOPPED
                  : r->state == RUN_FAILED ? HANDOFF_RUN_FAILED
                                           : HANDOFF_RUN_ENDED;
        return RC_OK;
    }
    rc = store_request_last_purpose(st, r->id, &last);
    if (rc == RC_OK && last == PURPOSE_CLOSEOUT) {
        *reason = HANDOFF_BUDGET;
        return RC_OK;
    }
    *state = HANDOFF_RECEIVED;
    *reason = HANDOFF_NO_REASON;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc insert_handoff(struct store *st, const struct run *r,
                              const struct handoff_new *in, int64_t *id)
{
    enum handoff_state state;
    enum handoff_reason reason;
    struct dbq *q;
    enum rc rc = judge(st, r, &state, &reason);

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_HANDOFF_INSERT);
    store_bind_word(q, ":kind", LIST_HANDOFF_KIND, (int)in->kind);
    store_bind_word(q, ":origin", LIST_HANDOFF_ORIGIN, (int)in->origin);
    db_bind_i64(q, ":message", in->message_id);
    db_bind_i64(q, ":run", r->id);
    db_bind_i64_or_null(q, ":decided_by", in->decided_by);
    store_bind_word(q, ":state", LIST_HANDOFF_STATE, (int)state);
    store_bind_word(q, ":reason", LIST_HANDOFF_REASON, (int)reason);
    db_bind_i64(q, ":now_ms", in->now_ms);
    rc = db_run(q);
    if (rc == RC_OK) {
        *id = db_last_id(st->db);
        rc = store_change_of_run(st, r, CHANGE_HANDOFF_UPDATED, *id);
    }
    return rc;
}

/* A Run that awaits input goes on when it is told something (R28); one that
 * awaits a decision goes on with that alone. */
static enum rc resume(struct store *st, struct run *r)
{
    if (r->state != RUN_AWAITING_INPUT || r->approval != NULL) {
        return RC_OK;
    }
    r->state = RUN_RUNNING;
    r->phase = PHASE_RESEARCHING;
    r->waiting_since_ms = 0;
    return store_run_save(st, r);
}

enum rc store_handoff_add(struct store *st, struct run *r,
                          const struct handoff_new *in, struct handoff *out)
{
    struct dbq *q = db_use(st->db, STMT_HANDOFF_FIND);
    int64_t id = 0;
    enum rc rc;

    db_bind_i64(q, ":message", in->message_id);
    db_bind_i64(q, ":run", r->id);
    rc = db_one_i64(q, &id);
    if (rc == RC_NOT_FOUND) {
        rc = store_requirements_fit(
            st, in->conf,
            &(struct requirements){.run_id = r->id,
                                   .added_message_id = in->message_id});
        if (rc == RC_OK) {
            rc = insert_handoff(st, r, in, &id);
        }
        if (rc == RC_OK) {
            rc = resume(st, r);
        }
    }
    return rc == RC_OK ? store_handoff_get(st, 0, id, out) : rc;
}

/* --- the panel's doors ------------------------------------------------- */

static enum rc may_take(const struct run *r, enum handoff_kind kind)
{
    if (r->kind != RUN_RESEARCH) {
        return RC_NOT_ELIGIBLE;
    }
    return kind == HANDOFF_REPLY && r->state != RUN_AWAITING_INPUT ? RC_CONFLICT
                                                                   : RC_OK;
}

static enum rc audit_saying(struct store *st, const struct store_call *call,
                            const struct run *r, const struct handoff *h)
{
    const struct audit_new line = {
        .actor = call->actor,
        .action = h->kind == HANDOFF_REPLY ? AUDIT_RUN_REPLY : AUDIT_RUN_ADJUST,
        .account_id = r->account_id,
        .subject_kind = ID_RUN,
        .subject_id = r->id,
        .outcome = states_text(LIST_HANDOFF_STATE, (int)h->state),
        .detail = states_text(LIST_HANDOFF_REASON, (int)h->reason),
        .at_ms = call->now_ms};

    return store_audit_add(st, &line);
}

static enum rc say_to_run(struct store *st, struct store_call *call,
                          int64_t account_id, int64_t run_id,
                          enum handoff_kind kind, const char *body,
                          struct key_refs *refs)
{
    struct handoff_new in = {.kind = kind,
                             .origin = ORIGIN_PANEL,
                             .conf = call->conf,
                             .now_ms = call->now_ms};
    struct handoff h = {0};
    struct run r = {0};
    enum rc rc;

    rc = store_run_get(st, account_id, run_id, false, call->arena, &r);
    if (rc == RC_OK) {
        rc = may_take(&r, kind);
    }
    if (rc == RC_OK) {
        rc = store_message_add(st, account_id, r.conversation_id, body,
                               call->now_ms, &in.message_id);
    }
    if (rc == RC_OK) {
        rc = store_handoff_add(st, &r, &in, &h);
    }
    if (rc == RC_OK) {
        rc = store_change_conversation(st, account_id, r.conversation_id);
    }
    if (rc == RC_OK) {
        rc = audit_saying(st, call, &r, &h);
    }
    *refs = (struct key_refs){.conversation_id = r.conversation_id,
                              .message_id = in.message_id,
                              .run_id = run_id,
                              .handoff_id = h.id};
    return rc;
}

static enum rc say(struct store *st, struct store_call *call, int64_t run_id,
                   enum handoff_kind kind, const char *body, struct message *m,
                   struct handoff *h)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    enum rc rc;

    rc = store_account_find(st, call->account, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = say_to_run(st, call, account, run_id, kind, body, &refs);
        if (rc == RC_OK) {
            rc = store_key_bind(st, call, account, &refs);
        }
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = store_message_get(st, account, refs.message_id, call->arena, m);
    }
    if (rc == RC_OK) {
        rc = store_handoff_get(st, account, refs.handoff_id, h);
    }
    return rc;
}

enum rc store_run_adjust(struct store *st, struct store_call *call,
                         int64_t run_id, const char *body, struct message *m,
                         struct handoff *h)
{
    return say(st, call, run_id, HANDOFF_ADJUSTMENT, body, m, h);
}

enum rc store_run_reply(struct store *st, struct store_call *call,
                        int64_t run_id, const char *body, struct message *m,
                        struct handoff *h)
{
    return say(st, call, run_id, HANDOFF_REPLY, body, m, h);
}

/* --- moving ------------------------------------------------------------ */

enum rc store_handoff_plan(struct store *st, int64_t run_id, int64_t request_id)
{
    struct dbq *q = db_use(st->db, STMT_HANDOFF_PLAN);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":request", request_id);
    return db_run(q);
}

struct handoff_move {
    enum handoff_state to;
    enum handoff_reason reason; /* to not_applied */
    int64_t request_id;         /* to handed */
    int64_t now_ms;             /* to handed */
};

static enum rc move_one(struct store *st, const struct run *r, int64_t id,
                        const struct handoff_move *m)
{
    struct dbq *q;
    enum rc rc;

    if (m->to == HANDOFF_HANDED) {
        q = db_use(st->db, STMT_HANDOFF_HAND);
        db_bind_i64(q, ":request", m->request_id);
        db_bind_i64(q, ":now_ms", m->now_ms);
    } else {
        q = db_use(st->db, STMT_HANDOFF_DROP);
        store_bind_word(q, ":reason", LIST_HANDOFF_REASON, (int)m->reason);
    }
    db_bind_i64(q, ":id", id);
    rc = db_run_one(q);
    return rc == RC_OK ? store_change_of_run(st, r, CHANGE_HANDOFF_UPDATED, id)
                       : rc;
}

/* Apply a move to each handoff that a query names. Ids are read first: the
 * moves change what the query reads. */
static enum rc move_each(struct store *st, const struct run *r, struct dbq *q,
                         const struct handoff_move *m)
{
    struct arena *a = arena_new(1u << 20);
    int64_t *ids = NULL;
    size_t n = 0;
    enum rc rc;
    enum rc end = RC_NOMEM;

    if (a == NULL) {
        rc = db_end(q);
        return rc == RC_OK ? end : rc;
    }
    rc = store_read_ids(q, a, &ids, &n);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = move_one(st, r, ids[i], m);
    }
    arena_free(a);
    return rc;
}

enum rc store_handoff_hand(struct store *st, const struct run *r,
                           int64_t request_id, int64_t now_ms)
{
    const struct handoff_move m = {
        .to = HANDOFF_HANDED, .request_id = request_id, .now_ms = now_ms};
    struct dbq *q = db_use(st->db, STMT_HANDOFF_TO_HAND);

    db_bind_i64(q, ":run", r->id);
    db_bind_i64(q, ":request", request_id);
    return move_each(st, r, q, &m);
}

enum rc store_handoff_drop(struct store *st, const struct run *r,
                           enum handoff_reason reason)
{
    const struct handoff_move m = {.to = HANDOFF_NOT_APPLIED, .reason = reason};
    struct dbq *q = db_use(st->db, STMT_HANDOFF_RECEIVED);

    db_bind_i64(q, ":run", r->id);
    return move_each(st, r, q, &m);
}
