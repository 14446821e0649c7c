/* store_effect.c - model requests and the bodies they are sent with. */
#include "sql/store_effect.h"

#include <string.h>

#include "sql/store_handoff.h"
#include "sql/store_priv.h"

/* Longest chain of segments, and largest body, that can be put together. A
 * Run's budget is far below. */
#define CHAIN_MAX        4096
#define BODY_LIMIT_BYTES (8u << 20)

static void read_request(struct dbq *q, struct arena *a, struct request *r)
{
    *r = (struct request){0};
    r->id = db_i64(q, 0);
    r->run_id = db_i64(q, 1);
    r->purpose = (enum request_purpose)store_word(q, 2, LIST_REQUEST_PURPOSE);
    r->state = (enum effect_state)store_word(q, 3, LIST_EFFECT_STATE);
    r->cause = (enum effect_cause)store_word(q, 4, LIST_EFFECT_CAUSE);
    r->attempt = db_i64(q, 5);
    r->segment_id = db_i64(q, 6);
    r->body_bytes = db_i64(q, 7);
    r->input_estimate = db_i64(q, 8);
    r->not_before_ms = db_i64(q, 9);
    r->reply = db_text_or(q, 10, a, NULL);
    r->finish = db_text_or(q, 11, a, NULL);
    r->error = db_text_or(q, 12, a, NULL);
    r->usage.known = db_i64(q, 13) != 0;
    r->usage.input_tokens = db_i64_or(q, 14, 0);
    r->usage.output_tokens = db_i64_or(q, 15, 0);
    r->usage.estimate = db_i64(q, 16);
    r->planned_ms = db_i64(q, 17);
    r->sent_ms = db_i64_or(q, 18, 0);
    r->first_ms = db_i64_or(q, 19, 0);
    r->ended_ms = db_i64_or(q, 20, 0);
    r->tail = db_text(q, 21, a);
    r->usage.cached_tokens = db_i64_or(q, 22, -1);
}

static enum rc read_one(struct dbq *q, struct arena *a, struct request *out)
{
    bool found = false;
    enum rc rc;

    if (db_next(q)) {
        found = true;
        read_request(q, a, out);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc store_request_get(struct store *st, int64_t account_id, int64_t id,
                          struct arena *a, struct request *out)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return read_one(q, a, out);
}

enum rc store_request_last(struct store *st, int64_t run_id, struct arena *a,
                           struct request *out)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_LAST);

    db_bind_i64(q, ":run", run_id);
    return read_one(q, a, out);
}

enum rc store_request_of_run(struct store *st, int64_t run_id, struct arena *a,
                             struct request **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_OF_RUN);
    void *items = NULL;
    size_t count = 0;
    enum rc rc;

    db_bind_i64(q, ":run", run_id);
    while (db_next(q)) {
        struct request *r = store_list_add(a, &items, &count, sizeof(*r));

        if (r == NULL) {
            db_fail(q, RC_TOO_LARGE);
            break;
        }
        read_request(q, a, r);
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        *out = items;
        *n = count;
    }
    return rc;
}

