/* retention.c - conversations that are older, or more, than is to be kept go, a
 * few in one transaction, so that nobody waits for it. */
#include <inttypes.h>

#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_forget.h"

#define LOOK_MS  600000 /* looking walks over all conversations */
#define MORE_MS  100    /* there may be more to remove */
#define RETRY_MS 5000
#define STEP_MAX 8
#define DAY_MS   ((int64_t)86400000)

struct removal {
    struct arena *mem;
    const struct store_old *list;
    size_t n;
    int64_t now_ms;
};

static bool is_wanted(const struct runtime *rt)
{
    return rt->conf.retention_days > 0 || rt->conf.retention_conversations > 0;
}

int64_t retention_due_ms(const struct runtime *rt)
{
    if (!is_wanted(rt)) {
        return 0;
    }
    return rt->retention_ms > 0 ? rt->retention_ms : 1;
}

/* What has become active, or has gone, since it was looked for is left alone. */
static enum rc remove_all(struct store *st, void *arg)
{
    const struct removal *r = arg;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n && rc == RC_OK; i++) {
        rc = store_old_delete(st, &r->list[i], r->now_ms, r->mem);
        rc = rc == RC_CONFLICT || rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return rc;
}

static enum rc find(struct runtime *rt, struct removal *r)
{
    const struct conf *conf = &rt->conf;
    struct store_old *list = NULL;
    int64_t before = conf->retention_days == 0
                         ? INT64_MIN
                         : r->now_ms - conf->retention_days * DAY_MS;
    int64_t keep = conf->retention_conversations == 0
                       ? INT64_MAX
                       : conf->retention_conversations;
    enum rc rc = store_old_list(rt->store, before, keep, STEP_MAX, rt->mem,
                                &list, &r->n);

    r->list = list;
    return rc;
}

enum rc retention_tick(struct runtime *rt, int64_t now)
{
    struct removal r = {.mem = rt->mem, .now_ms = clock_unix_ms()};
    enum rc rc;

    if (!is_wanted(rt) || now < rt->retention_ms) {
        return RC_OK;
    }
    rc = find(rt, &r);
    if (rc == RC_OK && r.n > 0) {
        rc = store_tx(rt->store, remove_all, &r);
    }
    arena_reset(rt->mem);
    if (rc == RC_FENCED) {
        return rc;
    }
    if (rc == RC_OK && r.n > 0) {
        doorbell_ring(rt->bell);
        log_info(NULL, "retention: %zu conversations removed", r.n);
    } else if (rc != RC_OK && rc != RC_BUSY) {
        log_warn(NULL, "retention: %s", rc_name(rc));
    }
    rt->retention_ms = now + (rc != RC_OK       ? RETRY_MS
                              : r.n == STEP_MAX ? MORE_MS
                                                : LOOK_MS);
    return RC_OK;
}
