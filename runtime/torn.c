#include "runtime/torn.h"

#include <string.h>

#include "sql/base/json.h"

struct scan {
    char open[JSON_MAX_DEPTH]; /* '{' or '[' */
    int depth;
    bool deep; /* deeper than can be read */
    bool in_text;
    bool is_name;     /* that text is the name of a member */
    bool has_name;    /* a member's colon has come, and no comma since */
    size_t escape_at; /* an escape that is not whole; 0: none */
    size_t comma_at;  /* the last one outside of texts; 0: none */
    int comma_depth;
};

/* Length of the escape at p, both halves of a character that has two; 0: it
 * breaks off. */
static size_t escape_len(const char *p)
{
    size_t len = p[1] != 'u' ? 2 : 6;

    if (len == 6 && strnlen(p, 4) == 4 && strchr("dD", p[2]) != NULL &&
        strchr("89abAB", p[3]) != NULL) {
        len = 12;
    }
    return strnlen(p, len) == len ? len : 0;
}

static size_t scan_text(struct scan *s, const char *json, size_t i)
{
    if (json[i] == '"') {
        s->in_text = false;
    } else if (json[i] == '\\') {
        size_t len = escape_len(json + i);

        s->escape_at = len == 0 ? i : 0;
        return len == 0 ? strlen(json + i) : len;
    }
    return 1;
}

static void scan_mark(struct scan *s, char c, size_t i)
{
    switch (c) {
    case '"':
        s->in_text = true;
        s->is_name =
            s->depth > 0 && s->open[s->depth - 1] == '{' && !s->has_name;
        break;
    case '{':
    case '[':
        s->deep = s->deep || s->depth == JSON_MAX_DEPTH;
        if (!s->deep) {
            s->open[s->depth++] = c;
        }
        s->has_name = false;
        break;
    case '}':
    case ']':
        s->depth -= s->depth > 0 ? 1 : 0;
        s->has_name = true; /* of what it stands in, if that is an object */
        break;
    case ':':
        s->has_name = true;
        break;
    case ',':
        s->has_name = false;
        s->comma_at = i;
        s->comma_depth = s->depth;
        break;
    default:
        break;
    }
}

static struct scan scan(const char *json)
{
    struct scan s = {.depth = 0};
    size_t i = 0;

    while (json[i] != '\0' && !s.deep) {
        if (s.in_text) {
            i += scan_text(&s, json, i);
        } else {
            scan_mark(&s, json[i], i);
            i++;
        }
    }
    return s;
}

bool torn_is(const char *json)
{
    struct scan s = scan(json);

    json += strspn(json, " \t\r\n");
    return !s.deep && s.depth > 0 && *json == '{';
}

void torn_close(const char *json, struct buf *out)
{
    struct scan s = scan(json);
    size_t len = strlen(json);
    bool in_value = s.in_text && !s.is_name;

    if (in_value) {
        len = s.escape_at != 0 ? s.escape_at : len;
        buf_add(out, json, len);
        buf_putc(out, '"');
    } else {
        char last = '\0';

        while (len > 0 && strchr(" \t\r\n", json[len - 1]) != NULL) {
            len--;
        }
        if (len > 0) {
            last = json[len - 1];
        }
        /* After a value that is whole nothing is lost; else what stands behind
         * the last comma is. */
        if (strchr("}]", last) == NULL && (last != '"' || s.is_name)) {
            len = s.comma_at;
            s.depth = s.comma_at != 0 ? s.comma_depth : s.depth;
        }
        buf_add(out, json, len);
    }
    while (s.depth > 0) {
        buf_putc(out, s.open[--s.depth] == '{' ? '}' : ']');
    }
}
