#include "runtime/tool/web_turns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A host that is asked, waited for, or at rest. */
struct web_host {
    TAILQ_ENTRY(web_host) entry;
    int active;
    int waiting;
    int64_t rest_until_ms; /* 0: it has not asked for rest */
    char name[];
};

TAILQ_HEAD(web_host_list, web_host);
TAILQ_HEAD(web_turn_list, web_turn);

struct web_turns {
    struct web_host_list hosts;
    struct web_turn_list waiting; /* in order of arrival */
    int64_t next_ms; /* never later than anything is due; 0: none */
};

enum rc web_turns_new(struct web_turns **out)
{
    struct web_turns *ts = calloc(1, sizeof(*ts));

    if (ts == NULL) {
        return RC_NOMEM;
    }
    TAILQ_INIT(&ts->hosts);
    TAILQ_INIT(&ts->waiting);
    *out = ts;
    return RC_OK;
}

static void free_host(struct web_turns *ts, struct web_host *h)
{
    TAILQ_REMOVE(&ts->hosts, h, entry);
    free(h);
}

void web_turns_free(struct web_turns *ts)
{
    if (ts == NULL) {
        return;
    }
    assert(TAILQ_EMPTY(&ts->waiting));
    while (!TAILQ_EMPTY(&ts->hosts)) {
        /* The analyser does not follow the queue's pointers backwards. */
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        free_host(ts, TAILQ_FIRST(&ts->hosts));
    }
    free(ts);
}

/* --- hosts ------------------------------------------------------------- */

static bool is_used(const struct web_host *h)
{
    return h->active > 0 || h->waiting > 0;
}

static struct web_host *find_host(const struct web_turns *ts, const char *name)
{
    struct web_host *h = NULL;

    TAILQ_FOREACH(h, &ts->hosts, entry)
    {
        if (strcmp(h->name, name) == 0) {
            return h;
        }
    }
    return NULL;
}

static struct web_host *find_or_add(struct web_turns *ts, const char *name)
{
    struct web_host *h = find_host(ts, name);
    size_t len = strlen(name) + 1;

    if (h != NULL) {
        return h;
    }
    h = calloc(1, sizeof(*h) + len);
    if (h != NULL) {
        memcpy(h->name, name, len);
        TAILQ_INSERT_TAIL(&ts->hosts, h, entry);
    }
    return h;
}

/* Forget those that nobody uses and whose rest is over, and of too many that
 * rest the one that has done so the longest. */
static void tidy(struct web_turns *ts, int64_t now_ms)
{
    struct web_host *h = TAILQ_FIRST(&ts->hosts);
    struct web_host *first = NULL;
    size_t n = 0;

    while (h != NULL) {
        struct web_host *next = TAILQ_NEXT(h, entry);

        if (!is_used(h) && h->rest_until_ms <= now_ms) {
            free_host(ts, h);
        } else if (!is_used(h)) {
            n++;
            if (first == NULL || h->rest_until_ms < first->rest_until_ms) {
                first = h;
            }
        }
        h = next;
    }
    if (n > WEB_TURNS_RESTS_MAX) {
        free_host(ts, first);
    }
}

void web_turns_rest(struct web_turns *ts, const char *name, int64_t now_ms,
                    int64_t for_ms)
{
    struct web_host *h = find_or_add(ts, name);

    if (h != NULL) {
        h->rest_until_ms =
            now_ms + (for_ms < WEB_TURNS_REST_MS ? for_ms : WEB_TURNS_REST_MS);
        ts->next_ms = now_ms; /* who waits for it is told */
    }
    tidy(ts, now_ms);
}

static int64_t rest_of(const struct web_host *h, int64_t now_ms)
{
    return h != NULL && h->rest_until_ms > now_ms ? h->rest_until_ms - now_ms
                                                  : 0;
}

int64_t web_turns_rest_ms(const struct web_turns *ts, const char *name,
                          int64_t now_ms)
{
    return rest_of(find_host(ts, name), now_ms);
}

/* --- turns ------------------------------------------------------------- */

/* What can be said of a turn that waits, or comes; WEB_TURN_WAIT: nothing yet.
 */
