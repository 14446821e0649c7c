#include "runtime/document/html.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#include "runtime/document/charset.h"
#include "runtime/document/html_names.h"
#include "sql/base/buf.h"
#include "sql/base/utf8.h"

/* Pages are read as a stream of events, without a tree: memory stays small
 * and no recursion follows the page's nesting. */

#define MAX_TEXT_BYTES  (4 * HTML_MAX_BYTES)
#define MAX_LABEL_BYTES 40
#define MAX_INDENT      6
/* A page with less than LITTLE_TEXT is read again with its menus: if it has
 * MUCH_TEXT then, all of it stands in a form or the like. */
#define LITTLE_TEXT 200
#define MUCH_TEXT   1000
/* A link's words are kept so far, and longer addresses not at all. */
#define MAX_WORDS_BYTES 200
#define MAX_HREF_BYTES  1000
#define MAX_LINKS_BYTES (1u << 20)
/* A row beyond this is layout and no data. */
#define MAX_ROW_BYTES 2000

/* Words and address follow it, each with its NUL. */
struct link {
    size_t at; /* it comes before what stands there in blocks */
    size_t words_len;
    size_t href_len;
};

struct page {
    struct buf blocks; /* struct block, its text, and so on */
    struct buf links;  /* struct link, its texts, and so on */
    bool keep_site;    /* second reading: menus are text too */
    bool left_out_site;
    htmlParserCtxtPtr parser;

