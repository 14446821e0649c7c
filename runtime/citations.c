#include "runtime/citations.h"

#include <stdlib.h>
#include <string.h>

#include <cmark.h>

#include "sql/base/buf.h"
#include "sql/base/cite.h"
#include "sql/store_effect.h"

#define FIRST_ROOM 64

/* --- the set ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

void citations_sort(struct citations *c)
{
    size_t kept = 0;

    if (c->count == 0) {
        return;
    }
    qsort(c->n, c->count, sizeof(*c->n), compare);
    for (size_t i = 0; i < c->count; i++) {
        if (i == 0 || c->n[i] != c->n[kept - 1]) {
            c->n[kept++] = c->n[i];
        }
    }
    c->count = kept;
}

bool citations_has(const struct citations *c, int64_t number)
{
    return c->count > 0 &&
           bsearch(&number, c->n, c->count, sizeof(*c->n), compare) != NULL;
}

static enum rc grow(struct citations *c)
{
    size_t room = c->room > 0 ? 2 * c->room : FIRST_ROOM;
    int64_t *n = realloc(c->n, room * sizeof(*n));

    if (n == NULL) {
        return RC_NOMEM;
    }
    c->n = n;
    c->room = room;
    return RC_OK;
}

enum rc citations_add(struct citations *c, int64_t number)
{
    enum rc rc = RC_OK;

    if (c->count == c->room) {
        citations_sort(c); /* often the same ones again */
        rc = 2 * c->count >= c->room ? grow(c) : RC_OK;
    }
    if (rc == RC_OK) {
        c->n[c->count++] = number;
    }
    return rc;
}

void citations_free(struct citations *c)
{
    free(c->n);
    *c = (struct citations){.count = 0};
}

/* --- reading ----------------------------------------------------------- */

/* What is looked for. */
struct reading {
    const struct citations *years; /* numbers like a year that passages have */
    struct citations *out;
};

/* One that may be a year is none, but where passages have such numbers. */
static bool is_prose(const struct reading *r, struct cite c)
{
    int64_t from;
    int64_t to;

    while (cite_next(&c, &from, &to)) {
        for (int64_t n = from; n <= to; n++) {
            if (cite_is_year(n) && !citations_has(r->years, n)) {
                return true;
            }
        }
    }
    return false;
}

static enum rc add_all(struct cite c, struct citations *out)
{
    int64_t from;
    int64_t to;
    enum rc rc = RC_OK;

    while (rc == RC_OK && cite_next(&c, &from, &to)) {
        for (int64_t n = from; n <= to && rc == RC_OK; n++) {
            rc = citations_add(out, n);
        }
    }
    return rc;
}

static enum rc read_text(const char *text, const struct reading *r)
{
    const char *p = text;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (p = cite_find(p)) != NULL) {
        struct cite c;

        if (!cite_at(p, &c)) {
            p++;
            continue;
        }
        if (!is_prose(r, c)) {
            rc = add_all(c, r->out);
        }
        p = c.end;
    }
    return rc;
}

/* Only text nodes hold citations: code has nodes of its own, and the words of a
 * link stand in its node without the brackets. */
static enum rc walk(cmark_node *root, const struct reading *r)
{
    cmark_iter *it = cmark_iter_new(root);
    cmark_event_type event;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(it);

        if (event == CMARK_EVENT_ENTER &&
            cmark_node_get_type(node) == CMARK_NODE_TEXT) {
            rc = read_text(cmark_node_get_literal(node), r);
        }
    }
    cmark_iter_free(it);
    return rc;
}

/* An escaped bracket stands in no node as what it is: it becomes two letters,
 * which take as little part in what the text means. */
static void blind_escapes(char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] != '\\') {
            continue;
        }
        if (text[i + 1] == '[' || text[i + 1] == ']') {
            text[i] = 'x';
            text[i + 1] = 'x';
        }
        i++;
    }
}

static enum rc read_markdown(struct buf *text, const struct reading *r)
{
    cmark_node *root;
    enum rc rc = buf_rc(text);

    if (rc != RC_OK || text->len == 0) {
        return rc;
    }
    blind_escapes(text->data, text->len);
    root = cmark_parse_document(text->data, text->len, CMARK_OPT_VALIDATE_UTF8);
    if (root == NULL) {
        return RC_NOMEM;
    }
    cmark_consolidate_text_nodes(root);
    rc = walk(root, r);
    cmark_node_free(root);
    return rc;
}

enum rc citations_find(const char *markdown, const struct citations *years,
                       struct citations *out)
{
    static const struct citations NONE = {.count = 0};
    const struct reading r = {.years = years != NULL ? years : &NONE,
                              .out = out};
    size_t len = strlen(markdown);
    struct buf text;
    enum rc rc;

    buf_init(&text, 2 * len + 1); /* a mark for a name of four bytes at least */
    cite_unlink(markdown, len, &text);
    rc = read_markdown(&text, &r);
    buf_free(&text);
    citations_sort(out);
    return rc;
}

enum rc citations_years(const struct source *list, size_t n,
                        struct citations *out)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (cite_is_year(list[i].n)) {
            rc = citations_add(out, list[i].n);
        }
    }
    citations_sort(out);
    return rc;
}
