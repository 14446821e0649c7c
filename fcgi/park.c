/* park.c - the waker.
 *
 * Two structures hold the waiters: groups by account (a hash table), for a
 * ring; and one heap by the next time something is due (its deadline or its
 * fallback read), for the timer. New ones come through a list under a lock;
 * all else belongs to the waker's thread alone.
 *
 * A waiter is freed only by its own epoll event or after all events of a turn
 * have been looked at, since its descriptor may stand in the events that
 * epoll_wait has returned already.
 */
#include "fcgi/park.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_watch.h"

#define EVENTS_PER_TURN   256
#define GROUP_BUCKETS     1024 /* a power of two */
#define REPLY_LIMIT_BYTES (4 * 1024 * 1024)

#define NAMES_LIMIT_BYTES (16 * 1024 * 1024)
#define KEPT_REPLY_BYTES  65536

/* Reads by time in one turn: a ring must not wait behind thousands. */
#define DUE_PER_TURN 64
/* Fallbacks that are due soon go with those that are due. */
#define FALLBACK_SLACK_MS 500

struct group {
    char *account;
    struct waiter *first;
    size_t n;
    struct group *next; /* in the bucket */
};

struct waiter {
    struct req *req;
    struct group *group;
    struct waiter *newer; /* in the group, or in the list of new ones */
    struct waiter **link; /* what points to this one in the group */
    int64_t cursor;
    int64_t deadline_ms;
    int64_t due_ms; /* the deadline, or the fallback before it */
    uint64_t generation;
    enum actor_kind actor;
    int64_t actor_id;
    size_t place;  /* in the heap */
    char *account; /* until it has a group */
};

/* What the last read of this pass made, and for whom: waiters of one account
 * with one cursor share it. */
struct made {
    const struct group *group; /* NULL: nothing */
    int64_t cursor;            /* asked from */
    bool even_if_none;
    enum rc rc;         /* RC_OK or RC_NOT_FOUND */
    int64_t new_cursor; /* with RC_NOT_FOUND */
    struct buf text;    /* with RC_OK */
};

struct park {
    struct park_options options;
    struct store *store;
    pthread_t thread;
    int epoll;
    int event; /* new waiters, or the end */
    atomic_uint_fast64_t generation;
    atomic_size_t count;
    atomic_bool ending;

    pthread_mutex_t lock; /* of arrived */
    struct waiter *arrived;

    /* The waker's own. */
    struct group *bucket[GROUP_BUCKETS];
    struct waiter **heap;
    size_t n_heap;
    /* While anybody waits: all that has changed up to here was told to those
     * it concerns. */
    int64_t seen;
    struct made made;
    /* Whose right was looked at last in this pass, and what it was. */
    struct store_actor looked;
    enum rc stands;
};

/* --- the heap --------------------------------------------------------------
 */

static void heap_put(struct park *p, size_t at, struct waiter *w)
{
    p->heap[at] = w;
    w->place = at;
}

static void heap_up(struct park *p, size_t at, struct waiter *w)
{
    while (at > 0 && p->heap[(at - 1) / 2]->due_ms > w->due_ms) {
        heap_put(p, at, p->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(p, at, w);
}

static void heap_down(struct park *p, size_t at, struct waiter *w)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= p->n_heap) {
            break;
        }
        if (child + 1 < p->n_heap &&
            p->heap[child + 1]->due_ms < p->heap[child]->due_ms) {
            child++;
        }
        if (p->heap[child]->due_ms >= w->due_ms) {
            break;
        }
        heap_put(p, at, p->heap[child]);
        at = child;
    }
    heap_put(p, at, w);
}

static void heap_add(struct park *p, struct waiter *w)
{
    assert(p->n_heap < p->options.max);
    p->n_heap++;
    heap_up(p, p->n_heap - 1, w);
}

