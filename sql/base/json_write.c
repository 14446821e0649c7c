/* json_write.c - writing JSON.
 *
 * first[0] serves twice: at depth 0 it says that the text's only value is
 * still to come.
 */
#include <assert.h>
#include <string.h>

#include "sql/base/json.h"

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
