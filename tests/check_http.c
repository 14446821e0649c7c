#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "runtime/http/http.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/utf8.h"
#include "tests/support/peer.h"
#include "tests/support/suites.h"

#define CASE_SECONDS 30
#define STREAMS      50
#define PIECES       20
#define SECRET       "sk-not-for-logs"

static struct http *http;
static struct peer *peer;

static void setup(void)
{
    ck_assert_int_eq(http_new(&http), RC_OK);
}

static void teardown(void)
{
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("no_proxy");
    http_free(http);
    http = NULL;
    peer_stop(peer);
    peer = NULL;
}

/* What the callbacks of one call saw. */
struct seen {
    struct http_call *call;
    struct buf body;
    long status;
    int n_data;
    int n_done;
    struct http_result result;
    char headers[HTTP_WANT_MAX][32];
    char early[32]; /* the first of them, as the body's first bytes came */
    struct seen *other;
};

static void on_data(void *ctx, long status, const char *data, size_t len)
{
    struct seen *s = ctx;

    ck_assert_int_eq(s->n_done, 0);
    s->status = status;
    if (s->n_data++ == 0) {
        (void)snprintf(s->early, sizeof(s->early), "%s",
                       http_header(s->call, 0));
    }
    buf_add(&s->body, data, len);
}

static void on_done(void *ctx, const struct http_result *result)
{
    struct seen *s = ctx;

    s->call = NULL;
    s->n_done++;
    s->result = *result;
    for (size_t i = 0; i < HTTP_WANT_MAX; i++) {
        (void)snprintf(s->headers[i], sizeof(s->headers[i]), "%s",
                       result->header[i]);
    }
}

static void forbidden_done(void *ctx, const struct http_result *result)
{
    (void)ctx;
    ck_abort_msg("done after cancel: %s", http_end_name(result->end));
}

static void seen_init(struct seen *s)
{
    *s = (struct seen){.n_done = 0};
    buf_init(&s->body, 1 << 20);
}

static struct http_options options(const char *url)
{
    return (struct http_options){
        .method = "POST",
        .url = url,
        .bearer = SECRET,
        .body = "{}",
        .body_len = 2,
        .connect_timeout_ms = 5000,
        .first_byte_timeout_ms = 5000,
        .silence_timeout_ms = 5000,
        .total_timeout_ms = 10000,
        .max_reply_bytes = 1 << 20,
    };
}

static void start(const struct http_options *o, struct seen *s)
{
    seen_init(s);
    ck_assert_int_eq(http_start(http, o, on_data, on_done, s, &s->call), RC_OK);
}

/* One turn of the loop, which also ends when a script leaves a note. */
static void turn(void)
{
    struct http_fd fd = {.fd = peer == NULL ? -1 : peer_notes_fd(peer)};

    ck_assert_int_eq(
        http_wait(http, &fd, peer == NULL ? 0 : 1, PEER_PATIENCE_MS), RC_OK);
}

static void run_until_done(struct seen *s)
{
    while (s->n_done == 0) {
        turn();
    }
    ck_assert_int_eq(s->n_done, 1);
    ck_assert_ptr_null(strstr(s->result.detail, SECRET));
}

static void run_until_notes(size_t n)
{
    size_t got = 0;

    while (got < n) {
        turn();
        got += peer_take_notes(peer);
    }
}

/* Wait for notes without giving the calls a turn. */
static void await_notes(size_t n)
{
    struct pollfd fd = {.fd = peer_notes_fd(peer), .events = POLLIN};
    size_t got = 0;

    while (got < n) {
        ck_assert_int_eq(poll(&fd, 1, PEER_PATIENCE_MS), 1);
        got += peer_take_notes(peer);
    }
}

/* --- a whole exchange -------------------------------------------------- */

struct exchange {
    char head[4096];
    char *body;
    size_t body_len;
};

static void play_exchange(struct peer_conn *c, void *ctx)
{
    struct exchange *x = ctx;
    const char *request = peer_read(c);
    const char *body;

    if (request == NULL) {
        return;
    }
    body = peer_body(c, &x->body_len);
    (void)snprintf(x->head, sizeof(x->head), "%.*s", (int)(body - request),
                   request);
    x->body = malloc(x->body_len);
    ck_assert_ptr_nonnull(x->body);
    memcpy(x->body, body, x->body_len);
    (void)peer_send(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                       "X-Request-Id: first\r\nx-generation-id: gen-7 \r\n"
                       "X-Request-Id: last\r\n\r\nhello");
    (void)peer_wait_hangup(c);
}

START_TEST(sends_the_request_as_asked)
{
    const size_t len = (size_t)2 * 1024 * 1024;
    struct exchange x = {.body = NULL};
    struct http_options o;
    struct seen s;
    char url[128];
    char *body = malloc(len);
    bool same = true;

    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < len; i++) {
        body[i] = (char)('a' + i % 23);
    }
    /* A proxy of the environment is not for loopback. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    peer = peer_start(play_exchange, &x);
    (void)snprintf(url, sizeof(url), "%s/v1/chat/completions", peer_url(peer));
    o = options(url);
    o.body = body;
    o.body_len = len;
    start(&o, &s);
    memset(body, 0, len); /* it was copied */
    ck_assert_uint_eq(http_active(http), 1);
    run_until_done(&s);
    ck_assert_uint_eq(http_active(http), 0);

    ck_assert_msg(s.result.end == HTTP_END_DONE, "%s", s.result.detail);
    ck_assert_int_eq(s.result.status, 200);
    ck_assert_int_eq(s.status, 200);
    ck_assert_str_eq(buf_str(&s.body), "hello");
    ck_assert_str_eq(s.result.detail, "");
    ck_assert_str_eq(s.result.reply_id, "gen-7");
    ck_assert_int_eq(s.result.retry_after_ms, -1);
    ck_assert(s.result.sent);

    http_free(http);
    http = NULL;
    peer_stop(peer);
    peer = NULL;
    ck_assert_ptr_eq(strstr(x.head, "POST /v1/chat/completions HTTP/1.1\r\n"),
                     x.head);
    ck_assert_ptr_nonnull(strstr(x.head, "User-Agent: aside/"));
    ck_assert_ptr_nonnull(strstr(x.head, "Content-Type: application/json\r\n"));
    ck_assert_ptr_nonnull(
        strstr(x.head, "Accept: text/event-stream, application/json\r\n"));
    ck_assert_ptr_nonnull(
        strstr(x.head, "Authorization: Bearer " SECRET "\r\n"));
    ck_assert_ptr_null(strcasestr(x.head, "\r\nExpect:"));
    ck_assert_uint_eq(x.body_len, len);
    for (size_t i = 0; i < len; i++) {
        same = same && x.body[i] == (char)('a' + i % 23);
    }
    ck_assert(same);
    free(x.body);
    free(body);
    buf_free(&s.body);
}
END_TEST

