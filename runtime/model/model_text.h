/* model_text.h - text as providers send it, made valid.
 *
 * A code point may be cut between two chunks: its bytes, or the halves of a
 * surrogate pair, one in each chunk. Both are joined again; what stays
 * ill-formed becomes U+FFFD.
 */
#ifndef ASIDE_RUNTIME_MODEL_TEXT_H
#define ASIDE_RUNTIME_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/buf.h"
#include "sql/base/json.h"

struct model_text {
    struct buf out; /* whole code points, valid UTF-8 without NUL */
    bool full;      /* more came than is taken, and was dropped */
    char tail[4];   /* a beginning that the next chunk may complete */
    size_t n_tail;
};

void model_text_init(struct model_text *, size_t limit_bytes);
void model_text_free(struct model_text *);
/* Failures stay in out: ask buf_rc. */
void model_text_add(struct model_text *, const char *, size_t len);
/* Nothing more comes: what is left in the tail becomes U+FFFD. */
void model_text_end(struct model_text *);

/* Read JSON more leniently than json_parse does: ill-formed UTF-8, "\u0000"
 * and lone surrogates pass, in a form that model_text_add understands, and
 * members may be named twice. Changes the text. NULL: not JSON. The caller
 * frees the tree with json_free. */
cJSON *model_text_parse(char *text, size_t len);

#endif
