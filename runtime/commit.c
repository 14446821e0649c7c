/* commit.c - a turn's one transaction.
 *
 * Each Run that has something to record takes its step in a savepoint of its
 * own; only what the commit has made true reaches outside (R01): requests are
 * sent, connections closed, tools run.
 *
 * If the store is busy or fails, the facts stay and the turn is tried again;
 * nothing was sent, so nothing is lost or doubled.
 */
#include "runtime/fault.h"
#include "runtime/loop_inside.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/id.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/store_lease.h"
#include "sql/store_storage.h"

/* Streamed text is committed after so long, or when so much has come. */
#define FLUSH_MS    50
#define FLUSH_BYTES 1024
/* The feed takes at most so many parts a second (DESIGN 9). */
#define PARTS_A_SECOND 2000
#define FAILURES_MAX   3
#define STEPS_MAX      256 /* Runs in one transaction */
#define HOLD_MS        50  /* the write lock is not held longer by choice */
/* Those who wait for the write lock nap up to 0.5 ms: one gets in. */
#define GAP_LEAST_US  50
#define GAP_SPREAD_US 100

/* --- when -------------------------------------------------------------- */

static int64_t flush_ms(const struct runtime *rt)
{
    int64_t fair = (int64_t)flight_count(rt) * 1000 / PARTS_A_SECOND;

    return fair > FLUSH_MS ? fair : FLUSH_MS;
}

/* After a step that failed there is more than text: it waits for that step. */
static bool only_text(const struct live *l)
{
    return !l->dirty && !l->stepped && l->failures == 0 &&
           l->facts.text.len > 0;
}

static bool text_due(const struct runtime *rt, const struct live *l,
                     int64_t now)
{
    return only_text(l) && (l->facts.text.len >= FLUSH_BYTES ||
                            now - rt->flushed_ms >= flush_ms(rt));
}

/* Boot time by which the lease wants to be renewed; 0: a runtime at rest
 * writes nothing. */
static int64_t renewal_ms(const struct runtime *rt)
{
    for (size_t i = 0; i < rt->n_lives; i++) {
        if (!rt->lives[i]->clock_stopped) {
            return rt->renewed_ms + fault_look_ms(LEASE_LOOK_MS) * 2;
        }
    }
    return 0;
}

/* Something is to be told that is no Run's. */
static bool has_news(const struct runtime *rt)
{
    return !rt->endpoint_told || indexer_has_news(rt->indexer) ||
           servers_news(rt);
}

static bool anything_due(const struct runtime *rt, int64_t now)
{
    int64_t renewal = renewal_ms(rt);

    if (has_news(rt) || (renewal != 0 && now >= renewal)) {
        return true;
    }
    for (size_t i = 0; i < rt->n_lives; i++) {
        if (rt->lives[i]->dirty || text_due(rt, rt->lives[i], now)) {
            return true;
        }
    }
    return false;
}

int64_t commit_due_ms(const struct runtime *rt, int64_t now)
{
    int64_t at = has_news(rt) ? now : 0;

    loop_earlier(&at, renewal_ms(rt));
    for (size_t i = 0; i < rt->n_lives; i++) {
        const struct live *l = rt->lives[i];

        loop_earlier(&at, l->wake_ms);
        loop_earlier(&at, tool_deadline_ms(l));
        if (l->dirty) {
            loop_earlier(&at, now);
        }
        if (only_text(l)) {
            loop_earlier(&at, rt->flushed_ms + flush_ms(rt));
        }
    }
    /* Nothing is committed before the store has had its rest. */
    return at != 0 && at < rt->pause_until_ms ? rt->pause_until_ms : at;
}

/* --- the steps --------------------------------------------------------- */

typedef enum rc step_fn(struct step *);

struct one {
    struct runtime *rt;
    struct live *live;
    step_fn *fn;
    int64_t wake_ms;
};

static enum rc step_one(struct store *st, void *arg)
{
    struct one *one = arg;
    struct step s = {.rt = one->rt,
                     .live = one->live,
                     .mem = one->rt->mem,
                     .now_ms = clock_unix_ms(),
                     .boot_ms = clock_boot_ms()};
    enum rc rc;

    (void)st;
    live_clear_effects(one->live);
    rc = one->fn(&s);
    one->wake_ms = s.wake_ms;
    /* Time that no row has taken is counted by a later step. */
    one->live->next.clock_ms =
        s.counted || s.run.state != RUN_RUNNING ? s.boot_ms : 0;
    one->live->next.clock_stopped = s.run.state == RUN_AWAITING_INPUT;
    return rc;
}

/* A step that failed by itself: again later, and in the end give the Run up
 * rather than the daemon. */
