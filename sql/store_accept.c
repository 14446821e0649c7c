/* store_accept.c - how work comes in: a message becomes a Run that holds a
 * slot, a research is continued, a short Run becomes research in place. */
#include "sql/store_audit.h"
#include "sql/store_handoff.h"
#include "sql/store_priv.h"

/* What a short Run may use: its entry request and one further one, each with
 * its retries (R12, R27), and the look-ups of one reply. */
static const struct conf_budget SHORT_BUDGET = {
    .requests = 8, .tool_calls = 16, .seconds = 600, .tokens = 200000};

static const struct conf_budget *budget_of(const struct conf *conf,
                                           enum run_kind kind,
                                           enum run_depth depth)
{
    if (kind == RUN_SHORT) {
        return &SHORT_BUDGET;
    }
    return depth == DEPTH_DEEP ? &conf->deep : &conf->normal;
}

static int64_t limit_of(const struct conf *conf, enum slot_class class)
{
    return class == SLOT_SHORT ? conf->short_limit : conf->background_limit;
}

/* What a Run is before anything happened to it, as a read would find it. */
static void begin_run(struct run *r, const struct conf_budget *b,
                      int64_t now_ms)
{
    r->state = RUN_RUNNING;
    r->progress = "";
    r->created_ms = now_ms;
    r->requests.limit = b->requests;
    r->tool_calls.limit = b->tool_calls;
    r->tokens.limit = b->tokens;
    r->seconds_limit = b->seconds;
    r->answer_body = "";
}

static enum rc insert_run(struct store *st, struct run *r)
{
    struct dbq *q = db_use(st->db, STMT_RUN_INSERT);
    enum rc rc;

    db_bind_i64(q, ":account", r->account_id);
    db_bind_i64(q, ":conversation", r->conversation_id);
    db_bind_i64_or_null(q, ":message", r->message_id);
    db_bind_i64_or_null(q, ":continues", r->continues);
    store_bind_word(q, ":kind", LIST_RUN_KIND, (int)r->kind);
    store_bind_word(q, ":depth", LIST_RUN_DEPTH, (int)r->depth);
    store_bind_word(q, ":missing_info", LIST_MISSING_INFO,
                    (int)r->missing_info);
    store_bind_word(q, ":phase", LIST_RUN_PHASE, (int)r->phase);
    db_bind_text(q, ":title", r->title);
    db_bind_i64(q, ":now_ms", r->created_ms);
    db_bind_i64(q, ":accepted_seq", r->accepted_seq);
    db_bind_i64(q, ":requests_limit", r->requests.limit);
    db_bind_i64(q, ":tool_calls_limit", r->tool_calls.limit);
    db_bind_i64(q, ":seconds_limit", r->seconds_limit);
    db_bind_i64(q, ":tokens_limit", r->tokens.limit);
    rc = db_run(q);
    if (rc == RC_OK) {
        r->id = db_last_id(st->db);
    }
    return rc;
}

/* A new Run with its slot n, told to the feed. */
static enum rc start_run(struct store *st, struct run *r, int64_t n,
                         const struct conf *conf, int64_t now_ms)
{
    enum slot_class class =
        r->kind == RUN_RESEARCH ? SLOT_BACKGROUND : SLOT_SHORT;
    enum rc rc;

    begin_run(r, budget_of(conf, r->kind, r->depth), now_ms);
    rc = insert_run(st, r);
    if (rc == RC_OK) {
        rc = store_slot_take(st, r->account_id, class, n, r->id);
    }
    return rc == RC_OK ? store_change_run_created(st, r) : rc;
}

static enum rc find_slot(struct store *st, struct store_call *call,
                         int64_t account_id, enum slot_class class, int64_t *n)
{
    enum rc rc =
        store_slot_find(st, account_id, class, limit_of(call->conf, class), n);

    if (rc == RC_FULL) {
        enum rc count = store_occupancy(st, account_id, &call->occupancy);

        call->full = class;
        return count == RC_OK ? RC_FULL : count;
    }
    return rc;
}

/* --- messages ---------------------------------------------------------- */

/* What a new call answers is not read back: these are the values of its rows.
 * in->body and the arena's texts live as long as the call. */
static enum rc accept_message(struct store *st, struct store_call *call,
                              int64_t account_id, const struct message_new *in,
                              struct message *m, struct run *r)
{
    char title[96];
    int64_t n = 0;
    enum rc rc;

