/* check_park.c - long polls: answered by commits, deadlines, hang-ups and the
 * end; no wake-up lost, no account read in vain. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/handlers.h"
#include "fcgi/park.h"
#include "fcgi/route.h"
#include "fcgi/serve.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_conversation.h"
#include "tests/support/fcgi_peer.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"
#include "tests/support/written.h"

#define MAX_PARKED 120
#define MAX_EACH   110
#define SOON_MS    4000 /* below the fallback of 5 s, for a busy machine */

static const struct conf CONF = {
    .auth = CONF_AUTH_PROXY, .short_limit = 3, .background_limit = 1};
static const char *path;
static struct doorbell *bell;
static struct app app;
static struct req_listener *listener;
static struct serve *serve;
static atomic_bool mute; /* commits do not ring */
static atomic_int reads; /* by the waker */
static atomic_int keys;
static struct park_wait race; /* what the path /race parks with */
#define THREADS 3
static pthread_barrier_t meeting; /* of all threads, on the path /meet */

/* --- a responder in this process -------------------------------------------
 */

static void on_commit(void *arg)
{
    (void)arg;
    if (!atomic_load(&mute)) {
        doorbell_ring(bell);
    }
}

static enum rc counted_read(struct store *st, const char *account,
                            int64_t *cursor, bool even_if_none, struct buf *out)
{
    (void)atomic_fetch_add(&reads, 1);
    return h_changes_read(st, account, cursor, even_if_none, out);
}

static enum rc open_store(void *shared, void **context)
{
    struct store *store;
    enum rc rc = store_open(shared, 2000, &store);

    if (rc == RC_OK) {
        *context = store;
    }
    return rc;
}

static void close_store(void *context)
{
    store_close(context);
}

/* "/race" stands for a handler whose read is older than it thinks; "/meet" is
 * over when no thread is at anything else. */
static enum serve_then handle(struct req *r, void *dir, void *store)
{
    (void)dir;
    if (req_path(r) != NULL && strcmp(req_path(r), "/race") == 0) {
        race.deadline_ms = clock_boot_ms() + 30000;
        return park_add(app.park, r, &race) == RC_OK ? SERVE_KEPT
                                                     : SERVE_FINISH;
    }
    if (req_path(r) != NULL && strcmp(req_path(r), "/meet") == 0) {
        (void)pthread_barrier_wait(&meeting);
        return SERVE_FINISH;
    }
    return route_handle(r, &app, store);
}

static void set_up(void)
{
    const char *dir = tmp_make();
    const struct writer_options writing = {
        .dir = dir, .busy_ms = 2000, .committed = on_commit};
    const struct req_listen_options where = {.path = tmp_path("socket")};
    struct park_options parking = {.dir = dir,
                                   .busy_ms = 2000,
                                   .max = MAX_PARKED,
                                   .max_each = MAX_EACH,
                                   .read = counted_read,
                                   .reply = h_changes_reply};
    struct serve_options serving = {.n_threads = THREADS,
                                    .open = open_store,
                                    .close = close_store,
                                    .handle = handle,
                                    .shared = (void *)(uintptr_t)dir};

    log_open("check", LOG_LEVEL_ERROR);
    path = where.path;
    atomic_store(&mute, false);
    atomic_store(&keys, 0);
    app.conf = &CONF;
    ck_assert_int_eq(doorbell_open(dir, &bell), RC_OK);
    ck_assert_int_eq(writer_start(&writing, &app.writer), RC_OK);
    parking.bell = bell;
    ck_assert_int_eq(park_start(&parking, &app.park), RC_OK);
    ck_assert_int_eq(req_setup(), RC_OK);
    ck_assert_int_eq(req_listen(&where, &listener), RC_OK);
    serving.listener = listener;
    ck_assert_int_eq(pthread_barrier_init(&meeting, NULL, THREADS), 0);
    ck_assert_int_eq(serve_start(&serving, &serve), RC_OK);
    atomic_store(&reads, 0);
}

static void tear_down(void)
{
    serve_end(serve);
    (void)pthread_barrier_destroy(&meeting);
    writer_end(app.writer);
    park_end(app.park);
    req_listener_free(listener);
    doorbell_close(bell);
    tmp_remove();
}

/* --- what the tests do -----------------------------------------------------
 */

struct create {
    struct store_call call;
    struct conversation out;
};

static enum rc do_create(struct store *st, void *arg)
{
    struct create *c = arg;

    return store_conversation_create(st, &c->call, "t", &c->out);
}

