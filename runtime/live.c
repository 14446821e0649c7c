/* live.c - the table of Runs at work: an array ordered by id.
 *
 * Nothing here is truth. A Run that is forgotten is found again from its row
 * by the next change, or by the next start. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/clock.h"

#define FACTS_BYTES (32u << 20)
#define JOBS_BYTES  (4u << 20)
#define TEXT_BYTES  (8u << 20)
#define BODY_BYTES  (8u << 20)

/* Position of the first Run with an id not below run_id. */
static size_t position(const struct runtime *rt, int64_t run_id)
{
    size_t low = 0;
    size_t high = rt->n_lives;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (rt->lives[mid]->id < run_id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct live *live_find(struct runtime *rt, int64_t run_id)
{
    size_t i = position(rt, run_id);

    return i < rt->n_lives && rt->lives[i]->id == run_id ? rt->lives[i] : NULL;
}

static enum rc make_room(struct runtime *rt)
{
    size_t cap = rt->cap_lives == 0 ? 64 : 2 * rt->cap_lives;
    struct live **bigger;

    if (rt->n_lives < rt->cap_lives) {
        return RC_OK;
    }
    bigger = realloc(rt->lives, cap * sizeof(bigger[0]));
    if (bigger == NULL) {
        return RC_NOMEM;
    }
    rt->lives = bigger;
    rt->cap_lives = cap;
    return RC_OK;
}

static void free_live(struct live *l)
{
    flight_drop(l);
    tool_free_all(l);
    live_clear_effects(l);
    buf_free(&l->effects.body);
    buf_free(&l->facts.text);
    arena_free(l->facts.mem);
    arena_free(l->jobs_mem);
    free(l);
}

static struct live *new_live(int64_t run_id)
{
    struct live *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        return NULL;
    }
    l->id = run_id;
    l->dirty = true;
    l->clock_ms = clock_boot_ms();
    buf_init(&l->facts.text, TEXT_BYTES);
    buf_init(&l->effects.body, BODY_BYTES);
    l->facts.mem = arena_new(FACTS_BYTES);
    l->jobs_mem = arena_new(JOBS_BYTES);
    if (l->facts.mem == NULL || l->jobs_mem == NULL) {
        free_live(l);
        return NULL;
    }
    return l;
}

enum rc live_add(struct runtime *rt, int64_t run_id, struct live **out)
{
    size_t i = position(rt, run_id);
    struct live *l;
    enum rc rc;

    if (i < rt->n_lives && rt->lives[i]->id == run_id) {
        *out = rt->lives[i];
        return RC_OK;
    }
    rc = make_room(rt);
    if (rc != RC_OK) {
        return rc;
    }
    l = new_live(run_id);
    if (l == NULL) {
        return RC_NOMEM;
    }
    memmove(&rt->lives[i + 1], &rt->lives[i],
            (rt->n_lives - i) * sizeof(rt->lives[0]));
    rt->lives[i] = l;
    rt->n_lives++;
    *out = l;
    return RC_OK;
}

void live_remove(struct runtime *rt, struct live *l)
{
    size_t i = position(rt, l->id);

    assert(i < rt->n_lives && rt->lives[i] == l);
    rt->n_lives--;
    memmove(&rt->lives[i], &rt->lives[i + 1],
            (rt->n_lives - i) * sizeof(rt->lives[0]));
    free_live(l);
}

void live_free_all(struct runtime *rt)
{
    while (rt->n_lives > 0) {
        live_remove(rt, rt->lives[rt->n_lives - 1]);
    }
    free(rt->lives);
    rt->lives = NULL;
    rt->cap_lives = 0;
}

void live_clear_facts(struct live *l)
{
    buf_clear(&l->facts.text);
    l->facts.first = false;
    l->facts.saying = NULL;
    memset(&l->facts.outcome, 0, sizeof(l->facts.outcome));
    tool_forget_done(l);
    arena_reset(l->facts.mem);
}

void live_clear_effects(struct live *l)
{
    l->effects.drop_flight = false;
    l->effects.send_request = 0;
    l->effects.jobs = NULL;
    l->effects.drops = NULL;
    l->effects.gone = false;
    buf_clear(&l->effects.body);
    if (l->jobs_mem != NULL) {
        arena_reset(l->jobs_mem);
    }
}

void live_await_place(struct runtime *rt, struct live *l)
{
    if (l->place_turn == 0) {
        l->place_turn = ++rt->place_turns;
    }
}

static bool comes_before(const struct live *a, const struct live *b)
{
    if (a->is_research != b->is_research) {
        return b->is_research;
    }
    return b->place_turn == 0 || a->place_turn < b->place_turn;
}

bool live_must_yield(const struct runtime *rt, const struct live *l)
{
    for (size_t i = 0; i < rt->n_lives; i++) {
        const struct live *other = rt->lives[i];

        if (other != l && other->place_turn != 0 && comes_before(other, l)) {
            return true;
        }
    }
    return false;
}
