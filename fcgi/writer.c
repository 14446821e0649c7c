#include "fcgi/writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/random.h"

/* The lock is asked for in short turns, so that each call's own bound holds. */
#define TURNS_PER_BOUND 8
#define LEAST_TURN_MS   10

/* How long the lock is left alone after a commit: other processes try about
 * every 0.1 to 0.5 ms. */
#define GAP_LEAST_US  50
#define GAP_SPREAD_US 100

struct job {
    store_fn *fn;
    void *arg;
    int64_t until_ms; /* boot time */
    enum rc rc;
    char feed[STORE_FEED_BYTES];
    bool done;
    pthread_cond_t settled;
    struct job *next;
};

struct writer {
    struct writer_options options;
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t work;
    struct job *first;
    struct job *last;
    bool ending;
};

/* --- the queue, under the lock ---------------------------------------------
 */

static void push(struct writer *w, struct job *job)
{
    job->next = NULL;
    if (w->last == NULL) {
        w->first = job;
    } else {
        w->last->next = job;
    }
    w->last = job;
}

static struct job *pop(struct writer *w)
{
    struct job *job = w->first;

    w->first = job->next;
    if (w->first == NULL) {
        w->last = NULL;
    }
    return job;
}

static void settle(struct job *job, enum rc rc)
{
    job->rc = rc;
    job->done = true;
    (void)pthread_cond_signal(&job->settled);
}

static size_t take_batch(struct writer *w, struct job **batch)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&w->lock);
    while (w->first != NULL && n < WRITER_MAX_BATCH) {
        batch[n++] = pop(w);
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
    while (w->first != NULL &&
           (rc != RC_BUSY || w->first->until_ms <= now_ms)) {
        settle(pop(w), rc);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* --- a batch ---------------------------------------------------------------
 */

static enum rc run_batch(struct writer *w, struct job **batch, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum rc rc = store_batch_call(w->store, batch[i]->fn, batch[i]->arg,
                                      &batch[i]->rc);

        if (rc != RC_OK) {
            return rc;
        }
    }
    return store_batch_commit(w->store);
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

static void settle_batch(struct writer *w, struct job **batch, size_t n,
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
        settle(batch[i], whole == RC_OK ? batch[i]->rc : whole);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

static void write_once(struct writer *w)
{
    struct job *batch[WRITER_MAX_BATCH];
    enum rc rc = store_batch_begin(w->store);
    size_t n;

    if (rc != RC_OK) {
        fail_waiting(w, rc);
        return;
    }
    n = take_batch(w, batch);
    rc = run_batch(w, batch, n);
    if (rc != RC_OK) {
        store_batch_abort(w->store);
    } else {
        w->options.committed(w->options.arg);
    }
    settle_batch(w, batch, n, rc);
}

static bool wait_for_work(struct writer *w)
{
    bool more;

    (void)pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->ending) {
        (void)pthread_cond_wait(&w->work, &w->lock);
    }
    more = w->first != NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return more;
}

static void *run(void *arg)
{
    struct writer *w = arg;

    while (wait_for_work(w)) {
        write_once(w);
        clock_nap_us(GAP_LEAST_US + random_below(GAP_SPREAD_US));
    }
    return NULL;
}

/* --- for the other threads -------------------------------------------------
 */

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
    if (pthread_create(&w->thread, NULL, run, w) != 0) {
        log_error(NULL, "cannot start the writer's thread");
        store_close(w->store);
        free(w);
        return RC_IO;
    }
    *out = w;
    return RC_OK;
}

enum rc writer_do(struct writer *w, store_fn *fn, void *arg,
                  char feed[STORE_FEED_BYTES])
{
    struct job job = {
        .fn = fn, .arg = arg, .until_ms = clock_boot_ms() + w->options.busy_ms};

    (void)pthread_cond_init(&job.settled, NULL);
    (void)pthread_mutex_lock(&w->lock);
    push(w, &job);
    (void)pthread_cond_signal(&w->work);
    while (!job.done) {
        (void)pthread_cond_wait(&job.settled, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_cond_destroy(&job.settled);
    if (feed != NULL) {
        memcpy(feed, job.feed, sizeof(job.feed));
    }
    return job.rc;
}

void writer_end(struct writer *w)
{
    if (w == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&w->lock);
    w->ending = true;
    (void)pthread_cond_signal(&w->work);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    store_close(w->store);
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->work);
    free(w);
}
