#include "sql/base/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/utf8.h"

/* --- reading ---------------------------------------------------------------
 *
 * check_text walks the bytes by the grammar of RFC 8259 before cJSON sees
 * them: cJSON takes raw control characters in strings, any control character
 * as white space, leading zeros, a byte order mark, and it recurses. What
 * remains for the tree is what only the tree shows, members named twice.
 */

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

static enum json_flaw check_text(const char *text, size_t len)
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

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* RC_INVALID if two of n members have one name. Sorted, because a body may
 * hold tens of thousands. */
static enum rc check_members(const cJSON *object, size_t n)
{
    const char *few[16];
    const char **names = few;
    enum rc rc = RC_OK;
    const cJSON *m;
    size_t i = 0;

    if (n > sizeof(few) / sizeof(few[0])) {
        names = calloc(n, sizeof(*names));
        if (names == NULL) {
            return RC_NOMEM;
        }
    }
    cJSON_ArrayForEach(m, object)
    {
        names[i++] = m->string;
    }
    qsort(names, n, sizeof(*names), by_name);
    for (i = 1; i < n && rc == RC_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            rc = RC_INVALID;
        }
    }
    if (names != few) {
        free(names);
    }
    return rc;
}

/* No deeper than JSON_MAX_DEPTH: check_text has seen to it. */
static enum rc check_tree(const cJSON *value)
{
    const cJSON *m;
    size_t n = 0;

    cJSON_ArrayForEach(m, value)
    {
        enum rc rc = check_tree(m);
        if (rc != RC_OK) {
            return rc;
        }
        n++;
    }
    return cJSON_IsObject(value) && n > 1 ? check_members(value, n) : RC_OK;
}

enum rc json_parse(const char *text, size_t len, cJSON **out,
                   enum json_flaw *flaw)
{
    enum json_flaw ignored;
    cJSON *tree;
    enum rc rc;

    if (flaw == NULL) {
        flaw = &ignored;
    }
    *flaw = check_text(text, len);
    if (*flaw != JSON_FLAW_NONE) {
        return RC_INVALID;
    }
    tree = cJSON_ParseWithLengthOpts(text, len, NULL, 0);
    if (tree == NULL) {
        /* The grammar holds, so only memory can be missing. */
        return RC_NOMEM;
    }
    rc = check_tree(tree);
    if (rc != RC_OK) {
        *flaw = rc == RC_INVALID ? JSON_FLAW_DUPLICATE : JSON_FLAW_NONE;
        cJSON_Delete(tree);
        return rc;
    }
    *out = tree;
    return RC_OK;
}

void json_free(cJSON *tree)
{
    cJSON_Delete(tree);
}

const char *json_flaw_text(enum json_flaw flaw)
{
    static const char *const text[JSON_FLAW__MAX] = {
        [JSON_FLAW_NONE] = "is well-formed",
        [JSON_FLAW_EMPTY] = "is empty",
        [JSON_FLAW_UTF8] = "is not valid UTF-8",
        [JSON_FLAW_NUL] = "holds a NUL character",
        [JSON_FLAW_SYNTAX] = "is not JSON",
        [JSON_FLAW_DEPTH] = "is nested too deeply",
        [JSON_FLAW_DUPLICATE] = "names a member twice",
        [JSON_FLAW_SURROGATE] = "holds half of a surrogate pair",
    };

    assert(flaw < JSON_FLAW__MAX);
    return text[flaw];
}

