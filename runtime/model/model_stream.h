/* model_stream.h - reads the reply to a Chat Completions request.
 *
 * Takes the body of a 2xx reply as it comes, in pieces cut anywhere: an event
 * stream, or one whole JSON reply (told apart by the first byte, since the
 * Content-Type cannot be trusted). Pure: no I/O, no clock.
 *
 * Lenient where providers differ: docs of the single rules stand in
 * model_stream.c. Strict about the end: without a finish_reason or [DONE] a
 * reply is MODEL_CUT, whatever came before. After [DONE] nothing is read.
 */
#ifndef ASIDE_RUNTIME_MODEL_STREAM_H
#define ASIDE_RUNTIME_MODEL_STREAM_H

#include "runtime/model/model.h"

struct model_stream;

/* What of a reply is taken. What comes beyond that ends it: nothing more is
 * read, and what there is of text and calls stands as MODEL_LENGTH; without
 * either it is MODEL_ERROR. Of reasoning, more is dropped. */
#define MODEL_STREAM_CALLS_MAX     64
#define MODEL_STREAM_ARGUMENTS_MAX ((size_t)1 << 20) /* of all calls */
#define MODEL_STREAM_REASONING_MAX ((size_t)1 << 20)
#define MODEL_STREAM_LINE_MAX      ((size_t)1 << 20)
#define MODEL_STREAM_WHOLE_MAX     ((size_t)8 << 20) /* of a reply in one piece */

struct model_stream_options {
    size_t max_reply_bytes;     /* of the body */
    size_t max_text_bytes;      /* of the text, and of one call's arguments; 0:
                                 * no bound of their own */
    const char *call_id_prefix; /* a call without an id, or with one that
                                 * another has or that begins so, is named
                                 * <prefix>_<position>; make it unique, as by
                                 * the request's id. Copied; at most 40 bytes
                                 */
};

enum rc model_stream_new(const struct model_stream_options *,
                         struct model_stream **out) RC_MUST_CHECK;
void model_stream_free(struct model_stream *); /* NULL is allowed */

/* The next bytes of the body. Failures (broken chunks, memory) are kept and
 * make the verdict MODEL_ERROR; feeding on is then harmless. */
void model_stream_feed(struct model_stream *, const char *, size_t len);
/* The body has ended, in whatever way; what came last may be unfinished. */
void model_stream_end(struct model_stream *);

/* MODEL_OPEN until model_stream_end, [DONE], a limit or an error: then the
 * connection can be closed. */
enum model_verdict model_stream_verdict(const struct model_stream *);
/* The first chunk with a choice has come: the model has taken the input. */
bool model_stream_choice_seen(const struct model_stream *);
/* [DONE] has come, or a whole JSON reply. */
bool model_stream_done_seen(const struct model_stream *);
/* A finish_reason came. MODEL_COMPLETE without it is unconfirmed. */
bool model_stream_confirmed(const struct model_stream *);
/* The error of MODEL_ERROR, else one of kind MODEL_ERROR_NONE. */
const struct model_error *model_stream_error(const struct model_stream *);

/* Text that came since this was last asked: whole code points, valid UTF-8.
 * *len may be 0. Valid until the stream is next fed, ended or freed. */
const char *model_stream_take_text(struct model_stream *, size_t *len);

/* All that came so far. Pointers are the stream's, valid until it is next fed,
 * ended or freed. Ids of calls are final after the end or [DONE]. */
void model_stream_reply(struct model_stream *, struct model_reply *out);

#endif
