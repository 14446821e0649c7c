/* http.c - how a call goes.
 *
 *   http_start -> libcurl -> write_cb: bytes wait in call->in, queue "due"
 *              -> libcurl reports the end, or a deadline has passed:
 *                 the handle leaves the multi, queue "over"
 *   http_wait  -> with libcurl off the stack: data of all that are due, then
 *                 done of all that are over
 *
 * A cancelled call leaves both queues at once and is freed.
 *
 * Deadlines: http->nearest_ms is never later than the earliest deadline of any
 * call. It is lowered wherever a deadline is set and found anew when it has
 * passed, so that a byte that moves a deadline costs nothing.
 */
#include "runtime/http.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <curl/curl.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/version.h"

#define HEADERS_MAX_BYTES ((size_t)64 * 1024)
#define UPLOAD_BYTES      16384L /* the least that libcurl takes */
#define IDLE_MAX_SECONDS  30L    /* servers close idle connections, some soon */
#define RETRY_AFTER_MAX_S ((int64_t)10 * 365 * 86400)

struct http_call {
    TAILQ_ENTRY(http_call) all;
    TAILQ_ENTRY(http_call) due;
    TAILQ_ENTRY(http_call) over;
    struct http *http;
    CURL *easy;
    struct curl_slist *headers;
    http_data_fn *data;
    http_done_fn *done;
    void *ctx;

    char *body; /* NULL once all of it was handed to libcurl */
    size_t body_len;
    size_t body_at;

    struct buf in; /* bytes of this turn that data has not seen */
    size_t left;   /* bytes that may still come */
    size_t header_bytes;

    int64_t connect_timeout_ms;
    int64_t first_byte_timeout_ms;
    int64_t silence_timeout_ms;
    int64_t end_ms;       /* boot times, also below */
    int64_t connect_ms;   /* deadline of the connection */
    int64_t sent_ms;      /* valid if result.sent */
    int64_t last_byte_ms; /* valid if got_byte */

    bool got_byte;
    bool is_due;    /* in http->due */
    bool is_over;   /* in http->over */
    bool has_ended; /* libcurl no longer has the handle */
    bool too_large;
    bool no_memory;
    char retry_after[64];
    char date[64];
    struct http_result result;
    char error[CURL_ERROR_SIZE];
};

TAILQ_HEAD(call_list, http_call);

struct http {
    CURLM *multi;
    struct call_list calls;
    struct call_list due;
    struct call_list over;
    size_t n_calls;
    int64_t nearest_ms;
    bool busy; /* within http_wait */
};

const char *http_end_name(enum http_end end)
{
    static const char *const name[HTTP_END__MAX] = {
        [HTTP_END_DONE] = "done",
        [HTTP_END_CONNECT] = "connect",
        [HTTP_END_CONNECT_TIMEOUT] = "connect_timeout",
        [HTTP_END_FIRST_BYTE_TIMEOUT] = "first_byte_timeout",
        [HTTP_END_SILENCE_TIMEOUT] = "silence_timeout",
        [HTTP_END_TOTAL_TIMEOUT] = "total_timeout",
        [HTTP_END_CUT] = "cut",
        [HTTP_END_TOO_LARGE] = "too_large",
        [HTTP_END_OTHER] = "other",
    };

    assert(end < HTTP_END__MAX);
    return name[end];
}

enum rc http_new(struct http **out)
{
    struct http *h;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return RC_NOMEM;
    }
    h = calloc(1, sizeof(*h));
    if (h == NULL) {
        goto fail;
    }
    h->multi = curl_multi_init();
    if (h->multi == NULL) {
        goto fail;
    }
    TAILQ_INIT(&h->calls);
    TAILQ_INIT(&h->due);
    TAILQ_INIT(&h->over);
    h->nearest_ms = INT64_MAX;
    *out = h;
    return RC_OK;

fail:
    free(h);
    curl_global_cleanup();
    return RC_NOMEM;
}

size_t http_active(const struct http *h)
{
    return h->n_calls;
}

/* --- deadlines --------------------------------------------------------- */

/* When the call fails if nothing more happens, and as what. */
static int64_t call_deadline(const struct http_call *c, enum http_end *end)
{
    int64_t at;

    if (!c->result.sent) {
        at = c->connect_ms;
        *end = HTTP_END_CONNECT_TIMEOUT;
    } else if (!c->got_byte) {
        at = c->sent_ms + c->first_byte_timeout_ms;
        *end = HTTP_END_FIRST_BYTE_TIMEOUT;
    } else {
        at = c->last_byte_ms + c->silence_timeout_ms;
        *end = HTTP_END_SILENCE_TIMEOUT;
    }
    if (c->end_ms <= at) {
        at = c->end_ms;
        *end = HTTP_END_TOTAL_TIMEOUT;
    }
    return at;
}