static void heap_remove(struct park *p, const struct waiter *w)
{
    size_t at = w->place;
    struct waiter *last;

    assert(p->n_heap > 0 && p->heap[at] == w);
    p->n_heap--;
    last = p->heap[p->n_heap];
    if (last != w) {
        heap_up(p, at, last);
        heap_down(p, last->place, last);
    }
}

/* The next read of a waiter that was just read. */
static void heap_reschedule(struct park *p, struct waiter *w, int64_t now_ms)
{
    w->due_ms = now_ms + PARK_FALLBACK_MS;
    if (w->due_ms > w->deadline_ms) {
        w->due_ms = w->deadline_ms;
    }
    heap_up(p, w->place, w);
    heap_down(p, w->place, w);
}

/* --- groups ----------------------------------------------------------------
 */

static struct group **bucket_of(struct park *p, const char *account)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (const char *c = account; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    }
    return &p->bucket[hash & (GROUP_BUCKETS - 1)];
}

static struct group *find_group(struct park *p, const char *account)
{
    struct group *g = *bucket_of(p, account);

    while (g != NULL && strcmp(g->account, account) != 0) {
        g = g->next;
    }
    return g;
}

/* The waiter's group, made if it is the first of its account. */
static bool join_group(struct park *p, struct waiter *w)
{
    struct group *g = find_group(p, w->account);

    if (g == NULL) {
        struct group **bucket = bucket_of(p, w->account);

        g = calloc(1, sizeof(*g));
        if (g == NULL) {
            return false;
        }
        g->account = w->account;
        g->next = *bucket;
        *bucket = g;
    } else {
        free(w->account);
    }
    w->account = NULL;
    w->group = g;
    w->newer = g->first;
    w->link = &g->first;
    if (g->first != NULL) {
        g->first->link = &w->newer;
    }
    g->first = w;
    g->n++;
    return true;
}

static void free_group(struct park *p, struct group *g)
{
    struct group **at = bucket_of(p, g->account);

    while (*at != g) {
        at = &(*at)->next;
    }
    *at = g->next;
    if (p->made.group == g) {
        p->made.group = NULL;
    }
    free(g->account);
    free(g);
}

static void leave_group(struct park *p, struct waiter *w)
{
    w->group->n--;
    *w->link = w->newer;
    if (w->newer != NULL) {
        w->newer->link = w->link;
    }
    if (w->group->first == NULL) {
        free_group(p, w->group);
    }
}

/* --- answering -------------------------------------------------------------
 */

/* Take a waiter out of all tables and end its request. */
static void release(struct park *p, struct waiter *w)
{
    heap_remove(p, w);
    leave_group(p, w);
    req_finish(w->req);
    free(w);
    (void)atomic_fetch_sub(&p->count, 1);
}

/* The reply for a waiter, in p->made. */
static enum rc make_reply(struct park *p, const struct waiter *w,
                          bool even_if_none)
{
    struct made *m = &p->made;
    enum rc rc;

    assert(w->group != NULL);
    if (m->group == w->group && m->cursor == w->cursor &&
        m->even_if_none == even_if_none) {
        return m->rc;
    }
    m->group = NULL;
    m->new_cursor = w->cursor;
    buf_clear(&m->text);
    rc = p->options.read(p->store, w->group->account, &m->new_cursor,
                         even_if_none, &m->text);
    if (rc == RC_OK || rc == RC_NOT_FOUND) {
        m->group = w->group;
        m->cursor = w->cursor;
        m->even_if_none = even_if_none;
        m->rc = rc;
    }
    return rc;
}

/* Many who wait have the same right, which is looked up once in a pass. */
static bool may_be_told(struct park *p, const struct waiter *w)
{
    const struct store_actor who = {.kind = w->actor, .id = w->actor_id};

    if (p->options.stands == NULL || w->actor == ACTOR_USER) {
        return true;
    }
    if (p->looked.kind != who.kind || p->looked.id != who.id) {
        p->looked = who;
        p->stands = p->options.stands(p->store, &who);
    }
    return p->stands == RC_OK;
}