START_TEST(get_has_no_body_and_no_bearer_unless_given)
{
    struct exchange x = {.body = NULL};
    struct http_options o;
    struct seen s;

    peer = peer_start(play_exchange, &x);
    o = options(peer_url(peer));
    o.method = "GET";
    o.bearer = "";
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_DONE);
    http_free(http);
    http = NULL;
    peer_stop(peer);
    peer = NULL;
    ck_assert_ptr_eq(strstr(x.head, "GET / HTTP/1.1\r\n"), x.head);
    ck_assert_ptr_null(strcasestr(x.head, "Authorization"));
    ck_assert_uint_eq(x.body_len, 0);
    free(x.body);
    buf_free(&s.body);
}
END_TEST

START_TEST(further_headers_of_request_and_reply)
{
    static const char *const headers[] = {"Mcp-Session-Id: s-1",
                                          "If-None-Match: \"e\"", NULL};
    static const char *const want[] = {"x-request-id", "Content-Length",
                                       "Location", NULL};
    struct exchange x = {.body = NULL};
    struct http_options o;
    struct seen s;

    peer = peer_start(play_exchange, &x);
    o = options(peer_url(peer));
    o.method = "DELETE";
    o.accept = "text/html";
    o.user_agent = "someone";
    o.headers = headers;
    o.want = want;
    o.compressed = true;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_DONE);
    ck_assert_str_eq(s.headers[0], "last"); /* the last of several */
    ck_assert_str_eq(s.headers[1], "5");
    ck_assert_str_eq(s.headers[2], "");
    ck_assert_str_eq(s.early, "last"); /* told while the body comes, too */
    http_free(http);
    http = NULL;
    peer_stop(peer);
    peer = NULL;
    ck_assert_ptr_eq(strstr(x.head, "DELETE / HTTP/1.1\r\n"), x.head);
    ck_assert_ptr_nonnull(strstr(x.head, "\r\nMcp-Session-Id: s-1\r\n"));
    ck_assert_ptr_nonnull(strstr(x.head, "\r\nIf-None-Match: \"e\"\r\n"));
    ck_assert_ptr_nonnull(strstr(x.head, "\r\nAccept: text/html\r\n"));
    ck_assert_ptr_nonnull(strstr(x.head, "\r\nUser-Agent: someone\r\n"));
    ck_assert_ptr_nonnull(strstr(x.head, "\r\nAccept-Encoding: "));
    ck_assert_uint_eq(x.body_len, 0);
    free(x.body);
    buf_free(&s.body);
}
END_TEST

START_TEST(refuses_what_cannot_be_sent)
{
    static const struct {
        const char *method, *url, *bearer;
    } bad[] = {
        {"PUT", "http://127.0.0.1/", ""},
        {"POST", "ftp://127.0.0.1/", ""},
        {"POST", "file:///etc/passwd", ""},
        {"POST", "127.0.0.1", ""},
        {"POST", "", ""},
        {"POST", "http://127.0.0.1/", "key\r\nX-Evil: 1"},
        {"POST", "http://127.0.0.1/", "two words"},
    };
    static const char *const lines[] = {"no colon", "A: b\r\nX-Evil: 1",
                                        "A: \x7f"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct http_options o = options(bad[i].url);
        struct http_call *call = NULL;

        o.method = bad[i].method;
        o.bearer = bad[i].bearer;
        ck_assert_msg(http_start(http, &o, on_data, on_done, NULL, &call) ==
                          RC_INVALID,
                      "row %zu", i);
        ck_assert_ptr_null(call);
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *const headers[] = {"A: b", lines[i], NULL};
        struct http_options o = options("http://127.0.0.1/");
        struct http_call *call = NULL;

        o.headers = headers;
        ck_assert_int_eq(http_start(http, &o, on_data, on_done, NULL, &call),
                         RC_INVALID);
    }
    ck_assert_uint_eq(http_active(http), 0);
}
END_TEST

/* --- ends -------------------------------------------------------------- */

#define OK_STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define CHUNKED   OK_STREAM "Transfer-Encoding: chunked\r\n\r\n"

/* A reply, after which the connection is closed, or left open and silent. */
struct ending {
    const char *name;
    const char *reply;
    bool leave_open;
    enum http_end end;
    long status;
    const char *body;
    int64_t first_byte_timeout_ms; /* 0: as usual */
    int64_t silence_timeout_ms;
    int64_t total_timeout_ms;
    size_t max_reply_bytes;
};

