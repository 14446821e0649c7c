#include "runtime/citations.h"

#include <stdbool.h>
#include <string.h>

#include <cmark.h>

#define DIGITS_MAX 3

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\n");
}

/* The numbers from just behind a bracket to the closing one; NULL: it is no
 * citation. What follows the closing bracket otherwise. */
static const char *read_numbers(const char *p, bool *cited)
{
    int64_t number[CITATIONS_MAX];
    size_t n = 0;

    for (;;) {
        size_t digits = strspn(p, "0123456789");

        if (digits == 0 || digits > DIGITS_MAX || n == CITATIONS_MAX) {
            return NULL;
        }
        number[n] = 0;
        for (size_t i = 0; i < digits; i++) {
            number[n] = number[n] * 10 + (p[i] - '0');
        }
        n++;
        p = skip_blanks(p + digits);
        if (*p != ',') {
            break;
        }
        p = skip_blanks(p + 1);
    }
    if (p[0] != ']' || p[1] == '(' || p[1] == ':') {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        cited[number[i]] = true;
    }
    return p + 1;
}

static void read_text(const char *text, bool *cited)
{
    const char *p = text;

    while ((p = strchr(p, '[')) != NULL) {
        const char *end = read_numbers(p + 1, cited);

        p = end != NULL ? end : p + 1;
    }
}

/* Only text nodes hold citations: code has nodes of its own, and the words of a
 * link stand in its node without the brackets. */
static void walk(cmark_node *root, bool *cited)
{
    cmark_iter *it = cmark_iter_new(root);
    cmark_event_type event;

    while ((event = cmark_iter_next(it)) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(it);

        if (event == CMARK_EVENT_ENTER &&
            cmark_node_get_type(node) == CMARK_NODE_TEXT) {
            read_text(cmark_node_get_literal(node), cited);
        }
    }
    cmark_iter_free(it);
}

enum rc citations_find(const char *markdown, size_t len, int64_t *out,
                       size_t *n)
{
    bool cited[CITATIONS_MAX] = {false};
    cmark_node *root =
        cmark_parse_document(markdown, len, CMARK_OPT_VALIDATE_UTF8);

    *n = 0;
    if (root == NULL) {
        return RC_NOMEM;
    }
    cmark_consolidate_text_nodes(root);
    walk(root, cited);
    cmark_node_free(root);
    for (int64_t i = 0; i < CITATIONS_MAX; i++) {
        if (cited[i]) {
            out[(*n)++] = i;
        }
    }
    return RC_OK;
}