/* Read for a waiter, and answer it if there is something to tell or its time
 * is up. */
static void read_waiter(struct park *p, struct waiter *w, bool even_if_none)
{
    enum rc rc;

    if (!may_be_told(p, w)) {
        p->options.reply(
            w->req, p->stands == RC_NOT_FOUND ? RC_DENIED : p->stands, NULL, 0);
        release(p, w);
        return;
    }
    rc = make_reply(p, w, even_if_none);
    if (rc == RC_NOT_FOUND) {
        w->cursor = p->made.new_cursor;
        heap_reschedule(p, w, clock_boot_ms());
        return;
    }
    if (rc == RC_OK) {
        p->options.reply(w->req, RC_OK, buf_str(&p->made.text),
                         p->made.text.len);
    } else {
        p->options.reply(w->req, rc, NULL, 0);
    }
    release(p, w);
}

/* At the end of a pass: what was made may be old in the next. */
static void forget_reply(struct park *p)
{
    p->made.group = NULL;
    p->looked = (struct store_actor){.kind = ACTOR_USER};
    if (p->made.text.cap > KEPT_REPLY_BYTES) {
        buf_free(&p->made.text);
        buf_init(&p->made.text, REPLY_LIMIT_BYTES);
    }
}

static void read_group(struct park *p, const struct group *g)
{
    struct waiter *w = g->first;

    while (w != NULL) {
        struct waiter *next = w->newer; /* the last release frees the group */

        read_waiter(p, w, false);
        w = next;
    }
}

static void read_everybody(struct park *p, bool even_if_none)
{
    while (even_if_none && p->n_heap > 0) {
        read_waiter(p, p->heap[0], true);
    }
    for (size_t i = 0; i < GROUP_BUCKETS; i++) {
        struct group *g = p->bucket[i];

        while (g != NULL) {
            struct group *next = g->next;

            read_group(p, g);
            g = next;
        }
    }
}

/* --- rings -----------------------------------------------------------------
 */

/* The descriptor may be another one after each drain, or the same number again
 * after the watch was opened anew, which epoll has forgotten. */
static void watch_bell(struct park *p)
{
    int fd = doorbell_fd(p->options.bell);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &p->options.bell};

    if (fd >= 0 && epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) != 0 &&
        errno != EEXIST) {
        log_error(NULL, "cannot watch the doorbell: %s", strerror(errno));
    }
}

/* Tell those whose accounts have changes. If it cannot be known whose, all are
 * read: a failing read must not make a deaf waker. */
static void look_at_changes(struct park *p)
{
    struct arena *a = arena_new(NAMES_LIMIT_BYTES);
    const char **accounts = NULL;
    size_t n = 0;
    int64_t newest = 0;
    enum rc rc = a == NULL ? RC_NOMEM
                           : store_watch_accounts(p->store, p->seen, a,
                                                  &accounts, &n, &newest);

    if (rc != RC_OK) {
        log_warn(NULL, "cannot see whose changes there are: %s", rc_name(rc));
        read_everybody(p, false);
    } else {
        p->seen = newest;
    }
    for (size_t i = 0; i < n; i++) {
        const struct group *g = find_group(p, accounts[i]);

        if (g != NULL) {
            read_group(p, g);
        }
    }
    arena_free(a);
    forget_reply(p);
}

static void on_ring(struct park *p)
{
    (void)doorbell_drain(p->options.bell);
    watch_bell(p);
    (void)atomic_fetch_add(&p->generation, 1);
    if (p->n_heap > 0) {
        look_at_changes(p);
    }
}

/* --- arrivals --------------------------------------------------------------
 */

static void refuse(struct park *p, struct waiter *w, enum rc rc)
{
    p->options.reply(w->req, rc, NULL, 0);
    req_finish(w->req);
    free(w->account);
    free(w);
    (void)atomic_fetch_sub(&p->count, 1);
}

