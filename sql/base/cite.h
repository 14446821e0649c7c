/* cite.h - what a citation looks like: numbers of passages in brackets.
 *
 *   [1]  [2, 4]  [1-3]  [1; 3–5]  [^1]  ［1］  【1，2】
 *
 * Numbers have up to six digits; more are some other identifier. They are
 * parted by , ; or their wide forms, and a range names all between its ends,
 * which are not far from each other. What stands so in Markdown is a citation
 * where it is text: neither in code, nor escaped, nor a link, nor with a = at
 * its end, as in an address (?a[0]=1); see
 * runtime/citations.h and static/js/markdown.js, which say the same.
 */
#ifndef ASIDE_BASE_CITE_H
#define ASIDE_BASE_CITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/buf.h"

struct cite {
    const char *end;  /* behind the bracket that closes it */
    const char *next; /* what cite_next reads */
};

/* Whether a citation begins at text, which is NUL-terminated. */
bool cite_at(const char *text, struct cite *);

/* Its next number or range, both ends of it; false: there is no other. */
bool cite_next(struct cite *, int64_t *from, int64_t *to);

/* Where the next bracket opens that may begin a citation, or NULL. */
const char *cite_find(const char *text);

/* What reads like a year: a bracket with one is prose, since nobody could tell
 * which is meant; so no passage is given such a number. */
bool cite_is_year(int64_t number);

/* Markdown as it is, but that nothing makes a link of a citation: neither a
 * definition of its name, "[1]: https://...", which would of every [1], nor a
 * name behind it, "[1][a]". A mark without width stands in between. */
void cite_unlink(const char *markdown, size_t len, struct buf *out);

#endif
