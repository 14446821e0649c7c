#include "fcgi/writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/store_storage.h"

/* The lock is asked for in short turns, so that each call's own bound holds. */
#define TURNS_PER_BOUND 8
#define LEAST_TURN_MS   10

/* While storage is in trouble, and nothing is asked. */
#define PROBE_MS 1000

/* How long the lock is left alone after a commit: other processes try about
 * every 0.1 to 0.5 ms. Where many calls came together more are on their way,
 * and a commit costs as much as ten calls: so it waits for them, while a call
 * that comes alone finds the writer idle. */
#define GAP_LEAST_US  50
#define GAP_SPREAD_US 100
#define GAP_CALL_US   10
#define GAP_CALLS     64

struct list {
    struct writer_job *first;
    struct writer_job *last;
};

struct writer {
    struct writer_options options;
    struct store *store;
    pthread_t committing;
    pthread_t telling;
    pthread_mutex_t lock; /* of what follows */
    struct list waiting;  /* for a batch */
    struct list settled;  /* to be told */
    size_t pending;       /* handed over and not told yet */
    int64_t probed_ms;    /* boot time of the last probe of the storage */
    bool ending;          /* no call comes any more */
    bool written;         /* ... and none is waiting */
    pthread_cond_t work;  /* waiting, ending */
    pthread_cond_t told;  /* settled, written */
    pthread_cond_t room;  /* pending */
};

/* --- the lists, under the lock ---------------------------------------------
 */

static void push(struct list *list, struct writer_job *job)
{
    job->next = NULL;
    if (list->last == NULL) {
        list->first = job;
    } else {
        list->last->next = job;
    }
    list->last = job;
}

static struct writer_job *pop(struct list *list)
{
    struct writer_job *job = list->first;

    list->first = job->next;
    if (list->first == NULL) {
        list->last = NULL;
    }
    return job;
}

static void settle(struct writer *w, struct writer_job *job, enum rc rc)
{
    job->rc = rc;
    push(&w->settled, job);
}

static size_t take_batch(struct writer *w, struct writer_job **batch)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&w->lock);
    while (w->waiting.first != NULL && n < WRITER_MAX_BATCH) {
        batch[n++] = pop(&w->waiting);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return n;
}

/* The lock was not had: fail the calls that have waited long enough, or all
 * of them where waiting does not help. */
static void fail_waiting(struct writer *w, enum rc rc)
{
    int64_t now_ms = clock_boot_ms();

    (void)pthread_mutex_lock(&w->lock);
    while (w->waiting.first != NULL &&
           (rc != RC_BUSY || w->waiting.first->until_ms <= now_ms)) {
        settle(w, pop(&w->waiting), rc);
    }
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_cond_signal(&w->told);
}

/* --- a batch ---------------------------------------------------------------
 */

typedef enum rc member_fn(struct store *, store_fn *, void *arg,
                          enum rc *result);

static enum rc run_members(struct writer *w, member_fn *run,
                           struct writer_job **batch, size_t n)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = run(w->store, batch[i]->fn, batch[i]->arg, &batch[i]->rc);
    }
    return rc;
}

/* Calls look before they write, so one that fails has seldom changed anything:
 * all are tried without savepoints first. */
static enum rc run_batch(struct writer *w, struct writer_job **batch, size_t n)
{
    enum rc rc = run_members(w, store_batch_try, batch, n);

    if (rc == RC_CONFLICT) {
        store_batch_abort(w->store);
        rc = store_batch_begin(w->store);
        if (rc == RC_OK) {
            rc = run_members(w, store_batch_call, batch, n);
        }
    }
    return rc == RC_OK ? store_batch_commit(w->store) : rc;
}

/* The feed's id for the replies. Without it the batch is committed all the
 * same: "" makes a client read anew, which is right whatever went wrong. */
static void read_feed(struct writer *w, char feed[STORE_FEED_BYTES])
{
    struct store_view view;

    feed[0] = '\0';
    if (store_read_begin(w->store, &view) == RC_OK) {
        memcpy(feed, view.feed, sizeof(view.feed));
        store_read_end(w->store);
    }
}

static void settle_batch(struct writer *w, struct writer_job **batch, size_t n,
                         enum rc whole)
{
    char feed[STORE_FEED_BYTES] = "";

    if (whole == RC_OK) {
        read_feed(w, feed);
    } else {
        log_error(NULL, "a batch of %zu writes failed: %s", n, rc_name(whole));
    }
    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < n; i++) {
        memcpy(batch[i]->feed, feed, sizeof(feed));
        settle(w, batch[i], whole == RC_OK ? batch[i]->rc : whole);
    }
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_cond_signal(&w->told);
}

/* How many calls it was. */
static size_t write_once(struct writer *w)
{
    struct writer_job *batch[WRITER_MAX_BATCH];
    enum rc rc = store_batch_begin(w->store);
    size_t n;

    if (rc == RC_FENCED && w->options.lost != NULL) {
        w->options.lost(w->options.arg);
    }
    if (rc != RC_OK) {
        fail_waiting(w, rc);
        return 0;
    }
    n = take_batch(w, batch);
    rc = run_batch(w, batch, n);
    if (rc != RC_OK) {
        store_batch_abort(w->store);
    } else {
        w->options.committed(w->options.arg);
    }
    settle_batch(w, batch, n, rc);
    return n;
}

static void leave_gap(size_t n_calls)
{
    size_t n = n_calls < GAP_CALLS ? n_calls : GAP_CALLS;

    clock_nap_us(GAP_LEAST_US + (int64_t)n * GAP_CALL_US +
                 random_below(GAP_SPREAD_US));
}

