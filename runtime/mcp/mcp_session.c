/* mcp_session.c - one server: its session, its list of tools, its stream of
 * news.
 *
 *   MCP_IDLE -> initialize -> MCP_GREETING -> notifications/initialized, the
 *   stream, tools/list -> MCP_READYING -> MCP_READY
 *
 * and from anywhere back to MCP_IDLE. While it is MCP_READY the list may be
 * asked for anew; the old one holds until the new one is whole. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mcp/mcp_inside.h"
#include "sql/base/clock.h"
#include "sql/base/json.h"
#include "sql/base/log.h"
#include "sql/base/random.h"

#define GREETING_MS    30000 /* for one exchange of greeting or listing */
#define POST_MS        10000
#define RETRY_LEAST_MS 1000
#define RETRY_MOST_MS  60000
/* From one list to the next: longer each time, for a minute if nothing in it
 * has changed, and from the least again after a quiet minute. */
#define RELIST_LEAST_MS   1000
#define RELIST_CHANGED_MS 4000
#define RELIST_MOST_MS    60000
#define PAGES_MAX         50
#define TOOLS_MAX         128
/* A stream that lives shorter than this is not worth much. */
#define STREAM_LIFE_MS 60000
#define STREAM_TRIES   5
#define POST_BYTES     (2u << 20)

static void list(struct mcp_server *s);
static void announce(struct mcp_server *s);

struct mcp_endpoint mcp_session_endpoint(const struct mcp_server *s)
{
    return (struct mcp_endpoint){.url = s->conf->url,
                                 .token = s->conf->token,
                                 .header = s->conf->header,
                                 .session = s->session,
                                 .version = s->version};
}

static int64_t pause_ms(int failures)
{
    int64_t ms = RETRY_LEAST_MS;

    for (int i = 1; i < failures && ms < RETRY_MOST_MS; i++) {
        ms *= 2;
    }
    ms = ms < RETRY_MOST_MS ? ms : RETRY_MOST_MS;
    return ms + random_below((uint32_t)(ms / 4));
}

/* Forget the session, but not the tools nor the calls under way. */
static void drop_session(struct mcp_server *s)
{
    mcp_exchange_cancel(s->x);
    s->x = NULL;
    mcp_exchange_cancel(s->stream);
    s->stream = NULL;
    s->stream_retry_ms = 0;
    s->relist_ms = 0;
    s->is_listing = false;
    mcp_tools_free(&s->fresh);
    free(s->cursor);
    free(s->last_cursor);
    s->cursor = NULL;
    s->last_cursor = NULL;
    s->session[0] = '\0';
    s->version[0] = '\0';
    s->phase = MCP_IDLE;
}

/* The server cannot be reached or used. */
static void fail(struct mcp_server *s, const char *why, int64_t retry_after_ms)
{
    bool news = s->failures == 0 || strcmp(s->error, why) != 0;
    int64_t ms = pause_ms(++s->failures);

    drop_session(s);
    if (retry_after_ms > ms) {
        ms = retry_after_ms < RETRY_MOST_MS ? retry_after_ms : RETRY_MOST_MS;
    }
    s->retry_ms = clock_boot_ms() + ms;
    s->state = ENDPOINT_UNREACHABLE;
    s->brief[0] = '\0';
    mcp_message_line(why, s->error);
    if (news) {
        log_warn(s->about, "not reached: %s", s->error);
    }
}

void mcp_session_fail_end(struct mcp_server *s,
                          const struct mcp_exchange_end *e)
{
    fail(s, e->detail[0] != '\0' ? e->detail : "it ended without an answer",
         e->retry_after_ms);
    if (e->status == 401 || e->status == 403) {
        s->state = ENDPOINT_UNAUTHORIZED;
    }
    if (e->status >= 300) {
        (void)snprintf(s->brief, sizeof(s->brief), "http_%ld", e->status);
    } else if (e->end == HTTP_END_DONE) {
        (void)snprintf(s->brief, sizeof(s->brief), "no_usable_answer");
    } else {
        (void)snprintf(s->brief, sizeof(s->brief), "%s",
                       e->sent ? "no_answer" : "no_connection");
    }
}

void mcp_session_call_ended(struct mcp_server *s, bool answered, long status)
{
    if (status == 401) {
        s->state = ENDPOINT_UNAUTHORIZED;
        (void)snprintf(s->brief, sizeof(s->brief), "http_401");
    } else if (answered && s->phase == MCP_READY) {
        s->state = ENDPOINT_OK;
        s->brief[0] = '\0';
    }
}