static const struct ending ENDINGS[] = {
    {.name = "length",
     .reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 200,
     .body = "ab"},
    {.name = "until close",
     .reply = OK_STREAM "\r\nab",
     .end = HTTP_END_DONE,
     .status = 200,
     .body = "ab"},
    {.name = "chunked",
     .reply = CHUNKED "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 200,
     .body = "abc"},
    {.name = "error status with a body",
     .reply = "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\noops",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 500,
     .body = "oops"},
    {.name = "no content",
     .reply = "HTTP/1.1 204 No Content\r\n\r\n",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 204,
     .body = ""},
    {.name = "a redirect is not followed",
     .reply = "HTTP/1.1 302 Found\r\nLocation: /there\r\n"
              "Content-Length: 0\r\n\r\n",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 302,
     .body = ""},
    {.name = "no reply at all",
     .reply = "",
     .end = HTTP_END_CUT,
     .status = 0,
     .body = ""},
    {.name = "cut within headers",
     .reply = "HTTP/1.1 200 OK\r\nContent-Le",
     .end = HTTP_END_DONE, /* libcurl ends the head there */
     .status = 200,
     .body = ""},
    {.name = "cut within a length",
     .reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
     .end = HTTP_END_CUT,
     .status = 200,
     .body = "ab"},
    {.name = "cut between chunks",
     .reply = CHUNKED "2\r\nab\r\n",
     .end = HTTP_END_CUT,
     .status = 200,
     .body = "ab"},
    {.name = "cut within a chunk",
     .reply = CHUNKED "9\r\nab",
     .end = HTTP_END_CUT,
     .status = 200,
     .body = "ab"},
    {.name = "broken chunks",
     .reply = CHUNKED "2\r\nab\r\nnonsense\r\n",
     .leave_open = true,
     .end = HTTP_END_CUT,
     .status = 200,
     .body = "ab"},
    {.name = "silent from the start",
     .reply = "",
     .leave_open = true,
     .end = HTTP_END_FIRST_BYTE_TIMEOUT,
     .status = 0,
     .body = "",
     .first_byte_timeout_ms = 80},
    {.name = "headers are no first byte",
     .reply = CHUNKED,
     .leave_open = true,
     .end = HTTP_END_FIRST_BYTE_TIMEOUT,
     .status = 200,
     .body = "",
     .first_byte_timeout_ms = 1000,
     .silence_timeout_ms = 1},
    {.name = "silent after a byte",
     .reply = CHUNKED "1\r\na\r\n",
     .leave_open = true,
     .end = HTTP_END_SILENCE_TIMEOUT,
     .status = 200,
     .body = "a",
     .silence_timeout_ms = 80},
    {.name = "all together too long",
     .reply = CHUNKED "1\r\na\r\n",
     .leave_open = true,
     .end = HTTP_END_TOTAL_TIMEOUT,
     .status = 200,
     .body = "a",
     .total_timeout_ms = 1000},
    {.name = "exactly as much as allowed",
     .reply = CHUNKED "3\r\nabc\r\n0\r\n\r\n",
     .leave_open = true,
     .end = HTTP_END_DONE,
     .status = 200,
     .body = "abc",
     .max_reply_bytes = 3},
    {.name = "too large, and the allowed part is told",
     .reply = CHUNKED "4\r\nabcd\r\n0\r\n\r\n",
     .leave_open = true,
     .end = HTTP_END_TOO_LARGE,
     .status = 200,
     .body = "abc",
     .max_reply_bytes = 3},
    {.name = "no HTTP",
     .reply = "SSH-2.0-OpenSSH_9.2\r\n",
     .end = HTTP_END_OTHER,
     .status = 0,
     .body = ""},
};

static void play_ending(struct peer_conn *c, void *ctx)
{
    const struct ending *row = ctx;

    if (peer_read(c) == NULL) {
        return;
    }
    (void)peer_send(c, row->reply);
    if (row->leave_open) {
        (void)peer_wait_hangup(c);
        peer_note(c);
    }
}

START_TEST(ends_are_told_apart)
{
    const struct ending *row = &ENDINGS[_i];
    struct http_options o;
    struct seen s;

    peer = peer_start(play_ending, (void *)(uintptr_t)row);
    o = options(peer_url(peer));
    if (row->first_byte_timeout_ms > 0) {
        o.first_byte_timeout_ms = row->first_byte_timeout_ms;
    }
    if (row->silence_timeout_ms > 0) {
        o.silence_timeout_ms = row->silence_timeout_ms;
    }
    if (row->total_timeout_ms > 0) {
        o.total_timeout_ms = row->total_timeout_ms;
    }
    if (row->max_reply_bytes > 0) {
        o.max_reply_bytes = row->max_reply_bytes;
    }
    start(&o, &s);
    run_until_done(&s);
    ck_assert_msg(s.result.end == row->end, "%s: %s (%s)", row->name,
                  http_end_name(s.result.end), s.result.detail);
    ck_assert_msg(s.result.status == row->status, "%s: status %ld", row->name,
                  s.result.status);
    ck_assert_msg(strcmp(buf_str(&s.body), row->body) == 0, "%s: body %s",
                  row->name, buf_str(&s.body));
    ck_assert_msg(s.result.sent, "%s", row->name);
    ck_assert_msg((s.result.detail[0] == '\0') == (row->end == HTTP_END_DONE),
                  "%s: detail %s", row->name, s.result.detail);
    ck_assert_uint_eq(peer_requests(peer), 1);
    if (row->leave_open && row->end != HTTP_END_DONE) {
        await_notes(1); /* the connection was closed at once */
    }
    buf_free(&s.body);
}
END_TEST

static int listening_socket(int backlog, struct sockaddr_in *at)
{
    socklen_t len = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(bind(fd, (struct sockaddr *)at, len), 0);
    if (backlog >= 0) {
        ck_assert_int_eq(listen(fd, backlog), 0);
    }
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)at, &len), 0);
    return fd;
}

START_TEST(refused_connection)
{
    struct sockaddr_in at;
    /* Bound, so that nobody else takes the port, but not listening. */
    int fd = listening_socket(-1, &at);
    struct http_options o;
    struct seen s;
    char url[64];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/",
                   ntohs(at.sin_port));
    o = options(url);
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert(!s.result.sent);
    ck_assert_int_eq(s.result.status, 0);
    ck_assert_ptr_nonnull(strstr(s.result.detail, "127.0.0.1"));
    ck_assert_str_ne(s.result.brief, "");
    ck_assert_ptr_null(strstr(s.result.brief, "127.0.0.1"));
    close(fd);
}
END_TEST