static void note_failure(struct live *l, enum rc rc)
{
    char id[ID_TEXT_BYTES];

    l->failures++;
    log_error(id_text(ID_RUN, l->id, id), "step %d failed: %s", l->failures,
              rc_name(rc));
    live_clear_effects(l);
    l->wake_ms = clock_boot_ms() + LOOP_PAUSE_MS * l->failures;
}

/* The store itself is in trouble, not this Run. */
static bool is_trouble(enum rc rc)
{
    return rc == RC_BUSY || rc == RC_IO ||
           (rc == RC_DB && store_storage() != STORAGE_OK);
}

static enum rc run_one(struct runtime *rt, struct live *l, step_fn *fn)
{
    struct one one = {.rt = rt, .live = l, .fn = fn};
    enum rc result = RC_OK;
    enum rc rc;

    if (l->failures >= FAILURES_MAX) {
        one.fn = run_step_give_up;
    }
    store_lease_mark(rt->lock, l->id);
    rc = store_batch_call(rt->store, step_one, &one, &result);
    store_lease_mark(rt->lock, 0);
    if (rc != RC_OK || is_trouble(result)) {
        return rc != RC_OK ? rc : result;
    }
    l->stepped = true;
    if (result == RC_OK) {
        l->failures = 0;
        if (fn == run_step) {
            l->wake_ms = one.wake_ms;
            l->dirty = false;
        }
    } else {
        note_failure(l, result);
        l->dirty = false;
    }
    return RC_OK;
}

static bool wants_step(const struct live *l, bool research, bool place)
{
    return l->is_research == research && l->dirty && !l->stepped &&
           (l->place_turn != 0) == place && l->effects.send_request == 0;
}

/* Room for one more step in this turn's transaction? */
static bool has_room(const struct runtime *rt, size_t n)
{
    return n == 0 || (n < STEPS_MAX && clock_boot_ms() < rt->hold_until_ms);
}

/* Short work goes first, and what waits for a place goes before what is new,
 * in order of age (R20). */
static enum rc step_dirty(struct runtime *rt, struct live **done, size_t *n)
{
    enum rc rc = RC_OK;

    for (int pass = 0; pass < 4 && rc == RC_OK; pass++) {
        bool research = pass >= 2;
        bool place = pass % 2 == 0;

        for (size_t i = 0; i < rt->n_lives && has_room(rt, *n) && rc == RC_OK;
             i++) {
            struct live *l = rt->lives[i];

            if (wants_step(l, research, place)) {
                rc = run_one(rt, l, run_step);
                done[(*n)++] = l;
            }
        }
    }
    return rc;
}

/* From where the last turn left off, so that none is passed over for good. */
static enum rc step_text(struct runtime *rt, struct live **done, size_t *n,
                         int64_t now)
{
    bool any = false;
    size_t k = 0;
    enum rc rc = RC_OK;

    for (; k < rt->n_lives && has_room(rt, *n) && rc == RC_OK; k++) {
        struct live *l = rt->lives[(rt->text_from + k) % rt->n_lives];

        if (text_due(rt, l, now)) {
            rc = run_one(rt, l, run_step_text);
            done[(*n)++] = l;
            any = true;
        }
    }
    rt->flushed = any && k == rt->n_lives;
    rt->text_from = rt->n_lives > 0 ? (rt->text_from + k) % rt->n_lives : 0;
    return rc;
}

static enum rc tell_endpoint(struct store *st, void *arg)
{
    struct runtime *rt = arg;

    return store_endpoint_set(st, rt->endpoint, clock_unix_ms());
}

static enum rc tell_library(struct store *st, void *arg)
{
    const struct runtime *rt = arg;
    struct library_run run = indexer_run(rt->indexer);
    size_t n;
    const struct library_want *list = indexer_done(rt->indexer, &n);
    enum rc rc = store_library_run_set(st, rt->mem, &run);

    return rc == RC_OK ? store_library_done(st, list, n) : rc;
}

/* after: the newest change of this transaction, as long as it is the last. */
static enum rc step_all(struct runtime *rt, struct live **done, size_t *n,
                        int64_t now, int64_t *after)
{
    enum rc result = RC_OK;
    enum rc rc;

    rt->hold_until_ms = clock_boot_ms() + HOLD_MS;
    rc = step_dirty(rt, done, n);
    if (rc == RC_OK) {
        rc = step_text(rt, done, n, now);
    }
    if (rc == RC_OK && !rt->endpoint_told) {
        rc = store_batch_call(rt->store, tell_endpoint, rt, &result);
    }
    if (rc == RC_OK && indexer_has_news(rt->indexer)) {
        rc = store_batch_call(rt->store, tell_library, rt, &result);
    }
    if (rc == RC_OK && servers_news(rt)) {
        rc = store_batch_call(rt->store, servers_tell, rt, &result);
    }
    if (rc == RC_OK) {
        rc = store_newest(rt->store, after);
    }
    return rc == RC_OK ? store_batch_commit(rt->store) : rc;
}

