/* store_run.c - Runs as rows: reading them, and saving what a step changed. */
#include "sql/store_run.h"

#include <assert.h>

#include "sql/store_approval.h"
#include "sql/store_priv.h"

static struct used_of read_used(struct dbq *q, int col)
{
    struct used_of u = {.used = db_i64(q, col), .limit = db_i64(q, col + 1)};

    return u;
}

static void read_identity(struct dbq *q, struct arena *a, struct run *r)
{
    r->id = db_i64(q, 0);
    r->account_id = db_i64(q, 1);
    r->conversation_id = db_i64(q, 2);
    r->message_id = db_i64_or(q, 3, 0);
    r->continues = db_i64_or(q, 4, 0);
    r->kind = (enum run_kind)store_word(q, 5, LIST_RUN_KIND);
    r->depth = (enum run_depth)store_word(q, 6, LIST_RUN_DEPTH);
    r->missing_info = (enum missing_info)store_word(q, 7, LIST_MISSING_INFO);
    r->state = (enum run_state)store_word(q, 8, LIST_RUN_STATE);
    r->phase = (enum run_phase)store_word(q, 9, LIST_RUN_PHASE);
    r->reason = (enum run_reason)store_word(q, 10, LIST_RUN_REASON);
    r->title = db_text(q, 11, a);
    r->progress = db_text(q, 12, a);
    r->lead = db_text_or(q, 13, a, NULL);
    r->question = db_text_or(q, 14, a, NULL);
    r->created_ms = db_i64(q, 15);
    r->started_ms = db_i64_or(q, 16, 0);
    r->ended_ms = db_i64_or(q, 17, 0);
    r->accepted_seq = db_i64(q, 18);
    r->ended_seq = db_i64_or(q, 19, 0);
}

static void read_use(struct dbq *q, struct run *r)
{
    r->requests = read_used(q, 20);
    r->tool_calls = read_used(q, 22);
    r->tokens = read_used(q, 24);
    r->unknown_requests = db_i64(q, 26);
    r->active_ms = db_i64(q, 27);
    r->seconds_limit = db_i64(q, 28);
    r->limit_reason = (enum run_reason)store_word(q, 29, LIST_RUN_REASON);
    r->crashes = db_i64(q, 30);
    r->waiting_since_ms = db_i64_or(q, 31, 0);
    r->answer_revision = db_i64(q, 32);
    r->answer_parts = db_i64(q, 33);
    r->answer_complete = db_i64(q, 34) != 0;
    r->answer_draft = db_i64(q, 35) != 0;
}

static void read_coverage(struct dbq *q, struct arena *a, void *item)
{
    struct coverage *c = item;

    c->handoff_id = db_i64_or(q, 0, 0);
    c->message_id = db_i64_or(q, 1, 0);
    c->status = (enum coverage_status)store_word(q, 2, LIST_COVERAGE_STATUS);
    c->remark = db_text(q, 3, a);
    c->evidence = db_text(q, 4, a);
}

static enum rc find_coverage(struct store *st, struct arena *a, struct run *r)
{
    struct dbq *q = db_use(st->db, STMT_COVERAGE_OF_RUN);

    db_bind_i64(q, ":run", r->id);
    return store_read_list(q, a, read_coverage, sizeof(*r->coverage),
                           &r->coverage, &r->n_coverage);
}

struct run_row {
    struct run run;
    int64_t approval_id; /* that is open; 0: none */
};

static void read_run(struct dbq *q, struct arena *a, void *item)
{
    struct run_row *row = item;

    *row = (struct run_row){.approval_id = db_i64_or(q, 36, 0)};
    read_identity(q, a, &row->run);
    read_use(q, &row->run);
}

static enum rc find_approval(struct store *st, int64_t id, struct arena *a,
                             struct run *r)
{
    r->approval = arena_alloc(a, sizeof(*r->approval));
    return r->approval == NULL ? RC_TOO_LARGE
                               : store_approval_get(st, 0, id, a, r->approval);
}

