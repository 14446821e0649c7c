#include "fcgi/offline/quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

#define TITLE_BYTES 120

/* Left out at the beginning of a sentence that is quoted alone. */
static const char *const CONNECTING[] = {
    "however,",      "but ",
    "and ",          "thus,",
    "hence,",        "therefore,",
    "furthermore,",  "further,",
    "moreover,",     "so,",
    "also,",         "in addition,",
    "additionally,", "on the other hand,",
    "nevertheless,", "consequently,",
    "as a result,",  "hence ",
    "for example,",  "note that ",
    "notice that ",  "finally,",
    "of course,",    "note also that ",
};

/* Markers of list items, headings and quotations at the beginning of a line. */
static size_t marker_len(const char *s, size_t len)
{
    size_t n = 0;

    while (n < len &&
           (strchr("-*+#>|", s[n]) != NULL || isspace((unsigned char)s[n]))) {
        n++;
    }
    if (len - n >= 3 && memcmp(s + n, "\xE2\x80\xA2", 3) == 0) {
        n += 3;
    }
    while (n < len && isspace((unsigned char)s[n])) {
        n++;
    }
    return n;
}

static size_t connecting_len(const char *s, size_t len)
{
    for (size_t i = 0; i < sizeof(CONNECTING) / sizeof(*CONNECTING); i++) {
        size_t n = strlen(CONNECTING[i]);
        if (n < len && strncasecmp(s, CONNECTING[i], n) == 0) {
            while (n < len && isspace((unsigned char)s[n])) {
                n++;
            }
            return n;
        }
    }
    return 0;
}

/* "[12]" would pass for a citation: it becomes "(12)". */
static size_t citation_len(const char *s, size_t len)
{
    size_t n = 1;

    while (n < len && (isdigit((unsigned char)s[n]) || s[n] == ',' ||
                       s[n] == ' ' || s[n] == '-')) {
        n++;
    }
    return n > 1 && n < len && s[n] == ']' ? n + 1 : 0;
}

static bool word_at(const char *s, size_t len, size_t i)
{
    return i < len && (isalnum((unsigned char)s[i]) || s[i] == '_');
}

static void put_escaped(struct buf *b, const char *s, size_t len, size_t i)
{
    bool inside = i > 0 && word_at(s, len, i - 1) && word_at(s, len, i + 1);
    bool first = b->len == 0 || b->data[b->len - 1] == '\n';

    if (strchr("\\`*[]<>&~|", s[i]) != NULL || (s[i] == '_' && !inside) ||
        (first && strchr("#+-=", s[i]) != NULL)) {
        buf_putc(b, '\\');
    }
    buf_putc(b, s[i]);
}

/* s[0..len) in one line, escaped. */
static void put_line(struct buf *b, const char *s, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t cite = s[i] == '[' ? citation_len(s + i, len - i) : 0;

        if (cite > 0) {
            buf_putc(b, '(');
            buf_add(b, s + i + 1, cite - 2);
            buf_putc(b, ')');
            i += cite;
        } else if ((unsigned char)s[i] <= ' ' || s[i] == 0x7F) {
            while (i < len && ((unsigned char)s[i] <= ' ' || s[i] == 0x7F)) {
                i++;
            }
            if (i < len) {
                buf_putc(b, ' ');
            }
        } else {
            put_escaped(b, s, len, i);
            i++;
        }
    }
}

static void put_capitalised(struct buf *b, const char *s, size_t len)
{
    /* Lower-case names (sqlite3_step) stay as they are. */
    size_t word = 0;

    while (word < len && islower((unsigned char)s[word])) {
        word++;
    }
    if (word > 0 &&
        (word == len || isspace((unsigned char)s[word]) || s[word] == ',')) {
        buf_putc(b, (char)toupper((unsigned char)s[0]));
        s++;
        len--;
    }
    put_line(b, s, len);
}

static void put_sentence(struct buf *b, const struct sentence *s)
{
    size_t skip = marker_len(s->text, s->len);
    size_t link = connecting_len(s->text + skip, s->len - skip);

    if (link > 0) {
        put_capitalised(b, s->text + skip + link, s->len - skip - link);
    } else {
        put_line(b, s->text + skip, s->len - skip);
    }
}

void quote_sentence(struct buf *b, const struct sentence *s)
{
    if (s->dangling && s->before != NULL) {
        put_sentence(b, s->before);
        buf_putc(b, ' ');
    }
    put_sentence(b, s);
    buf_printf(b, " [%lld]", (long long)s->from->n);
}

void quote_plain(struct buf *b, const char *s, size_t len, size_t max_bytes)
{
    size_t keep = utf8_clip(s, len, max_bytes);

    while (keep < len && keep > max_bytes / 2 && s[keep - 1] != ' ') {
        keep = utf8_clip(s, len, keep - 1);
    }
    put_line(b, s, keep);
    if (keep < len) {
        buf_puts(b, "…");
    }
}

void quote_title(struct buf *b, const char *title)
{
    buf_putc(b, '*');
    quote_plain(b, title, strlen(title), TITLE_BYTES);
    buf_putc(b, '*');
}