/* Until something is asked, or it is time to probe: true. Under the lock. */
static bool nap_until_probe(struct writer *w)
{
    struct timespec at;
    int64_t ms;

    if (store_storage() == STORAGE_OK) {
        (void)pthread_cond_wait(&w->work, &w->lock);
        return false;
    }
    ms = w->probed_ms + PROBE_MS - clock_boot_ms();
    if (ms > 0) {
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_nsec += ms % 1000 * 1000000;
        at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        (void)pthread_cond_clockwait(&w->work, &w->lock, CLOCK_MONOTONIC, &at);
    }
    return clock_boot_ms() >= w->probed_ms + PROBE_MS;
}

/* Whoever waits for the disk to be well again must not have to try for it. */
static void probe(struct writer *w)
{
    enum rc rc = store_storage_probe(w->store);

    if (rc == RC_OK) {
        log_info(NULL, "storage: a write has succeeded");
    } else if (rc == RC_FENCED && w->options.lost != NULL) {
        w->options.lost(w->options.arg);
    }
}

static bool wait_for_work(struct writer *w)
{
    bool more;

    (void)pthread_mutex_lock(&w->lock);
    while (w->waiting.first == NULL && !w->ending) {
        if (nap_until_probe(w)) {
            w->probed_ms = clock_boot_ms();
            (void)pthread_mutex_unlock(&w->lock);
            probe(w);
            (void)pthread_mutex_lock(&w->lock);
        }
    }
    more = w->waiting.first != NULL;
    if (!more) {
        w->written = true;
    }
    (void)pthread_mutex_unlock(&w->lock);
    if (!more) {
        (void)pthread_cond_signal(&w->told);
    }
    return more;
}

static void *commit(void *arg)
{
    struct writer *w = arg;

    while (wait_for_work(w)) {
        leave_gap(write_once(w));
    }
    return NULL;
}

/* --- telling ---------------------------------------------------------------
 */

/* Wait for calls to tell; all that there are. NULL: none will come. */
static struct writer_job *take_settled(struct writer *w)
{
    struct writer_job *jobs;

    (void)pthread_mutex_lock(&w->lock);
    while (w->settled.first == NULL && !w->written) {
        (void)pthread_cond_wait(&w->told, &w->lock);
    }
    jobs = w->settled.first;
    w->settled = (struct list){NULL, NULL};
    (void)pthread_mutex_unlock(&w->lock);
    return jobs;
}

static void make_room(struct writer *w, size_t n)
{
    (void)pthread_mutex_lock(&w->lock);
    w->pending -= n;
    (void)pthread_cond_broadcast(&w->room);
    (void)pthread_mutex_unlock(&w->lock);
}

static void *tell(void *arg)
{
    struct writer *w = arg;
    struct writer_job *job = take_settled(w);

    while (job != NULL) {
        size_t n = 0;

        for (; job != NULL; n++) {
            struct writer_job *next = job->next;

            job->settled(job);
            job = next;
        }
        make_room(w, n);
        job = take_settled(w);
    }
    return NULL;
}

/* --- for the other threads -------------------------------------------------
 */

static void free_writer(struct writer *w)
{
    store_close(w->store);
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->work);
    (void)pthread_cond_destroy(&w->told);
    (void)pthread_cond_destroy(&w->room);
    free(w);
}

/* Let the committing thread finish and end. */
static void end_committing(struct writer *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->ending = true;
    (void)pthread_cond_signal(&w->work);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->committing, NULL);
}

enum rc writer_start(const struct writer_options *options, struct writer **out)
{
    struct writer *w = calloc(1, sizeof(*w));
    int64_t turn_ms = options->busy_ms / TURNS_PER_BOUND;
    enum rc rc;

    if (w == NULL) {
        return RC_NOMEM;
    }
    w->options = *options;
    rc = store_open(options->dir,
                    turn_ms < LEAST_TURN_MS ? LEAST_TURN_MS : turn_ms,
                    &w->store);
    if (rc != RC_OK) {
        free(w);
        return rc;
    }
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->work, NULL);
    (void)pthread_cond_init(&w->told, NULL);
    (void)pthread_cond_init(&w->room, NULL);
    if (pthread_create(&w->committing, NULL, commit, w) != 0) {
        log_error(NULL, "cannot start the writer's threads");
        free_writer(w);
        return RC_IO;
    }
    if (pthread_create(&w->telling, NULL, tell, w) != 0) {
        log_error(NULL, "cannot start the writer's threads");
        end_committing(w);
        free_writer(w);
        return RC_IO;
    }
    *out = w;
    return RC_OK;
}

void writer_hand_over(struct writer *w, struct writer_job *job)
{
    job->rc = RC_OK;
    job->feed[0] = '\0';
    (void)pthread_mutex_lock(&w->lock);
    while (w->pending >= WRITER_MAX_PENDING) {
        (void)pthread_cond_wait(&w->room, &w->lock);
    }
    job->until_ms = clock_boot_ms() + w->options.busy_ms;
    w->pending++;
    push(&w->waiting, job);
    (void)pthread_cond_signal(&w->work);
    (void)pthread_mutex_unlock(&w->lock);
}

void writer_look(struct writer *w)
{
    (void)pthread_mutex_lock(&w->lock);
    (void)pthread_cond_signal(&w->work);
    (void)pthread_mutex_unlock(&w->lock);
}

void writer_end(struct writer *w)
{
    if (w == NULL) {
        return;
    }
    end_committing(w);
    (void)pthread_join(w->telling, NULL);
    free_writer(w);
}
