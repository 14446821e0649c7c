/* store_access.c - accounts, tokens and sessions. */
#include "sql/store_access.h"

#include "sql/base/secret.h"
#include "sql/store_audit.h"
#include "sql/store_priv.h"

/* --- who asks ------------------------------------------------------------ */

static void read_holder(struct dbq *q, struct arena *a,
                        struct access_holder *out)
{
    out->id = db_i64(q, 0);
    out->account_id = db_i64(q, 1);
    out->account = db_text(q, 2, a);
    out->scope = (enum access_scope)store_word(q, 3, LIST_ACCESS_SCOPE);
    out->expires_ms = db_i64(q, 4);
    out->used_ms = db_i64(q, 5);
}

/* The index finds the row; that it is the one is then seen in a time that tells
 * nothing. */
enum rc store_access_find(struct store *st, enum actor_kind kind,
                          const uint8_t hash[HASH_BYTES], int64_t now_ms,
                          struct arena *a, struct access_holder *out)
{
    struct dbq *q = db_use(st->db, kind == ACTOR_TOKEN ? STMT_TOKEN_BY_HASH
                                                       : STMT_SESSION_BY_HASH);
    bool found = false;
    enum rc rc;

    db_bind_blob(q, ":hash", hash, HASH_BYTES);
    db_bind_i64(q, ":now_ms", now_ms);
    if (db_next(q)) {
        out->kind = kind;
        read_holder(q, a, out);
        found =
            db_bytes(q, 6) == HASH_BYTES && secret_same(db_peek(q, 6), hash);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

static bool is_holder(const struct store_actor *actor)
{
    return actor->kind == ACTOR_TOKEN || actor->kind == ACTOR_SESSION;
}

enum rc store_access_stands(struct store *st, const struct store_actor *actor,
                            int64_t now_ms)
{
    struct dbq *q;
    int64_t one;

    if (!is_holder(actor)) {
        return RC_OK;
    }
    q = db_use(st->db, actor->kind == ACTOR_TOKEN ? STMT_TOKEN_STANDS
                                                  : STMT_SESSION_STANDS);
    db_bind_i64(q, ":id", actor->id);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_one_i64(q, &one);
}

enum rc store_access_used(struct store *st, const struct store_actor *actor,
                          int64_t now_ms)
{
    struct dbq *q;

    if (!is_holder(actor)) {
        return RC_OK;
    }
    q = db_use(st->db, actor->kind == ACTOR_TOKEN ? STMT_TOKEN_USED
                                                  : STMT_SESSION_SEEN);
    db_bind_i64(q, ":id", actor->id);
    db_bind_i64(q, ":now_ms", now_ms);
    db_bind_i64(q, ":before_ms", now_ms - ACCESS_USED_EVERY_MS);
    return db_run(q);
}

/* --- accounts ------------------------------------------------------------ */

static void read_account(struct dbq *q, struct arena *a, void *item)
{
    struct account *account = item;

    account->id = db_i64(q, 0);
    account->name = db_text(q, 1, a);
    account->created_ms = db_i64(q, 2);
}

enum rc store_account_create(struct store *st, const struct store_call *call,
                             struct account *out)
{
    int64_t id = 0;
    enum rc rc = store_account_find(st, call->account, &id);

    if (rc != RC_NOT_FOUND) {
        return rc == RC_OK ? RC_CONFLICT : rc;
    }
    rc = store_account_ensure(st, call->account, call->now_ms, &id);
    if (rc == RC_OK) {
        rc = store_audit_call(st, call, id, AUDIT_ACCOUNT_CREATE, ID_AUDIT, 0);
    }
    *out = (struct account){
        .id = id, .name = call->account, .created_ms = call->now_ms};
    return rc;
}

enum rc store_account_list(struct store *st, int64_t limit, struct arena *a,
                           struct account **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_ACCOUNT_LIST);

    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_account, sizeof(**out), out, n);
}

/* --- tokens -------------------------------------------------------------- */

static void read_token(struct dbq *q, struct arena *a, void *item)
{
    struct token *t = item;

    t->id = db_i64(q, 0);
    t->account_id = db_i64(q, 1);
    t->name = db_text(q, 2, a);
    t->scope = (enum access_scope)store_word(q, 3, LIST_ACCESS_SCOPE);
    t->created_ms = db_i64(q, 4);
    t->expires_ms = db_i64(q, 5);
    t->last_used_ms = db_i64(q, 6);
    t->revoked_ms = db_i64_or(q, 7, 0);
}

static enum rc get_token(struct store *st, int64_t account_id, int64_t id,
                         struct arena *a, struct token *out)
{
    struct dbq *q = db_use(st->db, STMT_TOKEN_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_token, out);
}

