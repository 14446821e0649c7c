#include "sql/base/utf8.h"

#include <string.h>

#include <utf8proc.h>

enum kind {
    WELL_FORMED,
    ILL_FORMED, /* no byte that follows can mend it */
    CUT         /* a beginning, and the bytes end */
};

/* Bytes of the sequence that a first byte announces, 0 if none begins with it;
 * the range of the second byte is where overlong forms, surrogates and values
 * above U+10FFFF show (RFC 3629, section 4). */
static size_t announced(unsigned char c, unsigned char *lo, unsigned char *hi)
{
    *lo = 0x80;
    *hi = 0xbf;
    if (c < 0x80) {
        return 1;
    }
    if (c < 0xc2) {
        return 0;
    }
    if (c < 0xe0) {
        return 2;
    }
    if (c < 0xf0) {
        *lo = c == 0xe0 ? 0xa0 : 0x80;
        *hi = c == 0xed ? 0x9f : 0xbf;
        return 3;
    }
    if (c < 0xf5) {
        *lo = c == 0xf0 ? 0x90 : 0x80;
        *hi = c == 0xf4 ? 0x8f : 0xbf;
        return 4;
    }
    return 0;
}

/* What stands at s, len > 0; *n is its length (of the longest part that could
 * have begun a sequence, if it is ill-formed). */
static enum kind sequence_at(const char *s, size_t len, size_t *n)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned char lo, hi;
    size_t want = announced(u[0], &lo, &hi);

    *n = 1;
    if (want == 0) {
        return ILL_FORMED;
    }
    while (*n < want) {
        if (*n == len) {
            return CUT;
        }
        if (u[*n] < lo || u[*n] > hi) {
            return ILL_FORMED;
        }
        lo = 0x80;
        hi = 0xbf;
        (*n)++;
    }
    return WELL_FORMED;
}

bool utf8_valid(const char *s, size_t len)
{
    size_t n;

    for (size_t i = 0; i < len; i += n) {
        if (sequence_at(s + i, len - i, &n) != WELL_FORMED) {
            return false;
        }
    }
    return true;
}

size_t utf8_complete_len(const char *s, size_t len)
{
    size_t n;

    /* A cut sequence has at most three bytes and starts at the last byte that
     * is no continuation. */
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        if (((unsigned char)s[len - back] & 0xc0) == 0x80) {
            continue;
        }
        if (sequence_at(s + len - back, back, &n) == CUT) {
            return len - back;
        }
        break;
    }
    return len;
}

size_t utf8_clip(const char *s, size_t len, size_t max_bytes)
{
    return len <= max_bytes ? len : utf8_complete_len(s, max_bytes);
}

size_t utf8_repair(const char *s, size_t len, char *out)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t n, used = 0;

    for (size_t i = 0; i < len; i += n) {
        if (sequence_at(s + i, len - i, &n) == WELL_FORMED && s[i] != '\0') {
            memcpy(out + used, s + i, n);
            used += n;
        } else {
            memcpy(out + used, replacement, 3);
            used += 3;
        }
    }
    out[used] = '\0';
    return used;
}

/* Length of the unseen character at s, or 0. */
static size_t unseen_len(const char *s)
{
    /* No-break space; soft hyphen; U+200B to U+200F with the spaces before
     * them, line and paragraph ends, word joiner, wide space, byte order mark. */
    static const char *const WIDE[] = {
        "\xc2\xa0",     "\xc2\xad",     "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaf", "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf"};

    if ((unsigned char)s[0] <= ' ' || s[0] == 0x7f) {
        return 1;
    }
    if (strncmp(s, "\xe2\x80", 2) == 0 && (unsigned char)s[2] >= 0x80 &&
        (unsigned char)s[2] <= 0x8f) {
        return 3;
    }
    for (size_t i = 0; i < sizeof(WIDE) / sizeof(WIDE[0]); i++) {
        if (strncmp(s, WIDE[i], strlen(WIDE[i])) == 0) {
            return strlen(WIDE[i]);
        }
    }
    return 0;
}