enum rc store_run_get(struct store *st, int64_t account_id, int64_t id,
                      bool with_body, struct arena *a, struct run *out)
{
    struct dbq *q = db_use(st->db, STMT_RUN_GET);
    struct run_row row;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    rc = store_read_one(q, a, read_run, &row);
    if (rc != RC_OK) {
        return rc;
    }
    *out = row.run;
    if (row.approval_id != 0) {
        rc = find_approval(st, row.approval_id, a, out);
    }
    if (rc == RC_OK && out->kind == RUN_RESEARCH &&
        states_run_ended(out->state)) {
        rc = find_coverage(st, a, out);
    }
    if (rc == RC_OK && with_body) {
        rc = store_answer_text(st, out, a, &out->answer_body);
    }
    return rc;
}

/* --- lists: ids first, then each Run ----------------------------------- */

static enum rc add_run(struct store *st, int64_t id, bool with_body,
                       struct arena *a, void **items, size_t *n)
{
    struct run *r = store_list_add(a, items, n, sizeof(*r));

    if (r == NULL) {
        return RC_TOO_LARGE;
    }
    return store_run_get(st, 0, id, with_body, a, r);
}

static bool wanted(const struct run_filter *f, const struct run *r)
{
    return (f->state < 0 || (int)r->state == f->state) &&
           (f->kind < 0 || (int)r->kind == f->kind) &&
           (!f->active_only || !states_run_ended(r->state));
}

static struct dbq *list_query(struct store *st, const struct run_filter *f)
{
    enum stmt_id stmt = f->active_only           ? STMT_RUN_LIST_ACTIVE
                        : f->conversation_id > 0 ? STMT_RUN_LIST_CONVERSATION
                                                 : STMT_RUN_LIST_ALL;
    struct dbq *q = db_use(st->db, stmt);

    db_bind_i64(q, ":account", f->account_id);
    db_bind_i64(q, ":before", f->before > 0 ? f->before : INT64_MAX);
    /* Some of these may not be wanted: read on, but not without an end. */
    db_bind_i64(q, ":limit", 50 * f->limit);
    if (stmt == STMT_RUN_LIST_CONVERSATION) {
        db_bind_i64(q, ":conversation", f->conversation_id);
    }
    return q;
}

enum rc store_run_list(struct store *st, const struct run_filter *f,
                       struct arena *a, struct run **out, size_t *n)
{
    struct dbq *q = list_query(st, f);
    void *items = NULL;
    size_t count = 0;
    enum rc rc = RC_OK;
    enum rc end;

    while ((int64_t)count < f->limit && db_next(q)) {
        rc = add_run(st, db_i64(q, 0), false, a, &items, &count);
        if (rc != RC_OK) {
            break;
        }
        if (!wanted(f, &((struct run *)items)[count - 1]) ||
            (f->conversation_id > 0 &&
             ((struct run *)items)[count - 1].conversation_id !=
                 f->conversation_id)) {
            count--;
        }
    }
    end = db_end(q);
    if (rc == RC_OK) {
        rc = end;
    }
    if (rc == RC_OK) {
        *out = items;
        *n = count;
    }
    return rc;
}

static enum rc add_all(struct store *st, struct dbq *q, struct arena *a,
                       void **items, size_t *n)
{
    enum rc rc = RC_OK;
    enum rc end;

    while (rc == RC_OK && db_next(q)) {
        rc = add_run(st, db_i64(q, 0), true, a, items, n);
    }
    end = db_end(q);
    return rc == RC_OK ? end : rc;
}

