/* model_text.c - half a surrogate pair travels through the parsed tree as the
 * three bytes that UTF-8 would use if it could encode one: ED A0..AF 80..BF
 * for a high one, ED B0..BF 80..BF for a low one. */
#include "runtime/model/model_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/utf8.h"

#define SURROGATE_BYTES ((size_t)3)

/* U+FFFD; bytes, not strings. */
static const char REPLACEMENT[3] = {'\xef', '\xbf', '\xbd'};
static const char REPLACEMENT_ESCAPE[6] = {'\\', 'u', 'f', 'f', 'f', 'd'};

void model_text_init(struct model_text *t, size_t limit_bytes)
{
    *t = (struct model_text){.n_tail = 0};
    buf_init(&t->out, limit_bytes);
}

void model_text_free(struct model_text *t)
{
    buf_free(&t->out);
    t->n_tail = 0;
}

/* The surrogate that stands at s as three bytes, or 0. */
static uint32_t surrogate_at(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;

    if (len < SURROGATE_BYTES || u[0] != 0xed || u[1] < 0xa0 || u[1] > 0xbf ||
        (u[2] & 0xc0) != 0x80) {
        return 0;
    }
    return 0xd000u | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3fu);
}

static bool is_high(uint32_t surrogate)
{
    return surrogate >= 0xd800 && surrogate < 0xdc00;
}

static bool is_low(uint32_t surrogate)
{
    return surrogate >= 0xdc00 && surrogate < 0xe000;
}

/* Joins the pairs in s and makes each lone half one U+FFFD, in place: neither
 * is longer than what it replaces. Returns the new length. */
static size_t join_pairs(char *s, size_t len)
{
    size_t used = 0;
    size_t at = 0;

    while (at < len) {
        uint32_t high = surrogate_at(s + at, len - at);
        uint32_t low = 0;
        uint32_t c;

        if (high == 0) {
            s[used++] = s[at++];
            continue;
        }
        at += SURROGATE_BYTES;
        if (is_high(high)) {
            low = surrogate_at(s + at, len - at);
        }
        if (is_low(low)) {
            at += SURROGATE_BYTES;
            c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            s[used++] = (char)(0xf0 | c >> 18);
            s[used++] = (char)(0x80 | (c >> 12 & 0x3f));
            s[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            s[used++] = (char)(0x80 | (c & 0x3f));
        } else {
            memcpy(s + used, REPLACEMENT, sizeof(REPLACEMENT));
            used += sizeof(REPLACEMENT);
        }
    }
    return used;
}

/* Length of s without a beginning that more bytes could complete. */
static size_t whole_len(const char *s, size_t len)
{
    if (len >= SURROGATE_BYTES &&
        is_high(surrogate_at(s + len - SURROGATE_BYTES, SURROGATE_BYTES))) {
        return len - SURROGATE_BYTES;
    }
    return utf8_complete_len(s, len);
}

/* As much of valid text as there is room for. */
static void add_valid(struct model_text *t, const char *s, size_t len)
{
    size_t room = t->full ? 0 : t->out.limit - t->out.len;

    if (len > room) {
        t->full = true;
        len = utf8_clip(s, len, room);
    }
    buf_add(&t->out, s, len);
}

static void add_mended(struct model_text *t, char *s, size_t len)
{
    char *valid;

    len = join_pairs(s, len);
    valid = malloc(3 * len + 1);
    if (valid == NULL) {
        t->out.rc = RC_NOMEM;
        return;
    }
    len = utf8_repair(s, len, valid);
    add_valid(t, valid, len);
    free(valid);
}

void model_text_add(struct model_text *t, const char *bytes, size_t len)
{
    char *all;
    size_t n;

    if (t->n_tail == 0 && utf8_valid(bytes, len) &&
        memchr(bytes, '\0', len) == NULL) {
        add_valid(t, bytes, len);
        return;
    }
    n = t->n_tail + len;
    all = malloc(n + 1);
    if (all == NULL) {
        t->out.rc = RC_NOMEM;
        return;
    }
    memcpy(all, t->tail, t->n_tail);
    memcpy(all + t->n_tail, bytes, len);
    len = whole_len(all, n);
    t->n_tail = n - len;
    memcpy(t->tail, all + len, t->n_tail);
    add_mended(t, all, len);
    free(all);
}

void model_text_end(struct model_text *t)
{
    if (t->n_tail > 0) {
        add_mended(t, t->tail, t->n_tail);
        t->n_tail = 0;
    }
}

/* The value of four hexadecimal digits, or -1. */
static long hex4(const char *s, size_t len)
{
    char digits[5];

    if (len < 4) {
        return -1;
    }
    memcpy(digits, s, 4);
    digits[4] = '\0';
    return strspn(digits, "0123456789abcdefABCDEF") == 4
               ? strtol(digits, NULL, 16)
               : -1;
}

/* The value of an escape that begins at s, or -1. */
static long escape_at(const char *s, size_t len)
{
    return len >= 6 && s[0] == '\\' && s[1] == 'u' ? hex4(s + 2, len - 2) : -1;
}

/* Rewrites the escapes that cJSON refuses or cuts a string at; in place, since
 * nothing grows. A backslash stands only in strings. */
static size_t mend_escapes(char *s, size_t len)
{
    size_t used = 0;
    size_t at = 0;

    while (at < len) {
        long c = escape_at(s + at, len - at);
        size_t n = s[at] == '\\' && len - at > 1 ? 2 : 1;

        if (c >= 0xd800 && c < 0xdc00) {
            long low = escape_at(s + at + 6, len - at - 6);
            n = low >= 0xdc00 && low < 0xe000 ? 12 : 6;
        }
        if (n == 6 || (c >= 0xdc00 && c < 0xe000)) {
            s[used++] = (char)0xed;
            s[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            s[used++] = (char)(0x80 | (c & 0x3f));
            at += 6;
            continue;
        }
        if (c == 0) {
            memcpy(s + at, REPLACEMENT_ESCAPE, sizeof(REPLACEMENT_ESCAPE));
            n = sizeof(REPLACEMENT_ESCAPE);
        }
        memmove(s + used, s + at, n);
        used += n;
        at += n;
    }
    return used;
}

cJSON *model_text_parse(char *text, size_t len)
{
    const char *end = NULL;
    cJSON *tree;

    if (memchr(text, '\0', len) != NULL) {
        return NULL;
    }
    if (memchr(text, '\\', len) != NULL) {
        len = mend_escapes(text, len);
    }
    tree = cJSON_ParseWithLengthOpts(text, len, &end, 0);
    if (tree == NULL) {
        return NULL;
    }
    while (end < text + len && (unsigned char)*end <= ' ') {
        end++;
    }
    if (end < text + len) {
        cJSON_Delete(tree);
        return NULL;
    }
    return tree;
}