bool utf8_is_blank(const char *text)
{
    size_t n = 1;

    while (*text != '\0' && n > 0) {
        n = unseen_len(text);
        text += n;
    }
    return *text == '\0';
}

void utf8_one_line(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = ' ';
        } else if (strncmp(c, "\xc2\x85", 2) == 0) { /* U+0085 */
            c[0] = c[1] = ' ';
        } else if (strncmp(c, "\xe2\x80\xa8", 3) == 0 || /* U+2028 */
                   strncmp(c, "\xe2\x80\xa9", 3) == 0) { /* U+2029 */
            c[0] = c[1] = c[2] = ' ';
        }
    }
}

/* Of a well-formed sequence. */
static uint32_t code_point(const char *s, size_t n)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)s[0] & first[n];

    for (size_t i = 1; i < n; i++) {
        code = code << 6 | ((unsigned char)s[i] & 0x3f);
    }
    return code;
}

/* Letters and symbols whose glyph is blank: Braille's, the one that stands for an
 * object, and fillers of Egyptian, Khitan and music. */
static bool is_blank_letter(uint32_t code)
{
    return code == 0x2800 || code == 0xfffc || code == 0x13441 ||
           code == 0x13442 || code == 0x16fe4 || code == 0x1d159;
}

static bool is_unseen(uint32_t code)
{
    const utf8proc_property_t *p;

    if (code < 0x7f) {
        return code < ' ';
    }
    p = utf8proc_get_property((utf8proc_int32_t)code);
    /* Separators and others come last, in that order; what is unassigned first. */
    return p->category == UTF8PROC_CATEGORY_CN ||
           p->category >= UTF8PROC_CATEGORY_ZS || p->ignorable ||
           is_blank_letter(code);
}

uint32_t utf8_unseen(const char *s, size_t len, size_t *n)
{
    uint32_t code;

    if (sequence_at(s, len, n) != WELL_FORMED) {
        return 0xfffd;
    }
    code = code_point(s, *n);
    return is_unseen(code) ? code : 0;
}

/* A backslash, the kind, and so many hexadecimal digits. */
static size_t put_code(char kind, uint32_t code, size_t digits, char *out)
{
    static const char HEX[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = kind;
    for (size_t i = digits; i > 0; i--) {
        out[1 + i] = HEX[code & 0xf];
        code >>= 4;
    }
    return digits + 2;
}

static size_t put_units(uint32_t code, char *out)
{
    size_t used;

    if (code < 0x10000) {
        return put_code('u', code, 4, out);
    }
    code -= 0x10000;
    used = put_code('u', 0xd800 + (code >> 10), 4, out);
    return used + put_code('u', 0xdc00 + (code & 0x3ff), 4, out + used);
}

size_t utf8_show(const char *s, size_t len, char *out)
{
    size_t used = 0;
    size_t n;

    for (size_t i = 0; i < len; i += n) {
        if (sequence_at(s + i, len - i, &n) != WELL_FORMED) {
            for (size_t k = 0; k < n; k++) {
                used += put_code('x', (unsigned char)s[i + k], 2, out + used);
            }
        } else if (is_unseen(code_point(s + i, n))) {
            used += put_units(code_point(s + i, n), out + used);
        } else {
            memcpy(out + used, s + i, n);
            used += n;
        }
    }
    out[used] = '\0';
    return used;
}

void utf8_tame(char *s, size_t len)
{
    size_t n;

    for (size_t i = 0; i < len; i += n) {
        if (s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
            s[i] = ' ';
            n = 1;
        } else if (s[i] == '\0' || utf8_unseen(s + i, len - i, &n) != 0) {
            n = s[i] == '\0' ? 1 : n;
            memset(s + i, '?', n);
        }
    }
}
