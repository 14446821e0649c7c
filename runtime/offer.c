/* offer.c - what a request may offer, from the facts of the moment (R07). */
#include "runtime/policy.h"
#include "runtime/runtime.h"

#define LISTED_MAX   50
#define LISTED_ENDED 5

/* Runs that may be named, newest first, those that are active before those
 * that have ended. */
static void put_listed(struct offer *o, const struct run *all, size_t n,
                       int64_t own, bool active)
{
    size_t ended = 0;

    for (size_t i = 0; i < n; i++) {
        if (all[i].id == own || states_run_ended(all[i].state) == active ||
            ended == LISTED_ENDED) {
            continue;
        }
        ended += active ? 0 : 1;
        o->steer = o->steer || active;
        o->reply = o->reply || (all[i].state == RUN_AWAITING_INPUT &&
                                all[i].approval == NULL);
        o->proceed = o->proceed || !active;
        o->listed[o->n_listed++] = all[i];
    }
}

static enum rc list_runs(struct step *s, struct offer *o)
{
    const struct run_filter f = {.account_id = s->run.account_id,
                                 .conversation_id = s->run.conversation_id,
                                 .limit = LISTED_MAX,
                                 .state = -1,
                                 .kind = RUN_RESEARCH};
    struct run *all = NULL;
    size_t n = 0;
    enum rc rc = store_run_list(s->rt->store, &f, s->mem, &all, &n);

    if (rc != RC_OK) {
        return rc;
    }
    o->listed = arena_alloc(s->mem, (n + 1) * sizeof(*o->listed));
    if (o->listed == NULL) {
        return RC_TOO_LARGE;
    }
    put_listed(o, all, n, s->run.id, true);
    put_listed(o, all, n, s->run.id, false);
    return RC_OK;
}

/* The tools that are configured, without those that are forbidden. */
static enum rc list_tools(struct step *s, struct offer *o)
{
    const struct tool **list;
    size_t n = 0;

    while (tool_at(s->rt, n) != NULL) {
        n++;
    }
    list = arena_alloc(s->mem, (n + 1) * sizeof(list[0]));
    if (list == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < n; i++) {
        const struct tool *t = tool_at(s->rt, i);

        if ((t->offered == NULL || t->offered(s->rt)) &&
            !policy_forbids(&s->rt->conf, t->name)) {
            list[o->n_tools++] = t;
        }
    }
    o->tools = list;
    return RC_OK;
}

enum rc offer_find(struct step *s, struct offer *o)
{
    bool free_slot;
    enum rc rc;

    *o = (struct offer){.ask = s->run.missing_info != MISSING_ASSUME};
    rc = list_tools(s, o);
    if (rc == RC_OK) {
        rc = store_occupancy(s->rt->store, s->run.account_id, &o->occupancy);
    }
    if (rc != RC_OK || s->run.kind == RUN_RESEARCH) {
        return rc;
    }
    rc = list_runs(s, o);
    free_slot =
        o->occupancy.used[SLOT_BACKGROUND] < s->rt->conf.background_limit;
    o->start = free_slot;
    o->proceed = o->proceed && free_slot;
    return rc;
}

bool offer_any_operation(const struct offer *o)
{
    return o->start || o->steer || o->reply || o->proceed;
}