/* One change of an account; its seq. */
static int64_t commit(const char *account)
{
    struct create c = {0};
    char key[32];

    (void)snprintf(key, sizeof(key), "k%d", atomic_fetch_add(&keys, 1));
    c.call = (struct store_call){.account = account,
                                 .key = key,
                                 .now_ms = 1,
                                 .conf = &CONF,
                                 .arena = arena_new(65536)};
    ck_assert_int_eq(written(app.writer, do_create, &c, NULL), RC_OK);
    arena_free(c.call.arena);
    return c.call.as_of;
}

static int start_poll(const char *account, int64_t after, int wait_s)
{
    const char *const params[] = {"REMOTE_USER", account, NULL};
    char uri[96];

    (void)snprintf(uri, sizeof(uri), "/api/v1/changes?after=%lld&wait=%d",
                   (long long)after, wait_s);
    return fcgi_peer_start(
        path, &(struct fcgi_peer_ask){.uri = uri, .params = params});
}

static void await_parked(size_t n)
{
    for (int i = 0; i < FCGI_PEER_PATIENCE_MS && park_count(app.park) != n;
         i++) {
        clock_nap_us(1000);
    }
    ck_assert_uint_eq(park_count(app.park), n);
}

/* They are counted when they are let in; from here on the waker has looked at
 * each of them too, and only a ring has them read. after: what they have seen. */
static void await_settled(size_t n, int64_t after)
{
    int fd[THREADS];

    await_parked(n);
    for (int i = 0; i < THREADS; i++) {
        fd[i] = fcgi_peer_start(path, &(struct fcgi_peer_ask){.uri = "/meet"});
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert(fcgi_peer_ready(fd[i], FCGI_PEER_PATIENCE_MS));
        (void)close(fd[i]);
    }
    /* Who comes last is let go when those before it have been looked at. */
    fd[0] = start_poll("last", after, 30);
    await_parked(n + 1);
    (void)close(fd[0]);
    await_parked(n);
}

/* So many since then, unless so much time has passed that each may have been
 * read for itself. */
static void assert_reads(int n, int64_t since_ms)
{
    if (clock_boot_ms() - since_ms < SOON_MS) {
        ck_assert_int_eq(atomic_load(&reads), n);
    }
}

static int64_t number_after(const char *body, const char *name)
{
    const char *at = strstr(body, name);

    ck_assert_msg(at != NULL, "no %s in %s", name, body);
    return strtoll(at + strlen(name), NULL, 10);
}

/* The poll is answered soon, with this many changes (-1: with some). */
static int64_t assert_told(int fd, int changes)
{
    struct fcgi_peer_reply reply;
    int64_t next;
    int n = 0;

    ck_assert_msg(fcgi_peer_ready(fd, SOON_MS), "not told");
    fcgi_peer_finish(fd, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert(reply.ended);
    for (char *at = strstr(reply.body, "\"seq\""); at != NULL;
         at = strstr(at + 1, "\"seq\"")) {
        n++;
    }
    if (changes < 0) {
        ck_assert_int_gt(n, 0);
    } else {
        ck_assert_int_eq(n, changes);
    }
    next = number_after(reply.body, "\"next\":");
    fcgi_peer_free(&reply);
    return next;
}

/* --- tests -----------------------------------------------------------------
 */

START_TEST(a_commit_answers_the_waiting_poll)
{
    int fd = start_poll("ada", 0, 30); /* the account is made by the commit */
    int64_t seq;

    await_parked(1);
    ck_assert(!fcgi_peer_ready(fd, 0));
    seq = commit("ada");
    ck_assert_int_eq(assert_told(fd, 1), seq);
    await_parked(0);
}
END_TEST

START_TEST(what_there_is_already_is_told_at_once)
{
    int64_t first = commit("ada");
    int64_t second = commit("ada");

    ck_assert_int_eq(assert_told(start_poll("ada", 0, 30), 2), second);
    ck_assert_int_eq(assert_told(start_poll("ada", first, 30), 1), second);
    ck_assert_int_eq(assert_told(start_poll("ada", second, 0), 0), second);
    ck_assert_int_eq(assert_told(start_poll("bob", 0, 0), 0), second);
}
END_TEST

START_TEST(only_accounts_with_changes_are_read)
{
    int64_t began_ms = clock_boot_ms();
    char account[32];
    int fd[51];

    for (int i = 0; i < 50; i++) {
        (void)snprintf(account, sizeof(account), "quiet-%d", i);
        fd[i] = start_poll(account, 0, 30);
    }
    fd[50] = start_poll("ada", 0, 30);
    await_settled(51, 0);
    assert_reads(0, began_ms);
    (void)commit("ada");
    (void)assert_told(fd[50], 1);
    (void)commit("nobody-waits-for-this-one");
    (void)commit("quiet-7");
    (void)assert_told(fd[7], 1);
    assert_reads(2, began_ms);
    for (int i = 0; i < 50; i++) {
        (void)close(fd[i]);
    }
    await_parked(0);
}
END_TEST

START_TEST(waiters_of_one_account_share_one_read)
{
    int64_t began_ms = clock_boot_ms();
    int64_t seq = commit("ada");
    int fd[100];

    for (int i = 0; i < 100; i++) {
        fd[i] = start_poll("ada", seq, 30);
    }
    await_settled(100, seq);
    atomic_store(&reads, 0);
    seq = commit("ada");
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(assert_told(fd[i], 1), seq);
    }
    assert_reads(1, began_ms);
}
END_TEST

