/* pdf.h - the text of a PDF, by poppler's pdftotext, a child with limits on
 * time, memory and what it writes.
 *
 * Blocking: it belongs into a process that may wait, not into a loop.
 */
#ifndef ASIDE_RUNTIME_PDF_H
#define ASIDE_RUNTIME_PDF_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/document/passages.h"
#include "sql/base/rc.h"

/* Text is cut at so many bytes. */
#define PDF_TEXT_BYTES ((size_t)4 << 20)

/* The PDF is the file open at in. NULL, and *out is a file without a name that
 * holds UTF-8 with a form feed behind each page, from its start; *is_cut: not
 * all of it. Or why there is none, for a person; *again: for want of something
 * here, so that the same file may be read another time. */
const char *pdf_text(int in, int *out, bool *is_cut, bool *again);

/* Such text as blocks, each page under its number: a citation then says where
 * it stands. */
enum rc pdf_read(const char *text, size_t len, block_fn *add,
                 void *arg) RC_MUST_CHECK;

#endif
