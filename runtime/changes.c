/* changes.c - what others have changed: messages, adjustments and stops that
 * the responder has accepted, and files that accounts want read. */
#include "runtime/loop_inside.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_change.h"
#include "sql/store_lease.h"
#include "sql/store_storage.h"

/* While Runs are at work, changes are read even without a ring (DESIGN 1). */
#define FALLBACK_MS 5000

/* The connections of a Run that was stopped are closed at once: that waits for
 * no commit of ours (R24). */
static enum rc close_if_ended(struct runtime *rt, struct live *l)
{
    struct run run;
    enum rc rc;

    if (l->flight == NULL && l->works == NULL) {
        return RC_OK;
    }
    store_lease_mark(rt->lock, l->id);
    rc = store_run_get(rt->store, 0, l->id, false, rt->mem, &run);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && states_run_ended(run.state))) {
        flight_hang_up(l);
        tool_cancel_all(l);
    }
    store_lease_mark(rt->lock, 0);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* Runs whose rows were changed by others since the cursor. */
static enum rc find_changed(struct runtime *rt)
{
    int64_t *ids = NULL;
    int64_t newest = 0;
    size_t n = 0;
    struct store_view view;
    enum rc rc = store_read_begin(rt->store, &view);

    if (rc != RC_OK) {
        return rc;
    }
    rc = store_change_runs(rt->store, rt->cursor, rt->mem, &ids, &n, &newest);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct live *l;

        rc = live_add(rt, ids[i], &l);
        if (rc == RC_OK) {
            l->dirty = true;
            rc = close_if_ended(rt, l);
        }
    }
    store_read_end(rt->store);
    if (rc == RC_OK) {
        rt->cursor = newest;
    }
    arena_reset(rt->mem);
    return rc;
}

enum rc changes_find_wants(struct runtime *rt)
{
    struct library_want *list = NULL;
    size_t n = 0;
    enum rc rc = store_library_wants(rt->store, rt->mem, &list, &n);

    if (rc == RC_OK && n > 0) {
        indexer_want(rt->indexer, list, n);
    }
    indexer_keep(rt->indexer);
    arena_reset(rt->mem);
    return rc;
}

void changes_read(struct runtime *rt, int64_t now)
{
    enum rc rc = find_changed(rt);

    if (rc == RC_OK) {
        rc = changes_find_wants(rt);
    }
    rt->read_ms = now;
    rt->unread = rc != RC_OK;
    if (rc != RC_OK) {
        log_warn(NULL, "changes could not be read: %s", rc_name(rc));
    }
}

int64_t changes_due_ms(const struct runtime *rt)
{
    if (rt->unread) {
        return rt->read_ms +
               (store_storage() == STORAGE_OK ? LOOP_RETRY_MS : LOOP_PAUSE_MS);
    }
    if (rt->n_lives > 0 || doorbell_is_deaf(rt->bell)) {
        return rt->read_ms + FALLBACK_MS;
    }
    return 0;
}

bool changes_are_due(const struct runtime *rt, int64_t now)
{
    int64_t at = changes_due_ms(rt);

    return at != 0 && now >= at;
}