enum rc store_run_of_messages(struct store *st, const struct run_span *span,
                              struct arena *a, struct run **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_RUN_OF_MESSAGES);
    void *items = NULL;
    size_t count = 0;
    enum rc rc;

    db_bind_i64(q, ":conversation", span->conversation_id);
    db_bind_i64(q, ":from", span->from);
    db_bind_i64(q, ":to", span->to);
    rc = add_all(st, q, a, &items, &count);
    if (rc == RC_OK) {
        q = db_use(st->db, STMT_RUN_WITHOUT_MESSAGE);
        db_bind_i64(q, ":conversation", span->conversation_id);
        db_bind_i64(q, ":from_ms", span->from_ms);
        db_bind_i64(q, ":to_ms", span->to_ms);
        rc = add_all(st, q, a, &items, &count);
    }
    if (rc == RC_OK) {
        *out = items;
        *n = count;
    }
    return rc;
}

enum rc store_run_active_ids(struct store *st, struct arena *a, int64_t **ids,
                             size_t *n)
{
    return store_read_ids(db_use(st->db, STMT_RUN_ALL_ACTIVE), a, ids, n);
}

/* --- saving ------------------------------------------------------------ */

static void bind_words(struct dbq *q, const struct run *r)
{
    store_bind_word(q, ":kind", LIST_RUN_KIND, (int)r->kind);
    store_bind_word(q, ":depth", LIST_RUN_DEPTH, (int)r->depth);
    store_bind_word(q, ":state", LIST_RUN_STATE, (int)r->state);
    store_bind_word(q, ":phase", LIST_RUN_PHASE, (int)r->phase);
    store_bind_word(q, ":limit_reason", LIST_RUN_REASON, (int)r->limit_reason);
    db_bind_text(q, ":title", r->title);
    db_bind_text(q, ":progress", r->progress);
    db_bind_text(q, ":lead", r->lead);
    db_bind_text(q, ":question", r->question);
}

static void bind_use(struct dbq *q, const struct run *r)
{
    db_bind_i64(q, ":requests_used", r->requests.used);
    db_bind_i64(q, ":requests_limit", r->requests.limit);
    db_bind_i64(q, ":tool_calls_used", r->tool_calls.used);
    db_bind_i64(q, ":tool_calls_limit", r->tool_calls.limit);
    db_bind_i64(q, ":tokens_used", r->tokens.used);
    db_bind_i64(q, ":tokens_limit", r->tokens.limit);
    db_bind_i64(q, ":unknown_requests", r->unknown_requests);
    db_bind_i64(q, ":active_ms", r->active_ms);
    db_bind_i64(q, ":seconds_limit", r->seconds_limit);
    db_bind_i64(q, ":crashes", r->crashes);
}

enum rc store_run_save(struct store *st, struct run *r)
{
    struct dbq *q;
    enum rc rc;

    /* Ends go through store_run_end. */
    assert(!states_run_ended(r->state));
    q = db_use(st->db, STMT_RUN_SAVE);
    db_bind_i64(q, ":id", r->id);
    bind_words(q, r);
    bind_use(q, r);
    db_bind_i64_or_null(q, ":started_ms", r->started_ms);
    db_bind_i64_or_null(q, ":waiting_since_ms", r->waiting_since_ms);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        rc = store_change_of_run(st, r, CHANGE_RUN_UPDATED, 0);
    }
    return rc;
}

enum rc store_coverage_set(struct store *st, int64_t run_id,
                           const struct coverage *items, size_t n)
{
    struct dbq *q = db_use(st->db, STMT_COVERAGE_CLEAR);
    enum rc rc;

    db_bind_i64(q, ":run", run_id);
    rc = db_run(q);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        q = db_use(st->db, STMT_COVERAGE_INSERT);
        db_bind_i64(q, ":run", run_id);
        db_bind_i64(q, ":n", (int64_t)i);
        db_bind_i64_or_null(q, ":handoff", items[i].handoff_id);
        store_bind_word(q, ":status", LIST_COVERAGE_STATUS,
                        (int)items[i].status);
        db_bind_text(q, ":remark", items[i].remark);
        db_bind_text(q, ":evidence",
                     items[i].evidence != NULL ? items[i].evidence : "[]");
        rc = db_run(q);
    }
    return rc;
}
