#include "runtime/document/html.h"

#include <string.h>

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#include "runtime/document/charset.h"
#include "runtime/document/html_inside.h"

#define MAX_LABEL_BYTES 40
/* A page with less than LITTLE_TEXT is read again with its menus: if it has
 * MUCH_TEXT then, all of it stands in a form or the like. */
#define LITTLE_TEXT 200
#define MUCH_TEXT   1000

/* What the parser's events are given. */
struct reading {
    struct html_page *page;
    htmlParserCtxtPtr parser;
};

/* --- the parser's events -------------------------------------------------- */

static void on_text(void *arg, const xmlChar *s, int len)
{
    struct reading *r = arg;

    if (len > 0) {
        html_text_add(r->page, (const char *)s, (size_t)len);
    }
}

static void on_start(void *arg, const xmlChar *xml_name,
                     const xmlChar **xml_atts)
{
    struct reading *r = arg;
    struct html_page *pg = r->page;
    const char *name = (const char *)xml_name;
    const char *const *atts = (const char *const *)xml_atts;
    enum html_element element = html_names_element(name);

    pg->depth++;
    if (pg->depth > HTML_MAX_DEPTH || pg->is_full) {
        xmlStopParser(r->parser);
        return;
    }
    if (strcmp(name, "meta") == 0) {
        html_link_keep_refresh(pg, atts);
    }
    if (pg->skip_depth > 0) {
        return;
    }
    if (html_element_is_left_out(pg, name, element, atts)) {
        pg->skip_depth = pg->depth;
        return;
    }
    html_element_start(pg, name, element, atts);
}

static void on_end(void *arg, const xmlChar *name)
{
    struct reading *r = arg;
    struct html_page *pg = r->page;

    if (pg->skip_depth == 0) {
        html_element_end(pg, html_names_element((const char *)name));
    } else if (pg->skip_depth == pg->depth) {
        pg->skip_depth = 0;
    }
    pg->depth -= pg->depth > 0;
}

/* --- the page ------------------------------------------------------------- */

static void page_init(struct html_page *pg, bool keep_site)
{
    *pg = (struct html_page){.keep_site = keep_site, .kind = BLOCK_PROSE};
    buf_init(&pg->blocks, HTML_TEXT_BYTES);
    buf_init(&pg->links, HTML_LINKS_BYTES);
    buf_init(&pg->href, HTML_HREF_BYTES);
    buf_init(&pg->leads, HTML_HREF_BYTES);
    buf_init(&pg->title, HTML_TEXT_BYTES);
    buf_init(&pg->text, HTML_TEXT_BYTES);
}

static void page_free(struct html_page *pg)
{
    buf_free(&pg->blocks);
    buf_free(&pg->links);
    buf_free(&pg->href);
    buf_free(&pg->leads);
    buf_free(&pg->title);
    buf_free(&pg->text);
}

/* Reading ended early for want of memory, here or in the parser. */
static bool lacked_memory(const struct reading *r)
{
    const struct html_page *pg = r->page;

    return pg->lacked_memory || r->parser->input == NULL ||
           r->parser->errNo == XML_ERR_NO_MEMORY || pg->blocks.rc == RC_NOMEM ||
           pg->links.rc == RC_NOMEM || pg->href.rc == RC_NOMEM ||
           pg->leads.rc == RC_NOMEM || pg->title.rc == RC_NOMEM ||
           pg->text.rc == RC_NOMEM;
}

/* A page without text that leads on by itself says where. */
static void give_refresh(struct html_page *pg)
{
    if (pg->total_bytes == 0 && pg->leads.len > 0) {
        html_block_begin(pg, BLOCK_PROSE);
        html_block_clear(pg, &pg->href);
        buf_add(&pg->href, pg->leads.data, pg->leads.len);
        buf_puts(&pg->text, "This page leads on to another by itself.");
        html_link_end(pg);
        html_block_begin(pg, BLOCK_PROSE);
    }
}

/* utf8 is valid; the declarations within the page are passed over. */
static enum rc parse(struct html_page *pg, const struct buf *utf8)
{
    htmlSAXHandler sax = {.startElement = on_start,
                          .endElement = on_end,
                          .characters = on_text,
                          .ignorableWhitespace = on_text,
                          .cdataBlock = on_text};
    struct reading r = {.page = pg, .parser = htmlNewParserCtxt()};
    bool lacked;

    if (r.parser == NULL) {
        return RC_NOMEM;
    }
    *r.parser->sax = sax;
    r.parser->userData = &r;
    (void)htmlCtxtReadMemory(
        r.parser, utf8->data, (int)utf8->len, NULL, "UTF-8",
        HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
            HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    html_block_begin(pg, BLOCK_PROSE);
    give_refresh(pg);
    lacked = lacked_memory(&r);
    htmlFreeParserCtxt(r.parser);
    if (lacked) {
        return RC_NOMEM;
    }
    return pg->is_full || buf_rc(&pg->text) != RC_OK ? RC_TOO_LARGE
                                                     : buf_rc(&pg->blocks);
}

static enum rc read_page(const struct buf *utf8, block_fn *fn,
                         html_link_fn *link, void *arg)
{
    struct html_page page;
    struct html_page whole;
    bool empty = false;
    enum rc rc;

    page_init(&page, false);
    page_init(&whole, true);
    rc = parse(&page, utf8);
    if (rc == RC_OK && page.left_out_site && page.total_bytes < LITTLE_TEXT) {
        rc = parse(&whole, utf8);
        empty = whole.total_bytes >= MUCH_TEXT;
    }
    if (rc == RC_OK || rc == RC_TOO_LARGE) {
        html_block_give_all(empty ? &whole : &page, fn, link, arg);
    }
    page_free(&page);
    page_free(&whole);
    return rc;
}

void html_init(void)
{
    xmlInitParser();
}

enum rc html_read_links(const char *bytes, size_t len, const char *charset,
                        block_fn *fn, html_link_fn *link, void *arg)
{
    char declared[MAX_LABEL_BYTES] = "";
    struct buf utf8;
    enum rc rc;

    if (len > HTML_MAX_BYTES) {
        return RC_TOO_LARGE;
    }
    if (charset == NULL) {
        charset_of_html(bytes, len, declared, sizeof(declared));
    }
    buf_init(&utf8, HTML_TEXT_BYTES);
    rc = charset_to_utf8(bytes, len, charset == NULL ? declared : charset,
                         &utf8);
    if (rc == RC_OK && utf8.len > 0) {
        rc = read_page(&utf8, fn, link, arg);
    }
    buf_free(&utf8);
    return rc;
}

enum rc html_read(const char *bytes, size_t len, const char *charset,
                  block_fn *fn, void *arg)
{
    return html_read_links(bytes, len, charset, fn, NULL, arg);
}
