/* check_writer.c - group commit: what is told is on disk, what fails fails
 * whole, and nobody waits beyond the bound. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/writer.h"
#include "sql/base/clock.h"
#include "sql/store_conversation.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"
#include "tests/support/written.h"

#define BUSY_MS 400
#define THREADS 12

static struct store *other; /* another process, as far as SQLite can tell */
static struct writer *writer;
static struct arena *arena;
static atomic_int commits;
static const struct conf CONF = {.short_limit = 3, .background_limit = 1};

static void on_commit(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&commits, 1);
}

static void set_up(void)
{
    const char *dir = tmp_make();
    const struct writer_options options = {
        .dir = dir, .busy_ms = BUSY_MS, .committed = on_commit};

    arena = arena_new(1 << 20);
    atomic_store(&commits, 0);
    ck_assert_int_eq(store_open(dir, 2000, &other), RC_OK);
    ck_assert_int_eq(writer_start(&options, &writer), RC_OK);
}

static void tear_down(void)
{
    writer_end(writer);
    store_close(other);
    arena_free(arena);
    tmp_remove();
}

/* --- calls -----------------------------------------------------------------
 */

struct create {
    pthread_t thread;
    struct arena *arena;
    struct store_call call;
    struct conversation out;
    char key[32];
    bool fail; /* after having written */
    enum rc rc;
    char feed[STORE_FEED_BYTES];
};

static enum rc do_create(struct store *st, void *arg)
{
    struct create *c = arg;
    enum rc rc = store_conversation_create(st, &c->call, "title", &c->out);

    return rc == RC_OK && c->fail ? RC_CONFLICT : rc;
}

static void init_create(struct create *c, int n)
{
    memset(c, 0, sizeof(*c));
    (void)snprintf(c->key, sizeof(c->key), "key-%d", n);
    c->arena = arena_new(65536);
    c->call = (struct store_call){.account = "me",
                                  .key = c->key,
                                  .now_ms = 1,
                                  .conf = &CONF,
                                  .arena = c->arena};
}

static void *create_thread(void *arg)
{
    struct create *c = arg;

    c->rc = written(writer, do_create, c, c->feed);
    return NULL;
}

static void start_creates(struct create *c, int n, int first_key)
{
    for (int i = 0; i < n; i++) {
        init_create(&c[i], first_key + i);
        ck_assert_int_eq(
            pthread_create(&c[i].thread, NULL, create_thread, &c[i]), 0);
    }
}

static void join_creates(struct create *c, int n)
{
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(pthread_join(c[i].thread, NULL), 0);
        arena_free(c[i].arena);
    }
}

/* Conversations of the account, as the other connection sees them. */
static size_t count(void)
{
    struct conversation *list;
    struct store_view view;
    int64_t account;
    size_t n = 0;
    enum rc rc;

    ck_assert_int_eq(store_read_begin(other, &view), RC_OK);
    rc = store_account_find(other, "me", &account);
    if (rc == RC_OK) {
        ck_assert_int_eq(
            store_conversation_list(other, account, 1000, arena, &list, &n),
            RC_OK);
    }
    store_read_end(other);
    return n;
}

/* --- tests -----------------------------------------------------------------
 */

START_TEST(r01_a_result_is_committed)
{
    struct create c;
    struct store_view view;

    init_create(&c, 1);
    ck_assert_int_eq(written(writer, do_create, &c, c.feed), RC_OK);
    ck_assert_uint_eq(count(), 1);
    ck_assert_int_eq(atomic_load(&commits), 1);
    ck_assert_int_gt(c.out.id, 0);
    ck_assert_int_eq(store_read_begin(other, &view), RC_OK);
    store_read_end(other);
    ck_assert_str_eq(c.feed, view.feed);
    ck_assert_int_eq(c.call.as_of, view.as_of);
    arena_free(c.arena);
}
END_TEST