    int depth;
    int skip_depth;    /* depth of the element being left out; 0: none */
    int title_depth;   /* of an open <title>; 0: none */
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

/* --- blocks ------------------------------------------------------------ */

static void give(struct page *pg, enum block_kind kind, const char *text,
                 size_t len)
{
    struct block b = {.kind = kind,
                      .level = pg->level,
                      .len = len,
                      .link_len = pg->link_len < len ? pg->link_len : len};

    pg->is_full =
        pg->is_full || pg->blocks.len + sizeof(b) + len > MAX_TEXT_BYTES;
    if (pg->is_full) {
        return;
    }
    pg->total_bytes += kind == BLOCK_TITLE ? 0 : len;
    buf_add(&pg->blocks, &b, sizeof(b));
    buf_add(&pg->blocks, text, len);
}

/* Those before this place in blocks, from *next on. */
static void give_links(const struct page *pg, size_t at, size_t *next,
                       html_link_fn *fn, void *arg)
{
    while (*next + sizeof(struct link) <= pg->links.len) {
        const char *words = pg->links.data + *next + sizeof(struct link);
        struct link l;

        memcpy(&l, pg->links.data + *next, sizeof(l));
        if (l.at > at) {
            return;
        }
        *next += sizeof(l) + l.words_len + l.href_len + 2;
        fn(arg, words, words + l.words_len + 1);
    }
}

/* Blocks are kept until the page is known to be more than its menus. */
static void give_all(const struct page *pg, block_fn *fn, html_link_fn *link,
                     void *arg)
{
    size_t next = 0;

    for (size_t at = 0; at + sizeof(struct block) <= pg->blocks.len;) {
        struct block b;

        if (link != NULL) {
            give_links(pg, at, &next, link, arg);
        }
        memcpy(&b, pg->blocks.data + at, sizeof(b));
        b.text = pg->blocks.data + at + sizeof(b);
        at += sizeof(b) + b.len;
        fn(arg, &b);
    }
}

/* Code without empty lines around it, its first line's indent kept. */
static void give_code(struct page *pg)
{
    const char *text = pg->text.data;
    size_t len = pg->text.len;

    while (len > 0 && strchr(" \t\n", text[len - 1]) != NULL) {
        len--;
    }
    for (size_t i = 0; i < len && strchr(" \t\n", text[i]) != NULL; i++) {
        if (text[i] == '\n') {
            text += i + 1;
            len -= i + 1;
            i = (size_t)-1;
        }
    }
    if (len > 0) {
        give(pg, BLOCK_CODE, text, len);
    }
}

static void take_title(struct page *pg, const char *text, size_t len)
{
    if (!pg->has_title && len > 0) {
        pg->has_title = true;
        buf_add(&pg->title, text, len);
        give(pg, BLOCK_TITLE, text, len);
    }
}

static bool repeats_title(const struct page *pg)
{
    return pg->kind == BLOCK_PROSE && pg->total_bytes == 0 &&
           pg->text.len == pg->title.len &&
           memcmp(pg->text.data, pg->title.data, pg->text.len) == 0;
}

/* For the next use; that it lacked memory is not forgotten. */
static void clear(struct page *pg, struct buf *b)
{
    pg->lacked_memory = pg->lacked_memory || b->rc == RC_NOMEM;
    buf_clear(b);
}

/* End the block in hand and begin one of another kind. */
static void begin_block(struct page *pg, enum block_kind kind)
{
    if (pg->text.len > 0 && pg->kind == BLOCK_CODE) {
        give_code(pg);
    } else if (pg->text.len > 0 && !repeats_title(pg)) {
        if (pg->kind == BLOCK_HEADING && pg->level == 1) {
            take_title(pg, pg->text.data, pg->text.len);
        }
        give(pg, pg->kind, pg->text.data, pg->text.len);
    }
    clear(pg, &pg->text);
    pg->words_at = 0;
    pg->link_len = 0;
    pg->kind = kind;
    pg->space = false;
}

/* Within a cell, small blocks are parts of its text. */
static bool in_cell(const struct page *pg)
{
    return pg->cell_depth > 0 && pg->text.len <= MAX_ROW_BYTES;
}

/* Text after an item's first paragraph, or after a table, is plain prose. */
static enum block_kind plain_kind(const struct page *pg)
{
    return pg->list_level > 0 ? BLOCK_LINE : BLOCK_PROSE;
}

/* --- characters -------------------------------------------------------- */

static void add_mark_of_item(struct page *pg)
{
    pg->item_starts = false;
    if (pg->kind == BLOCK_LINE) {
        int indent = pg->list_level < MAX_INDENT ? pg->list_level : MAX_INDENT;

        for (int i = 1; i < indent; i++) {
            buf_puts(&pg->text, "  ");
        }
        buf_puts(&pg->text, "- ");
    }
}

/* Length of a space at s (blank, line end, no-break space), or 0. */
static size_t space_len(const char *s, size_t len)
{
    if (strchr(" \t\n\r\f", s[0]) != NULL) {
        return 1;
    }
    return len >= 2 && memcmp(s, "\xC2\xA0", 2) == 0 ? 2 : 0;
}

/* Length of a character that nobody sees, or 0: soft hyphens, zero-width
 * spaces, byte order marks, paragraph signs of heading links. */
static size_t unseen_len(const struct page *pg, const char *s, size_t len)
{
    if (len >= 2 &&
        (memcmp(s, "\xC2\xAD", 2) == 0 ||
         (pg->kind == BLOCK_HEADING && memcmp(s, "\xC2\xB6", 2) == 0))) {
        return 2;
    }
    if (len >= 3 && (memcmp(s, "\xE2\x80\x8B", 3) == 0 ||
                     memcmp(s, "\xEF\xBB\xBF", 3) == 0)) {
        return 3;
    }
    return (unsigned char)s[0] < 0x20 || s[0] == 0x7F ? 1 : 0;
}

static void add_prose(struct page *pg, const char *s, size_t len)
{
    while (len > 0) {
        size_t skip = space_len(s, len);
        size_t n = 1;

        if (skip > 0) {
            pg->space = pg->text.len > 0;
        } else {
            skip = unseen_len(pg, s, len);
        }
        if (skip == 0) {
            if (pg->space) {
                buf_putc(&pg->text, ' ');
                pg->space = false;
            }
            if (pg->item_starts) {
                add_mark_of_item(pg);
            }
            while (n < len && (unsigned char)s[n] > 0x20 &&
                   (unsigned char)s[n] < 0x7F) {
                n++;
            }
            buf_add(&pg->text, s, n);
            skip = n;
        }
        s += skip;
        len -= skip;
    }
}

static void add_code(struct page *pg, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] >= 0x20 || s[i] == '\n' || s[i] == '\t') {
            buf_putc(&pg->text, s[i]);
        }
    }
}

static void on_text(void *arg, const xmlChar *s, int len)
{
    struct page *pg = arg;
    size_t before;

    if (pg->skip_depth > 0 || len <= 0) {
        return;
    }
    before = pg->text.len;
    if (pg->pre_depth > 0) {
        add_code(pg, (const char *)s, (size_t)len);
    } else {
        add_prose(pg, (const char *)s, (size_t)len);
    }
    if (pg->link_depth > 0) {
        pg->link_len += pg->text.len - before;
    }
}

/* --- elements ---------------------------------------------------------- */

static bool is_left_out(struct page *pg, const char *name,
                        enum html_element element, const xmlChar **atts)
{
    bool site;

