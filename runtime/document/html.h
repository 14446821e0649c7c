/* html.h - an HTML page as readable blocks. The only user of libxml2.
 *
 * Broken, cut and hostile pages are read as far as they go. Nothing is fetched
 * and no entity but HTML's own is known. Menus, forms, scripts, headers and
 * footers of the site are left out; a page that would be empty then is read
 * with all but its scripts.
 */
#ifndef ASIDE_RUNTIME_HTML_H
#define ASIDE_RUNTIME_HTML_H

#include <stddef.h>

#include "runtime/document/passages.h"
#include "sql/base/rc.h"

#define HTML_MAX_BYTES ((size_t)5 << 20)
/* Elements open at once; reading ends where there are more (browsers have the
 * same bound). The parser looks through all of them at every stray end tag. */
#define HTML_MAX_DEPTH 512

/* Once, before the first page; not thread safe. */
void html_init(void);

/* Give the page's blocks to fn. charset: a label from outside (a header), or
 * NULL. Blocking: CPU only: about 20 ms for a megabyte, some seconds for
 * what was made to be slow. RC_TOO_LARGE: more than HTML_MAX_BYTES; or too many
 * blocks, and fn has got the first of them. RC_NOMEM. */
enum rc html_read(const char *bytes, size_t len, const char *charset,
                  block_fn *fn, void *arg) RC_MUST_CHECK;

/* A link of the page: its words, and where it leads as the page says it, which
 * may be relative. Valid UTF-8 with NUL at the end, neither empty. */
typedef void html_link_fn(void *arg, const char *words, const char *href);

/* The same, with the links that have words; each comes before the block that
 * those words end in. What leads nowhere ("#", "mailto:") is left out. */
enum rc html_read_links(const char *bytes, size_t len, const char *charset,
                        block_fn *fn, html_link_fn *link,
                        void *arg) RC_MUST_CHECK;

#endif
