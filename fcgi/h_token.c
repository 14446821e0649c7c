/* h_token.c - the tokens of an account. */
#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/login.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "sql/base/secret.h"
#include "sql/store_access.h"

#define MAX_NAME_BYTES 100

/* --- listing ---------------------------------------------------------------
 */

enum serve_then h_token_list(struct ask *ask)
{
    struct token *list = NULL;
    struct reply reply;
    struct read read;
    size_t n = 0;
    enum rc rc;

    if (!login_is_used_or_reply(ask)) {
        return SERVE_FINISH;
    }
    rc = read_begin(ask, &read);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc = store_token_list(ask->store, read.account_id, ask->arena, &list, &n);
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    read_put_view(&reply.json, &read);
    json_key(&reply.json, "tokens");
    json_open_array(&reply.json);
    for (size_t i = 0; i < n; i++) {
        store_token_put(&reply.json, &list[i]);
    }
    json_close_array(&reply.json);
    return reply_send(&reply, ask->req, 200);
}

/* --- making and revoking ---------------------------------------------------
 */

struct token_call {
    struct store_call call;
    struct token_new in;
    char secret[SECRET_TEXT_BYTES];
    int64_t id;
    struct token out;
};

/* The secret is told once: with the reply that made it. */
static enum serve_then reply_token(const struct ask *ask, struct token_call *c,
                                   const char *feed, int status)
{
    struct reply reply;

    reply_open(&reply);
    json_key(&reply.json, "token");
    store_token_put(&reply.json, &c->out);
    if (status == 201) {
        json_kstr(&reply.json, "secret", c->call.replayed ? NULL : c->secret);
        secret_forget(c->secret, sizeof(c->secret));
    }
    call_put_end(&reply.json, &c->call, feed);
    return reply_send(&reply, ask->req, status);
}

static enum rc create(struct store *st, void *arg)
{
    struct token_call *c = arg;

    return store_token_create(st, &c->call, &c->in, &c->out);
}

static enum serve_then created(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    struct token_call *c = arg;

    if (rc == RC_NOT_ELIGIBLE) {
        return reply_problem(ask->req, REPLY_TOO_MANY_TOKENS, NULL);
    }
    return rc == RC_OK ? reply_token(ask, c, feed, 201)
                       : call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
}

static bool read_form_or_reply(const struct ask *ask, struct token_new *in)
{
    static const char *const KNOWN[] = {"name", "scope", "days", NULL};
    static const struct form_text NAME = {.name = "name",
                                          .max_bytes = MAX_NAME_BYTES,
                                          .required = true,
                                          .one_line = true};
    const char *scopes[ACCESS_SCOPE__MAX];
    int scope = SCOPE_READ;

    for (int i = 0; i < ACCESS_SCOPE__MAX; i++) {
        scopes[i] = states_text(LIST_ACCESS_SCOPE, i);
    }
    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &NAME, &in->name) ||
        !form_word_or_reply(ask, "scope", scopes, ACCESS_SCOPE__MAX, SCOPE_READ,
                            &scope) ||
        !form_i64_or_reply(ask, "days", 1, ACCESS_MAX_TOKEN_DAYS,
                           ACCESS_TOKEN_DAYS, &in->days)) {
        return false;
    }
    in->scope = (enum access_scope)scope;
    return true;
}

enum serve_then h_token_create(struct ask *ask)
{
    struct token_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    if (!login_is_used_or_reply(ask) || !read_form_or_reply(ask, &c->in)) {
        return SERVE_FINISH;
    }
    if (!call_open_or_reply(
            ask, CALL_KEY_REQUIRED,
            (const struct call_field[]){
                {"name", c->in.name},
                {"scope", states_text(LIST_ACCESS_SCOPE, (int)c->in.scope)},
                {"days",
                 arena_printf(ask->arena, "%lld", (long long)c->in.days)},
                {NULL, NULL}},
            &c->call)) {
        return SERVE_FINISH;
    }
    secret_make(c->secret, c->in.hash);
    return call_hand_over(ask, create, c, created);
}

static enum rc revoke(struct store *st, void *arg)
{
    struct token_call *c = arg;

    return store_token_revoke(st, &c->call, c->id, &c->out);
}

static enum serve_then revoked(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    struct token_call *c = arg;

    return rc == RC_OK ? reply_token(ask, c, feed, 200)
                       : call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
}

enum serve_then h_token_revoke(struct ask *ask)
{
    struct token_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    if (!login_is_used_or_reply(ask)) {
        return SERVE_FINISH;
    }
    c->id = ask->id;
    if (!call_open_or_reply(ask, CALL_ENDS,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, revoke, c, revoked);
}
