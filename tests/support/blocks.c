#include "tests/support/blocks.h"

void blocks_write(void *arg, const struct block *b)
{
    static const char *const NAMES[] = {
        [BLOCK_TITLE] = "title",   [BLOCK_HEADING] = "h",
        [BLOCK_PROSE] = "prose",   [BLOCK_LINE] = "line",
        [BLOCK_HEAD_ROW] = "head", [BLOCK_ROW] = "row",
        [BLOCK_CODE] = "code",
    };
    struct buf *out = arg;

    buf_puts(out, NAMES[b->kind]);
    if (b->kind == BLOCK_HEADING) {
        buf_printf(out, "%d", b->level);
    }
    buf_putc(out, ' ');
    for (size_t i = 0; i < b->len; i++) {
        if (b->text[i] == '\n') {
            buf_puts(out, "\\n");
        } else {
            buf_putc(out, b->text[i]);
        }
    }
    buf_putc(out, '\n');
}