    *m = (struct message){.conversation_id = in->conversation_id,
                          .body = in->body,
                          .created_ms = call->now_ms};
    *r =
        (struct run){.account_id = account_id,
                     .conversation_id = in->conversation_id,
                     .kind = in->background ? RUN_RESEARCH : RUN_SHORT,
                     .depth = in->depth,
                     .missing_info = in->missing_info,
                     .phase = in->background ? PHASE_RESEARCHING : PHASE_ENTRY};
    rc = store_conversation_owned(st, account_id, in->conversation_id);
    if (rc == RC_OK && in->background) {
        rc = store_requirements_fit(st, call->conf,
                                    &(struct requirements){.added = in->body});
    }
    if (rc == RC_OK) {
        rc = find_slot(st, call, account_id,
                       in->background ? SLOT_BACKGROUND : SLOT_SHORT, &n);
    }
    if (rc == RC_OK) {
        rc = store_message_add(st, account_id, in->conversation_id, in->body,
                               call->now_ms, &m->id);
    }
    if (rc != RC_OK) {
        return rc;
    }
    r->accepted_seq = store_change_last(st);
    r->message_id = m->id;
    store_title_of(in->body, title, sizeof(title));
    r->title = arena_strdup(call->arena, title);
    if (r->title == NULL) {
        return RC_NOMEM;
    }
    rc = start_run(st, r, n, call->conf, call->now_ms);
    m->run_id = r->id;
    call->as_of = store_change_last(st);
    return rc;
}

static enum rc bind_message(struct store *st, const struct store_call *call,
                            int64_t account_id, const struct run *r)
{
    const struct key_refs refs = {.conversation_id = r->conversation_id,
                                  .message_id = r->message_id,
                                  .run_id = r->id};

    return store_key_bind(st, call, account_id, &refs);
}

/* What a replayed call answers: the things as they are now. */
static enum rc read_results(struct store *st, struct store_call *call,
                            int64_t account_id, const struct key_refs *refs,
                            struct message *m, struct run *r)
{
    enum rc rc = store_as_of(st, &call->as_of);

    if (rc == RC_OK && refs->message_id != 0) {
        rc =
            store_message_get(st, account_id, refs->message_id, call->arena, m);
    }
    if (rc == RC_OK) {
        rc = store_run_get(st, account_id, refs->run_id, true, call->arena, r);
    }
    return rc;
}

enum rc store_message_send(struct store *st, struct store_call *call,
                           const struct message_new *in, struct message *m,
                           struct run *r)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    enum rc rc;

    rc = store_account_ensure(st, call->account, call->now_ms, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && call->replayed) {
        return read_results(st, call, account, &refs, m, r);
    }
    if (rc == RC_OK) {
        rc = accept_message(st, call, account, in, m, r);
    }
    if (rc == RC_OK) {
        rc = store_audit_call(st, call, account, AUDIT_MESSAGE_SEND, ID_MESSAGE,
                              m->id);
    }
    return rc == RC_OK ? bind_message(st, call, account, r) : rc;
}

/* --- continuation (R30) ------------------------------------------------ */

/* What the old research was told but never took becomes requirements of the
 * new one (R23). */
static enum rc carry_over(struct store *st, const struct run *old,
                          struct run *r, const struct conf *conf,
                          int64_t now_ms, struct arena *a)
{
    struct handoff *list = NULL;
    struct handoff made;
    size_t n = 0;
    enum rc rc = store_handoff_of_run(st, old->id, a, &list, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        const struct handoff_new again = {.kind = list[i].kind,
                                          .origin = ORIGIN_CONTINUATION,
                                          .message_id = list[i].message_id,
                                          .conf = conf,
                                          .now_ms = now_ms};

        if (list[i].state == HANDOFF_NOT_APPLIED) {
            rc = store_handoff_add(st, r, &again, &made);
        }
    }
    return rc;
}

static enum rc continue_run(struct store *st, const struct run *old,
                            int64_t message_id, int64_t slot,
                            const struct conf *conf, int64_t now_ms,
                            struct arena *a, struct run *r)
{
    enum rc rc;

    *r = (struct run){.account_id = old->account_id,
                      .conversation_id = old->conversation_id,
                      .message_id = message_id,
                      .continues = old->id,
                      .kind = RUN_RESEARCH,
                      .depth = old->depth,
                      .missing_info = old->missing_info,
                      .phase = PHASE_RESEARCHING,
                      .title = old->title};
    rc = store_as_of(st, &r->accepted_seq);
    if (rc == RC_OK) {
        rc = start_run(st, r, slot, conf, now_ms);
    }
    if (rc == RC_OK) {
        rc = store_run_get(st, 0, r->id, false, a, r);
    }
    return rc == RC_OK ? carry_over(st, old, r, conf, now_ms, a) : rc;
}

