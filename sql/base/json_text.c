#include "sql/base/json_text.h"

#include <stdbool.h>
#include <string.h>

#include "sql/base/utf8.h"

struct scan {
    const char *s;
    size_t len;
    size_t at;
};

static int peek(const struct scan *in)
{
    return in->at < in->len ? (unsigned char)in->s[in->at] : -1;
}

static bool take(struct scan *in, char c)
{
    if (peek(in) != (unsigned char)c) {
        return false;
    }
    in->at++;
    return true;
}

static void skip_space(struct scan *in)
{
    while (take(in, ' ') || take(in, '\n') || take(in, '\r') ||
           take(in, '\t')) {
    }
}

static bool take_word(struct scan *in, const char *word)
{
    size_t n = strlen(word);

    if (in->len - in->at < n || memcmp(in->s + in->at, word, n) != 0) {
        return false;
    }
    in->at += n;
    return true;
}

static bool take_digits(struct scan *in)
{
    size_t from = in->at;

    while (peek(in) >= '0' && peek(in) <= '9') {
        in->at++;
    }
    return in->at > from;
}

static bool take_number(struct scan *in)
{
    (void)take(in, '-');
    if (!take(in, '0') && !take_digits(in)) {
        return false;
    }
    if (take(in, '.') && !take_digits(in)) {
        return false;
    }
    if (take(in, 'e') || take(in, 'E')) {
        if (!take(in, '+')) {
            (void)take(in, '-');
        }
        return take_digits(in);
    }
    return true;
}

/* Four hexadecimal digits, or -1. */
static int take_hex4(struct scan *in)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        int c = peek(in);
        int digit;

        if (c >= '0' && c <= '9') {
            digit = c - '0';
        } else if (c >= 'a' && c <= 'f') {
            digit = c - 'a' + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = c - 'A' + 10;
        } else {
            return -1;
        }
        value = value * 16 + digit;
        in->at++;
    }
    return value;
}

/* What follows a backslash and u. */
static enum json_flaw take_code(struct scan *in)
{
    int code = take_hex4(in);

    if (code < 0) {
        return JSON_FLAW_SYNTAX;
    }
    if (code == 0) {
        return JSON_FLAW_NUL;
    }
    if (code >= 0xdc00 && code <= 0xdfff) {
        return JSON_FLAW_SURROGATE;
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        int low = take_word(in, "\\u") ? take_hex4(in) : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            return JSON_FLAW_SURROGATE;
        }
    }
    return JSON_FLAW_NONE;
}

/* A string, from its opening quote on. */
static enum json_flaw take_string(struct scan *in)
{
    if (!take(in, '"')) {
        return JSON_FLAW_SYNTAX;
    }
    while (in->at < in->len) {
        unsigned char c = (unsigned char)in->s[in->at++];

        if (c == '"') {
            return JSON_FLAW_NONE;
        }
        if (c < 0x20) {
            return JSON_FLAW_SYNTAX;
        }
        if (c != '\\') {
            continue;
        }
        if (take(in, 'u')) {
            enum json_flaw flaw = take_code(in);
            if (flaw != JSON_FLAW_NONE) {
                return flaw;
            }
        } else if (peek(in) > 0 && strchr("\"\\/bfnrt", peek(in)) != NULL) {
            in->at++;
        } else {
            return JSON_FLAW_SYNTAX;
        }
    }
    return JSON_FLAW_SYNTAX;
}

static enum json_flaw take_scalar(struct scan *in)
{
    if (peek(in) == '"') {
        return take_string(in);
    }
    if (take_word(in, "true") || take_word(in, "false") ||
        take_word(in, "null") || take_number(in)) {
        return JSON_FLAW_NONE;
    }
    return JSON_FLAW_SYNTAX;
}

/* A member's name and colon, where scope is an object. */
static enum json_flaw take_name(struct scan *in, char scope)
{
    enum json_flaw flaw;

    skip_space(in);
    if (scope != '{') {
        return JSON_FLAW_NONE;
    }
    flaw = take_string(in);
    if (flaw != JSON_FLAW_NONE) {
        return flaw;
    }
    skip_space(in);
    if (!take(in, ':')) {
        return JSON_FLAW_SYNTAX;
    }
    skip_space(in);
    return JSON_FLAW_NONE;
}

/* After a value: close scopes up to the next comma. *depth is 0 at the end
 * of the text's only value. */
static enum json_flaw take_ends(struct scan *in, const char *scope, int *depth)
{
    while (*depth > 0) {
        char open = scope[*depth - 1];

        skip_space(in);
        if (take(in, ',')) {
            return take_name(in, open);
        }
        if (!take(in, open == '{' ? '}' : ']')) {
            return JSON_FLAW_SYNTAX;
        }
        (*depth)--;
    }
    return JSON_FLAW_NONE;
}

/* One value with all it holds. */
static enum json_flaw take_value(struct scan *in)
{
    char scope[JSON_MAX_DEPTH];
    enum json_flaw flaw;
    int depth = 0;

    do {
        int c = peek(in);

        if (c != '{' && c != '[') {
            flaw = take_scalar(in);
        } else if (depth == JSON_MAX_DEPTH) {
            flaw = JSON_FLAW_DEPTH;
        } else {
            in->at++;
            scope[depth++] = (char)c;
            skip_space(in);
            if (take(in, c == '{' ? '}' : ']')) {
                depth--;
                flaw = JSON_FLAW_NONE;
            } else {
                flaw = take_name(in, (char)c);
                if (flaw == JSON_FLAW_NONE) {
                    continue;
                }
            }
        }
        if (flaw == JSON_FLAW_NONE) {
            flaw = take_ends(in, scope, &depth);
        }
    } while (flaw == JSON_FLAW_NONE && depth > 0);
    return flaw;
}

enum json_flaw json_text_flaw(const char *text, size_t len)
{
    struct scan in = {.s = text, .len = len, .at = 0};
    enum json_flaw flaw;

    if (len > 0 && memchr(text, '\0', len) != NULL) {
        return JSON_FLAW_NUL;
    }
    if (!utf8_valid(text, len)) {
        return JSON_FLAW_UTF8;
    }
    skip_space(&in);
    if (in.at == len) {
        return JSON_FLAW_EMPTY;
    }
    flaw = take_value(&in);
    if (flaw != JSON_FLAW_NONE) {
        return flaw;
    }
    skip_space(&in);
    return in.at == len ? JSON_FLAW_NONE : JSON_FLAW_SYNTAX;
}
