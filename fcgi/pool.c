#include "fcgi/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct pool {
    const char *dir;
    int64_t busy_ms;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t given;
    size_t n_open;
    size_t n_free;
    size_t max;
    struct store *free[];
};

enum rc pool_new(const char *dir, int64_t busy_ms, size_t max,
                 struct pool **out)
{
    struct pool *p = calloc(1, sizeof(*p) + max * sizeof(p->free[0]));

    assert(max > 0);
    if (p == NULL) {
        return RC_NOMEM;
    }
    p->dir = dir;
    p->busy_ms = busy_ms;
    p->max = max;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->given, NULL);
    *out = p;
    return RC_OK;
}

void pool_free(struct pool *p)
{
    if (p == NULL) {
        return;
    }
    assert(p->n_free == p->n_open);
    for (size_t i = 0; i < p->n_free; i++) {
        store_close(p->free[i]);
    }
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_cond_destroy(&p->given);
    free(p);
}

/* The caller has counted it in n_open already. */
static enum rc open_one(struct pool *p, struct store **out)
{
    enum rc rc = store_open(p->dir, p->busy_ms, out);

    if (rc != RC_OK) {
        (void)pthread_mutex_lock(&p->lock);
        p->n_open--;
        (void)pthread_cond_signal(&p->given);
        (void)pthread_mutex_unlock(&p->lock);
    }
    return rc;
}

enum rc pool_take(struct pool *p, struct store **out)
{
    struct store *store = NULL;

    (void)pthread_mutex_lock(&p->lock);
    while (p->n_free == 0 && p->n_open == p->max) {
        (void)pthread_cond_wait(&p->given, &p->lock);
    }
    if (p->n_free > 0) {
        p->n_free--;
        store = p->free[p->n_free];
    } else {
        p->n_open++;
    }
    (void)pthread_mutex_unlock(&p->lock);
    if (store == NULL) {
        return open_one(p, out);
    }
    *out = store;
    return RC_OK;
}

void pool_give(struct pool *p, struct store *store)
{
    (void)pthread_mutex_lock(&p->lock);
    p->free[p->n_free] = store;
    p->n_free++;
    (void)pthread_cond_signal(&p->given);
    (void)pthread_mutex_unlock(&p->lock);
}