/* added: the message that it would begin with. */
static enum rc may_continue(struct store *st, const struct conf *conf,
                            const struct run *old,
                            const struct requirements *added)
{
    struct requirements all = *added;

    if (old->kind != RUN_RESEARCH || !states_run_ended(old->state)) {
        return RC_NOT_ELIGIBLE;
    }
    all.continues = old->id;
    return store_requirements_fit(st, conf, &all);
}

static enum rc accept_continuation(struct store *st, struct store_call *call,
                                   int64_t account_id, int64_t run_id,
                                   const char *body, struct key_refs *refs)
{
    struct run old = {0};
    struct run r = {0};
    int64_t slot = 0;
    enum rc rc;

    rc = store_run_get(st, account_id, run_id, false, call->arena, &old);
    if (rc == RC_OK) {
        rc = may_continue(st, call->conf, &old,
                          &(struct requirements){.added = body});
    }
    if (rc == RC_OK) {
        rc = find_slot(st, call, account_id, SLOT_BACKGROUND, &slot);
    }
    if (rc == RC_OK && body != NULL) {
        rc = store_message_add(st, account_id, old.conversation_id, body,
                               call->now_ms, &refs->message_id);
    }
    if (rc == RC_OK) {
        rc = continue_run(st, &old, refs->message_id, slot, call->conf,
                          call->now_ms, call->arena, &r);
    }
    refs->conversation_id = old.conversation_id;
    refs->run_id = r.id;
    return rc;
}

enum rc store_run_continue(struct store *st, struct store_call *call,
                           int64_t run_id, const char *body, struct message *m,
                           struct run *r)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    enum rc rc;

    *m = (struct message){0};
    rc = store_account_find(st, call->account, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = accept_continuation(st, call, account, run_id, body, &refs);
        if (rc == RC_OK) {
            rc = store_key_bind(st, call, account, &refs);
        }
        if (rc == RC_OK) {
            rc = store_audit_call(st, call, account, AUDIT_RUN_CONTINUE, ID_RUN,
                                  refs.run_id);
        }
    }
    return rc == RC_OK ? read_results(st, call, account, &refs, m, r) : rc;
}

enum rc store_run_continue_by_entry(struct store *st, const struct run *entry,
                                    int64_t target_run_id,
                                    const struct conf *conf, int64_t now_ms,
                                    struct arena *a, struct run *r)
{
    struct run old = {0};
    int64_t slot = 0;
    enum rc rc;

    rc = store_run_get(st, entry->account_id, target_run_id, false, a, &old);
    if (rc == RC_OK) {
        rc = may_continue(
            st, conf, &old,
            &(struct requirements){.added_message_id = entry->message_id});
    }
    if (rc == RC_OK) {
        rc = store_slot_find(st, entry->account_id, SLOT_BACKGROUND,
                             conf->background_limit, &slot);
    }
    if (rc == RC_OK) {
        /* The message belongs to the entry Run already (R03); the new Run is
         * tied to it by a handoff. */
        rc = continue_run(st, &old, 0, slot, conf, now_ms, a, r);
    }
    return rc;
}

/* --- short becomes research (R18) -------------------------------------- */

enum rc store_run_to_research(struct store *st, struct run *r,
                              const char *title, enum run_depth depth,
                              const char *lead, const struct conf *conf)
{
    const struct conf_budget *b = budget_of(conf, RUN_RESEARCH, depth);
    int64_t n = 0;
    enum rc rc = store_requirements_fit(
        st, conf, &(struct requirements){.run_id = r->id});

    if (rc != RC_OK) {
        return rc;
    }
    rc = store_slot_find(st, r->account_id, SLOT_BACKGROUND,
                         conf->background_limit, &n);
    if (rc == RC_OK) {
        rc = store_slot_free(st, r->id);
    }
    if (rc == RC_OK) {
        rc = store_slot_take(st, r->account_id, SLOT_BACKGROUND, n, r->id);
    }
    if (rc != RC_OK) {
        return rc;
    }
    r->kind = RUN_RESEARCH;
    r->depth = depth;
    r->phase = PHASE_RESEARCHING;
    if (title != NULL && title[0] != '\0') {
        r->title = store_title_start(title);
    }
    r->lead = lead;
    r->requests.limit = b->requests;
    r->tool_calls.limit = b->tool_calls;
    r->tokens.limit = b->tokens;
    r->seconds_limit = b->seconds;
    return store_run_save(st, r);
}