static enum rc insert_token(struct store *st, const struct store_call *call,
                            int64_t account_id, const struct token_new *in,
                            int64_t *id)
{
    struct dbq *q = db_use(st->db, STMT_TOKEN_COUNT);
    int64_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":account", account_id);
    rc = db_one_i64(q, &n);
    if (rc == RC_OK && n >= ACCESS_MAX_TOKENS) {
        return RC_NOT_ELIGIBLE;
    }
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_TOKEN_INSERT);
    db_bind_i64(q, ":account", account_id);
    db_bind_text(q, ":name", in->name);
    store_bind_word(q, ":scope", LIST_ACCESS_SCOPE, (int)in->scope);
    db_bind_blob(q, ":hash", in->hash, HASH_BYTES);
    db_bind_i64(q, ":now_ms", call->now_ms);
    db_bind_i64(q, ":expires_ms", call->now_ms + in->days * ACCESS_DAY_MS);
    rc = db_run(q);
    *id = db_last_id(st->db);
    return rc;
}

enum rc store_token_create(struct store *st, struct store_call *call,
                           const struct token_new *in, struct token *out)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    enum rc rc = store_account_find(st, call->account, &account);

    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = insert_token(st, call, account, in, &refs.token_id);
        if (rc == RC_OK) {
            rc = store_key_bind(st, call, account, &refs);
        }
        if (rc == RC_OK) {
            rc = store_audit_call(st, call, account, AUDIT_TOKEN_CREATE,
                                  ID_TOKEN, refs.token_id);
        }
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = get_token(st, account, refs.token_id, call->arena, out);
    }
    return rc;
}

enum rc store_token_list(struct store *st, int64_t account_id, struct arena *a,
                         struct token **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOKEN_LIST);

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":limit", ACCESS_MAX_TOKENS);
    return store_read_list(q, a, read_token, sizeof(**out), out, n);
}

enum rc store_token_owner(struct store *st, int64_t id, struct arena *a,
                          const char **account)
{
    struct dbq *q = db_use(st->db, STMT_TOKEN_OWNER);
    int64_t owner = 0;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    rc = db_one_i64(q, &owner);
    return rc == RC_OK ? store_account_name(st, owner, a, account) : rc;
}

/* End a session, and say so in the log. RC_NOT_FOUND. */
static enum rc end_session(struct store *st, const struct store_call *call,
                           int64_t account_id, int64_t id)
{
    struct dbq *q = db_use(st->db, STMT_SESSION_CLOSE);
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    rc = db_run_one(q);
    if (rc == RC_CONFLICT) {
        return RC_NOT_FOUND;
    }
    return rc == RC_OK ? store_audit_call(st, call, account_id,
                                          AUDIT_SESSION_CLOSE, ID_SESSION, id)
                       : rc;
}

/* All sessions that were opened with the token. */
static enum rc end_sessions_of(struct store *st, const struct store_call *call,
                               const struct token *t)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < ACCESS_MAX_SESSIONS && rc == RC_OK; i++) {
        struct dbq *q = db_use(st->db, STMT_SESSION_OF_TOKEN);
        int64_t id = 0;

        db_bind_i64(q, ":token", t->id);
        rc = db_one_i64(q, &id);
        if (rc == RC_OK) {
            rc = end_session(st, call, t->account_id, id);
        }
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc end_token(struct store *st, const struct store_call *call,
                         const struct token *t)
{
    struct dbq *q = db_use(st->db, STMT_TOKEN_REVOKE);
    enum rc rc;

    db_bind_i64(q, ":id", t->id);
    db_bind_i64(q, ":account", t->account_id);
    db_bind_i64(q, ":now_ms", call->now_ms);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        rc = end_sessions_of(st, call, t);
    }
    return rc == RC_OK ? store_audit_call(st, call, t->account_id,
                                          AUDIT_TOKEN_REVOKE, ID_TOKEN, t->id)
                       : rc;
}

enum rc store_token_revoke(struct store *st, struct store_call *call,
                           int64_t id, struct token *out)
{
    int64_t account = 0;
    enum rc rc = store_account_find(st, call->account, &account);

    if (rc == RC_OK) {
        rc = get_token(st, account, id, call->arena, out);
    }
    if (rc == RC_OK && out->revoked_ms == 0) {
        rc = end_token(st, call, out);
        out->revoked_ms = call->now_ms;
    }
    return rc == RC_OK ? store_as_of(st, &call->as_of) : rc;
}

void store_token_put(struct json_out *json, const struct token *t)
{
    char id[ID_TEXT_BYTES];

    json_open_object(json);
    json_kstr(json, "id", id_text(ID_TOKEN, t->id, id));
    json_kstr(json, "name", t->name);
    json_kstr(json, "scope", states_text(LIST_ACCESS_SCOPE, (int)t->scope));
    json_ki64(json, "created_at", t->created_ms);
    json_ki64(json, "expires_at", t->expires_ms);
    json_ki64_or_null(json, "last_used_at", t->last_used_ms);
    json_ki64_or_null(json, "revoked_at", t->revoked_ms);
    json_close_object(json);
}