/* Long before the poll's own time is up. */
START_TEST(a_lost_ring_is_made_good)
{
    int fd = start_poll("ada", 0, 30);

    await_parked(1);
    atomic_store(&mute, true);
    (void)commit("ada");
    ck_assert(fcgi_peer_ready(fd, 3 * PARK_FALLBACK_MS));
    (void)assert_told(fd, 1);
}
END_TEST

START_TEST(a_commit_between_reading_and_parking_is_not_missed)
{
    int other = start_poll("bob", 0, 30);
    uint64_t generation = park_generation(app.park);
    int64_t seq;
    int fd;

    await_parked(1);
    /* This ring is over before the poll arrives. */
    seq = commit("ada");
    while (park_generation(app.park) == generation) {
        clock_nap_us(1000);
    }
    race = (struct park_wait){.account = "ada", .generation = generation};
    fd = fcgi_peer_start(path, &(struct fcgi_peer_ask){.uri = "/race"});
    ck_assert_int_eq(assert_told(fd, 1), seq);

    /* The same with a generation that is new but a read that is old: the
     * waker has looked past its cursor. */
    (void)commit("bob");
    (void)assert_told(other, 1);
    await_parked(0);
    other = start_poll("bob", seq + 1, 30);
    await_parked(1);
    race.generation = park_generation(app.park);
    fd = fcgi_peer_start(path, &(struct fcgi_peer_ask){.uri = "/race"});
    ck_assert_int_eq(assert_told(fd, 1), seq + 1);
    (void)close(other);
}
END_TEST

START_TEST(time_ends_a_poll_with_an_empty_list)
{
    int64_t begin_ms = clock_boot_ms();
    int64_t seq = commit("ada");
    int fd = start_poll("ada", seq, 1);

    seq = commit("bob");
    ck_assert_int_eq(assert_told(fd, 0), seq);
    ck_assert_int_ge(clock_boot_ms() - begin_ms, 1000);
}
END_TEST