enum rc store_request_last_purpose(struct store *st, int64_t run_id,
                                   enum request_purpose *out)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_LAST_PURPOSE);
    bool found = false;
    enum rc rc;

    db_bind_i64(q, ":run", run_id);
    if (db_next(q)) {
        found = true;
        *out = (enum request_purpose)store_word(q, 0, LIST_REQUEST_PURPOSE);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc store_request_sent_runs(struct store *st, struct arena *a,
                                int64_t **ids, size_t *n)
{
    return store_read_ids(db_use(st->db, STMT_REQUEST_ALL_SENT), a, ids, n);
}

/* --- bodies ------------------------------------------------------------ */

static enum rc find_root(struct store *st, const uint8_t sum[HASH_BYTES],
                         int64_t *id)
{
    struct dbq *q = db_use(st->db, STMT_SEGMENT_ROOT);

    db_bind_blob(q, ":sha256", sum, HASH_BYTES);
    return db_one_i64(q, id);
}

enum rc store_segment_add(struct store *st, int64_t run_id, int64_t parent_id,
                          const char *body, size_t len, int64_t *id)
{
    uint8_t sum[HASH_BYTES];
    bool root = parent_id == 0;
    struct dbq *q;
    enum rc rc;

    if (root) {
        hash_heads_sha256(st->heads, body, len, len, sum);
        rc = find_root(st, sum, id);
        if (rc != RC_NOT_FOUND) {
            return rc;
        }
    }
    q = db_use(st->db, STMT_SEGMENT_INSERT);
    db_bind_i64_or_null(q, ":parent", parent_id);
    db_bind_i64_or_null(q, ":run", root ? 0 : run_id);
    if (root) {
        db_bind_blob(q, ":sha256", sum, HASH_BYTES);
    } else {
        db_bind_null(q, ":sha256");
    }
    db_bind_textn(q, ":body", body, len);
    rc = db_run(q);
    if (rc == RC_OK) {
        *id = db_last_id(st->db);
    }
    return rc;
}

/* Ids of the chain that ends in id, from the end to the root. */
static enum rc chain_of(struct store *st, int64_t id, int64_t *ids, size_t *n)
{
    *n = 0;
    while (id != 0) {
        struct dbq *q;
        bool found = false;
        enum rc rc;

        if (*n == CHAIN_MAX) {
            return RC_TOO_LARGE;
        }
        ids[(*n)++] = id;
        q = db_use(st->db, STMT_SEGMENT_GET);
        db_bind_i64(q, ":id", id);
        if (db_next(q)) {
            found = true;
            id = db_i64_or(q, 0, 0);
        }
        rc = db_end(q);
        if (rc != RC_OK || !found) {
            return rc != RC_OK ? rc : RC_DB;
        }
    }
    return RC_OK;
}

static enum rc add_segment(struct store *st, int64_t id, struct buf *out)
{
    struct dbq *q = db_use(st->db, STMT_SEGMENT_GET);

    db_bind_i64(q, ":id", id);
    if (db_next(q)) {
        buf_add(out, db_peek(q, 1), db_bytes(q, 1));
    }
    return db_end(q);
}

/* *head_len: of the root, with which many bodies begin. */
static enum rc add_body(struct store *st, int64_t segment_id, const char *tail,
                        struct buf *out, size_t *head_len)
{
    int64_t ids[CHAIN_MAX];
    size_t n = 0;
    size_t from = out->len;
    enum rc rc = chain_of(st, segment_id, ids, &n);

    if (rc == RC_OK && n > 0) {
        rc = add_segment(st, ids[--n], out);
        *head_len = out->len - from;
    }
    while (rc == RC_OK && n > 0) {
        rc = add_segment(st, ids[--n], out);
    }
    buf_puts(out, tail);
    return rc == RC_OK ? buf_rc(out) : rc;
}

enum rc store_segment_root_of(struct store *st, int64_t id, int64_t *root)
{
    int64_t ids[CHAIN_MAX];
    size_t n = 0;
    enum rc rc = chain_of(st, id, ids, &n);

    if (rc == RC_OK) {
        *root = n > 0 ? ids[n - 1] : 0;
    }
    return rc;
}

enum rc store_segment_after_root(struct store *st, int64_t id, struct buf *out)
{
    int64_t ids[CHAIN_MAX];
    size_t n = 0;
    enum rc rc = chain_of(st, id, ids, &n);

    while (rc == RC_OK && n > 1) {
        rc = add_segment(st, ids[--n - 1], out);
    }
    return rc == RC_OK ? buf_rc(out) : rc;
}

static enum rc check_sum(struct store *st, int64_t request_id,
                         const struct buf *out, size_t from, size_t head_len)
{
    uint8_t sum[HASH_BYTES];
    struct dbq *q = db_use(st->db, STMT_REQUEST_BODY_FACTS);
    bool same = false;
    enum rc rc;

    hash_heads_sha256(st->heads, buf_str(out) + from, out->len - from, head_len,
                      sum);
    db_bind_i64(q, ":id", request_id);
    if (db_next(q)) {
        same = db_bytes(q, 3) == HASH_BYTES &&
               memcmp(db_peek(q, 3), sum, HASH_BYTES) == 0;
    }
    rc = db_end(q);
    return rc == RC_OK && !same ? RC_DB : rc;
}

enum rc store_request_input(struct store *st, int64_t request_id,
                            struct buf *out)
{
    struct arena *a = arena_new(1u << 20);
    struct dbq *q;
    const char *tail = "";
    int64_t segment = 0;
    size_t from = out->len;
    size_t head_len = 0;
    enum rc rc;

    if (a == NULL) {
        return RC_NOMEM;
    }
    q = db_use(st->db, STMT_REQUEST_BODY_FACTS);
    db_bind_i64(q, ":id", request_id);
    if (db_next(q)) {
        segment = db_i64(q, 0);
        tail = db_text(q, 1, a);
    }
    rc = db_end(q);
    if (rc == RC_OK && segment == 0) {
        rc = RC_NOT_FOUND;
    }
    if (rc == RC_OK) {
        rc = add_body(st, segment, tail, out, &head_len);
    }
    if (rc == RC_OK) {
        rc = check_sum(st, request_id, out, from, head_len);
    }
    arena_free(a);
    return rc;
}

/* --- planning, sending, settling --------------------------------------- */

static enum rc insert_request(struct store *st, const struct run *run,
                              const struct request_new *in,
                              const struct buf *body, size_t head_len,
                              int64_t *id)
{
    uint8_t sum[HASH_BYTES];
    struct dbq *q = db_use(st->db, STMT_REQUEST_INSERT);
    enum rc rc;

    hash_heads_sha256(st->heads, buf_str(body), body->len, head_len, sum);
    db_bind_i64(q, ":run", run->id);
    store_bind_word(q, ":purpose", LIST_REQUEST_PURPOSE, (int)in->purpose);
    db_bind_i64(q, ":attempt", in->attempt);
    db_bind_i64(q, ":segment", in->segment_id);
    db_bind_text(q, ":tail", in->tail);
    db_bind_i64(q, ":body_bytes", (int64_t)body->len);
    db_bind_blob(q, ":body_sha256", sum, HASH_BYTES);
    db_bind_i64(q, ":input_estimate", in->input_estimate);
    db_bind_i64(q, ":not_before_ms", in->not_before_ms);
    db_bind_i64(q, ":now_ms", in->now_ms);
    rc = db_run(q);
    if (rc == RC_OK) {
        *id = db_last_id(st->db);
    }
    return rc;
}

enum rc store_request_plan(struct store *st, const struct run *run,
                           const struct request_new *in, struct arena *a,
                           struct request *out)
{
    struct buf body;
    size_t head_len = 0;
    int64_t id = 0;
    enum rc rc;

    buf_init(&body, BODY_LIMIT_BYTES);
    rc = add_body(st, in->segment_id, in->tail, &body, &head_len);
    if (rc == RC_OK) {
        rc = insert_request(st, run, in, &body, head_len, &id);
    }
    buf_free(&body);
    if (rc == RC_OK) {
        rc = store_handoff_plan(st, run->id, id);
    }
    if (rc == RC_OK) {
        rc = store_change_of_run(st, run, CHANGE_REQUEST_UPDATED, id);
    }
    return rc == RC_OK ? store_request_get(st, 0, id, a, out) : rc;
}

/* RC_FULL if the provider has no place for this request (R20). */
static enum rc find_place(struct store *st, const struct request *r,
                          int64_t max_concurrent)
{
    bool research =
        r->purpose == PURPOSE_RESEARCH || r->purpose == PURPOSE_CLOSEOUT;
    struct dbq *q = db_use(st->db, STMT_REQUEST_SENT_COUNT);
    int64_t all = 0;
    int64_t of_research = 0;
    enum rc rc;

    if (db_next(q)) {
        all = db_i64(q, 0);
        of_research = db_i64(q, 1);
    }
    rc = db_end(q);
    if (rc == RC_OK &&
        (all >= max_concurrent || (research && max_concurrent >= 2 &&
                                   of_research >= max_concurrent - 1))) {
        rc = RC_FULL;
    }
    return rc;
}

enum rc store_request_send(struct store *st, const struct run *run,
                           struct request *r, int64_t max_concurrent,
                           int64_t now_ms)
{
    struct dbq *q;
    enum rc rc = find_place(st, r, max_concurrent);

    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_REQUEST_SEND);
    db_bind_i64(q, ":id", r->id);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        r->state = EFFECT_SENT;
        r->sent_ms = now_ms;
        rc = store_change_of_run(st, run, CHANGE_REQUEST_UPDATED, r->id);
    }
    return rc;
}