START_TEST(connection_that_is_never_accepted)
{
    struct sockaddr_in at;
    int fd = listening_socket(0, &at);
    int fill[8];
    struct http_options o;
    struct seen s;
    char url[64];

    /* Beyond the backlog, the system leaves connections half open. */
    for (size_t i = 0; i < 8; i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fill[i], (struct sockaddr *)&at, sizeof(at));
    }
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/",
                   ntohs(at.sin_port));
    o = options(url);
    o.connect_timeout_ms = 100;
    o.first_byte_timeout_ms = 1;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT_TIMEOUT);
    ck_assert(!s.result.sent);
    for (size_t i = 0; i < 8; i++) {
        close(fill[i]);
    }
    close(fd);
}
END_TEST

static void play_long_headers(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    if (peer_read(c) == NULL || !peer_send(c, "HTTP/1.1 200 OK\r\n")) {
        return;
    }
    while (peer_send(
        c, "X-Filler: ........................................"
           "..................................................\r\n")) {
    }
}

START_TEST(endless_headers)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_long_headers, NULL);
    o = options(peer_url(peer));
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_TOO_LARGE);
}
END_TEST

/* --- Retry-After ------------------------------------------------------- */

static const struct {
    const char *headers;
    int64_t ms;
} RETRIES[] = {
    {"", -1},
    {"Retry-After: 2\r\n", 2000},
    {"retry-after:120\r\n", 120000},
    {"Retry-After: 0\r\n", 0},
    {"Retry-After: 86400\r\n", 86400000},
    {"Retry-After: 99999999999999999999999999\r\n",
     (int64_t)10 * 365 * 86400 * 1000},
    {"Retry-After: soon\r\n", -1},
    {"Retry-After: -5\r\n", -1},
    {"Retry-After: 1.5\r\n", -1},
    {"Retry-After: Perhaps\r\n", -1},
    {"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
     "Retry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n",
     30000},
    {"Retry-After: Sunday, 06-Nov-94 08:50:07 GMT\r\n"
     "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
     30000},
    {"Date: Sun Nov  6 08:49:37 1994\r\n"
     "Retry-After: Sun Nov  6 08:50:07 1994\r\n",
     30000},
    {"Date: Sun, 06 Nov 1994 08:50:37 GMT\r\n"
     "Retry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n",
     0},
    {"Retry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n", 0},
};

static void play_headers(struct peer_conn *c, void *ctx)
{
    if (peer_read(c) == NULL) {
        return;
    }
    /* What an interim reply says does not count. */
    (void)peer_send(c, "HTTP/1.1 103 Early Hints\r\nRetry-After: 77\r\n\r\n"
                       "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n");
    (void)peer_send(c, ctx);
    (void)peer_send(c, "\r\n");
    (void)peer_wait_hangup(c);
}

START_TEST(retry_after_in_both_forms)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_headers, (void *)(uintptr_t)RETRIES[_i].headers);
    o = options(peer_url(peer));
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_DONE);
    ck_assert_int_eq(s.result.status, 429);
    ck_assert_msg(s.result.retry_after_ms == RETRIES[_i].ms, "%s: %lld",
                  RETRIES[_i].headers, (long long)s.result.retry_after_ms);
}
END_TEST

START_TEST(retry_after_date_by_own_clock)
{
    char headers[128];
    time_t at = time(NULL) + 3600;
    struct http_options o;
    struct tm tm;
    struct seen s;

    ck_assert_ptr_nonnull(gmtime_r(&at, &tm));
    (void)strftime(headers, sizeof(headers),
                   "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
    peer = peer_start(play_headers, headers);
    o = options(peer_url(peer));
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_le(s.result.retry_after_ms, 3600000);
    ck_assert_int_ge(s.result.retry_after_ms, 3600000 - CASE_SECONDS * 1000);
}
END_TEST

/* --- cancelling -------------------------------------------------------- */

/* Sends a byte, and notes the hang-up that follows. */
static void play_open_stream(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    if (peer_read(c) == NULL) {
        return;
    }
    (void)peer_send(c, CHUNKED "1\r\na\r\n");
    if (peer_wait_hangup(c)) {
        peer_note(c);
    }
}

static void cancel_own(void *ctx, long status, const char *data, size_t len)
{
    struct seen *s = ctx;

    (void)status;
    http_cancel(s->call);
    /* What was handed over outlives the call. */
    buf_add(&s->body, data, len);
    s->call = NULL;
}

START_TEST(cancel_from_its_own_data_callback)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_open_stream, NULL);
    o = options(peer_url(peer));
    seen_init(&s);
    ck_assert_int_eq(
        http_start(http, &o, cancel_own, forbidden_done, &s, &s.call), RC_OK);
    run_until_notes(1);
    ck_assert_str_eq(buf_str(&s.body), "a");
    ck_assert_ptr_null(s.call);
    ck_assert_uint_eq(http_active(http), 0);
    buf_free(&s.body);
}
END_TEST

START_TEST(cancel_closes_the_connection_at_once)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_open_stream, NULL);
    o = options(peer_url(peer));
    seen_init(&s);
    ck_assert_int_eq(http_start(http, &o, on_data, forbidden_done, &s, &s.call),
                     RC_OK);
    while (s.n_data == 0) {
        turn();
    }
    http_cancel(s.call);
    await_notes(1); /* without another turn of the loop */
    http_cancel(NULL);
    buf_free(&s.body);
}
END_TEST

