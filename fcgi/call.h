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

enum call_key {
    CALL_KEY_OPTIONAL = 0,
    CALL_KEY_REQUIRED,
    CALL_ENDS, /* optional; it ends something, for which it is never too often */
};

/* Fill in the frame of a write: account, key, fingerprint, time. fields ends
 * with a NULL name; their order is part of the fingerprint. Refuses what comes
 * too often, unless its key is known (R02). */
bool call_open_or_reply(const struct ask *, enum call_key,
                        const struct call_field fields[], struct store_call *);

/* Is the key known: call->replayed, or RC_KEY_REUSED. A read of its own. */
enum rc call_find_key(const struct ask *, struct store_call *) RC_MUST_CHECK;

/* 429 with Retry-After. */
enum serve_then call_reply_too_often(const struct ask *, int64_t wait_ms);

/* Answer a write that is committed, or has failed with rc; arg as it was handed
 * over. Replies as handlers do, in a thread of the writer's; SERVE_FINISH. */
typedef enum serve_then call_answer_fn(const struct ask *, void *arg, enum rc,
                                       const char *feed);

/* Hand the write fn(store, arg) over to the writer, which then has it answered
 * and the request finished. arg is memory of ask->arena, and may point to the
 * request's and the body's. The ask is not to be touched any more. */
enum serve_then call_hand_over(struct ask *, store_fn *fn, void *arg,
                               call_answer_fn *answer);

/* What a failed write is to the client. conflict: what RC_CONFLICT means for
 * this call. */
enum serve_then call_reply_rc(const struct ask *, const struct store_call *,
                              enum rc, enum reply_code conflict);

/* replayed, as_of and feed, as every write's reply ends. */
void call_put_end(struct json_out *, const struct store_call *,
                  const char *feed);

#endif
