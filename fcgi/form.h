/* form.h - what a request says, checked: members of the body, parameters of
 * the query, the Idempotency-Key.
 *
 * Functions that end in _or_reply answer the client themselves when they
 * return false. A member of value null counts as left out; a member that no
 * call knows is refused, so that a typing error is not silently ignored.
 */
#ifndef ASIDE_FCGI_FORM_H
#define ASIDE_FCGI_FORM_H

#include <stdbool.h>

#include "fcgi/ask.h"
#include "sql/base/id.h"

/* The body has no members but these (a list ended by NULL). */
bool form_known_or_reply(const struct ask *, const char *const names[]);

/* A text with at least one character that is no white space, of at most
 * max_bytes (else 413 where too_large is set, or 422). *out is NULL if it is
 * left out and not required; it lives as long as ask->body. */
struct form_text {
    const char *name;
    size_t max_bytes;
    bool required;
    bool may_be_empty;
    bool one_line; /* no control characters */
    bool too_large_is_413;
};
bool form_text_or_reply(const struct ask *, const struct form_text *,
                        const char **out);

/* One of words (n of them); *out its index, or fallback if it is left out. */
bool form_word_or_reply(const struct ask *, const char *name,
                        const char *const words[], int n, int fallback,
                        int *out);

/* A whole number of a range; fallback if it is left out. */
bool form_i64_or_reply(const struct ask *, const char *name, int64_t min,
                       int64_t max, int64_t fallback, int64_t *out);

/* true or false; false if it is left out. */
bool form_flag_or_reply(const struct ask *, const char *name, bool *out);

/* Query parameters: a text that must be there, a number of a range, an id of a
 * kind (0 if it is left out), a word (-1 if it is left out). */
bool form_query_text_or_reply(const struct ask *, const char *name,
                              size_t max_bytes, const char **out);
bool form_query_i64_or_reply(const struct ask *, const char *name, int64_t min,
                             int64_t max, int64_t fallback, int64_t *out);
bool form_query_id_or_reply(const struct ask *, const char *name, enum id_kind,
                            int64_t *out);
bool form_query_word_or_reply(const struct ask *, const char *name,
                              const char *const words[], int n, int *out);

/* The Idempotency-Key: 1 to 255 visible ASCII characters. *out is NULL if it
 * is missing and not required. */
bool form_key_or_reply(const struct ask *, bool required, const char **out);

#endif