START_TEST(a_failing_call_leaves_nothing_and_harms_nobody)
{
    struct create c[3];

    for (int i = 0; i < 3; i++) {
        init_create(&c[i], i);
    }
    c[1].fail = true;
    /* Held together by the lock, so that they are one batch. */
    ck_assert_int_eq(store_batch_begin(other), RC_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            pthread_create(&c[i].thread, NULL, create_thread, &c[i]), 0);
    }
    clock_nap_us(50000);
    store_batch_abort(other);
    join_creates(c, 3);
    ck_assert_int_eq(c[0].rc, RC_OK);
    ck_assert_int_eq(c[1].rc, RC_CONFLICT);
    ck_assert_int_eq(c[2].rc, RC_OK);
    ck_assert_uint_eq(count(), 2);
}
END_TEST

START_TEST(calls_that_wait_together_are_one_commit)
{
    struct create c[THREADS];

    ck_assert_int_eq(store_batch_begin(other), RC_OK);
    start_creates(c, THREADS, 0);
    clock_nap_us(100000);
    store_batch_abort(other);
    join_creates(c, THREADS);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(c[i].rc, RC_OK);
    }
    ck_assert_uint_eq(count(), THREADS);
    /* One, or a few where a thread was late to the queue. */
    ck_assert_int_lt(atomic_load(&commits), THREADS / 2);
}
END_TEST

START_TEST(r17_a_short_wait_is_waited_out)
{
    struct create c[1];

    ck_assert_int_eq(store_batch_begin(other), RC_OK);
    start_creates(c, 1, 0);
    clock_nap_us(BUSY_MS * 1000 / 2);
    store_batch_abort(other);
    join_creates(c, 1);
    ck_assert_int_eq(c[0].rc, RC_OK);
}
END_TEST

START_TEST(r17_a_long_wait_is_busy_and_stores_nothing)
{
    struct create c[3];
    int64_t begin_ms = clock_boot_ms();
    int64_t took_ms;

    ck_assert_int_eq(store_batch_begin(other), RC_OK);
    start_creates(c, 3, 0);
    join_creates(c, 3);
    took_ms = clock_boot_ms() - begin_ms;
    store_batch_abort(other);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(c[i].rc, RC_BUSY);
    }
    ck_assert_int_ge(took_ms, BUSY_MS);
    ck_assert_int_lt(took_ms, 4 * BUSY_MS);
    ck_assert_uint_eq(count(), 0);
    ck_assert_int_eq(atomic_load(&commits), 0);
}
END_TEST

#ifdef ASIDE_FAULTS
START_TEST(r01_a_failing_commit_fails_every_member)
{
    struct create c[4];
    size_t before;
    int failed = 0;

    if (!suite_may_abort()) {
        return; /* the commits of other tests would be counted */
    }
    ck_assert_int_eq(setenv("ASIDE_FAULT_COMMIT", "fail:6", 1), 0);
    for (int round = 0; round < 10 && failed == 0; round++) {
        before = count();
        ck_assert_int_eq(store_batch_begin(other), RC_OK);
        start_creates(c, 4, 4 * round);
        clock_nap_us(50000);
        store_batch_abort(other);
        join_creates(c, 4);
        for (int i = 0; i < 4; i++) {
            failed += c[i].rc == RC_DB;
            ck_assert(c[i].rc == RC_DB || c[i].rc == RC_OK);
        }
        ck_assert_uint_eq(count(), before + 4 - (size_t)failed);
    }
    ck_assert_int_gt(failed, 1);
    /* The keys are not bound, and the writer lives on. */
    init_create(&c[0], 1000);
    ck_assert_int_eq(written(writer, do_create, &c[0], NULL), RC_OK);
    arena_free(c[0].arena);
}
END_TEST
#endif