static enum web_turn_answer judge(const struct web_turn *t, int64_t now_ms)
{
    assert(t->host != NULL); /* before it is judged it has one */
    if (rest_of(t->host, now_ms) > 0) {
        return WEB_TURN_RESTS;
    }
    if (t->end_ms <= now_ms) {
        return WEB_TURN_LATE;
    }
    return t->host->active < WEB_TURNS_AT_ONCE && t->not_before_ms <= now_ms
               ? WEB_TURN_YOURS
               : WEB_TURN_WAIT;
}

static void soon(struct web_turns *ts, int64_t at_ms)
{
    if (ts->next_ms == 0 || at_ms < ts->next_ms) {
        ts->next_ms = at_ms;
    }
}

static void start_waiting(struct web_turn *t)
{
    assert(t->host != NULL);
    t->waits = true;
    t->host->waiting++;
    TAILQ_INSERT_TAIL(&t->turns->waiting, t, entry);
    soon(t->turns, t->end_ms);
}

static void stop_waiting(struct web_turn *t)
{
    assert(t->host != NULL);
    t->waits = false;
    t->host->waiting--;
    TAILQ_REMOVE(&t->turns->waiting, t, entry);
}

/* It is neither taken nor waited for any more. */
static void settle(struct web_turn *t, enum web_turn_answer answer)
{
    if (answer == WEB_TURN_YOURS) {
        t->host->active++;
    } else {
        t->host = NULL;
    }
}

enum rc web_turn_take(struct web_turns *ts, struct web_turn *t,
                      const char *name, int64_t now_ms, int64_t end_ms,
                      web_turn_fn *fn, void *ctx, enum web_turn_answer *answer)
{
    assert(t->host == NULL);
    tidy(ts, now_ms);
    *t = (struct web_turn){.turns = ts,
                           .host = find_or_add(ts, name),
                           .end_ms = end_ms,
                           .fn = fn,
                           .ctx = ctx};
    if (t->host == NULL) {
        return RC_NOMEM;
    }
    *answer = judge(t, now_ms);
    /* Nobody goes before those who wait already. */
    if (*answer == WEB_TURN_YOURS && t->host->waiting > 0) {
        *answer = WEB_TURN_WAIT;
    }
    if (*answer == WEB_TURN_WAIT) {
        start_waiting(t);
    } else {
        settle(t, *answer);
    }
    return RC_OK;
}

void web_turn_put_off(struct web_turn *t, int64_t not_before_ms)
{
    assert(t->host != NULL && !t->waits);
    t->host->active--;
    t->not_before_ms = not_before_ms;
    start_waiting(t);
    soon(t->turns, not_before_ms);
}

void web_turn_leave(struct web_turn *t)
{
    struct web_host *h = t->host;

    if (h == NULL) {
        return;
    }
    if (t->waits) {
        stop_waiting(t);
    } else {
        h->active--;
        if (h->waiting > 0) {
            soon(t->turns, 1); /* at once: somebody's turn may have come */
        }
    }
    t->host = NULL;
}

/* --- time -------------------------------------------------------------- */

int64_t web_turns_deadline_ms(const struct web_turns *ts)
{
    return ts != NULL ? ts->next_ms : 0;
}

static struct web_turn *find_due(struct web_turns *ts, int64_t now_ms,
                                 enum web_turn_answer *answer)
{
    struct web_turn *t = NULL;

    TAILQ_FOREACH(t, &ts->waiting, entry)
    {
        *answer = judge(t, now_ms);
        if (*answer != WEB_TURN_WAIT) {
            return t;
        }
    }
    return NULL;
}

void web_turns_tick(struct web_turns *ts, int64_t now_ms)
{
    enum web_turn_answer answer = WEB_TURN_WAIT;
    struct web_turn *t;

    if (ts == NULL || ts->next_ms == 0 || ts->next_ms > now_ms) {
        return;
    }
    ts->next_ms = 0;
    /* Each leaves the queue; one that is put off is not due at now_ms. */
    for (t = find_due(ts, now_ms, &answer); t != NULL;
         t = find_due(ts, now_ms, &answer)) {
        stop_waiting(t);
        settle(t, answer);
        t->fn(t->ctx, answer);
    }
    TAILQ_FOREACH(t, &ts->waiting, entry)
    {
        soon(ts, t->end_ms);
        if (t->not_before_ms > now_ms) {
            soon(ts, t->not_before_ms);
        }
    }
    tidy(ts, now_ms);
}