START_TEST(a_cursor_of_another_feed_is_reset)
{
    struct fcgi_peer_reply reply;
    int64_t seq = commit("ada");

    fcgi_peer_finish(start_poll("ada", seq + 100, 30), &reply);
    ck_assert_ptr_nonnull(strstr(reply.body, "\"reset\":true"));
    ck_assert_ptr_nonnull(strstr(reply.body, "\"changes\":[]"));
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(r04_a_hang_up_frees_the_place)
{
    int fd[20];

    for (int i = 0; i < 20; i++) {
        fd[i] = start_poll("ada", 0, 30);
    }
    await_parked(20);
    for (int i = 0; i < 20; i += 2) {
        (void)close(fd[i]);
    }
    await_parked(10);
    (void)commit("ada");
    for (int i = 1; i < 20; i += 2) {
        (void)assert_told(fd[i], 1);
    }
}
END_TEST

START_TEST(a_full_table_answers_at_once)
{
    int fd[MAX_PARKED];

    for (int i = 0; i < MAX_PARKED; i++) {
        fd[i] = start_poll(i % 2 == 0 ? "ada" : "bob", 0, 30);
    }
    await_parked(MAX_PARKED);
    (void)assert_told(start_poll("cyd", 0, 30), 0);
    (void)close(fd[0]);
    await_parked(MAX_PARKED - 1);
    for (int i = 1; i < MAX_PARKED; i++) {
        (void)close(fd[i]);
    }
    await_parked(0);
}
END_TEST

START_TEST(an_account_has_no_more_places_than_its_own)
{
    int fd[MAX_EACH];
    int other;

    for (int i = 0; i < MAX_EACH; i++) {
        fd[i] = start_poll("ada", 0, 30);
    }
    await_parked(MAX_EACH);
    (void)assert_told(start_poll("ada", 0, 30), 0);
    await_parked(MAX_EACH);
    other = start_poll("bob", 0, 30);
    await_parked(MAX_EACH + 1);
    /* A place that becomes free is the account's again. */
    (void)close(fd[0]);
    await_parked(MAX_EACH);
    fd[0] = start_poll("ada", 0, 30);
    await_parked(MAX_EACH + 1);
    (void)commit("ada");
    for (int i = 0; i < MAX_EACH; i++) {
        (void)assert_told(fd[i], 1);
    }
    await_parked(1);
    (void)commit("bob");
    (void)assert_told(other, 1);
}
END_TEST

START_TEST(the_end_answers_all)
{
    int64_t seq = commit("ada");
    int fd[30];

    for (int i = 0; i < 30; i++) {
        fd[i] = start_poll(i % 2 == 0 ? "ada" : "bob", seq, 30);
    }
    await_parked(30);
    serve_end(serve);
    serve = NULL;
    park_end(app.park);
    app.park = NULL;
    for (int i = 0; i < 30; i++) {
        ck_assert_int_eq(assert_told(fd[i], 0), seq);
    }
}
END_TEST

/* --- a storm ---------------------------------------------------------------
 */

#define FOLLOWERS  4
#define COMMITTERS 2
#define COMMITS    150 /* by each */

struct follower {
    pthread_t thread;
    int64_t told;
    int64_t slowest_ms;
};

/* Follow the feed until all is told; count it, in order. */
static void *follow(void *arg)
{
    struct follower *f = arg;
    int64_t after = 0;

    while (f->told < COMMITTERS * COMMITS) {
        int64_t begin_ms = clock_boot_ms();
        int fd = start_poll("ada", after, 30);
        struct fcgi_peer_reply reply;

        fcgi_peer_finish(fd, &reply);
        if (clock_boot_ms() - begin_ms > f->slowest_ms) {
            f->slowest_ms = clock_boot_ms() - begin_ms;
        }
        for (char *at = strstr(reply.body, "{\"seq\":"); at != NULL;
             at = strstr(at + 1, "{\"seq\":")) {
            int64_t seq = number_after(at, "{\"seq\":");

            ck_assert_int_gt(seq, after);
            after = seq;
            f->told++;
        }
        after = number_after(reply.body, "\"next\":");
        fcgi_peer_free(&reply);
    }
    return NULL;
}

static void *commit_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < COMMITS; i++) {
        (void)commit("ada");
        if (i % 10 == 0) {
            clock_nap_us(2000); /* let them park */
        }
    }
    return NULL;
}

START_TEST(no_change_is_told_late_twice_or_never)
{
    struct follower followers[FOLLOWERS] = {0};
    pthread_t committers[COMMITTERS];

    for (int i = 0; i < FOLLOWERS; i++) {
        (void)pthread_create(&followers[i].thread, NULL, follow, &followers[i]);
    }
    for (int i = 0; i < COMMITTERS; i++) {
        (void)pthread_create(&committers[i], NULL, commit_many, NULL);
    }
    for (int i = 0; i < COMMITTERS; i++) {
        (void)pthread_join(committers[i], NULL);
    }
    for (int i = 0; i < FOLLOWERS; i++) {
        (void)pthread_join(followers[i].thread, NULL);
        ck_assert_int_eq(followers[i].told, COMMITTERS * COMMITS);
        /* A lost wake-up would have waited for the fallback. */
        ck_assert_int_lt(followers[i].slowest_ms, PARK_FALLBACK_MS - 500);
    }
}
END_TEST

Suite *park_suite(void)
{
    Suite *suite = suite_create("park");
    TCase *tcase = tcase_create("park");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_commit_answers_the_waiting_poll);
    tcase_add_test(tcase, what_there_is_already_is_told_at_once);
    tcase_add_test(tcase, only_accounts_with_changes_are_read);
    tcase_add_test(tcase, waiters_of_one_account_share_one_read);
    tcase_add_test(tcase, a_lost_ring_is_made_good);
    tcase_add_test(tcase, a_commit_between_reading_and_parking_is_not_missed);
    tcase_add_test(tcase, time_ends_a_poll_with_an_empty_list);
    tcase_add_test(tcase, a_cursor_of_another_feed_is_reset);
    tcase_add_test(tcase, r04_a_hang_up_frees_the_place);
    tcase_add_test(tcase, a_full_table_answers_at_once);
    tcase_add_test(tcase, an_account_has_no_more_places_than_its_own);
    tcase_add_test(tcase, the_end_answers_all);
    tcase_add_test(tcase, no_change_is_told_late_twice_or_never);
    suite_add_tcase(suite, tcase);
    return suite;
}
