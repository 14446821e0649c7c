/* probe.c - parks polls, commits changes, and times what comes of them.
 *
 *   probe PORT DATA RESPONDER
 *
 * DATA is the data folder, RESPONDER the process that holds the polls. Each
 * line of standard input is a command, answered with one line of JSON:
 *
 *   accounts N      make accounts u-0 ... with a conversation each
 *   park N own|one  hold N polls, of accounts p-0 ... or all of account "one"
 *   leave           hang up all of them
 *   probe N         N times: one more poll, a commit for its account, and the
 *                   microseconds from the end of the commit to its first byte
 *   wake N          N times: a commit for account "one", which wakes all that
 *                   are parked; microseconds to the first byte of the first, of
 *                   the one in the middle, and of the last
 *
 * The commit is made here, through the store, as another responder would make
 * it: so its end is known to the microsecond.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_conversation.h"
#include "tests/bench/wire.h"

#define BUSY_MS     2000
#define ARENA_BYTES ((size_t)1 << 20)
#define MAX_POLLS   16000
#define SETTLE_US   8000 /* from asking to being parked, with room */
#define PATIENCE_MS 30000

struct probe {
    int port;
    const char *responder; /* its folder of descriptors */
    struct store *store;
    struct doorbell *bell;
    struct arena *arena;
    int epoll;
    int64_t cursor;
    struct wire *polls;
    size_t n_polls;
    bool one; /* all polls are of one account */
};

/* --- commits ---------------------------------------------------------------
 */

/* What a commit does, for one account. */
struct deed {
    struct probe *p;
    const char *account;
    int64_t conversation; /* 0: make one, and say which */
};

static enum rc do_deed(struct store *st, void *arg)
{
    static int64_t n;
    struct deed *d = arg;
    struct store_call call = {
        .account = d->account, .now_ms = clock_unix_ms(), .arena = d->p->arena};
    struct conversation c;
    char title[32];
    enum rc rc;

    (void)snprintf(title, sizeof(title), "title %" PRId64, n++);
    if (d->conversation != 0) {
        rc = store_conversation_update(st, &call, d->conversation, title, false,
                                       &c);
    } else {
        rc = store_conversation_create(st, &call, title, &c);
        d->conversation = rc == RC_OK ? c.id : 0;
    }
    d->p->cursor = call.as_of;
    return rc;
}

/* Returns when the commit was over. */
static int64_t commit(struct probe *p, struct deed *d)
{
    enum rc rc = store_tx(p->store, do_deed, d);
    int64_t now_us = wire_now_us();

    if (rc != RC_OK) {
        wire_die("a commit failed: %s", rc_name(rc));
    }
    doorbell_ring(p->bell);
    arena_reset(p->arena);
    return now_us;
}

static int64_t conversation_of(struct probe *p, const char *account)
{
    struct deed d = {.p = p, .account = account};

    (void)commit(p, &d);
    return d.conversation;
}

struct many {
    struct probe *p;
    const char *prefix;
    size_t n;
    int64_t first;
};

static enum rc do_many(struct store *st, void *arg)
{
    struct many *m = arg;
    char account[32];
    enum rc rc = RC_OK;

    for (size_t i = 0; i < m->n && rc == RC_OK; i++) {
        struct deed d = {.p = m->p, .account = account};

        (void)snprintf(account, sizeof(account), "%s-%zu", m->prefix, i);
        rc = do_deed(st, &d);
        m->first = i == 0 ? d.conversation : m->first;
    }
    return rc;
}

/* Accounts with a conversation each; the number of the first. */
static int64_t make_accounts(struct probe *p, const char *prefix, size_t n)
{
    struct many m = {.p = p, .prefix = prefix, .n = n};
    enum rc rc = store_tx(p->store, do_many, &m);

    if (rc != RC_OK) {
        wire_die("accounts could not be made: %s", rc_name(rc));
    }
    arena_reset(p->arena);
    return m.first;
}

/* --- parking ---------------------------------------------------------------
 */

