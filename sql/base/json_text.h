/* json_text.h - is a text JSON? For json.c alone.
 *
 * The bytes are walked by the grammar of RFC 8259 before cJSON sees them: cJSON
 * takes raw control characters in strings, any control character as white
 * space, leading zeros, a byte order mark, and it recurses. What remains for the
 * tree is what only the tree shows, members named twice.
 */
#ifndef ASIDE_BASE_JSON_TEXT_H
#define ASIDE_BASE_JSON_TEXT_H

#include <stddef.h>

#include "sql/base/json.h"

/* JSON_FLAW_NONE: exactly one JSON text in UTF-8, no deeper than JSON_MAX_DEPTH.
 * Never JSON_FLAW_DUPLICATE. */
enum json_flaw json_text_flaw(const char *text, size_t len);

#endif
