#include "runtime/mcp/mcp_exchange.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/mask.h"

#define CONNECT_MS   10000
#define STREAM_MS    86400000 /* a stream that waits for news is held so long */
#define STREAM_BYTES (64u << 20)

static const char *const WANT[] = {"Content-Type", "Mcp-Session-Id", NULL};
enum { WANT_TYPE = 0, WANT_SESSION };

struct mcp_exchange {
    struct http_call *call;
    mcp_message_fn *message;
    mcp_exchange_end_fn *end;
    void *ctx;
    struct sse sse;
    struct buf json;
    bool is_events;
    bool begun;    /* the reply's kind is known */
    bool enough;   /* the message callback wants no more */
    bool in_data;  /* on the stack */
    bool is_stray; /* the reply is neither JSON nor an event stream */
    char session[MCP_SESSION_BYTES];
    char detail[MCP_LINE_BYTES];
};

static void exchange_free(struct mcp_exchange *x)
{
    sse_free(&x->sse);
    buf_free(&x->json);
    free(x);
}

void mcp_exchange_cancel(struct mcp_exchange *x)
{
    if (x != NULL) {
        assert(!x->in_data);
        http_cancel(x->call);
        exchange_free(x);
    }
}

/* --- what comes -------------------------------------------------------- */

/* The first thing that was wrong is told. */
static void complain(struct mcp_exchange *x, const char *what)
{
    if (x->detail[0] == '\0') {
        (void)snprintf(x->detail, sizeof(x->detail), "%s", what);
    }
}

static bool take_message(void *ctx, const struct mcp_message *m)
{
    struct mcp_exchange *x = ctx;

    if (x->message != NULL && !x->message(x->ctx, m)) {
        x->enough = true;
    } else if (m->kind == MCP_ERROR && m->id == 0) {
        /* A refusal of the whole exchange. */
        char line[MCP_LINE_BYTES];

        mcp_message_error(m->body, line);
        complain(x, line);
    }
    return !x->enough;
}

static void read_text(struct mcp_exchange *x, const char *text, size_t len)
{
    const char *flaw = "";
    char line[MCP_LINE_BYTES];
    enum rc rc = mcp_message_read(text, len, take_message, x, &flaw);

    if (rc != RC_OK && !x->enough) {
        (void)snprintf(line, sizeof(line), "the reply %s",
                       rc == RC_NOMEM ? "is too large" : flaw);
        complain(x, line);
    }
}

/* What a server says goes to the model, and into sources. It is not to tell there
 * the token that it was given. */
static void read_masked(struct mcp_exchange *x, const char *text, size_t len)
{
    struct buf copy;

    if (!mask_has(text, len)) {
        read_text(x, text, len);
        return;
    }
    buf_init(&copy, len);
    buf_add(&copy, text, len);
    if (buf_rc(&copy) == RC_OK) {
        mask_text(copy.data, copy.len);
        read_text(x, buf_str(&copy), copy.len);
    } else {
        complain(x, "the reply is too large");
    }
    buf_free(&copy);
}

static bool take_event(void *ctx, const struct sse_event *e)
{
    struct mcp_exchange *x = ctx;

    if (!e->torn && (e->name[0] == '\0' || strcmp(e->name, "message") == 0)) {
        read_masked(x, e->data, e->len);
    }
    return !x->enough;
}

static bool is_type(const char *value, const char *type)
{
    size_t len = strlen(type);

    return strncasecmp(value, type, len) == 0 &&
           strchr("; \t", value[len]) != NULL;
}

/* Visible ASCII, which can be sent back. */
static bool is_visible(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p <= ' ' || *p > '~') {
            return false;
        }
    }
    return true;
}

static void keep_session(struct mcp_exchange *x, const char *session)
{
    if (is_visible(session) && strlen(session) < sizeof(x->session)) {
        (void)snprintf(x->session, sizeof(x->session), "%s", session);
    }
}

static void begin_reply(struct mcp_exchange *x)
{
    const char *type = http_header(x->call, WANT_TYPE);

    x->begun = true;
    x->is_events = is_type(type, "text/event-stream");
    x->is_stray = !x->is_events && !is_type(type, "application/json");
    keep_session(x, http_header(x->call, WANT_SESSION));
}

static void tell_end(struct mcp_exchange *x, const struct http_result *r)
{
    struct mcp_exchange_end e = {.end = r->end,
                                 .status = r->status,
                                 .sent = r->sent,
                                 .enough = x->enough,
                                 .retry_after_ms = r->retry_after_ms};
    mcp_exchange_end_fn *end = x->end;
    void *ctx = x->ctx;

    (void)snprintf(e.session, sizeof(e.session), "%s", x->session);
    (void)snprintf(e.detail, sizeof(e.detail), "%s", x->detail);
    if (is_visible(x->sse.last_id)) {
        (void)snprintf(e.event_id, sizeof(e.event_id), "%s", x->sse.last_id);
    }
    exchange_free(x);
    end(ctx, &e);
}

