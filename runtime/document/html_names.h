/* html_names.h - what names in a page mean: of elements, and of what belongs to
 * the site rather than the page. */
#ifndef ASIDE_RUNTIME_HTML_NAMES_H
#define ASIDE_RUNTIME_HTML_NAMES_H

#include <stdbool.h>

enum html_element {
    HTML_INLINE = 0, /* anything not named below */
    HTML_DROP,       /* never text: scripts and the like */
    HTML_SITE,       /* the site's, not the page's */
    HTML_PAGE_PART,  /* header, footer: the site's outside of an article */
    HTML_ARTICLE,
    HTML_TITLE,
    HTML_HEADING,
    HTML_BLOCK,
    HTML_PRE,
    HTML_BREAK,
    HTML_LINK,
    HTML_RAISED, /* <sup> */
    HTML_LIST,
    HTML_ITEM,
    HTML_TERM,
    HTML_TABLE,
    HTML_ROW,
    HTML_HEAD_CELL,
    HTML_CELL,
    HTML__MAX
};

enum html_element html_names_element(const char *name);

/* atts: names and values in turn, a value may be NULL, NULL at the end; NULL:
 * none. Whether they say that the element is a menu or the like, or hidden. */
bool html_names_is_site(const char *const *atts);

#endif
