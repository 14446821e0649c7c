/* check_doorbell.c - a ring is heard, by all, whatever happens to the file. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sql/base/doorbell.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define SOON_MS 5000 /* an event that never comes fails the test after this */

static struct doorbell *a, *b;

static void set_up(void)
{
    const char *dir = tmp_make();

    ck_assert_int_eq(doorbell_open(dir, &a), RC_OK);
    ck_assert_int_eq(doorbell_open(dir, &b), RC_OK);
}

static void tear_down(void)
{
    doorbell_close(a);
    doorbell_close(b);
    tmp_remove();
}

static bool hears(struct doorbell *d, int within_ms)
{
    struct pollfd p = {.fd = doorbell_fd(d), .events = POLLIN};

    return poll(&p, 1, within_ms) == 1;
}

/* Wait for a ring, and take it. */
static void assert_rung(struct doorbell *d)
{
    ck_assert_msg(hears(d, SOON_MS), "no ring");
    ck_assert_int_ne(doorbell_drain(d), 0);
}

static void assert_quiet(struct doorbell *d)
{
    ck_assert_int_eq(doorbell_drain(d), 0);
    ck_assert(!hears(d, 0));
}

START_TEST(one_ring_wakes_every_watcher)
{
    assert_quiet(a);
    assert_quiet(b);
    doorbell_ring(a);
    assert_rung(a);
    assert_rung(b);
    assert_quiet(a);
    assert_quiet(b);
    doorbell_ring(b);
    assert_rung(a);
    assert_rung(b);
}
END_TEST

START_TEST(many_rings_are_taken_at_once)
{
    for (int i = 0; i < 10000; i++) {
        doorbell_ring(a);
    }
    assert_rung(b);
    assert_quiet(b);
}
END_TEST

START_TEST(the_file_carries_nothing)
{
    struct stat st;

    for (int i = 0; i < 10; i++) {
        doorbell_ring(a);
    }
    ck_assert_int_eq(stat(tmp_path("doorbell"), &st), 0);
    ck_assert_int_eq(st.st_size, 0);
}
END_TEST

static void *ring_once(void *arg)
{
    doorbell_ring(arg);
    return NULL;
}

START_TEST(a_ring_ends_a_poll_that_waits)
{
    pthread_t t;

    ck_assert_int_eq(pthread_create(&t, NULL, ring_once, a), 0);
    assert_rung(b);
    ck_assert_int_eq(pthread_join(t, NULL), 0);
}
END_TEST

START_TEST(another_process_rings)
{
    pid_t child = fork();

    if (child == 0) {
        doorbell_ring(a);
        _exit(0);
    }
    assert_rung(b);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(removed_file)
{
    ck_assert_int_eq(unlink(tmp_path("doorbell")), 0);
    /* The loss is itself a reason to look. */
    assert_rung(a);
    assert_rung(b);
    (void)doorbell_drain(a);
    doorbell_ring(a);
    assert_rung(b);
    assert_rung(a);
}
END_TEST

START_TEST(removed_file_is_made_by_a_ring)
{
    ck_assert_int_eq(unlink(tmp_path("doorbell")), 0);
    doorbell_ring(a);
    ck_assert_int_eq(access(tmp_path("doorbell"), F_OK), 0);
    assert_rung(b);
    (void)doorbell_drain(b);
    doorbell_ring(a);
    assert_rung(b);
}
END_TEST

START_TEST(replaced_file)
{
    for (int i = 0; i < 3; i++) {
        const char *other = tmp_write("other", "");
        ck_assert_int_eq(rename(other, tmp_path("doorbell")), 0);
        assert_rung(a);
        assert_rung(b);
        (void)doorbell_drain(a);
        (void)doorbell_drain(b);
        doorbell_ring(a);
        assert_rung(b);
        assert_rung(a);
        assert_quiet(b);
    }
}
END_TEST

START_TEST(renamed_file)
{
    ck_assert_int_eq(rename(tmp_path("doorbell"), tmp_path("old")), 0);
    assert_rung(b);
    (void)doorbell_drain(b);
    doorbell_ring(a);
    assert_rung(b);
}
END_TEST

START_TEST(deaf_until_it_is_a_file_again)
{
    ck_assert_int_eq(unlink(tmp_path("doorbell")), 0);
    ck_assert_int_eq(symlink("doorbell", tmp_path("doorbell")), 0);
    assert_rung(b);
    ck_assert(doorbell_is_deaf(b));
    (void)doorbell_drain(b);
    ck_assert(doorbell_is_deaf(b));
    ck_assert_int_eq(unlink(tmp_path("doorbell")), 0);
    doorbell_ring(a); /* makes the file, unheard */
    (void)doorbell_drain(b);
    ck_assert(!doorbell_is_deaf(b));
    doorbell_ring(a);
    assert_rung(b);
}
END_TEST

START_TEST(a_newcomer_hears_the_others)
{
    struct doorbell *c;
    const char *other = tmp_write("other", "");

    ck_assert_int_eq(rename(other, tmp_path("doorbell")), 0);
    ck_assert_int_eq(doorbell_open(tmp_path("."), &c), RC_OK);
    /* a has not looked at its watch yet, and is heard all the same. */
    doorbell_ring(a);
    assert_rung(c);
    doorbell_ring(c);
    assert_rung(a);
    doorbell_close(c);
}
END_TEST

START_TEST(no_directory)
{
    struct doorbell *c = NULL;

    ck_assert_int_eq(doorbell_open(tmp_path("missing"), &c), RC_IO);
    ck_assert_ptr_null(c);
    doorbell_close(NULL);
}
END_TEST

Suite *doorbell_suite(void)
{
    Suite *s = suite_create("doorbell");
    TCase *t = tcase_create("doorbell");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 20);
    tcase_add_test(t, one_ring_wakes_every_watcher);
    tcase_add_test(t, many_rings_are_taken_at_once);
    tcase_add_test(t, the_file_carries_nothing);
    tcase_add_test(t, a_ring_ends_a_poll_that_waits);
    tcase_add_test(t, another_process_rings);
    tcase_add_test(t, removed_file);
    tcase_add_test(t, removed_file_is_made_by_a_ring);
    tcase_add_test(t, replaced_file);
    tcase_add_test(t, deaf_until_it_is_a_file_again);
    tcase_add_test(t, renamed_file);
    tcase_add_test(t, a_newcomer_hears_the_others);
    tcase_add_test(t, no_directory);
    suite_add_tcase(s, t);
    return s;
}