static void take_data(void *ctx, long status, const char *bytes, size_t len)
{
    struct mcp_exchange *x = ctx;
    enum rc rc = RC_OK;

    if (!x->begun) {
        begin_reply(x);
    }
    if (x->is_events) {
        x->in_data = true;
        rc = sse_feed(&x->sse, bytes, len);
        x->in_data = false;
    } else if (!x->is_stray) {
        buf_add(&x->json, bytes, len);
        rc = buf_rc(&x->json);
    }
    if (rc != RC_OK) {
        complain(x, "the reply is too large");
    }
    if (x->enough || rc != RC_OK) {
        const struct http_result r = {.end = rc == RC_OK ? HTTP_END_DONE
                                                         : HTTP_END_TOO_LARGE,
                                      .status = status,
                                      .retry_after_ms = -1,
                                      .sent = true};

        http_cancel(x->call);
        tell_end(x, &r);
    }
}

static void judge(struct mcp_exchange *x, const struct http_result *r)
{
    char line[MCP_LINE_BYTES];

    if (r->end != HTTP_END_DONE) {
        /* It is told to the model, which is not to learn where servers are. */
        complain(x, r->brief);
    } else if (r->status >= 300) {
        (void)snprintf(line, sizeof(line), "status %ld", r->status);
        complain(x, line);
    } else if (x->is_stray) {
        complain(x, "the reply is neither JSON nor an event stream");
    }
}

static void take_done(void *ctx, const struct http_result *r)
{
    struct mcp_exchange *x = ctx;

    x->call = NULL;
    keep_session(x, r->header[WANT_SESSION]);
    x->in_data = true;
    if (x->is_events) {
        if (sse_end(&x->sse) != RC_OK) {
            complain(x, "the reply is too large");
        }
    } else if (x->json.len > 0 && r->end == HTTP_END_DONE) {
        read_masked(x, buf_str(&x->json), x->json.len);
    }
    x->in_data = false;
    if (!x->enough) {
        judge(x, r);
    }
    tell_end(x, r);
}

/* --- starting ---------------------------------------------------------- */

static void set_times(const struct mcp_exchange_options *o,
                      struct http_options *h)
{
    bool stream = o->kind == MCP_STREAM;
    int64_t all_ms = stream ? STREAM_MS : o->timeout_ms;

    h->connect_timeout_ms = all_ms < CONNECT_MS ? all_ms : CONNECT_MS;
    h->first_byte_timeout_ms = all_ms;
    h->silence_timeout_ms = all_ms;
    h->total_timeout_ms = all_ms;
    h->max_reply_bytes = stream ? STREAM_BYTES : 2 * MCP_REPLY_BYTES;
}

static enum rc send_out(struct mcp_exchange *x, struct http *http,
                        const struct mcp_endpoint *to,
                        const struct mcp_exchange_options *o)
{
    static const char *const method[] = {"POST", "GET", "GET", "DELETE"};
    char session[MCP_SESSION_BYTES + 32];
    char version[MCP_VERSION_BYTES + 32];
    char event[SSE_ID_BYTES + 32];
    const char *headers[5] = {NULL};
    size_t n = 0;
    struct http_options h = {.method = method[o->kind],
                             .url = to->url,
                             .bearer = to->token,
                             .headers = headers,
                             .want = WANT};

    h.accept = o->kind == MCP_STREAM || o->kind == MCP_RESUME
                   ? "text/event-stream"
                   : "application/json, text/event-stream";
    if (to->session[0] != '\0') {
        (void)snprintf(session, sizeof(session), "Mcp-Session-Id: %s",
                       to->session);
        headers[n++] = session;
    }
    if (to->version[0] != '\0') {
        (void)snprintf(version, sizeof(version), "MCP-Protocol-Version: %s",
                       to->version);
        headers[n++] = version;
    }
    if (o->kind == MCP_RESUME) {
        (void)snprintf(event, sizeof(event), "Last-Event-ID: %s", o->event_id);
        headers[n++] = event;
    }
    if (to->header[0] != '\0') {
        headers[n++] = to->header;
    }
    if (o->body != NULL) {
        h.body = buf_str(o->body);
        h.body_len = o->body->len;
    }
    set_times(o, &h);
    return http_start(http, &h, take_data, take_done, x, &x->call);
}

enum rc mcp_exchange_start(struct http *http, const struct mcp_endpoint *to,
                           const struct mcp_exchange_options *o,
                           struct mcp_exchange **out)
{
    struct mcp_exchange *x = calloc(1, sizeof(*x));
    enum rc rc;

    if (x == NULL) {
        return RC_NOMEM;
    }
    x->message = o->message;
    x->end = o->end;
    x->ctx = o->ctx;
    sse_init(&x->sse, MCP_REPLY_BYTES, take_event, x);
    buf_init(&x->json, MCP_REPLY_BYTES);
    rc = send_out(x, http, to, o);
    if (rc != RC_OK) {
        exchange_free(x);
        return rc;
    }
    *out = x;
    return RC_OK;
}
