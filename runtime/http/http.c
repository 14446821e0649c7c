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
#include "runtime/http/http_inside.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"

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

const char *http_header(const struct http_call *c, size_t i)
{
    assert(i < HTTP_WANT_MAX);
    return c->values[i] != NULL ? c->values[i] : "";
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

/* --- the end of a call ------------------------------------------------- */

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

    r->brief = "";
    if (r->end == HTTP_END_DONE) {
        return;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_SEND_FAIL_REWIND) {
        own = "the kept connection broke before a reply";
    } else if (c->no_memory) {
        own = "no memory";
    } else if (c->is_denied && !r->sent) {
        own = "the address is not allowed";
    }
    r->brief = own != NULL ? own : curl_easy_strerror(code);
    if (own == NULL) {
        own = c->error[0] != '\0' ? c->error : r->brief;
    }
    /* libcurl repeats what a stranger wrote, and cuts it anywhere. */
    if (!utf8_valid(own, strlen(own))) {
        own = r->brief;
    }
    (void)snprintf(r->detail, sizeof(r->detail), "%.*s",
                   (int)utf8_clip(own, strlen(own), sizeof(r->detail) - 1),
                   own);
    for (char *p = r->detail; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
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
    r->retry_after_ms = http_reply_retry_after_ms(c);
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
    http_request_free(c);
    http_reply_free(c);
    buf_free(&c->in);
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
        /* The analyser does not follow the queue's pointers backwards. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        call_free(TAILQ_FIRST(&h->calls));
    }
    (void)curl_multi_cleanup(h->multi);
    free(h);
    curl_global_cleanup();
}

/* --- starting ---------------------------------------------------------- */

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
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, http_reply_header) ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, c) == CURLE_OK;
}

/* Threads of this process beside the loop's: look-ups, also those that calls
 * which are gone have left behind. */
static size_t count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        n++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n > 3 ? n - 3 : 0; /* ".", ".." and the loop's */
}

/* Those that have a thread already are counted twice: it is a bound. */
static bool may_look_up(const struct http *h)
{
    const struct http_call *c = NULL;
    size_t n = count_threads();

    TAILQ_FOREACH(c, &h->calls, all)
    {
        n += c->is_named && !c->is_resolved && !c->has_ended ? 1 : 0;
    }
    return n < HTTP_LOOK_UPS_MAX;
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
    struct http_host host = {.is_named = false};
    enum rc rc = http_request_check(o, &host);

    if (rc == RC_OK && o->may_connect != NULL && host.is_named &&
        !may_look_up(h)) {
        rc = RC_BUSY;
    }
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
    c->want = o->want;
    c->is_named = o->may_connect != NULL && host.is_named;
    c->may_connect = o->may_connect;
    c->may_connect_ctx = o->may_connect_ctx;
    c->left = o->max_reply_bytes;
    c->result.retry_after_ms = -1;
    buf_init(&c->in, o->max_reply_bytes);
    set_deadlines(c, o);
    c->easy = curl_easy_init();
    if (c->easy == NULL || !set_callbacks(c) ||
        !http_request_set(c, o, host.is_loopback) ||
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
    http_request_free(c);
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
        char *values[HTTP_WANT_MAX];
        http_done_fn *done = c->done;
        void *ctx = c->ctx;

        TAILQ_REMOVE(&h->over, c, over);
        c->is_over = false;
        for (size_t i = 0; i < HTTP_WANT_MAX; i++) {
            values[i] = c->values[i];
            c->values[i] = NULL;
            result.header[i] = values[i] != NULL ? values[i] : "";
        }
        call_free(c);
        done(ctx, &result);
        for (size_t i = 0; i < HTTP_WANT_MAX; i++) {
            free(values[i]);
        }
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