/* Two calls whose whole replies arrive in the same turn. */
static void play_gated(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    if (peer_read(c) == NULL) {
        return;
    }
    peer_note(c);
    if (peer_wait_gate(c, 1)) {
        (void)peer_send(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
        peer_note(c);
    }
    (void)peer_wait_hangup(c);
}

static void cancel_other(void *ctx, const struct http_result *result)
{
    struct seen *s = ctx;

    on_done(ctx, result);
    http_cancel(s->other->call);
    s->other->call = NULL;
}

static void data_cancels_other(void *ctx, long status, const char *data,
                               size_t len)
{
    struct seen *s = ctx;

    on_data(ctx, status, data, len);
    http_cancel(s->other->call);
    s->other->call = NULL;
}

static void race_two(http_data_fn *data, http_done_fn *done)
{
    struct http_options o;
    struct seen s[2];

    peer = peer_start(play_gated, NULL);
    o = options(peer_url(peer));
    for (size_t i = 0; i < 2; i++) {
        seen_init(&s[i]);
        s[i].other = &s[1 - i];
        ck_assert_int_eq(http_start(http, &o, data, done, &s[i], &s[i].call),
                         RC_OK);
    }
    run_until_notes(2);
    peer_open_gate(peer, 1);
    await_notes(2);
    while (http_active(http) > 0) {
        turn();
    }
    ck_assert_int_eq(s[0].n_done + s[1].n_done, 1);
    buf_free(&s[0].body);
    buf_free(&s[1].body);
}

START_TEST(done_cancels_another_that_is_over)
{
    race_two(on_data, cancel_other);
}
END_TEST

START_TEST(data_cancels_another_that_is_due)
{
    race_two(data_cancels_other, on_done);
}
END_TEST

static void start_next(void *ctx, const struct http_result *result)
{
    struct seen *s = ctx;
    struct http_options o = options(peer_url(peer));

    on_done(ctx, result);
    if (s->other != NULL) {
        start(&o, s->other);
    }
}

static void data_starts_next(void *ctx, long status, const char *data,
                             size_t len)
{
    struct seen *s = ctx;
    struct http_options o = options(peer_url(peer));

    on_data(ctx, status, data, len);
    start(&o, s->other);
}

static void play_short_replies(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    while (peer_read(c) != NULL) {
        char reply[128];

        (void)snprintf(reply, sizeof(reply),
                       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%c",
                       (int)('0' + peer_number(c)));
        if (!peer_send(c, reply)) {
            return;
        }
    }
}

START_TEST(callbacks_start_calls)
{
    struct http_options o;
    struct seen s[3];

    peer = peer_start(play_short_replies, NULL);
    o = options(peer_url(peer));
    for (size_t i = 0; i < 3; i++) {
        seen_init(&s[i]);
    }
    s[0].other = &s[1];
    ck_assert_int_eq(
        http_start(http, &o, on_data, start_next, &s[0], &s[0].call), RC_OK);
    run_until_done(&s[0]);
    run_until_done(&s[1]);
    s[0].other = &s[2];
    s[0].n_done = 0;
    ck_assert_int_eq(
        http_start(http, &o, data_starts_next, on_done, &s[0], &s[0].call),
        RC_OK);
    run_until_done(&s[0]);
    run_until_done(&s[2]);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(s[i].result.end, HTTP_END_DONE);
        buf_free(&s[i].body);
    }
}
END_TEST

START_TEST(free_cancels_what_is_under_way)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_open_stream, NULL);
    o = options(peer_url(peer));
    seen_init(&s);
    ck_assert_int_eq(http_start(http, &o, on_data, forbidden_done, &s, &s.call),
                     RC_OK);
    while (s.n_data == 0) {
        turn();
    }
    http_free(http);
    http = NULL;
    await_notes(1);
    buf_free(&s.body);
}
END_TEST

/* --- connections ------------------------------------------------------- */

START_TEST(a_connection_is_used_again)
{
    struct http_options o;
    struct seen s;

    peer = peer_start(play_short_replies, NULL);
    o = options(peer_url(peer));
    for (int i = 0; i < 3; i++) {
        start(&o, &s);
        run_until_done(&s);
        ck_assert_str_eq(buf_str(&s.body), "0");
        buf_free(&s.body);
    }
    ck_assert_uint_eq(peer_requests(peer), 3);
}
END_TEST

static void play_until_left(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    if (peer_read(c) != NULL) {
        peer_note(c);
        (void)peer_wait_hangup(c);
    }
}

/* A child that had them would keep connections open that are closed here. */
START_TEST(no_child_gets_a_connection)
{
    struct http_call *call = NULL;
    struct http_options o;
    const char *url;
    int port;
    int n = 0;

    peer = peer_start(play_until_left, NULL);
    url = peer_url(peer);
    port = atoi(strrchr(url, ':') + 1);
    o = options(url);
    ck_assert_int_eq(http_start(http, &o, on_data, forbidden_done, NULL, &call),
                     RC_OK);
    run_until_notes(1);
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in at = {.sin_family = AF_UNSPEC};
        socklen_t len = sizeof(at);

        if (getpeername(fd, (struct sockaddr *)&at, &len) == 0 &&
            at.sin_family == AF_INET && ntohs(at.sin_port) == port) {
            ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
            n++;
        }
    }
    ck_assert_int_eq(n, 1);
    http_cancel(call);
}
END_TEST

struct guard {
    bool allow;
    int asked;
};

static bool guard(void *ctx, const struct sockaddr *at)
{
    struct guard *g = ctx;

    g->asked++;
    ck_assert_int_eq(at->sa_family, AF_INET);
    return g->allow;
}

/* The address is asked about before each connection, also where a connection
 * to it was kept by a call that had leave; and the guarded call keeps none. */
