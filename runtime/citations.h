/* citations.h - what a report cites: [n] and [n, m] in its prose.
 *
 * The same as the page shows as citations (static/js/markdown.js): numbers of
 * up to six digits in one line, neither in code nor the text or name of a link,
 * nor escaped. More digits than any Run has passages are an identifier; a
 * bracket with what may be a year, [2024], is prose, and no passage has such a
 * number (store_source_is_year).
 */
#ifndef ASIDE_RUNTIME_CITATIONS_H
#define ASIDE_RUNTIME_CITATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

/* Distinct numbers, ascending. Begins as {.count = 0}. */
struct citations {
    int64_t *n;
    size_t count;
    size_t room;
};

/* Adds what the Markdown text cites. RC_NOMEM. */
enum rc citations_find(const char *markdown, size_t len,
                       struct citations *) RC_MUST_CHECK;
/* Adds a number at the end: citations_sort puts it in its place. RC_NOMEM. */
enum rc citations_add(struct citations *, int64_t number) RC_MUST_CHECK;
void citations_sort(struct citations *);
bool citations_has(const struct citations *, int64_t number);
void citations_free(struct citations *);

#endif
