/* stage.h - a short Run and a research at work, in rows: the research has found
 * two passages, kept a note, published a draft and taken an adjustment; each
 * has a request under way, whose reply the caller brings.
 *
 * Nothing reaches outside. What stage_try does is undone.
 */
#ifndef ASIDE_TESTS_FUZZ_STAGE_H
#define ASIDE_TESTS_FUZZ_STAGE_H

#include "runtime/runtime.h"

struct stage;

/* In a new database below dir; never fails but by aborting. */
struct stage *stage_new(const char *dir);
void stage_free(struct stage *);

/* The reply to the request of this purpose (not PURPOSE_ANSWER), as if it had
 * come whole; then the Run's next decision. look is called in the same
 * transaction, before all of it is undone. *result: what came of the step; that
 * of store_batch_call comes back. */
typedef void stage_look_fn(struct step *, void *arg);
enum rc stage_try(struct stage *, enum request_purpose,
                  const struct model_reply *, stage_look_fn *look, void *arg,
                  enum rc *result) RC_MUST_CHECK;

#endif
