/* citations.h - what a report cites: [n], [n, m], [n-m] in its prose.
 *
 * The same as the page shows as citations (static/js/markdown.js): what
 * sql/base/cite.h describes, neither in code nor the text or name of a link, nor
 * escaped. A bracket with what may be a year, [2024], is prose. No passage has
 * such a number, but in databases from before that was so; there, years that
 * passages have are theirs.
 */
#ifndef ASIDE_RUNTIME_CITATIONS_H
#define ASIDE_RUNTIME_CITATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

struct source;

/* Distinct numbers, ascending. Begins as {.count = 0}. */
struct citations {
    int64_t *n;
    size_t count;
    size_t room;
};

/* Adds what the Markdown text cites. years: the numbers like a year that
 * passages have; NULL: none. RC_NOMEM. */
enum rc citations_find(const char *markdown, const struct citations *years,
                       struct citations *) RC_MUST_CHECK;
/* Adds those of the sources' numbers that read like a year. RC_NOMEM. */
enum rc citations_years(const struct source *, size_t n,
                        struct citations *) RC_MUST_CHECK;
/* Adds a number at the end: citations_sort puts it in its place. RC_NOMEM. */
enum rc citations_add(struct citations *, int64_t number) RC_MUST_CHECK;
void citations_sort(struct citations *);
bool citations_has(const struct citations *, int64_t number);
void citations_free(struct citations *);

#endif
