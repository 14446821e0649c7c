#include "fcgi/serve.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"

#define LEAST_THREADS 4
#define STACK_BYTES   ((size_t)512 * 1024)
#define POKE_EVERY_US 2000

struct worker {
    struct serve *serve;
    pthread_t thread;
    void *context;
    bool started;
    atomic_bool left;
};

struct serve {
    struct serve_options options;
    size_t n;
    struct worker workers[];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct serve_options *o = &w->serve->options;
    struct req *r;

    while (req_accept(o->listener, &r) == RC_OK) {
        if (o->handle(r, o->shared, w->context) == SERVE_FINISH) {
            req_finish(r);
        }
    }
    atomic_store(&w->left, true);
    return NULL;
}

size_t serve_threads(size_t wanted)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = processors < 1 ? 0 : 2 * (size_t)processors;

    if (wanted > 0) {
        return wanted;
    }
    return n < LEAST_THREADS ? LEAST_THREADS : n;
}

static enum rc start_worker(struct worker *w)
{
    pthread_attr_t attr;
    int error;

    if (pthread_attr_init(&attr) != 0) {
        return RC_NOMEM;
    }
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = pthread_create(&w->thread, &attr, work, w);
    (void)pthread_attr_destroy(&attr);
    if (error != 0) {
        log_error(NULL, "cannot start a thread: %s", strerror(error));
        return RC_IO;
    }
    w->started = true;
    return RC_OK;
}

enum rc serve_start(const struct serve_options *options, struct serve **out)
{
    size_t n = serve_threads(options->n_threads);
    struct serve *s = calloc(1, sizeof(*s) + n * sizeof(s->workers[0]));
    sigset_t all;
    sigset_t before;
    enum rc rc = RC_OK;

    if (s == NULL) {
        return RC_NOMEM;
    }
    s->options = *options;
    s->n = n;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct worker *w = &s->workers[i];

        w->serve = s;
        atomic_init(&w->left, false);
        if (options->open != NULL) {
            rc = options->open(options->shared, &w->context);
        }
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = start_worker(&s->workers[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != RC_OK) {
        serve_end(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

/* The poke may come in the moment before accept(2), so it is repeated. */
static void end_worker(struct worker *w)
{
    while (!atomic_load(&w->left)) {
        req_poke(w->thread);
        clock_nap_us(POKE_EVERY_US);
    }
    (void)pthread_join(w->thread, NULL);
}

void serve_end(struct serve *s)
{
    if (s == NULL) {
        return;
    }
    req_listener_stop(s->options.listener);
    for (size_t i = 0; i < s->n; i++) {
        if (s->workers[i].started) {
            end_worker(&s->workers[i]);
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->workers[i].context != NULL && s->options.close != NULL) {
            s->options.close(s->workers[i].context);
        }
    }
    free(s);
}

static void end_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGUSR1);
}

void serve_block_signals(void)
{
    sigset_t set;

    end_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void serve_wait_signal(void)
{
    sigset_t set;
    int received;

    end_signals(&set);
    (void)sigwait(&set, &received);
}