static void note_deadline(struct http_call *c)
{
    enum http_end ignored;
    int64_t at = call_deadline(c, &ignored);

    if (at < c->http->nearest_ms) {
        c->http->nearest_ms = at;
    }
}

/* --- what libcurl calls; nothing here may call back into it ------------ */

/* The connection stands and the request is about to be written. libcurl comes
 * here again if it would send the request anew: that is not for it to decide.
 */
static int prereq_cb(void *ctx, char *peer_ip, char *own_ip, int peer_port,
                     int own_port)
{
    struct http_call *c = ctx;

    (void)peer_ip;
    (void)own_ip;
    (void)peer_port;
    (void)own_port;
    if (c->result.sent) {
        return CURL_PREREQFUNC_ABORT;
    }
    c->result.sent = true;
    c->sent_ms = clock_boot_ms();
    note_deadline(c);
    return CURL_PREREQFUNC_OK;
}

/* The body is freed once it is handed over: a reply may take minutes. */
static size_t read_cb(char *to, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    size_t len = size * n;

    if (c->body == NULL) {
        return 0;
    }
    if (len > c->body_len - c->body_at) {
        len = c->body_len - c->body_at;
    }
    memcpy(to, c->body + c->body_at, len);
    c->body_at += len;
    if (c->body_at == c->body_len) {
        free(c->body);
        c->body = NULL;
    }
    return len;
}

static size_t write_cb(char *bytes, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    size_t len = size * n;
    size_t take = len > c->left ? c->left : len;

    c->got_byte = true;
    c->last_byte_ms = clock_boot_ms();
    note_deadline(c);
    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &c->result.status);
    c->left -= take;
    c->too_large = take < len;
    if (c->data != NULL) {
        buf_add(&c->in, bytes, take);
        c->no_memory = buf_rc(&c->in) != RC_OK;
        if (!c->is_due) {
            c->is_due = true;
            TAILQ_INSERT_TAIL(&c->http->due, c, due);
        }
    }
    return c->too_large || c->no_memory ? CURL_WRITEFUNC_ERROR : len;
}

/* Copies the value if line is this header. A value that does not fit is of no
 * use cut short and is left out. */
static bool header_value(const char *line, size_t len, const char *name,
                         char *out, size_t out_len)
{
    size_t skip = strlen(name);

    if (len <= skip || line[skip] != ':' ||
        strncasecmp(line, name, skip) != 0) {
        return false;
    }
    skip++;
    while (skip < len && (line[skip] == ' ' || line[skip] == '\t')) {
        skip++;
    }
    while (len > skip && (unsigned char)line[len - 1] <= ' ') {
        len--;
    }
    if (len - skip >= out_len || memchr(line + skip, '\0', len - skip)) {
        return false;
    }
    memcpy(out, line + skip, len - skip);
    out[len - skip] = '\0';
    return true;
}

static size_t header_cb(char *line, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    struct http_result *r = &c->result;
    size_t len = size * n;
    char id[sizeof(r->reply_id)];

    c->header_bytes += len;
    if (c->header_bytes > HEADERS_MAX_BYTES) {
        c->too_large = true;
        return CURL_WRITEFUNC_ERROR;
    }
    if (len > 5 && memcmp(line, "HTTP/", 5) == 0) {
        /* What an interim reply (1xx) said is over. */
        c->retry_after[0] = '\0';
        c->date[0] = '\0';
        r->reply_id[0] = '\0';
        return len;
    }
    (void)header_value(line, len, "Retry-After", c->retry_after,
                       sizeof(c->retry_after));
    (void)header_value(line, len, "Date", c->date, sizeof(c->date));
    if (header_value(line, len, "X-Generation-Id", id, sizeof(id)) ||
        (r->reply_id[0] == '\0' &&
         header_value(line, len, "X-Request-Id", id, sizeof(id)))) {
        memcpy(r->reply_id, id, sizeof(id));
    }
    return len;
}

/* --- the end of a call ------------------------------------------------- */

/* Seconds, or a date; that is set against the reply's own Date, if it has one,
 * since the two clocks may differ. */