/* One account must not have all the places. */
static bool is_beyond(const struct park *p, const struct group *g)
{
    return p->options.max_each > 0 && g->n > p->options.max_each;
}

static void settle_in(struct park *p, struct waiter *w)
{
    struct epoll_event e = {.events = EPOLLRDHUP, .data.ptr = w};
    bool missed = w->generation != atomic_load(&p->generation);

    if (!join_group(p, w)) {
        refuse(p, w, RC_NOMEM);
        return;
    }
    if (p->n_heap == 0) {
        p->seen = w->cursor;
    }
    w->due_ms = w->deadline_ms;
    heap_add(p, w);
    heap_reschedule(p, w, clock_boot_ms());
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, req_fd(w->req), &e) != 0) {
        log_error(NULL, "cannot watch a peer: %s", strerror(errno));
        p->options.reply(w->req, RC_IO, NULL, 0);
        release(p, w);
    } else if (is_beyond(p, w->group)) {
        read_waiter(p, w, true);
    } else if (missed || w->cursor < p->seen) {
        read_waiter(p, w, false);
    }
}

/* Who came, the first before the next: a later one is told what had been seen
 * when it came. */
static struct waiter *arrivals(struct park *p)
{
    struct waiter *newest;
    struct waiter *in_order = NULL;

    (void)pthread_mutex_lock(&p->lock);
    newest = p->arrived;
    p->arrived = NULL;
    (void)pthread_mutex_unlock(&p->lock);
    while (newest != NULL) {
        struct waiter *w = newest;

        newest = w->newer;
        w->newer = in_order;
        in_order = w;
    }
    return in_order;
}

static void take_arrivals(struct park *p)
{
    struct waiter *w;
    uint64_t ignored;

    if (read(p->event, &ignored, sizeof(ignored)) < 0 && errno != EAGAIN) {
        log_error(NULL, "eventfd: %s", strerror(errno));
    }
    w = arrivals(p);
    while (w != NULL) {
        struct waiter *next = w->newer;

        settle_in(p, w);
        w = next;
    }
    forget_reply(p);
}

/* --- the loop --------------------------------------------------------------
 */

/* Deadlines that have come, and fallback reads, a bounded number. Whoever is
 * here without a ring may have a broken doorbell: it is tried again. */
static void run_due(struct park *p)
{
    int64_t now_ms = clock_boot_ms();

    if (p->n_heap == 0 || p->heap[0]->due_ms > now_ms) {
        return;
    }
    if (doorbell_is_deaf(p->options.bell)) {
        on_ring(p);
    }
    for (int i = 0; i < DUE_PER_TURN && p->n_heap > 0; i++) {
        struct waiter *w = p->heap[0];
        bool last_call = w->due_ms == w->deadline_ms;

        if (w->due_ms > now_ms + (last_call ? 0 : FALLBACK_SLACK_MS)) {
            break;
        }
        read_waiter(p, w, last_call);
    }
    forget_reply(p);
}

static int sleep_ms(const struct park *p)
{
    int64_t left_ms;

    if (p->n_heap == 0) {
        return -1;
    }
    left_ms = p->heap[0]->due_ms - clock_boot_ms();
    return left_ms <= 0 ? 0 : (int)left_ms;
}

static void turn(struct park *p)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int n = epoll_wait(p->epoll, events, EVENTS_PER_TURN, sleep_ms(p));
    bool ring = false;
    bool arrived = false;

    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == &p->options.bell) {
            ring = true;
        } else if (events[i].data.ptr == &p->event) {
            arrived = true;
        } else {
            release(p, events[i].data.ptr); /* the peer has hung up */
        }
    }
    if (ring) {
        on_ring(p);
    }
    if (arrived) {
        take_arrivals(p);
    }
    run_due(p);
}