/* --- after the commit -------------------------------------------------- */

static void free_place(struct runtime *rt)
{
    for (size_t i = 0; i < rt->n_lives; i++) {
        if (rt->lives[i]->place_turn != 0) {
            rt->lives[i]->dirty = true;
        }
    }
}

static void move_clock(struct live *l)
{
    if (l->next.clock_ms != 0) {
        l->clock_ms = l->next.clock_ms;
    }
    l->clock_stopped = l->next.clock_stopped;
    l->known = true;
}

static void carry_out(struct runtime *rt, struct live *l)
{
    struct tool_job *jobs = l->effects.jobs;
    struct tool_drop *drops = l->effects.drops;

    live_clear_facts(l);
    move_clock(l);
    if (l->effects.drop_flight) {
        flight_drop(l);
        free_place(rt);
    }
    if (l->effects.gone) {
        live_remove(rt, l);
        return;
    }
    if (l->effects.send_request != 0) {
        flight_start(rt, l);
        l->effects.send_request = 0;
        buf_clear(&l->effects.body);
    }
    for (; drops != NULL; drops = drops->next) {
        tool_cancel(l, drops->call_id);
    }
    l->effects.drops = NULL;
    l->effects.jobs = NULL;
    for (; jobs != NULL; jobs = jobs->next) {
        tool_start(rt, l, jobs);
    }
}

/* Whatever it does for the Run may be what brings the runtime down (R29). */
static void carry_out_marked(struct runtime *rt, struct live *l)
{
    store_lease_mark(rt->lock, l->id);
    carry_out(rt, l);
    store_lease_mark(rt->lock, 0);
}

/* Facts of Runs whose transaction was lost stay; so do their marks. */
static void put_back(struct live **done, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        done[i]->dirty = true;
        done[i]->stepped = false;
        live_clear_effects(done[i]);
    }
}

/* The changes of this turn's own transaction need not be read again, if none
 * but its own came since the cursor, and none concerns another Run. */
static void skip_own(struct runtime *rt, int64_t before, int64_t after)
{
    if (before == rt->cursor && !rt->touched) {
        rt->cursor = after;
    }
}

/* --- the transaction --------------------------------------------------- */

enum rc commit_turn(struct runtime *rt, int64_t now)
{
    struct live *done[STEPS_MAX];
    size_t n = 0;
    int64_t before = 0;
    int64_t after = 0;
    enum rc rc;

    if (now < rt->pause_until_ms || !anything_due(rt, now)) {
        return RC_OK;
    }
    rt->touched = false;
    rt->flushed = false;
    rc = store_batch_begin(rt->store);
    if (rc == RC_OK) {
        rc = store_newest(rt->store, &before);
        if (rc == RC_OK) {
            rc = step_all(rt, done, &n, now, &after);
        }
        if (rc != RC_OK) {
            store_batch_abort(rt->store);
            put_back(done, n);
        }
    }
    arena_reset(rt->mem);
    if (rc == RC_FENCED) {
        return rc;
    }
    if (rc != RC_OK) {
        rt->pause_until_ms =
            now + (rc == RC_BUSY ? LOOP_RETRY_MS : LOOP_PAUSE_MS);
        return RC_OK;
    }
    /* A commit for other reasons does not put off the text that waits. */
    if (rt->flushed) {
        rt->flushed_ms = now;
    }
    rt->renewed_ms = now;
    rt->endpoint_told = true;
    servers_told(rt);
    indexer_told(rt->indexer);
    doorbell_ring(rt->bell);
    skip_own(rt, before, after);
    for (size_t i = 0; i < n; i++) {
        done[i]->stepped = false;
        if (done[i]->failures == 0) {
            carry_out_marked(rt, done[i]);
        }
    }
    if (rt->touched) {
        changes_read(rt, now);
    }
    clock_nap_us(GAP_LEAST_US + random_below(GAP_SPREAD_US));
    return RC_OK;
}

void commit_shutdown(struct runtime *rt)
{
    enum rc rc;

    /* There is no later turn to come back in. */
    store_set_busy(rt->store, rt->conf.busy_timeout_ms);
    rc = store_batch_begin(rt->store);
    for (size_t i = 0; i < rt->n_lives && rc == RC_OK; i++) {
        rc = run_one(rt, rt->lives[i], run_step_shutdown);
    }
    if (rc == RC_OK) {
        rc = store_batch_commit(rt->store);
    }
    if (rc != RC_OK) {
        store_batch_abort(rt->store);
        log_warn(NULL, "shutdown could not be recorded: %s", rc_name(rc));
    } else {
        doorbell_ring(rt->bell);
    }
}