void mcp_session_lost(struct mcp_server *s)
{
    log_info(s->about, "the server has forgotten the session");
    drop_session(s);
    s->retry_ms = clock_boot_ms();
}

/* --- messages that no one waits for ------------------------------------ */

static void forget_post(struct mcp_post *p)
{
    TAILQ_REMOVE(&p->server->posts, p, all);
    p->server->n_posts--;
    free(p);
}

static void post_end(void *ctx, const struct mcp_exchange_end *e)
{
    (void)e;
    forget_post(ctx);
}

static void send_off(struct mcp_server *s, struct mcp_exchange_options *o)
{
    const struct mcp_endpoint to = mcp_session_endpoint(s);
    struct mcp_post *p =
        s->n_posts < MCP_POSTS_MAX ? calloc(1, sizeof(*p)) : NULL;

    if (p == NULL) {
        return;
    }
    o->timeout_ms = POST_MS;
    o->end = post_end;
    o->ctx = p;
    p->server = s;
    if (mcp_exchange_start(s->mcp->http, &to, o, &p->x) != RC_OK) {
        free(p);
        return;
    }
    TAILQ_INSERT_TAIL(&s->posts, p, all);
    s->n_posts++;
}

void mcp_session_post(struct mcp_server *s, const struct buf *body)
{
    struct mcp_exchange_options o = {.kind = MCP_POST, .body = body};

    send_off(s, &o);
}

static void answer(struct mcp_server *s, const struct mcp_message *m)
{
    struct buf body;
    enum rc rc;

    buf_init(&body, POST_BYTES);
    rc = strcmp(m->method, "ping") == 0
             ? mcp_message_empty_result(m->their_id, &body)
             : mcp_message_refusal(m->their_id, &body);
    if (rc == RC_OK) {
        mcp_session_post(s, &body);
    }
    buf_free(&body);
}

/* Not more often than a server that says so all the time deserves. */
static void want_list(struct mcp_server *s)
{
    int64_t now = clock_boot_ms();
    int64_t least;

    if (now - s->listed_ms >= RELIST_MOST_MS) {
        s->relist_pause_ms = 0;
    }
    if (s->relist_pause_ms < RELIST_LEAST_MS) {
        s->relist_pause_ms = RELIST_LEAST_MS;
    }
    least = s->listed_ms + s->relist_pause_ms;
    s->relist_ms = now > least ? now : least;
}

/* The list has come that was asked for anew. */
static void note_relisted(struct mcp_server *s, bool changed)
{
    int64_t most = changed ? RELIST_CHANGED_MS : RELIST_MOST_MS;

    s->relist_pause_ms *= 2;
    if (s->relist_pause_ms > most) {
        s->relist_pause_ms = most;
    }
    if (s->relist_ms != 0) {
        want_list(s); /* it has said so again meanwhile */
    }
}

void mcp_session_take(struct mcp_server *s, const struct mcp_message *m)
{
    if (m->kind == MCP_REQUEST) {
        answer(s, m);
    } else if (m->kind == MCP_NOTIFICATION &&
               strcmp(m->method, "notifications/tools/list_changed") == 0) {
        want_list(s);
    }
}

/* --- one request of greeting or listing -------------------------------- */

/* A body that could not be built is a lack of memory. */
static void ask(struct mcp_server *s, enum rc built, const struct buf *body,
                mcp_message_fn *message, mcp_exchange_end_fn *end)
{
    const struct mcp_endpoint to = mcp_session_endpoint(s);
    const struct mcp_exchange_options o = {.kind = MCP_POST,
                                           .body = body,
                                           .timeout_ms = GREETING_MS,
                                           .message = message,
                                           .end = end,
                                           .ctx = s};

    assert(s->x == NULL);
    if (built == RC_OK) {
        built = mcp_exchange_start(s->mcp->http, &to, &o, &s->x);
    }
    if (built != RC_OK) {
        s->x = NULL;
        fail(s,
             built == RC_INVALID ? "its url, token or header cannot be sent"
                                 : "no memory",
             RETRY_MOST_MS);
    }
}

/* --- greeting ---------------------------------------------------------- */

static bool greeting_message(void *ctx, const struct mcp_message *m)
{
    struct mcp_server *s = ctx;

    if (m->kind == MCP_RESULT && m->id == s->x_id) {
        s->greeted = mcp_message_hello(m->body, &s->hello);
        if (!s->greeted) {
            mcp_message_line("its greeting names no revision", s->error);
        }
        return false;
    }
    if (m->kind == MCP_ERROR && (m->id == s->x_id || m->id == 0)) {
        s->version_offered = mcp_message_offered(m->body);
        mcp_message_error(m->body, s->error);
        return false;
    }
    mcp_session_take(s, m);
    return true;
}