static int64_t retry_after_ms(const char *value, const char *date)
{
    int64_t seconds = 0;
    time_t at, from;

    if (value[0] == '\0') {
        return -1;
    }
    if (strspn(value, "0123456789") == strlen(value)) {
        for (const char *p = value; *p != '\0'; p++) {
            seconds = seconds * 10 + (*p - '0');
            if (seconds > RETRY_AFTER_MAX_S) {
                seconds = RETRY_AFTER_MAX_S;
                break;
            }
        }
        return seconds * 1000;
    }
    /* Each form of an HTTP date begins with a day's name; curl_getdate takes
     * much more than that. */
    at = value[0] >= 'A' && value[0] <= 'Z' ? curl_getdate(value, NULL) : -1;
    if (at == -1) {
        return -1;
    }
    from = date[0] == '\0' ? -1 : curl_getdate(date, NULL);
    if (from == -1) {
        from = (time_t)(clock_unix_ms() / 1000);
    }
    return at > from ? (int64_t)(at - from) * 1000 : 0;
}

/* What libcurl's code means for a call. */
static enum http_end end_of_code(const struct http_call *c, CURLcode code)
{
    if (code == CURLE_OK) {
        return HTTP_END_DONE;
    }
    if (c->too_large) {
        return HTTP_END_TOO_LARGE;
    }
    if (c->no_memory || code == CURLE_OUT_OF_MEMORY ||
        code == CURLE_FAILED_INIT) {
        return HTTP_END_OTHER;
    }
    if (!c->result.sent) {
        return code == CURLE_OPERATION_TIMEDOUT ? HTTP_END_CONNECT_TIMEOUT
                                                : HTTP_END_CONNECT;
    }
    if (code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
        code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
        code == CURLE_SEND_FAIL_REWIND || code == CURLE_ABORTED_BY_CALLBACK) {
        return HTTP_END_CUT;
    }
    return HTTP_END_OTHER;
}

static void describe(struct http_call *c, CURLcode code)
{
    static const char *const text[HTTP_END__MAX] = {
        [HTTP_END_CONNECT_TIMEOUT] = "no connection in time",
        [HTTP_END_FIRST_BYTE_TIMEOUT] = "no byte of a reply in time",
        [HTTP_END_SILENCE_TIMEOUT] = "the reply fell silent",
        [HTTP_END_TOTAL_TIMEOUT] = "the reply took too long",
        [HTTP_END_TOO_LARGE] = "the reply is too large",
    };
    struct http_result *r = &c->result;
    const char *own = text[r->end];

    if (r->end == HTTP_END_DONE) {
        return;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_SEND_FAIL_REWIND) {
        own = "the kept connection broke before a reply";
    } else if (c->no_memory) {
        own = "no memory";
    } else if (own == NULL) {
        own = c->error[0] != '\0' ? c->error : curl_easy_strerror(code);
    }
    (void)snprintf(r->detail, sizeof(r->detail), "%.*s",
                   (int)sizeof(r->detail) - 1, own);
    for (char *p = r->detail; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ') {
            *p = ' ';
        }
    }
}

/* Takes the handle away from libcurl, which closes the connection if the reply
 * was not whole, and queues the done callback. */
static void call_finish(struct http_call *c, enum http_end end, CURLcode code)
{
    struct http_result *r = &c->result;

    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &r->status);
    (void)curl_multi_remove_handle(c->http->multi, c->easy);
    r->end = end;
    r->retry_after_ms = retry_after_ms(c->retry_after, c->date);
    describe(c, code);
    c->has_ended = true;
    c->is_over = true;
    TAILQ_INSERT_TAIL(&c->http->over, c, over);
}

static void call_free(struct http_call *c)
{
    struct http *h = c->http;

    if (c->is_due) {
        TAILQ_REMOVE(&h->due, c, due);
    }
    if (c->is_over) {
        TAILQ_REMOVE(&h->over, c, over);
    }
    if (!c->has_ended) {
        (void)curl_multi_remove_handle(h->multi, c->easy);
    }
    TAILQ_REMOVE(&h->calls, c, all);
    h->n_calls--;
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    buf_free(&c->in);
    free(c->body);
    free(c);
}

void http_cancel(struct http_call *c)
{
    if (c != NULL) {
        call_free(c);
    }
}

void http_free(struct http *h)
{
    if (h == NULL) {
        return;
    }
    assert(!h->busy);
    while (!TAILQ_EMPTY(&h->calls)) {
        call_free(TAILQ_FIRST(&h->calls));
    }
    (void)curl_multi_cleanup(h->multi);
    free(h);
    curl_global_cleanup();
}

/* --- starting ---------------------------------------------------------- */

static bool is_post(const struct http_options *o)
{
    return strcmp(o->method, "POST") == 0;
}

