#include <string.h>

#include "runtime/document/html_inside.h"

#define MAX_INDENT 6

static void add_mark_of_item(struct html_page *pg)
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
static size_t unseen_len(const struct html_page *pg, const char *s, size_t len)
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

static void add_prose(struct html_page *pg, const char *s, size_t len)
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

static void add_code(struct html_page *pg, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] >= 0x20 || s[i] == '\n' || s[i] == '\t') {
            buf_putc(&pg->text, s[i]);
        }
    }
}

void html_text_add(struct html_page *pg, const char *s, size_t len)
{
    size_t before;

    if (pg->skip_depth > 0) {
        return;
    }
    before = pg->text.len;
    if (pg->pre_depth > 0) {
        add_code(pg, s, len);
    } else {
        add_prose(pg, s, len);
    }
    if (pg->link_depth > 0) {
        pg->link_len += pg->text.len - before;
    }
}
