/* quote.h - text of documents and people as Markdown text.
 *
 * Whatever means something to Markdown or could pass for a citation is
 * escaped, so that a document cannot forge a reference, a link or a heading.
 */
#ifndef ASIDE_OFFLINE_QUOTE_H
#define ASIDE_OFFLINE_QUOTE_H

#include <stddef.h>

#include "fcgi/offline/sentence.h"
#include "sql/base/buf.h"

/* The sentence in one line, its connecting word at the beginning ("However,")
 * left out, with the sentence before it if it leans on that one, and the
 * citation: "Text. [3]". */
void quote_sentence(struct buf *, const struct sentence *);

/* Any text in one line, at most max_bytes of it, with "…" if it was cut. */
void quote_plain(struct buf *, const char *, size_t len, size_t max_bytes);

/* "Write-Ahead Logging": in one line and in italics. */
void quote_title(struct buf *, const char *title);

#endif
