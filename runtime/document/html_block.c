#include <string.h>

#include "runtime/document/html_inside.h"

static void give(struct html_page *pg, enum block_kind kind, const char *text,
                 size_t len)
{
    struct block b = {.kind = kind,
                      .level = pg->level,
                      .len = len,
                      .link_len = pg->link_len < len ? pg->link_len : len};

    pg->is_full =
        pg->is_full || pg->blocks.len + sizeof(b) + len > HTML_TEXT_BYTES;
    if (pg->is_full) {
        return;
    }
    pg->total_bytes += kind == BLOCK_TITLE ? 0 : len;
    buf_add(&pg->blocks, &b, sizeof(b));
    buf_add(&pg->blocks, text, len);
}

void html_block_give_all(const struct html_page *pg, block_fn *fn,
                         html_link_fn *link, void *arg)
{
    size_t next = 0;

    for (size_t at = 0; at + sizeof(struct block) <= pg->blocks.len;) {
        struct block b;

        if (link != NULL) {
            html_link_give(pg, at, &next, link, arg);
        }
        memcpy(&b, pg->blocks.data + at, sizeof(b));
        b.text = pg->blocks.data + at + sizeof(b);
        at += sizeof(b) + b.len;
        fn(arg, &b);
    }
}

/* Code without empty lines around it, its first line's indent kept. */
static void give_code(struct html_page *pg)
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

void html_block_take_title(struct html_page *pg, const char *text, size_t len)
{
    if (!pg->has_title && len > 0) {
        pg->has_title = true;
        buf_add(&pg->title, text, len);
        give(pg, BLOCK_TITLE, text, len);
    }
}

static bool repeats_title(const struct html_page *pg)
{
    return pg->kind == BLOCK_PROSE && pg->total_bytes == 0 &&
           pg->text.len == pg->title.len &&
           memcmp(pg->text.data, pg->title.data, pg->text.len) == 0;
}

void html_block_clear(struct html_page *pg, struct buf *b)
{
    pg->lacked_memory = pg->lacked_memory || b->rc == RC_NOMEM;
    buf_clear(b);
}

void html_block_begin(struct html_page *pg, enum block_kind kind)
{
    if (pg->text.len > 0 && pg->kind == BLOCK_CODE) {
        give_code(pg);
    } else if (pg->text.len > 0 && !repeats_title(pg)) {
        if (pg->kind == BLOCK_HEADING && pg->level == 1) {
            html_block_take_title(pg, pg->text.data, pg->text.len);
        }
        give(pg, pg->kind, pg->text.data, pg->text.len);
    }
    html_block_clear(pg, &pg->text);
    pg->words_at = 0;
    pg->link_len = 0;
    pg->kind = kind;
    pg->space = false;
}
