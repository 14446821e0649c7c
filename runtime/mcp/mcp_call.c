/* mcp_call.c - one call of a tool.
 *
 * It waits for the session, or is under way. What the server certainly has not
 * carried out (no connection, a session it has forgotten) waits for the next
 * session; what it may have carried out is sent once more only if it is safe.
 * Of a call that is not safe, the rest of a stream that broke is asked for, if
 * the server keeps its events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mcp/mcp_inside.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"

#define WAIT_MS     15000 /* for a server that is not reached, at most */
#define RETRY_MS    1000  /* a server that is wanted is not left for longer */
#define RESUMES_MAX 5
/* After a break nothing is sent for so long, and longer by as much each time:
 * connections that broke with it are noticed by then. */
#define BREAK_MS   300
#define SPARE_MS   2000 /* whoever asked for the call judges its time first */
#define BODY_BYTES (4u << 20)

struct mcp_call {
    TAILQ_ENTRY(mcp_call) all;
    struct mcp_server *server;
    struct mcp_call_options o;
    char *name;
    char *arguments;
    char *digest; /* NULL: any */
    char *remote; /* once it is known */
    char *title;
    int64_t wait_ms; /* for the session, each time */
    int64_t wait_until_ms;
    int64_t until_ms;
    int64_t id;             /* of its request */
    struct mcp_exchange *x; /* NULL: it waits */
    int64_t epoch;          /* of the session it was sent in */
    bool again;             /* was sent a second time, after a break */
    bool anew;              /* the same, in a new session */
    bool refused;           /* the server answered with an error */
    char
        event_id[SSE_ID_BYTES]; /* the last that came, of a stream that broke */
    int64_t go_on_ms;           /* after a break: not before; 0: none */
    int resumes;
    cJSON *result;
    char detail[MCP_LINE_BYTES];
};

static void call_free(struct mcp_call *c)
{
    TAILQ_REMOVE(&c->server->calls, c, all);
    mcp_exchange_cancel(c->x);
    cJSON_Delete(c->result);
    free(c->name);
    free(c->arguments);
    free(c->digest);
    free(c->remote);
    free(c->title);
    free(c);
}

static void finish(struct mcp_call *c, const char *why, bool unknown)
{
    const struct mcp_outcome o = {
        .server = c->server->conf->name,
        .title = c->title != NULL ? c->title : c->name,
        .remote = c->remote != NULL ? c->remote : c->name,
        .result = c->result,
        .detail = why,
        .unknown = unknown};

    c->o.done(c->o.ctx, &o);
    call_free(c);
}

/* --- under way --------------------------------------------------------- */

static bool call_message(void *ctx, const struct mcp_message *m)
{
    struct mcp_call *c = ctx;
    char line[MCP_LINE_BYTES];

    if (m->kind == MCP_RESULT && m->id == c->id) {
        c->result = cJSON_Duplicate(m->body, true);
        if (c->result == NULL) {
            mcp_message_line("no memory", c->detail);
            c->refused = true;
        }
        return false;
    }
    if (m->kind == MCP_ERROR && m->id == c->id) {
        mcp_message_error(m->body, c->detail);
        c->refused = true;
        return false;
    }
    if (m->kind == MCP_NOTIFICATION &&
        strcmp(m->method, "notifications/progress") == 0) {
        if (mcp_message_progress(m->body, line) == c->id && line[0] != '\0') {
            c->o.progress(c->o.ctx, line);
        }
        return true;
    }
    mcp_session_take(c->server, m);
    return true;
}

/* Refused before the tool was touched. */
static bool is_refusal(long status)
{
    return (status >= 300 && status < 500) || status == 503;
}

/* The server does not know the session: 404, or 400 of those that forget it. */
static bool is_session_lost(const struct mcp_call *c, long status)
{
    return (status == 404 || status == 400) && !c->anew &&
           (c->epoch != c->server->epoch || c->server->session[0] != '\0');
}

static void wait_anew(struct mcp_call *c)
{
    c->wait_until_ms = clock_boot_ms() + c->wait_ms;
    mcp_call_flush(c->server);
}

