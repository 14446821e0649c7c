/* h_session.c - logging in and out, and the sessions there are. */
#include <string.h>

#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/login.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/secret.h"
#include "sql/base/utf8.h"
#include "sql/store_access.h"

#define MAX_SECRET_BYTES 1000 /* of what is pasted */
#define MAX_AGENT_BYTES  200

static void put_session(struct json_out *json, const struct session *s,
                        const struct ask *ask)
{
    char id[ID_TEXT_BYTES];

    json_open_object(json);
    json_kstr(json, "id", id_text(ID_SESSION, s->id, id));
    json_kstr(json, "token_id", id_text(ID_TOKEN, s->token_id, id));
    json_kstr(json, "token", s->token);
    json_kstr(json, "scope", states_text(LIST_ACCESS_SCOPE, (int)s->scope));
    json_ki64(json, "created_at", s->created_ms);
    json_ki64(json, "expires_at", s->expires_ms);
    json_ki64(json, "seen_at", s->seen_ms);
    json_kstr(json, "agent", s->agent);
    json_kstr(json, "address", s->address);
    json_kbool(json, "current",
               ask->actor.kind == ACTOR_SESSION && ask->actor.id == s->id);
    json_close_object(json);
}

/* --- logging in ------------------------------------------------------------
 */

struct open_call {
    struct store_call call;
    struct session_new in;
    char secret[SECRET_TEXT_BYTES];
    struct session out;
};

static enum rc open_session(struct store *st, void *arg)
{
    struct open_call *c = arg;

    return store_session_open(st, &c->call, &c->in, &c->out);
}

/* A right token is let in however many wrong ones came from its address, since
 * an address may be shared, and there is nothing to guess: what is bounded is
 * the work, and the lines in the log. */
static enum serve_then reply_wrong(const struct ask *ask)
{
    int64_t wait_ms =
        limit_login(ask->app->limit, ask->actor.address, clock_boot_us());

    if (wait_ms > 0) {
        return call_reply_too_often(ask, wait_ms);
    }
    log_warn(NULL, "refused: a login from %s",
             ask->actor.address == NULL ? "?" : ask->actor.address);
    return reply_problem(ask->req, REPLY_WRONG_TOKEN,
                         "It is not one of this Aside, or has expired, or was "
                         "revoked.");
}

static enum serve_then opened(const struct ask *ask, void *arg, enum rc rc,
                              const char *feed)
{
    struct open_call *c = arg;
    struct reply reply;
    const char *cookie;

    if (rc == RC_NOT_FOUND || rc == RC_DENIED) {
        return reply_wrong(ask);
    }
    if (rc != RC_OK) {
        return call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
    }
    cookie = login_cookie(ask, c->secret,
                          (c->out.expires_ms - c->call.now_ms) / 1000);
    secret_forget(c->secret, sizeof(c->secret));
    if (cookie == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    reply_open(&reply);
    json_key(&reply.json, "session");
    put_session(&reply.json, &c->out, ask);
    json_kstr(&reply.json, "account", ask->account);
    call_put_end(&reply.json, &c->call, feed);
    return reply_send_with(&reply, ask->req, 201, cookie);
}

/* What the browser calls itself, as text of one line. */
static const char *agent_of(const struct ask *ask)
{
    const char *agent = req_header(ask->req, "User-Agent");
    size_t len = agent == NULL ? 0 : strlen(agent);
    char *out;

    if (len > MAX_AGENT_BYTES) {
        len = utf8_clip(agent, len, MAX_AGENT_BYTES);
    }
    out = arena_alloc(ask->arena, 3 * len + 1);
    if (out != NULL && len > 0) {
        (void)utf8_repair(agent, len, out);
        utf8_one_line(out);
    }
    return out;
}

/* Whose token it is. RC_NOT_FOUND: nobody's. */
static enum rc find_token(const struct ask *ask, const char *text,
                          struct access_holder *out)
{
    uint8_t hash[HASH_BYTES];

    if (secret_hash(text, hash) != RC_OK) {
        return RC_NOT_FOUND;
    }
    return store_access_find(ask->store, ACTOR_TOKEN, hash, clock_unix_ms(),
                             ask->arena, out);
}

enum serve_then h_session_open(struct ask *ask)
{
    static const char *const KNOWN[] = {"token", NULL};
    static const struct form_text TOKEN = {
        .name = "token", .max_bytes = MAX_SECRET_BYTES, .required = true};
    struct open_call *c = arena_alloc(ask->arena, sizeof(*c));
    struct access_holder who = {0};
    const char *text = NULL;
    enum rc rc;

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    if (!login_is_used_or_reply(ask) || !form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &TOKEN, &text)) {
        return SERVE_FINISH;
    }
    rc = find_token(ask, text, &who);
    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND ? reply_wrong(ask) : reply_rc(ask->req, rc);
    }
    ask->account = who.account;
    ask->actor.kind = ACTOR_TOKEN;
    ask->actor.id = who.id;
    if (!call_open_or_reply(ask, CALL_KEY_OPTIONAL,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return SERVE_FINISH;
    }
    c->in.token_id = who.id;
    c->in.agent = agent_of(ask);
    secret_make(c->secret, c->in.hash);
    return call_hand_over(ask, open_session, c, opened);
}

/* --- ending one ------------------------------------------------------------
 */

struct close_call {
    struct store_call call;
    int64_t id;
    bool own; /* the browser is to drop its cookie */
};

static enum rc close_session(struct store *st, void *arg)
{
    struct close_call *c = arg;

    return store_session_close(st, &c->call, c->id);
}

static enum serve_then closed(const struct ask *ask, void *arg, enum rc rc,
                              const char *feed)
{
    const struct close_call *c = arg;
    const char *cookie = c->own ? login_cookie(ask, "", 0) : "";
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
    }
    if (cookie == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    reply_open(&reply);
    call_put_end(&reply.json, &c->call, feed);
    return reply_send_with(&reply, ask->req, 200, cookie);
}

static enum serve_then close_or_reply(struct ask *ask, int64_t id)
{
    struct close_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    if (!call_open_or_reply(ask, CALL_ENDS,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return SERVE_FINISH;
    }
    c->id = id;
    c->own = ask->actor.kind == ACTOR_SESSION && ask->actor.id == id;
    return call_hand_over(ask, close_session, c, closed);
}

enum serve_then h_session_leave(struct ask *ask)
{
    if (!login_is_used_or_reply(ask)) {
        return SERVE_FINISH;
    }
    if (ask->actor.kind != ACTOR_SESSION) {
        return reply_problem(ask->req, REPLY_NOT_FOUND,
                             "A token opens no session by itself.");
    }
    return close_or_reply(ask, ask->actor.id);
}

enum serve_then h_session_close(struct ask *ask)
{
    return login_is_used_or_reply(ask) ? close_or_reply(ask, ask->id)
                                       : SERVE_FINISH;
}

/* --- listing ---------------------------------------------------------------
 */

enum serve_then h_session_list(struct ask *ask)
{
    struct session *list = NULL;
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
    rc = store_session_list(ask->store, read.account_id, clock_unix_ms(),
                            ask->arena, &list, &n);
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    read_put_view(&reply.json, &read);
    json_key(&reply.json, "sessions");
    json_open_array(&reply.json);
    for (size_t i = 0; i < n; i++) {
        put_session(&reply.json, &list[i], ask);
    }
    json_close_array(&reply.json);
    return reply_send(&reply, ask->req, 200);
}
