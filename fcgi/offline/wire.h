/* wire.h - a plan as the bytes of a Chat Completions reply.
 *
 * Either one JSON object, or server-sent events in small pieces, so that the
 * program can let time pass between them. Pure; equal plans and times give
 * equal bytes.
 */
#ifndef ASIDE_OFFLINE_WIRE_H
#define ASIDE_OFFLINE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "fcgi/offline/chat.h"
#include "fcgi/offline/plan.h"
#include "sql/base/buf.h"
#include "sql/base/rc.h"

#define WIRE_REPLY_BYTES ((size_t)4 * 1024 * 1024)

/* The whole reply as one "chat.completion" object. */
enum rc wire_reply(const struct chat *, const struct plan *, int64_t created_s,
                   struct buf *out) RC_MUST_CHECK;

struct wire_stream {
    const struct chat *chat;
    const struct plan *plan;
    int64_t created_s;
    size_t words_a_piece;
    int part;  /* what comes next: text, calls, end */
    size_t at; /* bytes of its text that were given */
    size_t call;
};

/* A stream of "chat.completion.chunk" events. words_a_piece >= 1: the size of
 * a piece of text or arguments. */
void wire_stream_begin(struct wire_stream *, const struct chat *,
                       const struct plan *, int64_t created_s,
                       size_t words_a_piece);

/* Append the next event to out; *words gets how many words it holds (0 for an
 * event without text). RC_NOT_FOUND: the stream has ended, nothing was
 * appended. */
enum rc wire_stream_next(struct wire_stream *, struct buf *out,
                         size_t *words) RC_MUST_CHECK;

/* {"error": {"message", "type", "param", "code"}} */
struct wire_failure {
    const char *message;
    const char *type; /* "invalid_request_error", "server_error" */
    const char *param;
    const char *code;
};
enum rc wire_error(const struct wire_failure *, struct buf *out) RC_MUST_CHECK;

/* The reply to GET .../models. */
enum rc wire_models(struct buf *out) RC_MUST_CHECK;

#endif
