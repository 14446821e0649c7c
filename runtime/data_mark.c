#include "runtime/data_mark.h"

#include <string.h>

/* Bytes of the end of a line at the start of text; 0: none stands there. */
static size_t line_end(const char *text, size_t len)
{
    static const char *const end[] = {
        "\r\n",     "\n",           "\r",           "\v", "\f",
        "\x1c",     "\x1d",         "\x1e", /* separators that end lines too */
        "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", /* U+0085, U+2028, U+2029 */
    };

    for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
        size_t n = strlen(end[i]);

        if (n <= len && memcmp(text, end[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

void data_mark_put(const char *text, size_t len, struct buf *out)
{
    size_t from = 0;

    buf_puts(out, DATA_MARK_OPEN "\n" DATA_MARK_LINE);
    for (size_t i = 0; i < len;) {
        size_t n = line_end(text + i, len - i);

        i += n > 0 ? n : 1;
        if (n > 0) {
            buf_add(out, text + from, i - from);
            buf_puts(out, DATA_MARK_LINE);
            from = i;
        }
    }
    buf_add(out, text + from, len - from);
    buf_puts(out, "\n" DATA_MARK_CLOSE);
}

void data_mark_put_line(const char *text, size_t len, struct buf *out)
{
    buf_puts(out, DATA_MARK_LINE);
    for (size_t i = 0; i < len;) {
        size_t n = line_end(text + i, len - i);

        if (n > 0) {
            buf_putc(out, ' ');
        } else {
            buf_putc(out, text[i]);
        }
        i += n > 0 ? n : 1;
    }
}