enum rc store_request_first(struct store *st, const struct run *run,
                            struct request *r, int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_FIRST);
    enum rc rc;

    db_bind_i64(q, ":id", r->id);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    if (rc != RC_OK) {
        return rc;
    }
    r->first_ms = now_ms;
    return store_handoff_hand(st, run, r->id, now_ms);
}

static void bind_usage(struct dbq *q, const struct usage *u)
{
    db_bind_i64(q, ":usage_known", u->known ? 1 : 0);
    if (u->known) {
        db_bind_i64(q, ":input_tokens", u->input_tokens);
        db_bind_i64(q, ":output_tokens", u->output_tokens);
    } else {
        db_bind_null(q, ":input_tokens");
        db_bind_null(q, ":output_tokens");
    }
    /* A request that took no input has nothing to tell of it. */
    if (u->known && u->input_tokens > 0 && u->cached_tokens >= 0) {
        db_bind_i64(q, ":cached_tokens", u->cached_tokens);
    } else {
        db_bind_null(q, ":cached_tokens");
    }
    db_bind_i64(q, ":estimate", u->known ? 0 : u->estimate);
}

enum rc store_request_settle(struct store *st, const struct run *run,
                             struct request *r, enum effect_state from,
                             int64_t now_ms)
{
    struct dbq *q;
    enum rc rc;

    if (!states_effect_may_move(from, r->state)) {
        return RC_CONFLICT;
    }
    q = db_use(st->db, STMT_REQUEST_SETTLE);
    db_bind_i64(q, ":id", r->id);
    store_bind_word(q, ":from", LIST_EFFECT_STATE, (int)from);
    store_bind_word(q, ":state", LIST_EFFECT_STATE, (int)r->state);
    store_bind_word(q, ":cause", LIST_EFFECT_CAUSE, (int)r->cause);
    db_bind_text(q, ":reply", r->reply);
    db_bind_text(q, ":finish", r->finish);
    db_bind_text(q, ":error", r->error);
    bind_usage(q, &r->usage);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        r->ended_ms = now_ms;
        rc = store_change_of_run(st, run, CHANGE_REQUEST_UPDATED, r->id);
    }
    return rc;
}

