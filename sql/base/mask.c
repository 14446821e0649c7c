#include "sql/base/mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter pieces of base64 would be found in anything. */
#define CODED_MIN_BYTES 8

static struct {
    char *text;
    size_t len;
} known[MASK_MAX];
static size_t n_known;

void mask_clear(void)
{
    for (size_t i = 0; i < n_known; i++) {
        free(known[i].text);
    }
    n_known = 0;
}

/* Without memory for a form the others are still known. */
static void add_form(const char *text, size_t len)
{
    char *copy;

    for (size_t i = 0; i < n_known; i++) {
        if (known[i].len == len && memcmp(known[i].text, text, len) == 0) {
            return;
        }
    }
    copy = n_known < MASK_MAX ? malloc(len + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, len);
        copy[len] = '\0';
        known[n_known].text = copy;
        known[n_known].len = len;
        n_known++;
    }
}

/* --- other ways to write it ------------------------------------------------- */

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || strchr("-._~", c) != NULL;
}

/* As in an address, RFC 3986 2.1. out has room for three times of it. */
static void add_percent(const char *text, size_t len, bool capitals, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\0' && is_unreserved(text[i])) {
            out[n++] = text[i];
        } else {
            n += (size_t)snprintf(out + n, 4, capitals ? "%%%02X" : "%%%02x",
                                  (unsigned char)text[i]);
        }
    }
    add_form(out, n);
}

static int hex_digit(char c)
{
    static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(DIGITS, c);

    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return at == NULL ? -1 : (int)(at - DIGITS) % 16;
}

/* The other way: an address may be written so in the configuration. */
static void add_plain(const char *text, size_t len, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && len - i > 2 && hex_digit(text[i + 1]) >= 0 &&
            hex_digit(text[i + 2]) >= 0) {
            out[n++] =
                (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out[n++] = text[i];
        }
    }
    if (n >= MASK_MIN_BYTES) {
        add_form(out, n);
    }
}

/* In a text of JSON, RFC 8259 7; a slash with its escape or without. */
static void add_json(const char *text, size_t len, const char *escaped,
                     char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\0' && strchr(escaped, text[i]) != NULL) {
            out[n++] = '\\';
        }
        out[n++] = text[i];
    }
    add_form(out, n);
}

/* RFC 4648 4 and 5. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* As it stands in base64 of something longer, with so many bytes before it
 * (modulo three): the letters that it alone decides. */
static void add_base64(const char *text, size_t len, size_t before,
                       const char *letters, char *out)
{
    const size_t from = (before * 8 + 5) / 6;
    const size_t end = (before + len) * 8 / 6;
    size_t n = 0;

    for (size_t k = from; k < end; k++) {
        unsigned value = 0;

        for (size_t bit = k * 6; bit < k * 6 + 6; bit++) {
            size_t byte = bit / 8 - before;

            value = value << 1 |
                    ((unsigned)(unsigned char)text[byte] >> (7 - bit % 8) & 1);
        }
        out[n++] = letters[value];
    }
    if (n >= CODED_MIN_BYTES) {
        add_form(out, n);
    }
}

static void add_coded(const char *text, size_t len)
{
    char *out = malloc(3 * len + 4);

    if (out == NULL) {
        return;
    }
    add_percent(text, len, true, out);
    add_percent(text, len, false, out);
    add_plain(text, len, out);
    add_json(text, len, "\"\\", out);
    add_json(text, len, "\"\\/", out);
    for (size_t before = 0; before < 3; before++) {
        add_base64(text, len, before, LETTERS "+/", out);
        add_base64(text, len, before, LETTERS "-_", out);
    }
    free(out);
}

void mask_add(const char *text, size_t len)
{
    if (len >= MASK_MIN_BYTES) {
        add_form(text, len);
        add_coded(text, len);
    }
}

/* --- masking ------------------------------------------------------------------ */

bool mask_has(const char *text, size_t len)
{
    for (size_t i = 0; i < n_known; i++) {
        if (memmem(text, len, known[i].text, known[i].len) != NULL) {
            return true;
        }
    }
    return false;
}

void mask_text(char *text, size_t len)
{
    for (size_t i = 0; i < n_known; i++) {
        char *at = memmem(text, len, known[i].text, known[i].len);

        while (at != NULL) {
            (void)memset(at, '*', known[i].len);
            at = memmem(at, len - (size_t)(at - text), known[i].text,
                        known[i].len);
        }
    }
}
