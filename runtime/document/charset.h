/* charset.h - bytes of a file as UTF-8. */
#ifndef ASIDE_RUNTIME_CHARSET_H
#define ASIDE_RUNTIME_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/buf.h"
#include "sql/base/rc.h"

/* Append bytes to out as valid UTF-8 without NUL: whatever is no character
 * becomes U+FFFD. A byte order mark decides the encoding, and is left out;
 * else bytes that are valid UTF-8 are that; else the label does (NULL or an
 * unknown one: windows-1252, as browsers take it). RC_TOO_LARGE: the limit of
 * out, RC_NOMEM. */
enum rc charset_to_utf8(const char *bytes, size_t len, const char *label,
                        struct buf *out) RC_MUST_CHECK;

/* The label that an HTML page's first bytes declare, into out; "" if none. */
void charset_of_html(const char *bytes, size_t len, char *out, size_t out_len);

/* True if the bytes look like no text at all (many NULs, no byte order mark).
 */
bool charset_is_binary(const char *bytes, size_t len);

#endif
