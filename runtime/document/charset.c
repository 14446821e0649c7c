#include "runtime/document/charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

#define FALLBACK "WINDOWS-1252"
/* Where a page may declare its encoding (the HTML standard says 1,024; a few
 * pages put long scripts first). */
#define HTML_HEAD_BYTES   ((size_t)4096)
#define BINARY_HEAD_BYTES ((size_t)4096)
#define REPLACEMENT       "\xEF\xBF\xBD"

static enum rc add_repaired(const char *bytes, size_t len, struct buf *out)
{
    char *text = malloc(3 * len + 1);

    if (text == NULL) {
        return RC_NOMEM;
    }
    buf_add(out, text, utf8_repair(bytes, len, text));
    free(text);
    return buf_rc(out);
}

/* Convert; a byte that means nothing becomes U+FFFD. */
static void convert(iconv_t cd, char *in, size_t left, struct buf *out)
{
    char piece[4096];

    while (left > 0 && out->rc == RC_OK) {
        char *to = piece;
        size_t room = sizeof(piece);
        size_t got = iconv(cd, &in, &left, &to, &room);

        buf_add(out, piece, (size_t)(to - piece));
        if (got == (size_t)-1 && errno != E2BIG) {
            buf_puts(out, REPLACEMENT);
            if (left > 0) { /* EILSEQ, or EINVAL: cut off at the end */
                in++;
                left--;
            }
            (void)iconv(cd, NULL, NULL, NULL, NULL);
        }
    }
}

static enum rc from_label(const char *bytes, size_t len, const char *label,
                          struct buf *out)
{
    struct buf text;
    iconv_t cd = (iconv_t)-1;
    enum rc rc;

    if (label != NULL && label[0] != '\0') {
        cd = iconv_open("UTF-8", label);
    }
    if (cd == (iconv_t)-1) {
        cd = iconv_open("UTF-8", FALLBACK);
    }
    if (cd == (iconv_t)-1) {
        return add_repaired(bytes, len, out);
    }
    buf_init(&text, out->limit);
    convert(cd, (char *)(uintptr_t)bytes, len, &text);
    (void)iconv_close(cd);
    rc = buf_rc(&text);
    if (rc == RC_OK && text.len > 0) {
        rc = add_repaired(text.data, text.len, out);
    }
    buf_free(&text);
    return rc;
}

/* Browsers read these labels as the larger set that most pages mean. */
static const char *meant(const char *label)
{
    static const char *const LATIN[] = {"iso-8859-1", "latin1", "iso8859-1",
                                        "us-ascii", "ascii"};

    for (size_t i = 0; i < sizeof(LATIN) / sizeof(LATIN[0]); i++) {
        if (strcasecmp(label, LATIN[i]) == 0) {
            return FALLBACK;
        }
    }
    return strcasecmp(label, "gb2312") == 0 ? "GB18030" : label;
}

static const char *byte_order_mark(const char *bytes, size_t len, size_t *skip)
{
    static const struct {
        const char *mark;
        size_t len;
        const char *name;
    } MARKS[] = {
        {"\xEF\xBB\xBF", 3, "UTF-8"},
        {"\xFF\xFE", 2, "UTF-16LE"},
        {"\xFE\xFF", 2, "UTF-16BE"},
    };

    for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++) {
        if (len >= MARKS[i].len &&
            memcmp(bytes, MARKS[i].mark, MARKS[i].len) == 0) {
            *skip = MARKS[i].len;
            return MARKS[i].name;
        }
    }
    *skip = 0;
    return NULL;
}

enum rc charset_to_utf8(const char *bytes, size_t len, const char *label,
                        struct buf *out)
{
    size_t skip;
    const char *mark = byte_order_mark(bytes, len, &skip);

    bytes += skip;
    len -= skip;
    if (mark != NULL && strcmp(mark, "UTF-8") != 0) {
        return from_label(bytes, len, mark, out);
    }
    if (mark != NULL || utf8_valid(bytes, len) ||
        (label != NULL && strcasecmp(label, "utf-8") == 0)) {
        return add_repaired(bytes, len, out);
    }
    return from_label(bytes, len, label == NULL ? NULL : meant(label), out);
}

void charset_of_html(const char *bytes, size_t len, char *out, size_t out_len)
{
    char head[HTML_HEAD_BYTES + 1];
    size_t n = 0;
    const char *at;

    out[0] = '\0';
    for (; n < len && n < HTML_HEAD_BYTES; n++) {
        head[n] = bytes[n];
        if (head[n] == '\0') {
            head[n] = ' ';
        }
    }
    head[n] = '\0';
    at = strcasestr(head, "<meta");
    while (at != NULL && strcasestr(at, "charset=") != NULL) {
        const char *end = strchr(at, '>');
        const char *set = strcasestr(at, "charset=");

        if (end == NULL || set < end) {
            size_t i = 0;

            set += strlen("charset=");
            set += strspn(set, " \"'");
            while (i + 1 < out_len && (isalnum((unsigned char)set[i]) ||
                                       strchr("-_:.+", set[i]) != NULL)) {
                out[i] = set[i];
                i++;
                if (set[i] == '\0') {
                    break;
                }
            }
            out[i] = '\0';
            return;
        }
        at = strcasestr(end, "<meta");
    }
}

bool charset_is_binary(const char *bytes, size_t len)
{
    size_t n = len < BINARY_HEAD_BYTES ? len : BINARY_HEAD_BYTES;
    size_t nul = 0;
    size_t skip;

    if (byte_order_mark(bytes, len, &skip) != NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        nul += bytes[i] == '\0';
    }
    return nul > n / 64;
}