const cJSON *json_get(const cJSON *object, const char *name)
{
    if (!cJSON_IsObject(object)) {
        return NULL;
    }
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *json_str(const cJSON *object, const char *name,
                     const char *fallback)
{
    const cJSON *m = json_get(object, name);

    return cJSON_IsString(m) ? m->valuestring : fallback;
}

enum rc json_i64(const cJSON *object, const char *name, int64_t *out)
{
    const double largest = 9007199254740992.0; /* 2^53 */
    const cJSON *m = json_get(object, name);

    if (m == NULL || cJSON_IsNull(m)) {
        return RC_NOT_FOUND;
    }
    /* Infinity fails the range, and so would NaN. */
    if (!cJSON_IsNumber(m) || !(fabs(m->valuedouble) <= largest) ||
        floor(m->valuedouble) < m->valuedouble) {
        return RC_INVALID;
    }
    *out = (int64_t)m->valuedouble;
    return RC_OK;
}

bool json_same(const cJSON *a, const cJSON *b)
{
    return cJSON_Compare(a, b, true) != 0;
}

enum rc json_print(const cJSON *tree, struct buf *out)
{
    char *text = cJSON_PrintUnformatted(tree);

    if (text == NULL) {
        return RC_NOMEM;
    }
    buf_puts(out, text);
    cJSON_free(text);
    return buf_rc(out);
}

/* --- writing ---------------------------------------------------------------
 *
 * first[0] serves twice: at depth 0 it says that the text's only value is
 * still to come.
 */

void json_begin(struct json_out *w, struct buf *b)
{
    *w = (struct json_out){.buf = b};
    w->first[0] = true;
}

/* A value is about to be written: is one due here, and after a comma? */
static void before_value(struct json_out *w)
{
    if (w->depth == 0) {
        assert(w->first[0]);
        w->first[0] = false;
    } else if (w->scope[w->depth - 1] == '{') {
        assert(w->key);
        w->key = false;
    } else {
        if (!w->first[w->depth - 1]) {
            buf_putc(w->buf, ',');
        }
        w->first[w->depth - 1] = false;
    }
}

static void open_scope(struct json_out *w, char scope)
{
    before_value(w);
    assert(w->depth < JSON_MAX_DEPTH);
    w->scope[w->depth] = scope;
    w->first[w->depth] = true;
    w->depth++;
    buf_putc(w->buf, scope);
}

static void close_scope(struct json_out *w, char scope, char end)
{
    assert(w->depth > 0 && w->scope[w->depth - 1] == scope && !w->key);
    w->depth--;
    w->first[w->depth] = w->depth > 0 && w->first[w->depth];
    buf_putc(w->buf, end);
}

void json_open_object(struct json_out *w)
{
    open_scope(w, '{');
}

void json_close_object(struct json_out *w)
{
    close_scope(w, '{', '}');
}

void json_open_array(struct json_out *w)
{
    open_scope(w, '[');
}

void json_close_array(struct json_out *w)
{
    close_scope(w, '[', ']');
}

static void put_escape(struct buf *b, unsigned char c)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
        if ((unsigned char)names[i] == c) {
            buf_putc(b, '\\');
            buf_putc(b, names[i + 1]);
            return;
        }
    }
    buf_printf(b, "\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

/* How many bytes at the front need no escape. */
static size_t plain_len(const char *s, size_t len)
{
    size_t n = 0;

    while (n < len && is_plain((unsigned char)s[n])) {
        n++;
    }
    return n;
}

static void put_quoted(struct buf *b, const char *s, size_t len)
{
    size_t n = plain_len(s, len);
    char *to = buf_extend(b, n + 1);

    if (to != NULL) {
        *to = '"';
        memcpy(to + 1, s, n);
    }
    while (n < len) {
        size_t more;

        put_escape(b, (unsigned char)s[n++]);
        more = plain_len(s + n, len - n);
        buf_add(b, s + n, more);
        n += more;
    }
    buf_putc(b, '"');
}

void json_key(struct json_out *w, const char *name)
{
    size_t len = strlen(name);
    bool comma;
    char *to;

    assert(w->depth > 0 && w->scope[w->depth - 1] == '{' && !w->key);
    comma = !w->first[w->depth - 1];
    w->first[w->depth - 1] = false;
    w->key = true;
    to = buf_extend(w->buf, comma + len + 3);
    if (to == NULL) {
        return;
    }
    if (comma) {
        *to++ = ',';
    }
    *to++ = '"';
    /* The quote comes behind it, not a NUL. */
    memcpy(to, name, len); /* NOLINT(bugprone-not-null-terminated-result) */
    to[len] = '"';
    to[len + 1] = ':';
}

void json_put_str(struct json_out *w, const char *s)
{
    if (s == NULL) {
        json_put_null(w);
    } else {
        json_put_strn(w, s, strlen(s));
    }
}

void json_put_strn(struct json_out *w, const char *s, size_t len)
{
    before_value(w);
    put_quoted(w->buf, s, len);
}

void json_put_i64(struct json_out *w, int64_t n)
{
    before_value(w);
    buf_put_i64(w->buf, n);
}

void json_put_bool(struct json_out *w, bool yes)
{
    before_value(w);
    buf_puts(w->buf, yes ? "true" : "false");
}

void json_put_null(struct json_out *w)
{
    before_value(w);
    buf_puts(w->buf, "null");
}

void json_put_raw(struct json_out *w, const char *text, size_t len)
{
    before_value(w);
    buf_add(w->buf, text, len);
}

void json_kstr(struct json_out *w, const char *name, const char *s)
{
    json_key(w, name);
    json_put_str(w, s);
}

void json_ki64(struct json_out *w, const char *name, int64_t n)
{
    json_key(w, name);
    json_put_i64(w, n);
}

void json_kbool(struct json_out *w, const char *name, bool yes)
{
    json_key(w, name);
    json_put_bool(w, yes);
}

void json_knull(struct json_out *w, const char *name)
{
    json_key(w, name);
    json_put_null(w);
}

void json_ki64_or_null(struct json_out *w, const char *name, int64_t n)
{
    json_key(w, name);
    if (n == 0) {
        json_put_null(w);
    } else {
        json_put_i64(w, n);
    }
}

enum rc json_end(struct json_out *w)
{
    assert(w->depth == 0 && !w->first[0] && !w->key);
    return buf_rc(w->buf);
}
