/* research.h - plans for research: search, read on, note, deliver.
 *
 * Each request shows what was done so far, and the next step follows from
 * that alone: the first search that the requirements ask for and that was not
 * made, then the best pages, then a note, then the report. A new adjustment
 * brings new searches, which go first.
 */
#ifndef ASIDE_OFFLINE_RESEARCH_H
#define ASIDE_OFFLINE_RESEARCH_H

#include "fcgi/offline/chat.h"
#include "fcgi/offline/plan.h"
#include "fcgi/offline/scene.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

enum rc research_plan(struct arena *, const struct chat *, const struct scene *,
                      struct plan *out) RC_MUST_CHECK;

#endif
