/* req.h - one FastCGI request, and the only user of libfcgi.
 *
 * A request is accepted, read, answered once (a complete reply or a stream)
 * and finished. It may leave the thread that accepted it: a long poll is
 * parked (req_park) and finished later by another thread. One thread at a time
 * may use a request.
 *
 * Bodies: a close with unread input resets the connection and turns the reply
 * into the web server's 502, so every reply drains the input first, within
 * REQ_DRAIN_BYTES and REQ_DRAIN_MS.
 *
 * Blocking: reading waits for the peer at most REQ_RECEIVE_MS between two
 * pieces and REQ_BODY_MS in all, writing at most REQ_SEND_MS. Every connection
 * carries one request (the peer's wish to keep it is ignored: kept connections
 * would bind threads).
 */
#ifndef ASIDE_FCGI_REQ_H
#define ASIDE_FCGI_REQ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define REQ_RECEIVE_MS  5000
#define REQ_SEND_MS     5000
#define REQ_BODY_MS     15000
#define REQ_DRAIN_BYTES (8 * 1024 * 1024)
#define REQ_DRAIN_MS    5000
#define REQ_ARENA_BYTES (32 * 1024 * 1024)

struct req;
struct req_listener;

/* --- listening -------------------------------------------------------------
 */

struct req_listen_options {
    const char *path;   /* own Unix socket; NULL: descriptor 0 listens */
    mode_t mode;        /* of that socket's file; 0 means 0660 */
    const char *prefix; /* of every path, "" or "/aside"; kept by reference */
};

/* Prepare the process: libfcgi, SIGPIPE, SIGXFSZ. Once, before any thread. */
enum rc req_setup(void) RC_MUST_CHECK;

/* RC_INVALID: descriptor 0 is no listening socket, or the path is too long.
 * RC_CONFLICT: another process listens on that path (a stale file without a
 * listener is replaced). RC_IO. */
enum rc req_listen(const struct req_listen_options *,
                   struct req_listener **out) RC_MUST_CHECK;

/* Stop accepting: req_accept returns RC_CONFLICT from now on. A thread that
 * is inside it must be poked, again and again until it has left, since the
 * poke may come in the moment before accept(2). Any thread. */
void req_listener_stop(struct req_listener *);
void req_poke(pthread_t);

/* Close; removes the socket file that req_listen made, if it is still ours.
 * Never shuts the socket down: it may be shared. NULL is allowed. */
void req_listener_free(struct req_listener *);

/* Wait for a request. RC_CONFLICT: stopped. Everything else (a peer that
 * sends nonsense, no descriptors left) is waited out inside. The caller
 * finishes *out. */
enum rc req_accept(struct req_listener *, struct req **out) RC_MUST_CHECK;

/* --- reading ---------------------------------------------------------------
 * All texts live as long as the request does, and until req_park.
 */

enum req_method {
    REQ_GET = 0,
    REQ_HEAD,
    REQ_POST,
    REQ_PUT,
    REQ_PATCH,
    REQ_DELETE,
    REQ_OTHER,
    REQ__MAX
};

struct arena *req_arena(struct req *);
enum req_method req_method(const struct req *);
const char *req_method_name(const struct req *); /* as it was sent */

/* The path below the prefix, percent-decoded, without query: "/api/v1/health".
 * NULL: outside the prefix, or not well-formed (a bad escape, NUL, not
 * UTF-8). */
const char *req_path(const struct req *);
bool req_path_malformed(const struct req *);

/* The query parameter, percent-decoded ('+' is a space); the first one of that
 * name; NULL if it is missing. */
const char *req_query(const struct req *, const char *name);
/* A query whose escapes are wrong or not UTF-8: none of it is readable. */
bool req_query_malformed(const struct req *);

/* "Content-Type", "idempotency-key"; NULL if the peer sent none. One that came
 * several times is one list, "a, b" (RFC 9110 5.3), which few names take. */
const char *req_header(const struct req *, const char *name);
/* A CGI variable as it is: REMOTE_ADDR, REMOTE_USER; NULL if missing. */
const char *req_param(const struct req *, const char *name);

/* The whole body, read at most once and kept; NUL-terminated, but may hold NUL
 * bytes. RC_TOO_LARGE: more than limit bytes (the rest was drained). RC_IO: the
 * peer went away, stalled, or sent less than it announced. */
enum rc req_body(struct req *, size_t limit_bytes, const char **out,
                 size_t *len) RC_MUST_CHECK;

/* The body piece by piece, instead of req_body: nothing of it is kept. What
 * take says other than RC_OK ends it and is returned. RC_TOO_LARGE: more than
 * limit bytes. RC_IO as above, and *arrived is false then. */
typedef enum rc req_take_fn(void *arg, const void *bytes, size_t len);
enum rc req_body_pieces(struct req *, size_t limit_bytes, req_take_fn *,
                        void *arg, bool *arrived) RC_MUST_CHECK;

/* --- answering -------------------------------------------------------------
 * Status lines, and header values given here, are ours: nothing from a peer
 * goes into them unchecked.
 */

struct req_reply {
    int status;
    const char *type;    /* Content-Type */
    const char *headers; /* further "Name: value\r\n" lines, or NULL */
    const char *body;
    size_t body_len;
};

/* A complete reply with Content-Length (the body left out for HEAD). Drains
 * the input first. Once per request, and no stream. RC_IO: the peer is gone. */
enum rc req_reply(struct req *, const struct req_reply *) RC_MUST_CHECK;
int req_status(const struct req *); /* of the reply, 0 before it */

/* A reply whose length is not known yet: each write goes out at once, as long
 * as the web server does not buffer it. */
enum rc req_stream_begin(struct req *, int status,
                         const char *type) RC_MUST_CHECK;
enum rc req_stream_write(struct req *, const char *, size_t len) RC_MUST_CHECK;
/* Let time pass. RC_IO as soon as the peer hangs up. */
enum rc req_stream_wait(struct req *, int64_t ms) RC_MUST_CHECK;

/* --- parking and finishing -------------------------------------------------
 */

/* Make a request fit to wait long: the input is drained and its memory goes,
 * the arena and libfcgi's buffers included; some 500 bytes stay. After this only req_fd, req_reply and req_finish may be
 * called. RC_IO: the input could not be drained; finish it. */
enum rc req_park(struct req *) RC_MUST_CHECK;

/* The connection, for EPOLLRDHUP; never read or write it. */
int req_fd(const struct req *);

/* End the request and close its connection; frees it. A request without a
 * reply ends as the web server's 502. NULL is allowed. */
void req_finish(struct req *);

#endif
