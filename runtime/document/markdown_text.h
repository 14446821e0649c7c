/* markdown_text.h - Markdown and plain text files as readable blocks.
 *
 * Not a Markdown renderer: it finds headings, paragraphs, list items, tables
 * and code, and takes the marks of links and emphasis out of the words. Plain
 * text has headings where a line is underlined, numbered or in capitals
 * between empty lines; what is set in columns stays as it is.
 */
#ifndef ASIDE_RUNTIME_MARKDOWN_TEXT_H
#define ASIDE_RUNTIME_MARKDOWN_TEXT_H

#include <stddef.h>

#include "runtime/document/passages.h"
#include "sql/base/rc.h"

#define MARKDOWN_TEXT_MAX_BYTES ((size_t)5 << 20)

/* Give the file's blocks to fn. Blocking: CPU only. RC_TOO_LARGE: more than
 * MARKDOWN_TEXT_MAX_BYTES; RC_INVALID: no text but binary; RC_NOMEM. */
enum rc markdown_text_read(const char *bytes, size_t len, block_fn *fn,
                           void *arg) RC_MUST_CHECK;
enum rc markdown_text_read_plain(const char *bytes, size_t len, block_fn *fn,
                                 void *arg) RC_MUST_CHECK;

#endif
