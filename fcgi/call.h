/* call.h - a write from the request to the reply: key, fingerprint, the
 * writer, and the problems that a write can end in. */
#ifndef ASIDE_FCGI_CALL_H
#define ASIDE_FCGI_CALL_H

#include "fcgi/ask.h"
#include "fcgi/reply.h"

/* A parsed field as the fingerprint sees it, defaults filled in. */
struct call_field {
    const char *name;
    const char *value; /* NULL: left out, and no default */
};

enum call_key { CALL_KEY_OPTIONAL = 0, CALL_KEY_REQUIRED };

/* Fill in the frame of a write: account, key, fingerprint, time. fields ends
 * with a NULL name; their order is part of the fingerprint. */
bool call_open_or_reply(const struct ask *, enum call_key,
                        const struct call_field fields[], struct store_call *);

/* SHA-256 over method, path and fields, each with its length. Pure. */
void call_fingerprint(const char *method, const char *path,
                      const struct call_field fields[],
                      uint8_t out[HASH_BYTES]);

/* What a failed write is to the client. conflict: what RC_CONFLICT means for
 * this call. */
enum serve_then call_reply_rc(const struct ask *, const struct store_call *,
                              enum rc, enum reply_code conflict);

/* replayed, as_of and feed, as every write's reply ends. */
void call_put_end(struct json_out *, const struct store_call *,
                  const char *feed);

#endif