static bool may_resume(struct mcp_call *c, const struct mcp_exchange_end *e)
{
    if (e->event_id[0] != '\0') {
        (void)snprintf(c->event_id, sizeof(c->event_id), "%s", e->event_id);
    }
    return !c->o.safe && c->event_id[0] != '\0' && e->status < 300 &&
           e->end != HTTP_END_TOO_LARGE && c->epoch == c->server->epoch &&
           c->server->session[0] != '\0' && c->resumes < RESUMES_MAX;
}

static void take_break(struct mcp_call *c, const struct mcp_exchange_end *e)
{
    const char *why =
        e->detail[0] != '\0' ? e->detail : "it ended without an answer";
    bool late = e->end == HTTP_END_TOTAL_TIMEOUT ||
                e->end == HTTP_END_FIRST_BYTE_TIMEOUT ||
                e->end == HTTP_END_SILENCE_TIMEOUT;

    if (!late && may_resume(c, e)) {
        c->resumes++;
        c->go_on_ms = clock_boot_ms() + c->resumes * BREAK_MS;
        return;
    }
    if (c->o.safe && !c->again && !late && e->end != HTTP_END_TOO_LARGE) {
        c->again = true;
        c->go_on_ms = clock_boot_ms() + BREAK_MS;
        return;
    }
    mcp_message_line(why, c->detail);
    finish(c, c->detail, !c->o.safe);
}

static void call_end(void *ctx, const struct mcp_exchange_end *e)
{
    struct mcp_call *c = ctx;
    struct mcp_server *s = c->server;
    bool first = c->resumes == 0;

    c->x = NULL;
    mcp_session_call_ended(s, c->result != NULL || c->refused, e->status);
    if (c->result != NULL) {
        finish(c, "", false);
    } else if (c->refused) {
        finish(c, c->detail, false);
    } else if (first && is_session_lost(c, e->status)) {
        c->anew = true;
        if (c->epoch == s->epoch) {
            mcp_session_lost(s);
        }
        wait_anew(c);
    } else if (first && is_refusal(e->status)) {
        mcp_message_line(e->detail, c->detail);
        finish(c, c->detail, false);
    } else if (first && !e->sent) {
        /* It waits for the next session, as long as it has waited before. */
        if (c->epoch == s->epoch && s->phase == MCP_READY) {
            mcp_session_fail_end(s, e);
        }
    } else {
        take_break(c, e);
    }
}

/* --- sending ----------------------------------------------------------- */

static enum rc start_exchange(struct mcp_call *c)
{
    struct mcp_server *s = c->server;
    const struct mcp_endpoint to = mcp_session_endpoint(s);
    int64_t left_ms = c->until_ms - clock_boot_ms();
    struct mcp_exchange_options o = {.kind = MCP_POST,
                                     .timeout_ms = left_ms > 1 ? left_ms : 1,
                                     .message = call_message,
                                     .end = call_end,
                                     .ctx = c};
    struct buf body;
    enum rc rc;

    c->id = ++s->last_id;
    c->epoch = s->epoch;
    buf_init(&body, BODY_BYTES);
    rc = mcp_message_call(c->id, c->remote, c->arguments, &body);
    o.body = &body;
    if (rc == RC_OK) {
        rc = mcp_exchange_start(s->mcp->http, &to, &o, &c->x);
    }
    buf_free(&body);
    return rc;
}

static void send_call(struct mcp_call *c)
{
    const struct mcp_tool *t = mcp_tool_of(c->server, c->name);

    if (t == NULL) {
        finish(c, "the server has no such tool any more", false);
        return;
    }
    if (c->digest != NULL && strcmp(c->digest, t->digest) != 0) {
        finish(c,
               "the server says something else of this tool than when it was "
               "called; look at it as it is now, and call it again if need be",
               false);
        return;
    }
    free(c->remote);
    free(c->title);
    c->remote = strdup(t->remote);
    c->title = strdup(t->title);
    if (c->remote == NULL || c->title == NULL || start_exchange(c) != RC_OK) {
        finish(c, "the call could not be sent", false);
    }
}

void mcp_call_flush(struct mcp_server *s)
{
    struct mcp_call *next;

    if (s->phase != MCP_READY) {
        return;
    }
    for (struct mcp_call *c = TAILQ_FIRST(&s->calls); c != NULL; c = next) {
        next = TAILQ_NEXT(c, all);
        if (c->x == NULL && c->go_on_ms == 0) {
            send_call(c);
        }
    }
}

