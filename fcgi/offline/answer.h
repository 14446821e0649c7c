/* answer.h - a short answer from the passages of a request. */
#ifndef ASIDE_OFFLINE_ANSWER_H
#define ASIDE_OFFLINE_ANSWER_H

#include <stddef.h>

#include "fcgi/offline/scene.h"
#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/base/rc.h"

/* Append the answer to a question: the best sentences found, each with its
 * citation, and what was not found; or, plainly, that nothing fits. context is
 * an earlier message that the question leans on, or "". */
enum rc answer_put(struct arena *, const struct scene *, const char *question,
                   const char *context, struct buf *out) RC_MUST_CHECK;

/* The titles of the pages of these sentences, each once, in italics and joined
 * by commas: at most max. Returns how many pages there are. */
size_t answer_pages(struct buf *, struct sentence *const *, size_t n,
                    size_t max);

/* True if a question leans on what was said before ("And how fast is it?"). */
enum rc answer_leans(struct arena *, const char *question,
                     int *out) RC_MUST_CHECK;

#endif