START_TEST(r02_one_key_from_many_threads_is_one_thing)
{
    struct create c[THREADS];
    int replayed = 0;

    for (int i = 0; i < THREADS; i++) {
        init_create(&c[i], 7);
        ck_assert_int_eq(
            pthread_create(&c[i].thread, NULL, create_thread, &c[i]), 0);
    }
    join_creates(c, THREADS);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(c[i].rc, RC_OK);
        ck_assert_int_eq(c[i].out.id, c[0].out.id);
        replayed += c[i].call.replayed;
    }
    ck_assert_int_eq(replayed, THREADS - 1);
    ck_assert_uint_eq(count(), 1);
}
END_TEST

/* --- handing over ----------------------------------------------------------
 */

struct handed {
    struct writer_job job; /* first */
    struct create create;
};

static atomic_int n_settled;
static atomic_int n_good;

static void on_settled(struct writer_job *job)
{
    struct handed *h = (struct handed *)job;

    (void)atomic_fetch_add(&n_good, job->rc == RC_OK && h->create.out.id > 0);
    (void)atomic_fetch_add(&n_settled, 1);
}

static struct handed *make_handed(int n)
{
    struct handed *h = calloc((size_t)n, sizeof(*h));

    ck_assert_ptr_nonnull(h);
    for (int i = 0; i < n; i++) {
        init_create(&h[i].create, i);
        h[i].job.fn = do_create;
        h[i].job.arg = &h[i].create;
        h[i].job.settled = on_settled;
    }
    atomic_store(&n_settled, 0);
    atomic_store(&n_good, 0);
    return h;
}

static void free_handed(struct handed *h, int n)
{
    for (int i = 0; i < n; i++) {
        arena_free(h[i].create.arena);
    }
    free(h);
}

START_TEST(the_end_settles_what_was_handed_over)
{
    const int n = WRITER_MAX_BATCH + 10;
    struct handed *h = make_handed(n);

    for (int i = 0; i < n; i++) {
        writer_hand_over(writer, &h[i].job);
    }
    writer_end(writer);
    writer = NULL;
    ck_assert_int_eq(atomic_load(&n_settled), n);
    ck_assert_int_eq(atomic_load(&n_good), n);
    ck_assert_uint_eq(count(), (size_t)n);
    free_handed(h, n);
}
END_TEST

static void *hand_over_thread(void *arg)
{
    writer_hand_over(writer, arg);
    return NULL;
}

START_TEST(one_too_many_waits_for_room)
{
    const int n = WRITER_MAX_PENDING + 1;
    struct handed *h = make_handed(n);
    pthread_t thread;

    ck_assert_int_eq(store_batch_begin(other), RC_OK);
    for (int i = 0; i < n - 1; i++) {
        writer_hand_over(writer, &h[i].job);
    }
    ck_assert_int_eq(
        pthread_create(&thread, NULL, hand_over_thread, &h[n - 1].job), 0);
    ck_assert_int_eq(atomic_load(&n_settled), 0);
    store_batch_abort(other);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    /* It got in only after others were settled. */
    ck_assert_int_ge(atomic_load(&n_settled), 1);
    writer_end(writer);
    writer = NULL;
    ck_assert_int_eq(atomic_load(&n_settled), n);
    ck_assert_int_eq(atomic_load(&n_good), n);
    free_handed(h, n);
}
END_TEST

Suite *writer_suite(void)
{
    Suite *suite = suite_create("writer");
    TCase *tcase = tcase_create("writer");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, r01_a_result_is_committed);
    tcase_add_test(tcase, a_failing_call_leaves_nothing_and_harms_nobody);
    tcase_add_test(tcase, calls_that_wait_together_are_one_commit);
    tcase_add_test(tcase, r17_a_short_wait_is_waited_out);
    tcase_add_test(tcase, r17_a_long_wait_is_busy_and_stores_nothing);
#ifdef ASIDE_FAULTS
    tcase_add_test(tcase, r01_a_failing_commit_fails_every_member);
#endif
    tcase_add_test(tcase, r02_one_key_from_many_threads_is_one_thing);
    tcase_add_test(tcase, the_end_settles_what_was_handed_over);
    tcase_add_test(tcase, one_too_many_waits_for_room);
    suite_add_tcase(suite, tcase);
    return suite;
}
