/* sse.h - reads an event stream (WHATWG HTML, 9.2.6 "Interpreting an event
 * stream") that comes in pieces cut anywhere.
 *
 * Lines end in CR, LF or CR LF; lines that begin with a colon are comments;
 * the data lines of one event are joined by LF. Of the fields, "event", "data"
 * and "id" are kept. Two things go beyond the standard, because providers do
 * them: an event that the end of the body cuts short is still told, marked as
 * torn; and a field "error" is an event of that name. A byte order mark is the
 * caller's to take off.
 */
#ifndef ASIDE_RUNTIME_SSE_H
#define ASIDE_RUNTIME_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/buf.h"

#define SSE_ID_BYTES 128

struct sse_event {
    const char *name; /* "" unless the stream names it */
    char *data;       /* not empty; may be changed; followed by a NUL */
    size_t len;
    bool torn; /* the body ended before the event did */
};

/* Returns false to read no further. */
typedef bool sse_event_fn(void *ctx, const struct sse_event *);

struct sse {
    struct buf line; /* the line so far, without its end */
    struct buf data; /* of the event so far */
    char name[32];
    char id[SSE_ID_BYTES];      /* the newest that was read */
    char last_id[SSE_ID_BYTES]; /* that of the last event that came whole; "" if
                                 * there was none, or it is too long */
    bool after_cr;              /* a LF now belongs to the line end before it */
    bool stopped;
    sse_event_fn *event;
    void *ctx;
};

/* No line, and no event's data, may be longer than line_max_bytes. */
void sse_init(struct sse *, size_t line_max_bytes, sse_event_fn *, void *ctx);
void sse_free(struct sse *);

/* The next bytes. RC_TOO_LARGE, RC_NOMEM: reading has stopped for good. */
enum rc sse_feed(struct sse *, const char *, size_t len) RC_MUST_CHECK;
/* The body has ended; likewise. */
enum rc sse_end(struct sse *) RC_MUST_CHECK;

#endif
