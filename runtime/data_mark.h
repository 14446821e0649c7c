/* data_mark.h - what strangers wrote, and what models made of it, marked as data
 * in what the model is sent.
 *
 *   [data]
 *   | {"passages":[...]}
 *   [end of data]
 *
 * Every line between the border's two begins with "| ", whatever ends lines in
 * whoever's eyes, so that no text can close the border from within, nor begin a
 * line that reads like one of Aside's marks. Pure.
 */
#ifndef ASIDE_RUNTIME_DATA_MARK_H
#define ASIDE_RUNTIME_DATA_MARK_H

#include <stddef.h>

#include "sql/base/buf.h"

#define DATA_MARK_OPEN  "[data]"
#define DATA_MARK_LINE  "| "
#define DATA_MARK_CLOSE "[end of data]"

/* Appended to out, without a line break behind it. */
void data_mark_put(const char *text, size_t len, struct buf *out);
/* A text that has to do with one line, in the same marks' spirit: "| " before
 * it, and nothing in it that ends a line. */
void data_mark_put_line(const char *text, size_t len, struct buf *out);

#endif