    if (element == HTML_DROP) {
        return true;
    }
    if (pg->keep_site || strcmp(name, "body") == 0 ||
        strcmp(name, "html") == 0) {
        return false;
    }
    site = element == HTML_SITE ||
           (element == HTML_PAGE_PART && pg->article_depth == 0) ||
           html_names_is_site((const char *const *)atts);
    pg->left_out_site = pg->left_out_site || site;
    return site;
}

static void start_cell(struct page *pg, bool head)
{
    if (pg->pre_depth > 0) {
        return;
    }
    if (pg->cell_depth == 0 && pg->kind != BLOCK_ROW) {
        begin_block(pg, BLOCK_ROW);
        pg->row_starts = true;
        pg->head_row = true;
    }
    if (!pg->row_starts) {
        buf_puts(&pg->text, " |");
        pg->space = true;
    }
    pg->row_starts = false;
    pg->head_row = pg->head_row && head;
    pg->cell_depth = pg->depth;
}

static void start_small_block(struct page *pg, enum html_element element)
{
    bool line;

    if (pg->pre_depth > 0) {
        return;
    }
    if (in_cell(pg)) {
        pg->space = pg->text.len > 0;
        return;
    }
    line = element == HTML_ITEM || element == HTML_TERM;
    begin_block(pg, line ? BLOCK_LINE : plain_kind(pg));
    if (line) {
        pg->item_starts = element == HTML_ITEM;
    }
}

static void start_row(struct page *pg)
{
    if (pg->pre_depth == 0) {
        begin_block(pg, BLOCK_ROW);
        pg->cell_depth = 0;
        pg->row_starts = true;
        pg->head_row = true;
    }
}

static void start_pre(struct page *pg)
{
    if (pg->pre_depth == 0) {
        begin_block(pg, BLOCK_CODE);
        pg->cell_depth = 0;
        pg->item_starts = false;
        pg->pre_depth = pg->depth;
    }
}

static void start_heading(struct page *pg, const char *name)
{
    if (pg->pre_depth == 0) {
        begin_block(pg, BLOCK_HEADING);
        pg->cell_depth = 0;
        pg->item_starts = false;
        pg->list_level = 0;
        pg->level = name[1] - '0';
    }
}

/* 2<sup>31</sup> is not 231. */
static void start_raised(struct page *pg)
{
    size_t len = pg->text.len;

    if (len > 0 && !pg->space && pg->pre_depth == 0 &&
        strchr("0123456789)", pg->text.data[len - 1]) != NULL) {
        buf_putc(&pg->text, '^');
    }
}

static const char *attribute(const xmlChar **atts, const char *name)
{
    for (size_t i = 0; atts != NULL && atts[i] != NULL; i += 2) {
        if (strcmp((const char *)atts[i], name) == 0) {
            return (const char *)atts[i + 1];
        }
    }
    return NULL;
}

/* Relative, or http. */
static bool leads_somewhere(const char *href)
{
    size_t name = strcspn(href, ":/?#");

    return href[0] != '\0' && href[0] != '#' &&
           (href[name] != ':' || strncasecmp(href, "http:", 5) == 0 ||
            strncasecmp(href, "https:", 6) == 0);
}

/* <meta http-equiv="refresh" content="0; url='/there'"> */
static void keep_refresh(struct page *pg, const xmlChar **atts)
{
    const char *kind = attribute(atts, "http-equiv");
    const char *at = attribute(atts, "content");

    at = kind != NULL && at != NULL && strcasecmp(kind, "refresh") == 0
             ? strcasestr(at, "url=")
             : NULL;
    if (at == NULL || pg->leads.len > 0) {
        return;
    }
    at += strlen("url=");
    at += strspn(at, " \t\n\r'\"");
    if (strlen(at) <= MAX_HREF_BYTES && leads_somewhere(at)) {
        buf_add(&pg->leads, at, strcspn(at, "'\""));
    }
}

static void start_link(struct page *pg, const xmlChar **atts)
{
    const char *href = attribute(atts, "href");

    pg->link_depth = pg->depth;
    pg->words_at = pg->text.len;
    clear(pg, &pg->href);
    if (href != NULL && strlen(href) <= MAX_HREF_BYTES &&
        leads_somewhere(href + strspn(href, " \t\n\r"))) {
        buf_puts(&pg->href, href + strspn(href, " \t\n\r"));
    }
}

