/* retention.c - conversations that are older, or more, than is to be kept go, and
 * old lines of the audit log, a few in one transaction, so that nobody waits for
 * it.
 *
 * How old something is the wall's clock tells, which may be years wrong at a
 * start, or be set wrong. What it would let go is gone for good, so by age
 * nothing goes until it has run beside boot time for an hour. */
#include <inttypes.h>

#include "runtime/fault.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_audit.h"
#include "sql/store_forget.h"

#define LOOK_MS   600000 /* looking walks over all conversations */
#define MORE_MS   100    /* there may be more to remove */
#define RETRY_MS  5000
#define STEP_MAX  8
#define LINES_MAX 500
#define DAY_MS    ((int64_t)86400000)
#define STEADY_MS ((int64_t)3600000)
/* Beyond what sets a clock right bit by bit. */
#define JUMP_MS ((int64_t)300000)

struct removal {
    struct arena *mem;
    const struct store_old *list;
    size_t n;
    int64_t now_ms;
    int64_t audit_before_ms;
    int64_t lines;
};

static bool is_wanted(const struct runtime *rt)
{
    return rt->conf.retention_days > 0 ||
           rt->conf.retention_conversations > 0 || rt->conf.audit_days > 0;
}

int64_t retention_due_ms(const struct runtime *rt)
{
    if (!is_wanted(rt)) {
        return 0;
    }
    return rt->retention_ms > 0 ? rt->retention_ms : 1;
}

/* How long it is until the clock may be believed; 0: it may. */
static int64_t doubt_ms(struct runtime *rt, int64_t now, int64_t unix_ms)
{
    int64_t ahead = unix_ms - now;
    int64_t jump = ahead - rt->clock_ahead_ms;
    int64_t until;

    if (rt->steady_ms == 0 || jump > JUMP_MS || jump < -JUMP_MS) {
        if (rt->steady_ms == 0) {
            log_info(NULL, "nothing is removed by its age until the clock has "
                           "been steady for an hour");
        } else {
            log_warn(NULL,
                     "the clock was set by %" PRId64 " s: nothing is removed "
                     "by its age until it has been steady for an hour",
                     jump / 1000);
        }
        rt->steady_ms = now > 0 ? now : 1;
    }
    rt->clock_ahead_ms = ahead;
    until = rt->steady_ms + fault_steady_ms(STEADY_MS);
    return until > now ? until - now : 0;
}

/* What has become active, has been touched or has gone since it was looked for
 * is left alone. */
static enum rc remove_all(struct store *st, void *arg)
{
    struct removal *r = arg;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n && rc == RC_OK; i++) {
        rc = store_old_delete(st, &r->list[i], r->now_ms, r->mem);
        rc = rc == RC_CONFLICT || rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    r->lines = 0;
    if (rc == RC_OK && r->audit_before_ms > INT64_MIN) {
        rc = store_audit_prune(st, r->audit_before_ms, LINES_MAX, r->now_ms,
                               &r->lines);
    }
    return rc;
}

static int64_t before_ms(const struct removal *r, int64_t days, bool doubted)
{
    return days == 0 || doubted ? INT64_MIN : r->now_ms - days * DAY_MS;
}

static enum rc find(struct runtime *rt, struct removal *r, bool doubted)
{
    const struct conf *conf = &rt->conf;
    struct store_old *list = NULL;
    int64_t keep = conf->retention_conversations == 0
                       ? INT64_MAX
                       : conf->retention_conversations;
    enum rc rc = RC_OK;

    r->audit_before_ms = before_ms(r, conf->audit_days, doubted);
    if (conf->retention_days > 0 || conf->retention_conversations > 0) {
        rc = store_old_list(rt->store,
                            before_ms(r, conf->retention_days, doubted), keep,
                            STEP_MAX, rt->mem, &list, &r->n);
    }
    r->list = list;
    return rc;
}

static void tell(struct runtime *rt, const struct removal *r)
{
    doorbell_ring(rt->bell);
    if (r->n > 0) {
        log_info(NULL, "retention: %zu conversations removed", r->n);
    }
    if (r->lines > 0) {
        log_info(NULL, "retention: %" PRId64 " lines of the audit log removed",
                 r->lines);
    }
}

static int64_t next_ms(const struct removal *r, enum rc rc, int64_t doubt)
{
    if (rc != RC_OK) {
        return RETRY_MS;
    }
    if (r->n == STEP_MAX || r->lines > 0) {
        return MORE_MS;
    }
    return doubt > 0 && doubt < LOOK_MS ? doubt : LOOK_MS;
}

enum rc retention_tick(struct runtime *rt, int64_t now)
{
    struct removal r = {.mem = rt->mem, .now_ms = clock_unix_ms()};
    int64_t doubt;
    enum rc rc;

    if (!is_wanted(rt) || now < rt->retention_ms) {
        return RC_OK;
    }
    doubt = doubt_ms(rt, now, r.now_ms);
    rc = find(rt, &r, doubt > 0);
    if (rc == RC_OK && (r.n > 0 || r.audit_before_ms > INT64_MIN)) {
        rc = store_tx(rt->store, remove_all, &r);
    }
    arena_reset(rt->mem);
    if (rc == RC_FENCED) {
        return rc;
    }
    if (rc == RC_OK && (r.n > 0 || r.lines > 0)) {
        tell(rt, &r);
    } else if (rc != RC_OK && rc != RC_BUSY) {
        log_warn(NULL, "retention: %s", rc_name(rc));
    }
    rt->retention_ms = now + next_ms(&r, rc, doubt);
    return RC_OK;
}
