/* http_inside.h - what the files of http share: a call, and how its request and
 * its reply are put together. For them alone. */
#ifndef ASIDE_RUNTIME_HTTP_INSIDE_H
#define ASIDE_RUNTIME_HTTP_INSIDE_H

#include <sys/queue.h>

#include <curl/curl.h>

#include "runtime/http/http.h"
#include "sql/base/buf.h"

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
    const char *const *want;     /* names of headers that the caller reads */
    char *values[HTTP_WANT_MAX]; /* NULL: not told */
    http_may_connect_fn *may_connect;
    void *may_connect_ctx;
    bool is_denied;   /* the address tried last was not allowed */
    bool is_named;    /* a guarded call whose host is a name */
    bool is_resolved; /* an address of it was tried */
    struct http_result result;
    char error[CURL_ERROR_SIZE];
};

TAILQ_HEAD(http_call_list, http_call);

struct http {
    CURLM *multi;
    struct http_call_list calls;
    struct http_call_list due;
    struct http_call_list over;
    size_t n_calls;
    int64_t nearest_ms;
    bool busy; /* within http_wait */
};

/* --- http_request.c ---------------------------------------------------- */

struct http_host {
    bool is_loopback; /* this machine, by name */
    bool is_named;    /* not an address */
};

/* RC_INVALID: what cannot be sent. */
enum rc http_request_check(const struct http_options *,
                           struct http_host *) RC_MUST_CHECK;
/* Method, URL, headers and body into the call's handle; false: no memory. */
bool http_request_set(struct http_call *, const struct http_options *,
                      bool loopback) RC_MUST_CHECK;
void http_request_free(struct http_call *);

/* --- http_reply.c ------------------------------------------------------ */

/* libcurl's header callback; ctx is the call. */
size_t http_reply_header(char *line, size_t size, size_t n, void *ctx);
/* What Retry-After said, in milliseconds from now; -1: nothing. */
int64_t http_reply_retry_after_ms(const struct http_call *);
void http_reply_free(struct http_call *);

#endif