/* --- sessions ------------------------------------------------------------ */

static void read_session(struct dbq *q, struct arena *a, void *item)
{
    struct session *s = item;

    s->id = db_i64(q, 0);
    s->account_id = db_i64(q, 1);
    s->token_id = db_i64(q, 2);
    s->token = db_text(q, 3, a);
    s->scope = (enum access_scope)store_word(q, 4, LIST_ACCESS_SCOPE);
    s->created_ms = db_i64(q, 5);
    s->expires_ms = db_i64(q, 6);
    s->seen_ms = db_i64(q, 7);
    s->agent = db_text(q, 8, a);
    s->address = db_text(q, 9, a);
}

static enum rc get_session(struct store *st, int64_t account_id, int64_t id,
                           struct arena *a, struct session *out)
{
    struct dbq *q = db_use(st->db, STMT_SESSION_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_session, out);
}

/* Expired ones go, whose end nobody decides on, and the oldest of too many. */
static enum rc make_room(struct store *st, const struct store_call *call,
                         int64_t account_id)
{
    struct dbq *q = db_use(st->db, STMT_SESSION_CLOSE_EXPIRED);
    enum rc rc;

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":now_ms", call->now_ms);
    rc = db_run(q);
    for (int i = 0; i < ACCESS_MAX_SESSIONS && rc == RC_OK; i++) {
        int64_t id = 0;

        q = db_use(st->db, STMT_SESSION_BEYOND);
        db_bind_i64(q, ":account", account_id);
        db_bind_i64(q, ":keep", ACCESS_MAX_SESSIONS - 1);
        rc = db_one_i64(q, &id);
        if (rc == RC_OK) {
            rc = end_session(st, call, account_id, id);
        }
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc insert_session(struct store *st, const struct store_call *call,
                              const struct token *t,
                              const struct session_new *in)
{
    int64_t expires_ms = call->now_ms + ACCESS_SESSION_DAYS * ACCESS_DAY_MS;
    struct dbq *q = db_use(st->db, STMT_SESSION_INSERT);

    if (expires_ms > t->expires_ms) {
        expires_ms = t->expires_ms;
    }
    db_bind_i64(q, ":account", t->account_id);
    db_bind_i64(q, ":token", t->id);
    db_bind_blob(q, ":hash", in->hash, HASH_BYTES);
    db_bind_i64(q, ":now_ms", call->now_ms);
    db_bind_i64(q, ":expires_ms", expires_ms);
    db_bind_text(q, ":agent", in->agent == NULL ? "" : in->agent);
    db_bind_text(q, ":address",
                 call->actor.address == NULL ? "" : call->actor.address);
    return db_run(q);
}

enum rc store_session_open(struct store *st, struct store_call *call,
                           const struct session_new *in, struct session *out)
{
    struct token token = {0};
    int64_t account = 0;
    int64_t id = 0;
    enum rc rc = store_account_find(st, call->account, &account);

    if (rc == RC_OK) {
        rc = get_token(st, account, in->token_id, call->arena, &token);
    }
    if (rc == RC_OK &&
        (token.revoked_ms != 0 || token.expires_ms <= call->now_ms)) {
        rc = RC_NOT_FOUND;
    }
    if (rc == RC_OK) {
        rc = make_room(st, call, account);
    }
    if (rc == RC_OK) {
        rc = insert_session(st, call, &token, in);
        id = db_last_id(st->db);
    }
    if (rc == RC_OK) {
        rc = store_audit_call(st, call, account, AUDIT_SESSION_OPEN, ID_SESSION,
                              id);
    }
    if (rc == RC_OK) {
        rc = store_access_used(
            st, &(struct store_actor){.kind = ACTOR_TOKEN, .id = token.id},
            call->now_ms);
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    return rc == RC_OK ? get_session(st, account, id, call->arena, out) : rc;
}

enum rc store_session_list(struct store *st, int64_t account_id, int64_t now_ms,
                           struct arena *a, struct session **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SESSION_LIST);

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":now_ms", now_ms);
    db_bind_i64(q, ":limit", ACCESS_MAX_SESSIONS);
    return store_read_list(q, a, read_session, sizeof(**out), out, n);
}

enum rc store_session_close(struct store *st, struct store_call *call,
                            int64_t id)
{
    int64_t account = 0;
    enum rc rc = store_account_find(st, call->account, &account);

    if (rc == RC_OK) {
        rc = end_session(st, call, account, id);
    }
    return rc == RC_OK ? store_as_of(st, &call->as_of) : rc;
}
