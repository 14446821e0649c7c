/* entry.h - plans for the person's own messages: which operations they name,
 * what has to be looked up, and the answer once that came back. */
#ifndef ASIDE_OFFLINE_ENTRY_H
#define ASIDE_OFFLINE_ENTRY_H

#include "fcgi/offline/chat.h"
#include "fcgi/offline/plan.h"
#include "fcgi/offline/scene.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

enum rc entry_plan(struct arena *, const struct chat *, const struct scene *,
                   struct plan *out) RC_MUST_CHECK;

#endif
