/* model.h - what a model answers, whatever dialect it speaks.
 *
 * Pure: structs and text. A reply is kept verbatim in a row as JSON, so that a
 * later request can repeat it exactly.
 */
#ifndef ASIDE_RUNTIME_MODEL_H
#define ASIDE_RUNTIME_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/base/rc.h"

struct model_call {
    const char *id;        /* never empty, unique within the reply */
    const char *name;      /* may be "" if the provider sent none */
    const char *arguments; /* as they came; may be "" or broken */
    bool arguments_valid;  /* arguments is one JSON object */
};

struct model_usage {
    bool known; /* false: the numbers are 0 and mean nothing */
    int64_t input_tokens;
    int64_t output_tokens;
    int64_t cached_tokens; /* of the input, -1 if not told */
};

struct model_reply {
    const char *text;            /* valid UTF-8 without NUL; "" if none */
    const char *reasoning;       /* NULL: the provider sent no such field */
    const char *reasoning_field; /* name it came under; NULL like reasoning */
    const struct model_call *calls;
    size_t n_calls;
    const char *finish; /* finish_reason; "" if none, "other" if unreadable;
                         * MODEL_FINISH_LIMIT */
    const char *generation_id; /* the provider's id of the reply, or "" */
    struct model_usage usage;
};

/* More came than is taken (model_stream.h), and nothing more was read. */
#define MODEL_FINISH_LIMIT "over_limit"

/* The reply as one JSON object, appended to out. */
enum rc model_reply_print(const struct model_reply *,
                          struct buf *out) RC_MUST_CHECK;
/* Back again; all memory is of the arena. RC_INVALID: not such an object. */
enum rc model_reply_parse(const char *json, size_t len, struct arena *,
                          struct model_reply *out) RC_MUST_CHECK;

/* It ended at the output limit, by whatever name the provider calls that, or at
 * the one of what is taken. */
bool model_reply_is_torn(const struct model_reply *);

/* How a reply stands. */
enum model_verdict {
    MODEL_OPEN = 0, /* more may come */
    MODEL_COMPLETE, /* ended as it should, with text or calls */
    MODEL_LENGTH,   /* ended at a limit: text and calls may be torn */
    MODEL_FILTERED, /* withheld by the provider */
    MODEL_EMPTY,    /* "successful", but neither text nor calls */
    MODEL_ERROR,    /* the provider reported an error, or broke the protocol */
    MODEL_CUT,      /* the body stopped before its end: never complete */
    MODEL_VERDICT__MAX
};
const char *model_verdict_name(enum model_verdict); /* "cut"; never NULL */

enum model_error_kind {
    MODEL_ERROR_NONE = 0,
    MODEL_ERROR_RATE,      /* throttled or overloaded: later it may work */
    MODEL_ERROR_QUOTA,     /* used up: only a person can help */
    MODEL_ERROR_CONTEXT,   /* the input is too long for the model */
    MODEL_ERROR_AUTH,      /* the key is missing, wrong or not enough */
    MODEL_ERROR_NO_STREAM, /* no streaming together with tools: ask whole */
    MODEL_ERROR_OTHER,
    MODEL_ERROR_KIND__MAX
};
const char *model_error_kind_name(enum model_error_kind);

struct model_error {
    enum model_error_kind kind;
    bool ours;     /* the reply was not usable; the provider named no error */
    long status;   /* HTTP status, or a numeric code within a stream; 0 none */
    char code[64]; /* as the provider named it; "" if it did not */
    char type[64];
    char message[400];      /* one line, valid UTF-8, not split in a letter */
    int64_t prompt_tokens;  /* of a context error, if told; else -1 */
    int64_t context_tokens; /* likewise: what the model can hold */
};

/* True if the provider counted so much less input than was sent that it must
 * have dropped the front of it, as servers with a small default context do. */
bool model_input_was_dropped(int64_t estimated_tokens,
                             const struct model_usage *);

#endif
