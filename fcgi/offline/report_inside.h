/* report_inside.h - a report that is being made: what was chosen, what is
 * written of it, and what it covers. For report*.c alone. */
#ifndef ASIDE_OFFLINE_REPORT_INSIDE_H
#define ASIDE_OFFLINE_REPORT_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "fcgi/offline/extract.h"
#include "fcgi/offline/report.h"
#include "fcgi/offline/sentence.h"
#include "sql/base/json.h"

#define REPORT_MAX_SECTIONS  24
#define REPORT_RELEVANT      0.5
#define REPORT_HALF_RELEVANT 0.4

/* Which of the two things compared a sentence speaks of. */
enum side { SIDE_NONE = 0, SIDE_FIRST, SIDE_SECOND, SIDE_BOTH, SIDE__MAX };

struct section {
    const char *title; /* an aspect, a side, or a page */
    size_t aim;
    bool by_page;
    struct sentence *picks[EXTRACT_MAX_PICKS];
    enum side side[EXTRACT_MAX_PICKS];
    bool promoted[EXTRACT_MAX_PICKS];
    size_t n;
    bool strong; /* a sentence holds the aspect's words, not just some */
};

struct making {
    struct arena *a;
    const struct report_order *order;
    bool chinese;
    struct corpus corpus;
    const char *sides[2]; /* of the request, or NULL */
    struct query side[2];
    struct section sections[REPORT_MAX_SECTIONS];
    size_t n_sections;
    double relevance[SCENE_MAX_REQUIREMENTS];
};

/* Choose the sections and the sentences of each. RC_NOMEM. */
enum rc report_choose(struct making *) RC_MUST_CHECK;

/* The words of text as a query of which each counts scale. text may be NULL.
 * RC_NOMEM. */
enum rc report_words(struct making *, const char *text, double scale,
                     struct query *) RC_MUST_CHECK;

/* How many sentences of the section speak of that side. */
size_t report_count_side(const struct section *, enum side);

/* How many passages and pages were quoted for one requirement, or for all
 * (SIZE_MAX), as text. */
void report_count_sources(const struct making *, size_t aim, char passages[24],
                          char pages[24]);

/* What the report covers, as the member "coverage" of an open object. */
void report_coverage(struct making *, struct json_out *);

#endif