static void nap_us(int64_t us)
{
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * 1000};

    (void)nanosleep(&t, NULL);
}

static size_t descriptors(const struct probe *p)
{
    DIR *dir = opendir(p->responder);
    size_t n = 0;

    if (dir == NULL) {
        wire_die("%s: %s", p->responder, strerror(errno));
    }
    while (readdir(dir) != NULL) {
        n++;
    }
    (void)closedir(dir);
    return n;
}

/* A parked poll is a descriptor of the responder. */
static void await_descriptors(const struct probe *p, size_t n, bool at_least)
{
    int64_t until_us = wire_now_us() + (int64_t)PATIENCE_MS * 1000;

    while (at_least ? descriptors(p) < n : descriptors(p) > n) {
        if (wire_now_us() > until_us) {
            wire_die("the responder has %zu descriptors, not %zu",
                     descriptors(p), n);
        }
        nap_us(5000);
    }
    nap_us(SETTLE_US);
}

static void ask_poll(const struct probe *p, struct wire *w, const char *account)
{
    char path[96];

    (void)snprintf(path, sizeof(path),
                   "/api/v1/changes?after=%" PRId64 "&wait=55", p->cursor);
    wire_get(w, account, path);
}

static void ask_parked(const struct probe *p, size_t i)
{
    char account[32] = "one";

    if (!p->one) {
        (void)snprintf(account, sizeof(account), "p-%zu", i);
    }
    ask_poll(p, &p->polls[i], account);
}

static void park(struct probe *p, size_t n, bool one)
{
    size_t before = descriptors(p);

    if (n == 0 || n > MAX_POLLS || p->n_polls != 0) {
        wire_die("cannot park %zu", n);
    }
    p->one = one;
    p->n_polls = n;
    for (size_t i = 0; i < n; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &p->polls[i]};

        wire_open(&p->polls[i], p->port);
        if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->polls[i].fd, &e) != 0) {
            wire_die("epoll: %s", strerror(errno));
        }
        ask_parked(p, i);
    }
    await_descriptors(p, before + n, true);
    (void)printf("{\"parked\":%zu}\n", n);
}

static void leave(struct probe *p)
{
    size_t now = descriptors(p);

    for (size_t i = 0; i < p->n_polls; i++) {
        wire_close(&p->polls[i]);
    }
    if (now > p->n_polls) {
        await_descriptors(p, now - p->n_polls, false);
    }
    p->n_polls = 0;
    (void)printf("{}\n");
}

/* --- measuring -------------------------------------------------------------
 */

static int64_t probe_once(struct probe *p, struct wire *w, int64_t conversation)
{
    struct deed d = {.p = p, .account = "probe", .conversation = conversation};
    int64_t committed_us;
    int64_t us;

    ask_poll(p, w, "probe");
    nap_us(SETTLE_US + wire_now_us() % 3000);
    if (wire_read(w) != WIRE_MORE) {
        wire_die("the poll was answered before there was anything to tell");
    }
    committed_us = commit(p, &d);
    wire_wait(w);
    if (wire_status(w) != 200) {
        wire_die("the poll got: %s", buf_str(&w->in));
    }
    us = w->first_us - committed_us;
    p->cursor = wire_number(w, "next");
    wire_next(w);
    return us;
}

static void probe(struct probe *p, size_t n)
{
    int64_t conversation = conversation_of(p, "probe");
    struct wire w;

    wire_open(&w, p->port);
    (void)printf("{\"us\":[");
    for (size_t i = 0; i < n; i++) {
        (void)printf("%s%" PRId64, i == 0 ? "" : ",",
                     probe_once(p, &w, conversation));
    }
    (void)printf("]}\n");
    wire_close(&w);
}