static void greeting_end(void *ctx, const struct mcp_exchange_end *e);

static void greet(struct mcp_server *s, const char *version)
{
    struct buf body;
    enum rc rc;

    s->phase = MCP_GREETING;
    s->greeted = false;
    s->version_offered = NULL;
    s->x_id = ++s->last_id;
    buf_init(&body, POST_BYTES);
    rc = mcp_message_initialize(s->x_id, version, &body);
    ask(s, rc, &body, greeting_message, greeting_end);
    buf_free(&body);
}

void mcp_session_begin(struct mcp_server *s)
{
    s->epoch++;
    s->is_older = false;
    greet(s, mcp_message_version);
}

static void greeting_end(void *ctx, const struct mcp_exchange_end *e)
{
    struct mcp_server *s = ctx;
    const char *offered = s->version_offered;
    char why[MCP_LINE_BYTES];

    s->x = NULL;
    if (s->greeted && mcp_message_speaks(s->hello.version)) {
        (void)snprintf(s->session, sizeof(s->session), "%s", e->session);
        (void)snprintf(s->version, sizeof(s->version), "%s", s->hello.version);
        announce(s);
    } else if (s->greeted) {
        (void)snprintf(why, sizeof(why), "it speaks revision %s alone",
                       s->hello.version);
        fail(s, why, RETRY_MOST_MS);
    } else if (offered != NULL && strcmp(offered, mcp_message_version) != 0 &&
               !s->is_older) {
        /* Once: a server that refuses what it has offered is given up. */
        s->is_older = true;
        greet(s, offered);
    } else if (e->enough) {
        (void)snprintf(why, sizeof(why), "%s", s->error);
        fail(s, why, e->retry_after_ms);
    } else {
        mcp_session_fail_end(s, e);
    }
}

/* --- greeted ----------------------------------------------------------- */

static void open_stream(struct mcp_server *s);

static void become_ready(struct mcp_server *s)
{
    bool news = s->phase != MCP_READY;

    s->phase = MCP_READY;
    s->failures = 0;
    if (news) {
        s->state = ENDPOINT_OK;
        s->brief[0] = '\0';
        log_info(s->about, "ready: %zu tools, revision %s",
                 s->set == NULL ? 0 : s->set->tools.n, s->version);
        mcp_call_flush(s);
    }
}

static bool plain_message(void *ctx, const struct mcp_message *m)
{
    mcp_session_take(ctx, m);
    return true;
}

static void announce_end(void *ctx, const struct mcp_exchange_end *e)
{
    struct mcp_server *s = ctx;

    s->x = NULL;
    if (e->end != HTTP_END_DONE || e->status >= 300) {
        mcp_session_fail_end(s, e);
        return;
    }
    open_stream(s);
    list(s);
}

static void announce(struct mcp_server *s)
{
    struct buf body;
    enum rc rc;

    s->phase = MCP_READYING;
    s->stream_failures = 0;
    buf_init(&body, POST_BYTES);
    rc = mcp_message_notify("notifications/initialized", &body);
    ask(s, rc, &body, plain_message, announce_end);
    buf_free(&body);
}

/* --- the list of tools ------------------------------------------------- */

static bool list_message(void *ctx, const struct mcp_message *m)
{
    struct mcp_server *s = ctx;

    if (m->kind == MCP_RESULT && m->id == s->x_id) {
        s->page_came = mcp_tool_read(m->body, s->conf->name, TOOLS_MAX,
                                     &s->fresh, &s->cursor) == RC_OK;
        if (!s->page_came) {
            mcp_message_line("its list of tools is not usable", s->error);
        }
        return false;
    }
    if (m->kind == MCP_ERROR && m->id == s->x_id) {
        mcp_message_error(m->body, s->error);
        return false;
    }
    mcp_session_take(s, m);
    return true;
}

static void list_end(void *ctx, const struct mcp_exchange_end *e);

static void ask_page(struct mcp_server *s)
{
    struct buf body;
    enum rc rc;

    s->page_came = false;
    s->x_id = ++s->last_id;
    buf_init(&body, POST_BYTES);
    rc = mcp_message_list(s->x_id, s->last_cursor, &body);
    ask(s, rc, &body, list_message, list_end);
    buf_free(&body);
}

/* What has come is the list: the last page, or as much as is wanted. */
static void end_list(struct mcp_server *s)
{
    bool changed = false;

    s->is_listing = false;
    free(s->cursor);
    free(s->last_cursor);
    s->cursor = NULL;
    s->last_cursor = NULL;
    if (mcp_take_tools(s, &changed) != RC_OK) {
        fail(s, "no memory", RETRY_MOST_MS);
        return;
    }
    if (s->phase == MCP_READY) {
        note_relisted(s, changed);
    }
    become_ready(s);
}