enum rc store_request_count_late(struct store *st, const struct run *run,
                                 const struct usage *u)
{
    struct dbq *q = db_use(st->db, STMT_RUN_ADD_USAGE);
    enum rc rc;

    db_bind_i64(q, ":id", run->id);
    db_bind_i64(q, ":tokens",
                u->known ? u->input_tokens + u->output_tokens : u->estimate);
    db_bind_i64(q, ":unknown", u->known ? 0 : 1);
    rc = db_run_one(q);
    return rc == RC_OK ? store_change_of_run(st, run, CHANGE_RUN_UPDATED, 0)
                       : rc;
}

static enum rc skip_requests(struct store *st, const struct run *run,
                             struct arena *a, enum effect_cause cause,
                             int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_SKIP_PLANNED);
    int64_t *ids = NULL;
    size_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":run", run->id);
    rc = store_read_ids(q, a, &ids, &n);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        /* Never sent: known to have used nothing. */
        struct request r = {.id = ids[i],
                            .state = EFFECT_SKIPPED,
                            .cause = cause,
                            .usage = {.known = true}};

        rc = store_request_settle(st, run, &r, EFFECT_PLANNED, now_ms);
    }
    return rc;
}

/* Those calls of the Run that the statement names, from one state into the
 * other. */
static enum rc move_tool_calls(struct store *st, const struct run *run,
                               struct arena *a, enum stmt_id which,
                               enum effect_state from,
                               const struct tool_call *to, int64_t now_ms)
{
    struct dbq *q = db_use(st->db, which);
    int64_t *ids = NULL;
    size_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":run", run->id);
    rc = store_read_ids(q, a, &ids, &n);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct tool_call t = *to;

        t.id = ids[i];
        rc = store_tool_call_move(st, run, &t, from, now_ms);
    }
    return rc;
}