static void *run(void *arg)
{
    struct park *p = arg;

    while (!atomic_load(&p->ending)) {
        turn(p);
    }
    take_arrivals(p);
    read_everybody(p, true);
    return NULL;
}

/* --- for the other threads -------------------------------------------------
 */

static void free_park(struct park *p)
{
    assert(p->n_heap == 0 && p->arrived == NULL);
    store_close(p->store);
    if (p->epoll >= 0) {
        (void)close(p->epoll);
    }
    if (p->event >= 0) {
        (void)close(p->event);
    }
    (void)pthread_mutex_destroy(&p->lock);
    buf_free(&p->made.text);
    free(p->heap);
    free(p);
}

static enum rc open_parts(struct park *p)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &p->event};

    p->heap = calloc(p->options.max, sizeof(struct waiter *));
    if (p->heap == NULL) {
        return RC_NOMEM;
    }
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->epoll < 0 || p->event < 0 ||
        epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->event, &e) != 0) {
        log_error(NULL, "cannot make the waker's descriptors: %s",
                  strerror(errno));
        return RC_IO;
    }
    watch_bell(p);
    return store_open(p->options.dir, p->options.busy_ms, &p->store);
}

enum rc park_start(const struct park_options *options, struct park **out)
{
    struct park *p = calloc(1, sizeof(*p));
    enum rc rc;

    if (p == NULL) {
        return RC_NOMEM;
    }
    p->options = *options;
    p->epoll = -1;
    p->event = -1;
    atomic_init(&p->generation, 0);
    atomic_init(&p->count, 0);
    atomic_init(&p->ending, false);
    (void)pthread_mutex_init(&p->lock, NULL);
    buf_init(&p->made.text, REPLY_LIMIT_BYTES);
    rc = open_parts(p);
    if (rc == RC_OK && pthread_create(&p->thread, NULL, run, p) != 0) {
        log_error(NULL, "cannot start the waker's thread");
        rc = RC_IO;
    }
    if (rc != RC_OK) {
        free_park(p);
        return rc;
    }
    *out = p;
    return RC_OK;
}

uint64_t park_generation(const struct park *p)
{
    return atomic_load(&p->generation);
}

size_t park_count(const struct park *p)
{
    return atomic_load(&p->count);
}

static void wake(struct park *p)
{
    uint64_t one = 1;

    if (write(p->event, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
        log_error(NULL, "eventfd: %s", strerror(errno));
    }
}

static enum rc new_waiter(struct req *r, const struct park_wait *wait,
                          struct waiter **out)
{
    struct waiter *w = calloc(1, sizeof(*w));
    char *account = strdup(wait->account); /* before its memory goes */
    enum rc rc = RC_NOMEM;

    if (w != NULL && account != NULL) {
        rc = req_park(r);
    }
    if (rc != RC_OK) {
        free(account);
        free(w);
        return rc;
    }
    w->req = r;
    w->account = account;
    w->cursor = wait->cursor;
    w->deadline_ms = wait->deadline_ms;
    w->generation = wait->generation;
    w->actor = wait->actor.kind;
    w->actor_id = wait->actor.id;
    *out = w;
    return RC_OK;
}

enum rc park_add(struct park *p, struct req *r, const struct park_wait *wait)
{
    struct waiter *w = NULL;
    enum rc rc = RC_FULL;

    if (atomic_fetch_add(&p->count, 1) < p->options.max) {
        rc = new_waiter(r, wait, &w);
    }
    if (rc != RC_OK) {
        (void)atomic_fetch_sub(&p->count, 1);
        return rc;
    }
    (void)pthread_mutex_lock(&p->lock);
    w->newer = p->arrived;
    p->arrived = w;
    (void)pthread_mutex_unlock(&p->lock);
    wake(p);
    return RC_OK;
}

void park_end(struct park *p)
{
    if (p == NULL) {
        return;
    }
    atomic_store(&p->ending, true);
    wake(p);
    (void)pthread_join(p->thread, NULL);
    free_park(p);
}