static void take_page(struct mcp_server *s)
{
    bool repeats = s->cursor != NULL && s->last_cursor != NULL &&
                   strcmp(s->cursor, s->last_cursor) == 0;

    if (s->cursor == NULL) {
        end_list(s);
        return;
    }
    if (++s->pages == PAGES_MAX || s->fresh.n == TOOLS_MAX || repeats) {
        log_warn(s->about, "its list of tools does not end: %zu are taken",
                 s->fresh.n);
        end_list(s);
        return;
    }
    free(s->last_cursor);
    s->last_cursor = s->cursor;
    s->cursor = NULL;
    ask_page(s);
}

static void list_end(void *ctx, const struct mcp_exchange_end *e)
{
    struct mcp_server *s = ctx;
    char why[MCP_LINE_BYTES];

    s->x = NULL;
    if (s->page_came) {
        take_page(s);
    } else if (e->enough) {
        (void)snprintf(why, sizeof(why), "%s", s->error);
        fail(s, why, e->retry_after_ms);
    } else if (e->status == 404 && s->phase == MCP_READY) {
        mcp_session_lost(s);
    } else {
        mcp_session_fail_end(s, e);
    }
}

static void list(struct mcp_server *s)
{
    s->is_listing = true;
    s->relist_ms = 0;
    s->listed_ms = clock_boot_ms();
    s->pages = 0;
    mcp_tools_free(&s->fresh);
    if (s->hello.has_tools) {
        ask_page(s);
    } else {
        end_list(s);
    }
}

/* --- the stream of news ------------------------------------------------ */

static void stream_end(void *ctx, const struct mcp_exchange_end *e)
{
    struct mcp_server *s = ctx;
    int64_t now = clock_boot_ms();

    s->stream = NULL;
    if (e->status >= 300) {
        return; /* it offers none: news come with replies alone */
    }
    if (!e->sent && s->phase == MCP_READY) {
        mcp_session_fail_end(s, e);
        return;
    }
    if (now - s->stream_ms >= STREAM_LIFE_MS) {
        s->stream_failures = 0;
    }
    if (++s->stream_failures < STREAM_TRIES) {
        s->stream_retry_ms = now + pause_ms(s->stream_failures);
    }
}

static void open_stream(struct mcp_server *s)
{
    const struct mcp_endpoint to = mcp_session_endpoint(s);
    const struct mcp_exchange_options o = {.kind = MCP_STREAM,
                                           .message = plain_message,
                                           .end = stream_end,
                                           .ctx = s};

    s->stream_retry_ms = 0;
    s->stream_ms = clock_boot_ms();
    if (mcp_exchange_start(s->mcp->http, &to, &o, &s->stream) != RC_OK) {
        s->stream = NULL; /* it does without */
    }
}

/* --- time -------------------------------------------------------------- */

static bool may_list(const struct mcp_server *s)
{
    return s->phase == MCP_READY && !s->is_listing;
}

int64_t mcp_session_deadline_ms(const struct mcp_server *s)
{
    int64_t at = 0;

    if (s->phase == MCP_IDLE) {
        return s->retry_ms;
    }
    if (s->phase == MCP_READY) {
        mcp_earlier(&at, s->stream_retry_ms);
    }
    if (may_list(s)) {
        mcp_earlier(&at, s->relist_ms);
    }
    return at;
}

void mcp_session_tick(struct mcp_server *s, int64_t now)
{
    if (s->phase == MCP_IDLE && s->retry_ms <= now) {
        mcp_session_begin(s);
    }
    if (s->phase == MCP_READY && s->stream_retry_ms != 0 &&
        s->stream_retry_ms <= now) {
        open_stream(s);
        want_list(s); /* it may have changed while nobody listened */
    }
    if (may_list(s) && s->relist_ms != 0 && s->relist_ms <= now) {
        list(s);
    }
}

void mcp_session_close(struct mcp_server *s)
{
    struct mcp_exchange_options o = {.kind = MCP_DELETE};

    if (s->session[0] != '\0') {
        send_off(s, &o);
    }
    drop_session(s);
}

void mcp_session_free(struct mcp_server *s)
{
    drop_session(s);
    while (!TAILQ_EMPTY(&s->posts)) {
        struct mcp_post *p = TAILQ_FIRST(&s->posts);

        /* The analyser does not follow the queue's pointers backwards. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        mcp_exchange_cancel(p->x);
        forget_post(p);
    }
}