/* The session may have gone meanwhile, and its events with it. */
static void resume(struct mcp_call *c)
{
    struct mcp_server *s = c->server;
    const struct mcp_endpoint to = mcp_session_endpoint(s);
    int64_t left_ms = c->until_ms - clock_boot_ms();
    const struct mcp_exchange_options o = {.kind = MCP_RESUME,
                                           .event_id = c->event_id,
                                           .timeout_ms =
                                               left_ms > 1 ? left_ms : 1,
                                           .message = call_message,
                                           .end = call_end,
                                           .ctx = c};

    if (c->epoch != s->epoch || s->session[0] == '\0' ||
        mcp_exchange_start(s->mcp->http, &to, &o, &c->x) != RC_OK) {
        finish(c, "the connection broke", true);
    }
}

/* --- start and end ----------------------------------------------------- */

enum rc mcp_call_start(struct mcp *mcp, const struct mcp_call_options *o,
                       struct mcp_call **out)
{
    struct mcp_server *s = mcp_server_of(mcp, o->name);
    int64_t now = clock_boot_ms();
    struct mcp_call *c;

    if (s == NULL) {
        return RC_NOT_FOUND;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return RC_NOMEM;
    }
    TAILQ_INSERT_TAIL(&s->calls, c, all);
    c->server = s;
    c->o = *o;
    c->name = strdup(o->name);
    c->arguments = strdup(o->arguments);
    c->digest = o->digest != NULL ? strdup(o->digest) : NULL;
    c->wait_ms = o->timeout_ms / 2 < WAIT_MS ? o->timeout_ms / 2 : WAIT_MS;
    c->wait_until_ms = now + c->wait_ms;
    c->until_ms = now + o->timeout_ms + SPARE_MS;
    if (c->name == NULL || c->arguments == NULL ||
        (o->digest != NULL && c->digest == NULL)) {
        call_free(c);
        return RC_NOMEM;
    }
    if (s->phase == MCP_IDLE && s->retry_ms > now + RETRY_MS) {
        s->retry_ms = now + RETRY_MS;
    }
    *out = c;
    return RC_OK;
}

void mcp_call_cancel(struct mcp_call *c, const char *reason)
{
    struct buf body;

    if (c == NULL) {
        return;
    }
    if ((c->x != NULL || c->go_on_ms != 0) && c->epoch == c->server->epoch) {
        buf_init(&body, BODY_BYTES);
        if (mcp_message_cancel(c->id, reason, &body) == RC_OK) {
            mcp_session_post(c->server, &body);
        }
        buf_free(&body);
    }
    call_free(c);
}

/* --- time -------------------------------------------------------------- */

int64_t mcp_call_deadline_ms(const struct mcp_server *s)
{
    const struct mcp_call *c = NULL;
    int64_t at = 0;

    TAILQ_FOREACH(c, &s->calls, all)
    {
        if (c->go_on_ms != 0) {
            mcp_earlier(&at, c->go_on_ms);
        } else if (c->x == NULL) {
            mcp_earlier(&at, s->phase == MCP_READY ? clock_boot_ms()
                                                   : c->wait_until_ms);
        }
    }
    return at;
}

static void give_up(struct mcp_call *c)
{
    char why[MCP_LINE_BYTES + 32];

    (void)snprintf(why, sizeof(why), "the server is not reached%s%s",
                   c->server->error[0] != '\0' ? ": " : "", c->server->error);
    finish(c, why, false);
}

static void go_on(struct mcp_call *c, int64_t now)
{
    c->go_on_ms = 0;
    if (c->o.safe) {
        c->wait_until_ms = now + c->wait_ms;
    } else {
        resume(c);
    }
}

void mcp_call_tick(struct mcp_server *s, int64_t now)
{
    struct mcp_call *next;

    for (struct mcp_call *c = TAILQ_FIRST(&s->calls); c != NULL; c = next) {
        next = TAILQ_NEXT(c, all);
        if (c->go_on_ms != 0 && c->go_on_ms <= now) {
            go_on(c, now);
        } else if (c->go_on_ms == 0 && c->x == NULL && s->phase != MCP_READY &&
                   c->wait_until_ms <= now) {
            give_up(c);
        }
    }
    mcp_call_flush(s);
}
