#include <string.h>

#include "runtime/document/html_inside.h"

/* A row beyond this is layout and no data. */
#define MAX_ROW_BYTES 2000

/* Within a cell, small blocks are parts of its text. */
static bool in_cell(const struct html_page *pg)
{
    return pg->cell_depth > 0 && pg->text.len <= MAX_ROW_BYTES;
}

/* Text after an item's first paragraph, or after a table, is plain prose. */
static enum block_kind plain_kind(const struct html_page *pg)
{
    return pg->list_level > 0 ? BLOCK_LINE : BLOCK_PROSE;
}

/* --- where they begin ----------------------------------------------------- */

bool html_element_is_left_out(struct html_page *pg, const char *name,
                              enum html_element element,
                              const char *const *atts)
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
           html_names_is_site(atts);
    pg->left_out_site = pg->left_out_site || site;
    return site;
}

static void start_cell(struct html_page *pg, bool head)
{
    if (pg->pre_depth > 0) {
        return;
    }
    if (pg->cell_depth == 0 && pg->kind != BLOCK_ROW) {
        html_block_begin(pg, BLOCK_ROW);
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

static void start_small_block(struct html_page *pg, enum html_element element)
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
    html_block_begin(pg, line ? BLOCK_LINE : plain_kind(pg));
    if (line) {
        pg->item_starts = element == HTML_ITEM;
    }
}

static void start_row(struct html_page *pg)
{
    if (pg->pre_depth == 0) {
        html_block_begin(pg, BLOCK_ROW);
        pg->cell_depth = 0;
        pg->row_starts = true;
        pg->head_row = true;
    }
}

static void start_pre(struct html_page *pg)
{
    if (pg->pre_depth == 0) {
        html_block_begin(pg, BLOCK_CODE);
        pg->cell_depth = 0;
        pg->item_starts = false;
        pg->pre_depth = pg->depth;
    }
}

static void start_heading(struct html_page *pg, const char *name)
{
    if (pg->pre_depth == 0) {
        html_block_begin(pg, BLOCK_HEADING);
        pg->cell_depth = 0;
        pg->item_starts = false;
        pg->list_level = 0;
        pg->level = name[1] - '0';
    }
}

/* 2<sup>31</sup> is not 231. */
static void start_raised(struct html_page *pg)
{
    size_t len = pg->text.len;

    if (len > 0 && !pg->space && pg->pre_depth == 0 &&
        strchr("0123456789)", pg->text.data[len - 1]) != NULL) {
        buf_putc(&pg->text, '^');
    }
}

void html_element_start(struct html_page *pg, const char *name,
                        enum html_element element, const char *const *atts)
{
    switch (element) {
    case HTML_TITLE:
        html_block_begin(pg, BLOCK_TITLE);
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
        html_block_begin(pg, BLOCK_PROSE);
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
        html_link_start(pg, atts);
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

/* --- where they end ------------------------------------------------------- */

static void end_row(struct html_page *pg)
{
    if (pg->kind == BLOCK_ROW) {
        while (pg->text.len > 0 &&
               strchr(" |", pg->text.data[pg->text.len - 1]) != NULL) {
            pg->text.len--; /* empty cells at the end */
        }
        pg->kind = pg->head_row ? BLOCK_HEAD_ROW : BLOCK_ROW;
    }
    html_block_begin(pg, plain_kind(pg));
    pg->cell_depth = 0;
}

static void end_title(struct html_page *pg)
{
    html_block_take_title(pg, pg->text.data, pg->text.len);
    html_block_clear(pg, &pg->text);
    html_block_begin(pg, BLOCK_PROSE);
}

void html_element_end(struct html_page *pg, enum html_element element)
{
    switch (element) {
    case HTML_TITLE:
        end_title(pg);
        break;
    case HTML_PRE:
        if (pg->pre_depth == pg->depth) {
            pg->pre_depth = 0;
            html_block_begin(pg, plain_kind(pg));
        }
        break;
    case HTML_HEADING:
        if (pg->pre_depth == 0) {
            html_block_begin(pg, plain_kind(pg));
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
        html_link_end(pg);
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
