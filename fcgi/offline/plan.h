/* plan.h - what the offline model replies, decided before a byte of it is
 * sent.
 *
 * Rules by purpose: an entry request names operations or looks things up
 * (entry.h), a follow-up answers from what the look-ups brought, a research
 * request searches on or delivers its report (research.h). Equal requests get
 * equal plans.
 */
#ifndef ASIDE_OFFLINE_PLAN_H
#define ASIDE_OFFLINE_PLAN_H

#include <stddef.h>

#include "fcgi/offline/chat.h"
#include "sql/base/arena.h"
#include "sql/base/json.h"
#include "sql/base/rc.h"

#define PLAN_MAX_CALLS   8
#define PLAN_ARENA_BYTES ((size_t)48 * 1024 * 1024)
#define PLAN_TEXT_BYTES  ((size_t)64 * 1024) /* or a call's arguments */

struct plan_call {
    const char *name;
    const char *arguments; /* a JSON object as text */
    char id[48];
};

struct plan {
    const char *text; /* prose beside or instead of calls; "" if none */
    struct plan_call calls[PLAN_MAX_CALLS];
    size_t n_calls;
    bool cut; /* the text was cut at the request's max_tokens */
};

/* RC_NOMEM, or RC_TOO_LARGE where the request's texts pass a limit. Memory
 * belongs to the arena (PLAN_ARENA_BYTES suffice for any request of
 * CHAT_BODY_BYTES that can be planned). */
enum rc plan_make(struct arena *, const struct chat *,
                  struct plan *out) RC_MUST_CHECK;

/* Add a call whose arguments are strings: pairs is name, value, ..., NULL.
 * Calls beyond PLAN_MAX_CALLS, and a second equal one, are left out. */
enum rc plan_call(struct arena *, struct plan *, const char *name,
                  const char *const *pairs) RC_MUST_CHECK;
/* A library_search for query, with a limit where the tool takes one. */
enum rc plan_search(struct arena *, const struct chat *, struct plan *,
                    const char *query, int64_t limit) RC_MUST_CHECK;
/* The same with arguments as JSON text, which must stay. */
void plan_call_raw(struct plan *, const char *name, const char *arguments);

#endif