static void end_link(struct page *pg)
{
    struct link l = {.at = pg->blocks.len, .href_len = pg->href.len};
    const char *words;

    pg->link_depth = 0;
    if (pg->href.len == 0 || pg->text.len <= pg->words_at) {
        return;
    }
    words = pg->text.data + pg->words_at;
    l.words_len = pg->text.len - pg->words_at;
    while (l.words_len > 0 && strchr(" -", words[0]) != NULL) {
        words++;
        l.words_len--;
    }
    l.words_len = utf8_clip(words, l.words_len, MAX_WORDS_BYTES);
    /* A page of nothing but links loses the last of them. */
    if (l.words_len > 0 &&
        pg->links.len + sizeof(l) + l.words_len + l.href_len + 2 <=
            MAX_LINKS_BYTES) {
        buf_add(&pg->links, &l, sizeof(l));
        buf_add(&pg->links, words, l.words_len);
        buf_putc(&pg->links, '\0');
        buf_add(&pg->links, buf_str(&pg->href), l.href_len);
        buf_putc(&pg->links, '\0');
    }
    clear(pg, &pg->href);
}

static void start(struct page *pg, const char *name, enum html_element element,
                  const xmlChar **atts)
{
    switch (element) {
    case HTML_TITLE:
        begin_block(pg, BLOCK_TITLE);
        pg->title_depth = pg->depth;
        break;
    case HTML_HEADING:
        start_heading(pg, name);
        break;
    case HTML_PRE:
        start_pre(pg);
        break;
    case HTML_BREAK:
        if (pg->pre_depth > 0) {
            buf_putc(&pg->text, '\n');
        } else {
            pg->space = pg->text.len > 0;
        }
        break;
    case HTML_LIST:
        start_small_block(pg, HTML_BLOCK);
        pg->list_level++;
        break;
    case HTML_TABLE:
        begin_block(pg, BLOCK_PROSE);
        pg->cell_depth = 0;
        break;
    case HTML_ROW:
        start_row(pg);
        break;
    case HTML_HEAD_CELL:
    case HTML_CELL:
        start_cell(pg, element == HTML_HEAD_CELL);
        break;
    case HTML_ARTICLE:
    case HTML_PAGE_PART:
    case HTML_BLOCK:
    case HTML_ITEM:
    case HTML_TERM:
    case HTML_SITE:
        start_small_block(pg, element);
        break;
    case HTML_LINK:
        start_link(pg, atts);
        break;
    case HTML_RAISED:
        start_raised(pg);
        break;
    case HTML_INLINE:
    case HTML_DROP:
    case HTML__MAX:
        break;
    }
    if (element == HTML_ARTICLE && pg->article_depth == 0) {
        pg->article_depth = pg->depth;
    }
}

static void on_start(void *arg, const xmlChar *xml_name, const xmlChar **atts)
{
    struct page *pg = arg;
    const char *name = (const char *)xml_name;
    enum html_element element = html_names_element(name);

    pg->depth++;
    if (pg->depth > HTML_MAX_DEPTH || pg->is_full) {
        xmlStopParser(pg->parser);
        return;
    }
    if (strcmp(name, "meta") == 0) {
        keep_refresh(pg, atts);
    }
    if (pg->skip_depth > 0) {
        return;
    }
    if (is_left_out(pg, name, element, atts)) {
        pg->skip_depth = pg->depth;
        return;
    }
    start(pg, name, element, atts);
}

static void end_row(struct page *pg)
{
    if (pg->kind == BLOCK_ROW) {
        while (pg->text.len > 0 &&
               strchr(" |", pg->text.data[pg->text.len - 1]) != NULL) {
            pg->text.len--; /* empty cells at the end */
        }
        pg->kind = pg->head_row ? BLOCK_HEAD_ROW : BLOCK_ROW;
    }
    begin_block(pg, plain_kind(pg));
    pg->cell_depth = 0;
}

static void end_title(struct page *pg)
{
    take_title(pg, pg->text.data, pg->text.len);
    clear(pg, &pg->text);
    begin_block(pg, BLOCK_PROSE);
    pg->title_depth = 0;
}