enum rc store_effect_skip_planned(struct store *st, const struct run *run,
                                  enum effect_cause cause, int64_t now_ms)
{
    struct arena *a = arena_new(1u << 20);
    enum rc rc;

    if (a == NULL) {
        return RC_NOMEM;
    }
    rc = skip_requests(st, run, a, cause, now_ms);
    if (rc == RC_OK) {
        rc = move_tool_calls(st, run, a, STMT_TOOL_CALL_PLANNED, EFFECT_PLANNED,
                             &(struct tool_call){.state = EFFECT_SKIPPED,
                                                 .cause = cause,
                                                 .summary = ""},
                             now_ms);
    }
    arena_free(a);
    return rc;
}

enum rc store_run_skip_planned(struct store *st, const struct run *run,
                               int64_t now_ms)
{
    return store_effect_skip_planned(st, run, CAUSE_NONE, now_ms);
}

/* --- what is left of a Run that nothing should touch ----------------------- */

struct left {
    int64_t id;
    int64_t input_estimate;
};

static void read_left(struct dbq *q, struct arena *a, void *item)
{
    struct left *l = item;

    (void)a;
    l->id = db_i64(q, 0);
    l->input_estimate = db_i64(q, 1);
}

static enum rc close_requests(struct store *st, const struct run *run,
                              struct arena *a, int64_t output_tokens,
                              int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_REQUEST_SENT_OF_RUN);
    struct left *list = NULL;
    size_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":run", run->id);
    rc = store_read_list(q, a, read_left, sizeof(*list), &list, &n);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct request r = {
            .id = list[i].id,
            .state = EFFECT_UNKNOWN,
            .usage = {.estimate = list[i].input_estimate + output_tokens}};

        rc = store_request_settle(st, run, &r, EFFECT_SENT, now_ms);
        if (rc == RC_OK) {
            rc = store_request_count_late(st, run, &r.usage);
        }
    }
    return rc;
}

enum rc store_run_close_sent(struct store *st, const struct run *run,
                             int64_t output_tokens, int64_t now_ms)
{
    struct arena *a = arena_new(1u << 20);
    enum rc rc;

    if (a == NULL) {
        return RC_NOMEM;
    }
    rc = close_requests(st, run, a, output_tokens, now_ms);
    if (rc == RC_OK) {
        rc = move_tool_calls(
            st, run, a, STMT_TOOL_CALL_SENT_OF_RUN, EFFECT_SENT,
            &(struct tool_call){.state = EFFECT_UNKNOWN, .summary = ""},
            now_ms);
    }
    arena_free(a);
    return rc;
}
