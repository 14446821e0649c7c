/* extract.h - which sentences of a corpus answer a query.
 *
 * Ranking is by the words that the query and the sentence share (rare ones
 * count more), by the heading the sentence stands under, and by its form:
 * whole sentences are preferred to fragments, code and questions.
 *
 * Pure and without state; equal input gives equal output.
 */
#ifndef ASIDE_OFFLINE_EXTRACT_H
#define ASIDE_OFFLINE_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/offline/sentence.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define EXTRACT_MAX_TERMS 32
#define EXTRACT_MAX_PICKS 12

struct query_term {
    uint32_t key;
    double weight; /* of the word itself: 1, or less for weak words */
    bool cjk;
    const char *text; /* as it stood in the query */
    size_t len;
};

struct query {
    struct query_term v[EXTRACT_MAX_TERMS];
    size_t n;
};

/* Add the words of a text, each once, their weight times scale. RC_NOMEM. */
enum rc extract_query_add(struct arena *, const char *text, size_t len,
                          double scale, struct query *) RC_MUST_CHECK;

/* How much of the query's weight the best passage holds, 0 to 1, its title
 * and heading included. */
double extract_relevance(const struct corpus *, const struct query *);
/* The same for one sentence. */
double extract_match(const struct sentence *, const struct query *);
/* The same for a passage's title and heading alone. */
double extract_head_match(const struct corpus *, const struct passage *,
                          const struct query *);

/* True if the term stands in any passage, title or heading. */
bool extract_known(const struct corpus *, const struct query_term *);

struct extract_options {
    const struct query *query;
    const struct query *must; /* a full word of it stands in the sentence, or
                               * heads it; NULL: one of query in itself */
    bool define;              /* definitions are preferred */
    size_t max;               /* at most EXTRACT_MAX_PICKS */
    double first;             /* score that the best one must have, 0 to 1 */
    double least;             /* and each further one */
    double least_share;       /* and that score against the best one's */
};

/* The best sentences not used so far, best first, no two saying nearly the
 * same; marks them used. Returns how many were found. */
size_t extract_pick(struct corpus *, const struct extract_options *,
                    struct sentence **out);

#endif
