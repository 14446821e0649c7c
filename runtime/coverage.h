/* coverage.h - what a report covers (R31): the request and every handed
 * adjustment, how far each is covered, by what, and why not.
 *
 * Memory is the step's. Used by deliver.c.
 */
#ifndef ASIDE_RUNTIME_COVERAGE_H
#define ASIDE_RUNTIME_COVERAGE_H

#include "runtime/citations.h"
#include "runtime/runtime.h"

struct cover {
    struct coverage *items; /* the request first */
    bool *named;            /* by the model */
    size_t n;
};

/* All requirements, each not covered so far. */
enum rc coverage_list(struct step *, struct cover *out) RC_MUST_CHECK;

/* Models hand the coverage in as one line, or as text: "coverage" of the
 * arguments becomes the list that it was meant to be. */
void coverage_unwrap(cJSON *args);

/* What the model states in the list; unknown ids, words and numbers are
 * ignored. Of two statements on one requirement the less favourable counts. A
 * requirement that stands alone rests on all that the report cites, unless the
 * model names something else. */
enum rc coverage_read(struct step *, const cJSON *list, const char *report,
                      struct cover *) RC_MUST_CHECK;

bool coverage_is_whole(const struct cover *);

/* Something is wrong with the report as a whole: nothing is covered whole, and
 * the request's line says why, as does each that counts for less by it. why: a
 * sentence. */
enum rc coverage_doubt(struct step *, struct cover *,
                       const char *why) RC_MUST_CHECK;

/* Adds the numbers that the list names as evidence, as 7, "7" or "[7]". */
enum rc coverage_cited(const cJSON *list, struct citations *) RC_MUST_CHECK;

#endif