/* Reads the URL; *loopback tells whether its host is this machine by name. */
static enum rc check_url(const char *url, bool *loopback)
{
    CURLU *u = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    size_t len;
    enum rc rc = RC_INVALID;

    if (u == NULL) {
        return RC_NOMEM;
    }
    if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)) {
        len = strlen(host);
        *loopback =
            strcasecmp(host, "localhost") == 0 ||
            (len > 10 && strcasecmp(host + len - 10, ".localhost") == 0) ||
            strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
        rc = RC_OK;
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(u);
    return rc;
}

static enum rc check_options(const struct http_options *o, bool *loopback)
{
    if (!is_post(o) && strcmp(o->method, "GET") != 0) {
        return RC_INVALID;
    }
    for (const char *p = o->bearer; p != NULL && *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f) {
            return RC_INVALID;
        }
    }
    return check_url(o->url, loopback);
}

static bool add_header(struct http_call *c, const char *line)
{
    struct curl_slist *longer = curl_slist_append(c->headers, line);

    if (longer == NULL) {
        return false;
    }
    c->headers = longer;
    return true;
}

static bool set_headers(struct http_call *c, const struct http_options *o)
{
    bool ok = add_header(c, "Accept: text/event-stream, application/json") &&
              add_header(c, "Expect:");
    struct buf line;

    if (ok && is_post(o)) {
        ok = add_header(c, "Content-Type: application/json");
    }
    if (ok && o->bearer != NULL && o->bearer[0] != '\0') {
        buf_init(&line, strlen(o->bearer) + 64);
        buf_printf(&line, "Authorization: Bearer %s", o->bearer);
        ok = buf_rc(&line) == RC_OK && add_header(c, buf_str(&line));
        buf_free(&line);
    }
    return ok && curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers) ==
                     CURLE_OK;
}

static bool set_body(struct http_call *c, const struct http_options *o)
{
    CURL *e = c->easy;

    if (!is_post(o)) {
        return true;
    }
    if (o->body_len > 0) {
        c->body = malloc(o->body_len);
        if (c->body == NULL) {
            return false;
        }
        memcpy(c->body, o->body, o->body_len);
        c->body_len = o->body_len;
    }
    return curl_easy_setopt(e, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                            (curl_off_t)o->body_len) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READFUNCTION, read_cb) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BYTES) ==
               CURLE_OK;
}

/* Options that cannot fail with constant arguments, except for memory. */
static bool set_callbacks(struct http_call *c)
{
    CURL *e = c->easy;

    return curl_easy_setopt(e, CURLOPT_PRIVATE, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, prereq_cb) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, write_cb) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, header_cb) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, c) == CURLE_OK;
}

static bool set_protocol(struct http_call *c, const struct http_options *o,
                         bool loopback)
{
    CURL *e = c->easy;
    int64_t connect_ms = o->connect_timeout_ms;

    if (loopback && curl_easy_setopt(e, CURLOPT_PROXY, "") != CURLE_OK) {
        return false;
    }
    /* Beside the deadline judged here: it makes libcurl divide the time among
     * the addresses of a name. */
    if (connect_ms > LONG_MAX / 2) {
        connect_ms = LONG_MAX / 2;
    }
    return curl_easy_setopt(e, CURLOPT_URL, o->url) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                            (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, IDLE_MAX_SECONDS) ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT, "aside/" ASIDE_VERSION) ==
               CURLE_OK;
}

static void set_deadlines(struct http_call *c, const struct http_options *o)
{
    int64_t now_ms = clock_boot_ms();

    c->first_byte_timeout_ms = o->first_byte_timeout_ms;
    c->silence_timeout_ms = o->silence_timeout_ms;
    c->connect_ms = now_ms + o->connect_timeout_ms;
    c->end_ms = now_ms + o->total_timeout_ms;
}

enum rc http_start(struct http *h, const struct http_options *o,
                   http_data_fn *data, http_done_fn *done, void *ctx,
                   struct http_call **out)
{
    struct http_call *c;
    bool loopback = false;
    enum rc rc = check_options(o, &loopback);

    if (rc != RC_OK) {
        return rc;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return RC_NOMEM;
    }
    c->http = h;
    c->data = data;
    c->done = done;
    c->ctx = ctx;
    c->left = o->max_reply_bytes;
    c->result.retry_after_ms = -1;
    buf_init(&c->in, o->max_reply_bytes);
    set_deadlines(c, o);
    c->easy = curl_easy_init();
    if (c->easy == NULL || !set_callbacks(c) || !set_protocol(c, o, loopback) ||
        !set_headers(c, o) || !set_body(c, o) ||
        curl_multi_add_handle(h->multi, c->easy) != CURLM_OK) {
        goto fail;
    }
    TAILQ_INSERT_TAIL(&h->calls, c, all);
    h->n_calls++;
    note_deadline(c);
    *out = c;
    return RC_OK;

fail:
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    free(c->body);
    free(c);
    return RC_NOMEM;
}