START_TEST(no_kept_connection_gets_past_the_guard)
{
    struct guard g = {.allow = false};
    struct http_options o;
    struct seen s;

    peer = peer_start(play_short_replies, NULL);
    o = options(peer_url(peer));
    start(&o, &s);
    run_until_done(&s);
    buf_free(&s.body);

    o.may_connect = guard;
    o.may_connect_ctx = &g;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert_str_eq(s.result.detail, "the address is not allowed");
    ck_assert(!s.result.sent);
    ck_assert_int_eq(g.asked, 1);
    ck_assert_uint_eq(peer_requests(peer), 1);
    buf_free(&s.body);

    g.allow = true;
    for (int i = 2; i <= 3; i++) {
        start(&o, &s);
        run_until_done(&s);
        ck_assert_int_eq(s.result.end, HTTP_END_DONE);
        ck_assert_int_eq(g.asked, i);
        buf_free(&s.body);
    }
}
END_TEST

/* Answers one request, and hangs up after reading the second, or before. */
static void play_once(struct peer_conn *c, void *ctx)
{
    bool *reads_second = ctx;

    if (peer_read(c) == NULL) {
        return;
    }
    (void)peer_send(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    if (*reads_second) {
        (void)peer_read(c);
    }
}

START_TEST(a_request_is_never_sent_twice)
{
    static const char *const methods[] = {"POST", "GET"};
    bool reads_second = true;
    struct http_options o;
    struct seen s;

    peer = peer_start(play_once, &reads_second);
    o = options(peer_url(peer));
    o.method = methods[_i];
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_DONE);
    buf_free(&s.body);
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CUT);
    ck_assert(s.result.sent);
    ck_assert_str_ne(s.result.detail, "");
    ck_assert_uint_eq(peer_requests(peer), 2);
    buf_free(&s.body);
}
END_TEST

/* --- many, and none ---------------------------------------------------- */

static void play_pieces(struct peer_conn *c, void *ctx)
{
    const char *body;
    size_t len;

    (void)ctx;
    if (peer_read(c) == NULL || !peer_send(c, CHUNKED)) {
        return;
    }
    body = peer_body(c, &len);
    for (int i = 0; i < PIECES; i++) {
        char piece[64];

        (void)snprintf(piece, sizeof(piece), "%zx\r\n%.*s\r\n", len, (int)len,
                       body);
        if (!peer_send(c, piece)) {
            return;
        }
        /* Half of it only once all have begun. */
        if (i == PIECES / 2) {
            peer_note(c);
            (void)peer_wait_gate(c, 1);
        }
    }
    (void)peer_send(c, "0\r\n\r\n");
    (void)peer_wait_hangup(c);
}

START_TEST(many_streams_at_once)
{
    struct seen s[STREAMS];
    char body[STREAMS][8];

    peer = peer_start(play_pieces, NULL);
    for (size_t i = 0; i < STREAMS; i++) {
        struct http_options o = options(peer_url(peer));

        (void)snprintf(body[i], sizeof(body[i]), "<%03zu>", i);
        o.body = body[i];
        o.body_len = 5;
        start(&o, &s[i]);
    }
    ck_assert_uint_eq(http_active(http), STREAMS);
    run_until_notes(STREAMS);
    peer_open_gate(peer, 1);
    for (size_t i = 0; i < STREAMS; i++) {
        run_until_done(&s[i]);
        ck_assert_int_eq(s[i].result.end, HTTP_END_DONE);
        ck_assert_uint_eq(s[i].body.len, (size_t)5 * PIECES);
        for (size_t at = 0; at < s[i].body.len; at += 5) {
            ck_assert_int_eq(memcmp(s[i].body.data + at, body[i], 5), 0);
        }
        buf_free(&s[i].body);
    }
    ck_assert_uint_eq(http_active(http), 0);
}
END_TEST

START_TEST(a_silent_stream_wakes_nobody)
{
    struct http_options o;
    struct seen s;
    int turns = 0;
    int64_t from_ms;

    peer = peer_start(play_open_stream, NULL);
    o = options(peer_url(peer));
    o.silence_timeout_ms = 700;
    start(&o, &s);
    while (s.n_data == 0) {
        turn();
    }
    from_ms = clock_boot_ms();
    while (s.n_done == 0) {
        ck_assert_int_eq(http_wait(http, NULL, 0, -1), RC_OK);
        turns++;
    }
    ck_assert_int_eq(s.result.end, HTTP_END_SILENCE_TIMEOUT);
    ck_assert_int_ge(clock_boot_ms() - from_ms, 600);
    /* A deadline or two, rounded to whole milliseconds. */
    ck_assert_int_le(turns, 6);
    buf_free(&s.body);
}
END_TEST

START_TEST(each_call_has_its_own_deadline)
{
    static const int64_t silence_ms[3] = {60000, 50, 150};
    struct seen s[3];

    peer = peer_start(play_open_stream, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct http_options o = options(peer_url(peer));

        o.silence_timeout_ms = silence_ms[i];
        o.total_timeout_ms = 60000;
        start(&o, &s[i]);
    }
    run_until_done(&s[1]);
    run_until_done(&s[2]);
    ck_assert_int_eq(s[0].n_done, 0);
    ck_assert_uint_eq(http_active(http), 1);
    http_cancel(s[0].call);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(i == 0 || s[i].result.end == HTTP_END_SILENCE_TIMEOUT);
        buf_free(&s[i].body);
    }
}
END_TEST

START_TEST(own_descriptors_end_the_wait)
{
    struct http_fd fds[2];
    int a[2], b[2];

    ck_assert_int_eq(pipe(a), 0);
    ck_assert_int_eq(pipe(b), 0);
    fds[0].fd = a[0];
    fds[1].fd = b[0];
    ck_assert_int_eq(http_wait(http, fds, 2, 0), RC_OK);
    ck_assert(!fds[0].readable && !fds[1].readable);
    ck_assert_int_eq(write(b[1], "x", 1), 1);
    ck_assert_int_eq(http_wait(http, fds, 2, -1), RC_OK);
    ck_assert(!fds[0].readable && fds[1].readable);
    /* A hang-up counts as readable, or the loop would spin on it. */
    close(a[1]);
    ck_assert_int_eq(http_wait(http, fds, 2, -1), RC_OK);
    ck_assert(fds[0].readable && fds[1].readable);
    close(a[0]);
    close(b[0]);
    close(b[1]);
}
END_TEST

