/* page.h - a fetched document as passages and links, in JSON.
 *
 *   {"title":"…","passages":[{"heading":"…","text":"…"}],
 *    "links":[{"at":0,"text":"…","href":"…"}],"cut":false}
 *
 * at: of the passage that the link's words stand in, or of the one before; href
 * as the page has it, which may be relative. cut: the document has more text
 * than PAGE_TEXT_BYTES, or more passages than are told, or was itself cut.
 *
 * Blocking: CPU only, of hostile bytes. It belongs into a child, see reader.h.
 */
#ifndef ASIDE_RUNTIME_PAGE_H
#define ASIDE_RUNTIME_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/buf.h"
#include "sql/base/rc.h"

#define PAGE_TEXT_BYTES ((size_t)1 << 20)
#define PAGE_LINKS_MAX  1000
/* What is printed is never longer. */
#define PAGE_JSON_BYTES ((size_t)4 << 20)

enum page_type {
    PAGE_HTML = 0,
    PAGE_MARKDOWN,
    PAGE_TEXT,
    PAGE_PDF, /* what pdftotext made of it: UTF-8, with a form feed per page */
    PAGE_TYPE__MAX
};

/* "html", "markdown", "text", "pdf". */
const char *page_type_name(enum page_type);
/* RC_NOT_FOUND: no such name. */
enum rc page_type_named(const char *, enum page_type *) RC_MUST_CHECK;

/* What a document is, from what the server says of it (a Content-Type), the end
 * of its address, and its first bytes; the first that tells decides. charset
 * gets the label of the Content-Type, or "". RC_INVALID: nothing that can be
 * read. */
enum rc page_type_of(const char *content_type, const char *url,
                     const char *bytes, size_t len, enum page_type *,
                     char *charset, size_t charset_len) RC_MUST_CHECK;

struct page_input {
    enum page_type type;
    const char *charset; /* "": not told */
    const char *bytes;
    size_t len;
    bool is_cut; /* bytes are not all of it */
};
/* Append the JSON to out. RC_NOT_FOUND: there is no text in it. RC_INVALID: no
 * text but binary. RC_TOO_LARGE, RC_NOMEM. */
enum rc page_read(const struct page_input *, struct buf *out) RC_MUST_CHECK;

#endif