/* --- waiting ----------------------------------------------------------- */

static int wait_ms(const struct http *h, int64_t timeout_ms)
{
    int64_t ms = timeout_ms < 0 ? INT64_MAX : timeout_ms;
    int64_t left_ms;

    if (h->nearest_ms != INT64_MAX) {
        left_ms = h->nearest_ms - clock_boot_ms();
        if (left_ms < ms) {
            ms = left_ms < 0 ? 0 : left_ms;
        }
    }
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* libcurl tells of its extra descriptors only whether they can be read, and
 * sleeps no more once one has hung up: so they are asked about here. */
static void ask_extra(struct http_fd *extra, size_t n)
{
    struct pollfd fds[HTTP_WAIT_FDS_MAX];

    for (size_t i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = extra[i].fd, .events = POLLIN};
        extra[i].readable = false;
    }
    if (n > 0 && poll(fds, (nfds_t)n, 0) > 0) {
        for (size_t i = 0; i < n; i++) {
            extra[i].readable = fds[i].revents != 0;
        }
    }
}

static void collect_ended(struct http *h)
{
    CURLMsg *msg;
    int left;

    for (;;) {
        struct http_call *c = NULL;
        CURLcode code;

        msg = curl_multi_info_read(h->multi, &left);
        if (msg == NULL) {
            return;
        }
        /* msg is gone once its handle is removed. */
        code = msg->data.result;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &c);
        call_finish(c, end_of_code(c, code), code);
    }
}

static void judge_deadlines(struct http *h)
{
    int64_t now_ms = clock_boot_ms();
    struct http_call *c = NULL;

    if (now_ms < h->nearest_ms) {
        return;
    }
    h->nearest_ms = INT64_MAX;
    TAILQ_FOREACH(c, &h->calls, all)
    {
        enum http_end end;

        if (c->has_ended) {
            continue;
        }
        if (call_deadline(c, &end) <= now_ms) {
            call_finish(c, end, CURLE_OPERATION_TIMEDOUT);
        } else {
            note_deadline(c);
        }
    }
}

static void run_callbacks(struct http *h)
{
    /* A callback may start calls, which join neither queue before the next
     * http_wait, and cancel any: both loops end. */
    while (!TAILQ_EMPTY(&h->due)) {
        struct http_call *c = TAILQ_FIRST(&h->due);
        struct buf in = c->in;

        TAILQ_REMOVE(&h->due, c, due);
        c->is_due = false;
        buf_init(&c->in, c->left);
        if (in.len > 0) {
            c->data(c->ctx, c->result.status, in.data, in.len);
        }
        buf_free(&in);
    }
    while (!TAILQ_EMPTY(&h->over)) {
        struct http_call *c = TAILQ_FIRST(&h->over);
        /* The analyser does not follow the queue's pointers backwards. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        struct http_result result = c->result;
        http_done_fn *done = c->done;
        void *ctx = c->ctx;

        TAILQ_REMOVE(&h->over, c, over);
        c->is_over = false;
        call_free(c);
        done(ctx, &result);
    }
}

enum rc http_wait(struct http *h, struct http_fd *extra, size_t n_extra,
                  int64_t timeout_ms)
{
    struct curl_waitfd fds[HTTP_WAIT_FDS_MAX];
    int running;
    CURLMcode code;

    assert(n_extra <= HTTP_WAIT_FDS_MAX && !h->busy);
    for (size_t i = 0; i < n_extra; i++) {
        fds[i] =
            (struct curl_waitfd){.fd = extra[i].fd, .events = CURL_WAIT_POLLIN};
    }
    code = curl_multi_poll(h->multi, fds, (unsigned)n_extra,
                           wait_ms(h, timeout_ms), NULL);
    if (code == CURLM_OK) {
        code = curl_multi_perform(h->multi, &running);
    }
    if (code != CURLM_OK) {
        log_error(NULL, "http: %s", curl_multi_strerror(code));
        return code == CURLM_OUT_OF_MEMORY ? RC_NOMEM : RC_IO;
    }
    h->busy = true;
    ask_extra(extra, n_extra);
    collect_ended(h);
    judge_deadlines(h);
    run_callbacks(h);
    h->busy = false;
    return RC_OK;
}
