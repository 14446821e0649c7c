/* html_inside.h - a page that is being read. For html.c, html_block.c,
 * html_element.c, html_link.c and html_text.c alone.
 *
 * Pages are read as a stream of events, without a tree: memory stays small
 * and no recursion follows the page's nesting. Elements (html_element.c) begin
 * and end blocks (html_block.c), characters (html_text.c) fill the one in hand,
 * and links (html_link.c) remember its words.
 */
#ifndef ASIDE_RUNTIME_HTML_INSIDE_H
#define ASIDE_RUNTIME_HTML_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/document/html.h"
#include "runtime/document/html_names.h"
#include "runtime/document/passages.h"
#include "sql/base/buf.h"

#define HTML_TEXT_BYTES  (4 * HTML_MAX_BYTES)
#define HTML_LINKS_BYTES (1u << 20)
#define HTML_HREF_BYTES  1000 /* longer addresses are not kept */

struct html_page {
    struct buf blocks; /* struct block, its text, and so on */
    struct buf links;  /* struct link, its texts, and so on */
    bool keep_site;    /* second reading: menus are text too */
    bool left_out_site;

    int depth;
    int skip_depth;    /* depth of the element being left out; 0: none */
    int article_depth; /* of the outermost open article; 0: none */
    int pre_depth;     /* of the outermost open <pre>; 0: none */
    int link_depth;    /* of the open link; 0: none */
    struct buf href;   /* of the open link */
    struct buf leads;  /* where the page leads on to by itself */
    size_t words_at;   /* where its words begin in text */
    int list_level;
    int cell_depth; /* of the open cell; 0: none */

    bool has_title;
    struct buf title; /* kept: text that only repeats it is left out */
    struct buf text;  /* of the block in hand */
    enum block_kind kind;
    int level;          /* of a heading */
    size_t link_len;    /* bytes of text that are words of links */
    bool space;         /* a space is due before the next character */
    bool item_starts;   /* "- " is due before the next character */
    bool row_starts;    /* no cell yet in this row */
    bool head_row;      /* all cells so far are head cells */
    size_t total_bytes; /* of text given out */
    bool is_full;       /* more blocks than are kept: what follows is not */
    bool lacked_memory; /* a text was lost */
};

/* --- html_block.c ---------------------------------------------------------- */

/* End the block in hand and begin one of another kind. */
void html_block_begin(struct html_page *, enum block_kind);
/* The page's title, unless it has one. */
void html_block_take_title(struct html_page *, const char *text, size_t len);
/* Blocks are kept until the page is known to be more than its menus: give all
 * of them to fn, and the links, if link is given. */
void html_block_give_all(const struct html_page *, block_fn *,
                         html_link_fn *link, void *arg);
/* For the next use; that it lacked memory is not forgotten. */
void html_block_clear(struct html_page *, struct buf *);

/* --- html_text.c ----------------------------------------------------------- */

/* Characters between elements, in valid UTF-8; len > 0. */
void html_text_add(struct html_page *, const char *s, size_t len);

/* --- html_element.c -------------------------------------------------------- */

/* atts, here and below, are as html_names_is_site takes them. What is left out
 * is left out with all that stands in it. */
bool html_element_is_left_out(struct html_page *, const char *name,
                              enum html_element, const char *const *atts);
void html_element_start(struct html_page *, const char *name, enum html_element,
                        const char *const *atts);
void html_element_end(struct html_page *, enum html_element);

/* --- html_link.c ----------------------------------------------------------- */

void html_link_start(struct html_page *, const char *const *atts);
void html_link_end(struct html_page *);
/* The attributes of a <meta>: where the page leads on to by itself, if it does.
 * <meta http-equiv="refresh" content="0; url='/there'"> */
void html_link_keep_refresh(struct html_page *, const char *const *atts);
/* Those before this place in blocks, from *next on. */
void html_link_give(const struct html_page *, size_t at, size_t *next,
                    html_link_fn *, void *arg);

#endif
