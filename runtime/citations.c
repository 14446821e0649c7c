#include "runtime/citations.h"

#include <stdlib.h>
#include <string.h>

#include <cmark.h>

#include "sql/store_effect.h"

#define DIGITS_MAX 6
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

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* The number at p; *end: behind it. -1: it is none that a passage may have. */
static int64_t read_number(const char *p, const char **end)
{
    size_t digits = strspn(p, "0123456789");
    int64_t number = 0;

    *end = p + digits;
    if (digits == 0 || digits > DIGITS_MAX) {
        return -1;
    }
    for (size_t i = 0; i < digits; i++) {
        number = number * 10 + (p[i] - '0');
    }
    return store_source_is_year(number) ? -1 : number;
}

/* What stands behind the bracket that closes the numbers at p; NULL: they are
 * no citation. */
static const char *end_of(const char *p)
{
    for (;;) {
        if (read_number(p, &p) < 0) {
            return NULL;
        }
        p = skip_blanks(p);
        if (*p != ',') {
            break;
        }
        p = skip_blanks(p + 1);
    }
    return p[0] != ']' || p[1] == '(' || p[1] == ':' ? NULL : p + 1;
}

static enum rc add_all(const char *p, struct citations *out)
{
    enum rc rc = RC_OK;

    while (*p != ']' && rc == RC_OK) {
        rc = citations_add(out, read_number(p, &p));
        p += strcspn(p, "0123456789]");
    }
    return rc;
}

static enum rc read_text(const char *text, struct citations *out)
{
    const char *p = text;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (p = strchr(p, '[')) != NULL) {
        const char *end = end_of(p + 1);

        if (end != NULL) {
            rc = add_all(p + 1, out);
        }
        p = end != NULL ? end : p + 1;
    }
    return rc;
}

/* Only text nodes hold citations: code has nodes of its own, and the words of a
 * link stand in its node without the brackets. */
static enum rc walk(cmark_node *root, struct citations *out)
{
    cmark_iter *it = cmark_iter_new(root);
    cmark_event_type event;
    enum rc rc = RC_OK;

    while (rc == RC_OK && (event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(it);

        if (event == CMARK_EVENT_ENTER &&
            cmark_node_get_type(node) == CMARK_NODE_TEXT) {
            rc = read_text(cmark_node_get_literal(node), out);
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

enum rc citations_find(const char *markdown, size_t len, struct citations *out)
{
    char *copy = malloc(len + 1);
    cmark_node *root;
    enum rc rc;

    if (copy == NULL) {
        return RC_NOMEM;
    }
    memcpy(copy, markdown, len);
    blind_escapes(copy, len);
    root = cmark_parse_document(copy, len, CMARK_OPT_VALIDATE_UTF8);
    free(copy);
    if (root == NULL) {
        return RC_NOMEM;
    }
    cmark_consolidate_text_nodes(root);
    rc = walk(root, out);
    citations_sort(out);
    cmark_node_free(root);
    return rc;
}