static void end(struct page *pg, enum html_element element)
{
    switch (element) {
    case HTML_TITLE:
        end_title(pg);
        break;
    case HTML_PRE:
        if (pg->pre_depth == pg->depth) {
            pg->pre_depth = 0;
            begin_block(pg, plain_kind(pg));
        }
        break;
    case HTML_HEADING:
        if (pg->pre_depth == 0) {
            begin_block(pg, plain_kind(pg));
        }
        break;
    case HTML_LIST:
        pg->list_level -= pg->list_level > 0;
        start_small_block(pg, HTML_BLOCK);
        break;
    case HTML_ITEM:
    case HTML_TERM:
    case HTML_ARTICLE:
    case HTML_PAGE_PART:
    case HTML_BLOCK:
    case HTML_SITE:
        start_small_block(pg, HTML_BLOCK);
        break;
    case HTML_ROW:
    case HTML_TABLE:
        if (pg->pre_depth == 0) {
            end_row(pg);
        }
        break;
    case HTML_HEAD_CELL:
    case HTML_CELL:
        pg->cell_depth = 0;
        break;
    case HTML_LINK:
        end_link(pg);
        break;
    case HTML_BREAK:
    case HTML_RAISED:
    case HTML_INLINE:
    case HTML_DROP:
    case HTML__MAX:
        break;
    }
    if (pg->article_depth == pg->depth) {
        pg->article_depth = 0;
    }
}

static void on_end(void *arg, const xmlChar *name)
{
    struct page *pg = arg;

    if (pg->skip_depth == 0) {
        end(pg, html_names_element((const char *)name));
    } else if (pg->skip_depth == pg->depth) {
        pg->skip_depth = 0;
    }
    pg->depth -= pg->depth > 0;
}

/* --- the page ---------------------------------------------------------- */

static void page_init(struct page *pg, bool keep_site)
{
    *pg = (struct page){.keep_site = keep_site, .kind = BLOCK_PROSE};
    buf_init(&pg->blocks, MAX_TEXT_BYTES);
    buf_init(&pg->links, MAX_LINKS_BYTES);
    buf_init(&pg->href, MAX_HREF_BYTES);
    buf_init(&pg->leads, MAX_HREF_BYTES);
    buf_init(&pg->title, MAX_TEXT_BYTES);
    buf_init(&pg->text, MAX_TEXT_BYTES);
}

static void page_free(struct page *pg)
{
    buf_free(&pg->blocks);
    buf_free(&pg->links);
    buf_free(&pg->href);
    buf_free(&pg->leads);
    buf_free(&pg->title);
    buf_free(&pg->text);
}

/* Reading ended early for want of memory, here or in the parser. */
static bool lacked_memory(const struct page *pg)
{
    return pg->lacked_memory || pg->parser->input == NULL ||
           pg->parser->errNo == XML_ERR_NO_MEMORY ||
           pg->blocks.rc == RC_NOMEM || pg->links.rc == RC_NOMEM ||
           pg->href.rc == RC_NOMEM || pg->leads.rc == RC_NOMEM ||
           pg->title.rc == RC_NOMEM || pg->text.rc == RC_NOMEM;
}

/* A page without text that leads on by itself says where. */
static void give_refresh(struct page *pg)
{
    if (pg->total_bytes == 0 && pg->leads.len > 0) {
        begin_block(pg, BLOCK_PROSE);
        clear(pg, &pg->href);
        buf_add(&pg->href, pg->leads.data, pg->leads.len);
        buf_puts(&pg->text, "This page leads on to another by itself.");
        end_link(pg);
        begin_block(pg, BLOCK_PROSE);
    }
}

/* utf8 is valid; the declarations within the page are passed over. */
static enum rc parse(struct page *pg, const struct buf *utf8)
{
    htmlSAXHandler sax = {.startElement = on_start,
                          .endElement = on_end,
                          .characters = on_text,
                          .ignorableWhitespace = on_text,
                          .cdataBlock = on_text};
    bool lacked;

    pg->parser = htmlNewParserCtxt();
    if (pg->parser == NULL) {
        return RC_NOMEM;
    }
    *pg->parser->sax = sax;
    pg->parser->userData = pg;
    (void)htmlCtxtReadMemory(
        pg->parser, utf8->data, (int)utf8->len, NULL, "UTF-8",
        HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
            HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC);
    begin_block(pg, BLOCK_PROSE);
    give_refresh(pg);
    lacked = lacked_memory(pg);
    htmlFreeParserCtxt(pg->parser);
    pg->parser = NULL;
    if (lacked) {
        return RC_NOMEM;
    }
    return pg->is_full || buf_rc(&pg->text) != RC_OK ? RC_TOO_LARGE
                                                     : buf_rc(&pg->blocks);
}

static enum rc read_page(const struct buf *utf8, block_fn *fn,
                         html_link_fn *link, void *arg)
{
    struct page page;
    struct page whole;
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
        give_all(empty ? &whole : &page, fn, link, arg);
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
    buf_init(&utf8, MAX_TEXT_BYTES);
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