/* --- names ------------------------------------------------------------- */

#define SLOW_NAME "slow.test"
#define TWO_NAME  "two.test" /* 127.0.0.2, then 127.0.0.1 */
#define HUNG_MAX  1000

typedef int look_up_fn(const char *, const char *, const struct addrinfo *,
                       struct addrinfo **);

static sem_t looks_up; /* posted by each look-up of SLOW_NAME */
static sem_t let_go;   /* which it waits for */
static atomic_int gave_up;

static int look_up_two(look_up_fn *own, const char *service,
                       const struct addrinfo *hints, struct addrinfo **out)
{
    int error = own("127.0.0.2", service, hints, out);

    return error != 0 ? error
                      : own("127.0.0.1", service, hints, &(*out)->ai_next);
}

/* The C library's, but for a name whose servers never answer, and one of two
 * addresses. libcurl finds this one first. */
int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **out)
{
    struct timespec until;
    look_up_fn *own;
    void *found;

    if (name == NULL || strcmp(name, SLOW_NAME) != 0) {
        found = dlsym(RTLD_NEXT, "getaddrinfo");
        memcpy(&own, &found, sizeof(own));
        return name != NULL && strcmp(name, TWO_NAME) == 0
                   ? look_up_two(own, service, hints, out)
                   : own(name, service, hints, out);
    }
    (void)sem_post(&looks_up);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CASE_SECONDS / 2;
    if (sem_timedwait(&let_go, &until) != 0) {
        atomic_fetch_add(&gave_up, 1);
    }
    return EAI_AGAIN;
}

static void run_until_looked_up(void)
{
    while (sem_trywait(&looks_up) != 0) {
        ck_assert_int_eq(http_wait(http, NULL, 0, 10), RC_OK);
    }
}

/* Whoever chose the name must not hold up all other calls by it. */
START_TEST(a_name_that_is_looked_up_for_ever_holds_up_nobody)
{
    struct http_options o = options("http://" SLOW_NAME "/");
    struct http_call *call = NULL;
    struct seen s;

    ck_assert_int_eq(sem_init(&looks_up, 0, 0), 0);
    ck_assert_int_eq(sem_init(&let_go, 0, 0), 0);
    ck_assert_int_eq(http_start(http, &o, on_data, forbidden_done, NULL, &call),
                     RC_OK);
    run_until_looked_up();
    http_cancel(call);
    ck_assert_int_eq(atomic_load(&gave_up), 0);

    o.connect_timeout_ms = 1;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT_TIMEOUT);
    ck_assert_int_eq(atomic_load(&gave_up), 0);

    o.connect_timeout_ms = 5000;
    ck_assert_int_eq(http_start(http, &o, on_data, forbidden_done, NULL, &call),
                     RC_OK);
    run_until_looked_up();
    http_free(http);
    http = NULL;
    ck_assert_int_eq(atomic_load(&gave_up), 0);
    for (int i = 0; i < 3; i++) {
        (void)sem_post(&let_go);
    }
}
END_TEST

/* Those of this process. */
static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = -2; /* "." and ".." */

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Each leaves a thread behind until the resolver has had enough: a stranger's
 * names cannot take as many as they like, and what others ask goes on. */
START_TEST(look_ups_that_hang_are_bounded)
{
    struct guard g = {.allow = true};
    struct http_options o = options("http://" SLOW_NAME "/");
    struct http_call *call = NULL;
    struct seen s;
    int started = 0;

    ck_assert_int_eq(sem_init(&looks_up, 0, 0), 0);
    ck_assert_int_eq(sem_init(&let_go, 0, 0), 0);
    o.may_connect = guard;
    o.may_connect_ctx = &g;
    for (int i = 0; i < HUNG_MAX; i++) {
        enum rc rc = http_start(http, &o, on_data, forbidden_done, NULL, &call);

        if (rc != RC_OK) {
            ck_assert_int_eq(rc, RC_BUSY);
            continue;
        }
        run_until_looked_up();
        http_cancel(call);
        started++;
    }
    ck_assert_int_gt(started, 10);
    ck_assert_int_le(started, HTTP_LOOK_UPS_MAX);
    ck_assert_int_le(count_threads(), HTTP_LOOK_UPS_MAX + 1);

    /* Neither an address nor what the configuration names is held up. */
    peer = peer_start(play_short_replies, NULL);
    for (int named = 0; named < 2; named++) {
        o = options(peer_url(peer));
        o.may_connect = named != 0 ? NULL : guard;
        o.may_connect_ctx = &g;
        start(&o, &s);
        run_until_done(&s);
        ck_assert_int_eq(s.result.end, HTTP_END_DONE);
        buf_free(&s.body);
    }
    ck_assert_int_eq(atomic_load(&gave_up), 0);
    for (int i = 0; i < started; i++) {
        (void)sem_post(&let_go);
    }
    while (count_threads() > HTTP_LOOK_UPS_MAX / 2) {
        ck_assert_int_eq(http_wait(http, NULL, 0, 10), RC_OK);
    }
}
END_TEST

/* Also where they are asked for in one turn, before any thread is there. */
START_TEST(look_ups_of_one_turn_are_bounded)
{
    struct guard g = {.allow = true};
    struct http_options o = options("http://" SLOW_NAME "/");
    struct http_call *calls[HUNG_MAX];
    int n = 0;

    o.may_connect = guard;
    o.may_connect_ctx = &g;
    while (n < HUNG_MAX && http_start(http, &o, on_data, forbidden_done, NULL,
                                      &calls[n]) == RC_OK) {
        n++;
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_le(n, HTTP_LOOK_UPS_MAX);
    for (int i = 0; i < n; i++) {
        http_cancel(calls[i]);
    }
    ck_assert_int_eq(
        http_start(http, &o, on_data, forbidden_done, NULL, &calls[0]), RC_OK);
}
END_TEST

static bool only_first(void *ctx, const struct sockaddr *at)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)at;

    (*(int *)ctx)++;
    return in->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static void play_cut(struct peer_conn *c, void *ctx)
{
    (void)ctx;
    (void)peer_read(c);
}

