/* http.h - HTTP requests of one event loop; the only user of libcurl.
 *
 * A loop has one struct http and calls http_wait, which is its only place to
 * sleep: it waits for traffic, for the loop's own descriptors, or for the
 * nearest deadline, and then runs callbacks. Callbacks never run from within
 * libcurl, so that a callback may start and cancel any call, its own too.
 *
 * A call ends in one of two ways, never both: its done callback fires once, or
 * it is cancelled and no callback fires any more. With either the struct
 * http_call is gone: the owner drops its pointer as done starts.
 *
 * HTTP/1.1 over connections that are kept for the next call. A request is sent
 * at most once: where libcurl would repeat it on a new connection because the
 * old one broke, the call ends HTTP_END_CUT, and whoever counts requests
 * decides. Redirects are not followed, certificates are verified. A proxy of the
 * environment (http_proxy, https_proxy, all_proxy, no_proxy) is used, but for
 * loopback addresses and for guarded calls (may_connect). Neither the bearer nor
 * a body ever appears in a log or in detail.
 *
 * A name is looked up by a thread of libcurl's, which outlives a call that is
 * cancelled: it ends when the resolver gives up. Names of guarded calls are a
 * stranger's choice, and such calls are refused while many are looked up.
 *
 * Deadlines are judged on boot time. With no call under way nothing wakes but
 * the loop's own descriptors. One thread only; the process ignores SIGPIPE,
 * which a broken TLS connection may raise.
 */
#ifndef ASIDE_RUNTIME_HTTP_H
#define ASIDE_RUNTIME_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

struct http;
struct http_call;
struct sockaddr;

enum http_end {
    HTTP_END_DONE = 0,           /* a whole reply came, of whatever status */
    HTTP_END_CONNECT,            /* no connection: address, refusal, TLS */
    HTTP_END_CONNECT_TIMEOUT,    /* no connection in time */
    HTTP_END_FIRST_BYTE_TIMEOUT, /* sent, but no byte of the body in time */
    HTTP_END_SILENCE_TIMEOUT,    /* too long between two bytes of the body */
    HTTP_END_TOTAL_TIMEOUT,      /* all together too long */
    HTTP_END_CUT,                /* the connection broke after the start */
    HTTP_END_TOO_LARGE,          /* more than max_reply_bytes, or headers */
    HTTP_END_OTHER,              /* see detail */
    HTTP_END__MAX
};

/* "connect_timeout" and so on, for logs and rows. Never NULL. */
const char *http_end_name(enum http_end);

#define HTTP_WANT_MAX 8

/* May a connection to this address be made? Called before each one. */
typedef bool http_may_connect_fn(void *ctx, const struct sockaddr *);

struct http_options {
    const char *method;     /* "GET", "POST" or "DELETE" */
    const char *url;        /* http or https */
    const char *bearer;     /* "" or NULL: none */
    const char *accept;     /* NULL: an event stream or JSON */
    const char *user_agent; /* NULL: aside and its version */
    /* Further lines "Name: value", NULL at the end; or NULL. */
    const char *const *headers;
    /* Names of the reply's headers that the caller reads, at most
     * HTTP_WANT_MAX and NULL at the end; static; or NULL. */
    const char *const *want;
    bool compressed; /* let the server compress; limits count what comes out */
    /* Not NULL: every address is asked about, none is reached through a proxy,
     * and no kept connection of another call is used. */
    http_may_connect_fn *may_connect;
    void *may_connect_ctx;
    const void *body; /* of a POST, JSON; copied, and freed once sent */
    size_t body_len;
    int64_t connect_timeout_ms;    /* from the start to the connection */
    int64_t first_byte_timeout_ms; /* from the sending to the body's first
                                    * byte; headers do not count, since many
                                    * servers send them before they think */
    int64_t silence_timeout_ms;    /* from one byte of the body to the next */
    int64_t total_timeout_ms;      /* from the start to the end */
    size_t max_reply_bytes;        /* of the body */
};

struct http_result {
    enum http_end end;
    long status;            /* 0: no status line came */
    int64_t retry_after_ms; /* RFC 9110 10.2.3, either form; -1: none */
    bool sent;              /* bytes of the request may have reached the peer */
    char reply_id[128];     /* X-Generation-Id, else X-Request-Id, else "" */
    /* What the headers of want said, "" if nothing (or more than 4 KiB); valid
     * during the callback. */
    const char *header[HTTP_WANT_MAX];
    char detail[200]; /* one line for people, UTF-8; "" after HTTP_END_DONE */
    /* The same without names and addresses, where they are nobody's business:
     * static; "" after HTTP_END_DONE. */
    const char *brief;
};

/* Some bytes of the body, of a reply with this status; valid during the
 * callback, even if it cancels the call. */
typedef void http_data_fn(void *ctx, long status, const char *data, size_t len);
/* The end; all data has been handed over before. */
typedef void http_done_fn(void *ctx, const struct http_result *);

enum rc http_new(struct http **out) RC_MUST_CHECK;
/* Cancels what is under way. NULL is allowed. Not from within a callback. */
void http_free(struct http *);

/* The process never has more threads for the names of guarded calls. */
#define HTTP_LOOK_UPS_MAX 64

/* Start a call. No callback fires from within http_start; data may be NULL.
 * RC_INVALID: a method, URL or bearer that cannot be sent. RC_BUSY: a guarded
 * call whose name cannot be looked up now. RC_NOMEM. */
enum rc http_start(struct http *, const struct http_options *,
                   http_data_fn *data, http_done_fn *done, void *ctx,
                   struct http_call **out) RC_MUST_CHECK;

/* Forget a call that has not ended: closes its connection at once and frees
 * it. NULL is allowed. */
void http_cancel(struct http_call *);

/* What the i-th header of want has said so far, "" if nothing; for a data
 * callback, and valid during it. */
const char *http_header(const struct http_call *, size_t i);

#define HTTP_URL_BYTES 2048

/* Why an address cannot be fetched; NULL: it can. ref as a page or a person
 * writes it, relative to base unless that is NULL (then https:// is supplied
 * where no scheme stands). out gets it in one spelling, without a fragment:
 * ASCII, http or https, no name or password, shorter than HTTP_URL_BYTES. Host
 * names beyond ASCII are read in the process's locale. */
const char *http_url_clean(const char *base, const char *ref,
                           char out[HTTP_URL_BYTES]);
/* Its host, in lower case and without brackets; "" if there is none. */
void http_url_host(const char *url, char *out, size_t len);
/* text as a value in a query, appended to out. */
struct buf;
void http_url_escape(struct buf *out, const char *text);

/* Calls under way. */
size_t http_active(const struct http *);

#define HTTP_WAIT_FDS_MAX 8

/* A descriptor of the loop's own. */
struct http_fd {
    int fd;
    bool readable; /* set by http_wait: it can be read, or it has hung up */
};

/* Sleep until something happens, at most timeout_ms (-1: no limit), then run
 * the callbacks that are due. A signal ends the sleep early, which is no
 * error. n_extra <= HTTP_WAIT_FDS_MAX. Not from within a callback.
 * RC_IO, RC_NOMEM: the wait itself failed, which was logged. */
enum rc http_wait(struct http *, struct http_fd *extra, size_t n_extra,
                  int64_t timeout_ms) RC_MUST_CHECK;

#endif