/* Wait for the reply to each parked poll; at[] are their first bytes. */
static void collect(struct probe *p, int64_t at[])
{
    struct epoll_event events[256];
    size_t left = p->n_polls;

    while (left > 0) {
        int n = epoll_wait(p->epoll, events, 256, PATIENCE_MS);

        if (n <= 0) {
            wire_die("%zu polls were not woken", left);
        }
        for (int i = 0; i < n; i++) {
            struct wire *w = events[i].data.ptr;
            enum wire_got got = wire_read(w);

            if (got == WIRE_WHOLE && wire_status(w) == 200) {
                left--;
                at[left] = w->first_us;
                p->cursor = wire_number(w, "next");
                wire_next(w);
            } else if (got != WIRE_MORE) {
                wire_die("a poll got: %s", buf_str(&w->in));
            }
        }
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void wake_once(struct probe *p, int64_t conversation, int64_t at[])
{
    struct deed d = {.p = p, .account = "one", .conversation = conversation};
    size_t before = descriptors(p);
    int64_t committed_us = commit(p, &d);

    collect(p, at);
    qsort(at, p->n_polls, sizeof(at[0]), by_size);
    (void)printf("[%" PRId64 ",%" PRId64 ",%" PRId64 "]", at[0] - committed_us,
                 at[p->n_polls / 2] - committed_us,
                 at[p->n_polls - 1] - committed_us);
    await_descriptors(p, before - p->n_polls, false);
    for (size_t i = 0; i < p->n_polls; i++) {
        ask_parked(p, i);
    }
    await_descriptors(p, before, true);
}

/* Any commit for "one" wakes them: its conversation stands from the start. */
static void wake(struct probe *p, size_t n, int64_t conversation)
{
    int64_t *at = calloc(MAX_POLLS, sizeof(at[0]));

    if (at == NULL || !p->one || p->n_polls == 0) {
        wire_die("no polls of one account are parked");
    }
    (void)printf("{\"us\":[");
    for (size_t i = 0; i < n; i++) {
        (void)printf("%s", i == 0 ? "" : ",");
        wake_once(p, conversation, at);
    }
    (void)printf("]}\n");
    free(at);
}

/* --- commands --------------------------------------------------------------
 */

static void obey(struct probe *p, const char *line, int64_t one)
{
    char word[16];
    char how[16] = "";
    size_t n = 0;

    if (sscanf(line, "%15s %zu %15s", word, &n, how) < 1) {
        wire_die("no command: %s", line);
    }
    if (strcmp(word, "accounts") == 0) {
        (void)printf("{\"first\":%" PRId64 "}\n", make_accounts(p, "u", n));
    } else if (strcmp(word, "park") == 0) {
        park(p, n, strcmp(how, "one") == 0);
    } else if (strcmp(word, "leave") == 0) {
        leave(p);
    } else if (strcmp(word, "probe") == 0) {
        probe(p, n);
    } else if (strcmp(word, "wake") == 0) {
        wake(p, n, one);
    } else {
        wire_die("unknown command: %s", line);
    }
    (void)fflush(stdout);
}

static void open_parts(struct probe *p, const char *data)
{
    enum rc rc = store_open(data, BUSY_MS, &p->store);

    if (rc == RC_OK) {
        rc = doorbell_open(data, &p->bell);
    }
    p->arena = arena_new(ARENA_BYTES * 64);
    p->polls = calloc(MAX_POLLS, sizeof(p->polls[0]));
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (rc != RC_OK || p->arena == NULL || p->polls == NULL || p->epoll < 0) {
        wire_die("cannot start: %s", rc_name(rc));
    }
}

int main(int argc, char **argv)
{
    struct probe p = {0};
    char folder[64];
    char line[128];
    int64_t one;

    if (argc != 4) {
        wire_die("usage: probe PORT DATA RESPONDER");
    }
    log_open("probe", LOG_LEVEL_WARN);
    p.port = (int)strtol(argv[1], NULL, 10);
    (void)snprintf(folder, sizeof(folder), "/proc/%s/fd", argv[3]);
    p.responder = folder;
    open_parts(&p, argv[2]);
    one = conversation_of(&p, "one");
    while (fgets(line, sizeof(line), stdin) != NULL) {
        obey(&p, line, one);
    }
    arena_free(p.arena);
    doorbell_close(p.bell);
    store_close(p.store);
    free(p.polls);
    return EXIT_SUCCESS;
}