/* An address that was passed over is not why the next one failed. */
START_TEST(a_denial_is_told_of_the_address_it_was_about)
{
    struct http_options o;
    char url[80];
    struct seen s;
    int asked = 0;

    peer = peer_start(play_cut, NULL);
    (void)snprintf(url, sizeof(url), "http://" TWO_NAME "%s/",
                   strrchr(peer_url(peer), ':'));
    o = options(url);
    o.may_connect = only_first;
    o.may_connect_ctx = &asked;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(asked, 2);
    ck_assert_int_eq(s.result.end, HTTP_END_CUT);
    ck_assert_ptr_null(strstr(s.result.detail, "not allowed"));
    ck_assert_ptr_null(strstr(s.result.brief, "not allowed"));
    buf_free(&s.body);

    peer_stop(peer); /* nobody listens any more: refused, not denied */
    peer = NULL;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert_ptr_null(strstr(s.result.detail, "not allowed"));
    buf_free(&s.body);
}
END_TEST

/* --- proxies ----------------------------------------------------------- */

/* What the configuration names goes through the environment's proxy, unless
 * that excepts it; a guarded call never does, or the guard would be asked about
 * the proxy's address. */
START_TEST(a_proxy_is_for_what_is_not_guarded)
{
    static const char *const names[] = {"http_proxy", "all_proxy"};
    struct guard g = {.allow = true};
    struct http_options o = options("http://far.invalid/x");
    struct seen s;

    peer = peer_start(play_short_replies, NULL);
    for (size_t i = 0; i < 2; i++) {
        setenv(names[i], peer_url(peer), 1);
        start(&o, &s);
        run_until_done(&s);
        ck_assert_int_eq(s.result.end, HTTP_END_DONE);
        ck_assert_uint_eq(peer_requests(peer), i + 1);
        buf_free(&s.body);
        unsetenv(names[i]);
    }
    setenv("http_proxy", peer_url(peer), 1);
    setenv("all_proxy", peer_url(peer), 1);
    o.may_connect = guard;
    o.may_connect_ctx = &g;
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert_int_eq(g.asked, 0);
    buf_free(&s.body);

    o.may_connect = NULL;
    setenv("no_proxy", "far.invalid", 1);
    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert_uint_eq(peer_requests(peer), 2);
    buf_free(&s.body);
}
END_TEST

/* --- bytes that are no text -------------------------------------------- */

START_TEST(details_are_text)
{
    struct http_options o = options("http://h\xff\xc3\xa4.invalid/");
    struct seen s;

    start(&o, &s);
    run_until_done(&s);
    ck_assert_int_eq(s.result.end, HTTP_END_CONNECT);
    ck_assert_str_ne(s.result.detail, "");
    ck_assert(utf8_valid(s.result.detail, strlen(s.result.detail)));
}
END_TEST

START_TEST(ends_have_names)
{
    for (int i = 0; i < HTTP_END__MAX; i++) {
        ck_assert_str_ne(http_end_name((enum http_end)i), "");
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(http_end_name((enum http_end)i),
                             http_end_name((enum http_end)k));
        }
    }
}
END_TEST

Suite *http_suite(void)
{
    Suite *s = suite_create("http");
    TCase *t = tcase_create("http");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, CASE_SECONDS);
    tcase_add_test(t, sends_the_request_as_asked);
    tcase_add_test(t, get_has_no_body_and_no_bearer_unless_given);
    tcase_add_test(t, further_headers_of_request_and_reply);
    tcase_add_test(t, refuses_what_cannot_be_sent);
    tcase_add_loop_test(t, ends_are_told_apart, 0,
                        (int)(sizeof(ENDINGS) / sizeof(ENDINGS[0])));
    tcase_add_test(t, refused_connection);
    tcase_add_test(t, connection_that_is_never_accepted);
    tcase_add_test(t, endless_headers);
    tcase_add_loop_test(t, retry_after_in_both_forms, 0,
                        (int)(sizeof(RETRIES) / sizeof(RETRIES[0])));
    tcase_add_test(t, retry_after_date_by_own_clock);
    tcase_add_test(t, cancel_from_its_own_data_callback);
    tcase_add_test(t, cancel_closes_the_connection_at_once);
    tcase_add_test(t, done_cancels_another_that_is_over);
    tcase_add_test(t, data_cancels_another_that_is_due);
    tcase_add_test(t, callbacks_start_calls);
    tcase_add_test(t, free_cancels_what_is_under_way);
    tcase_add_test(t, a_connection_is_used_again);
    tcase_add_test(t, no_child_gets_a_connection);
    tcase_add_test(t, no_kept_connection_gets_past_the_guard);
    tcase_add_loop_test(t, a_request_is_never_sent_twice, 0, 2);
    tcase_add_test(t, many_streams_at_once);
    tcase_add_test(t, a_silent_stream_wakes_nobody);
    tcase_add_test(t, each_call_has_its_own_deadline);
    tcase_add_test(t, own_descriptors_end_the_wait);
    tcase_add_test(t, a_name_that_is_looked_up_for_ever_holds_up_nobody);
    tcase_add_test(t, look_ups_that_hang_are_bounded);
    tcase_add_test(t, look_ups_of_one_turn_are_bounded);
    tcase_add_test(t, a_denial_is_told_of_the_address_it_was_about);
    tcase_add_test(t, a_proxy_is_for_what_is_not_guarded);
    tcase_add_test(t, details_are_text);
    tcase_add_test(t, ends_have_names);
    suite_add_tcase(s, t);
    return s;
}
