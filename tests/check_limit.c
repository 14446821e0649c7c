/* check_limit.c - how often who may do something; the clock is the test's. */
#include <stdio.h>

#include "fcgi/limit.h"
#include "tests/support/suites.h"

#define SECOND_US INT64_C(1000000)
#define START_US  (5 * SECOND_US) /* since boot: less than a bucket takes */

static struct limit *limit;

static void make(int64_t account, int64_t address, int64_t login)
{
    const int64_t per_minute[LIMIT__MAX] = {[LIMIT_ACCOUNT] = account,
                                            [LIMIT_ADDRESS] = address,
                                            [LIMIT_LOGIN] = login};

    limit_free(limit);
    limit = NULL;
    ck_assert_int_eq(limit_new(per_minute, 17, &limit), RC_OK);
}

static void tear_down(void)
{
    limit_free(limit);
    limit = NULL;
}

/* How many of tries pass. */
static int passed(int tries, const char *account, const char *address,
                  int64_t now_us)
{
    int n = 0;

    for (int i = 0; i < tries; i++) {
        n += limit_write(limit, account, address, now_us) == 0;
    }
    return n;
}

START_TEST(a_minute_at_once_then_evenly)
{
    make(60, 0, 0);
    ck_assert_int_eq(passed(100, "ann", "192.0.2.1", START_US), 60);
    ck_assert_int_eq(limit_write(limit, "ann", "192.0.2.1", START_US), 1000);
    ck_assert_int_eq(passed(9, "ann", "192.0.2.1", START_US + SECOND_US - 1),
                     0);
    ck_assert_int_eq(passed(9, "ann", "192.0.2.1", START_US + SECOND_US), 1);
    ck_assert_int_eq(passed(9, "ann", "192.0.2.1", START_US + 4 * SECOND_US),
                     3);
    ck_assert_int_eq(passed(99, "ann", "192.0.2.1", START_US + 999 * SECOND_US),
                     60);
    ck_assert_int_eq(passed(9, "ben", "192.0.2.1", START_US), 9);
}
END_TEST

START_TEST(what_one_refuses_costs_the_other_nothing)
{
    make(3, 5, 0);
    ck_assert_int_eq(passed(50, "ann", "192.0.2.1", START_US), 3);
    ck_assert_int_eq(passed(50, "ben", "192.0.2.1", START_US), 2);
    ck_assert_int_eq(passed(50, "ben", "192.0.2.2", START_US), 1);
}
END_TEST

START_TEST(an_address_counts_by_what_one_person_has)
{
    make(0, 2, 0);
    ck_assert_int_eq(passed(2, "a", "2001:db8:1:2::1", START_US), 2);
    ck_assert_int_eq(passed(2, "b", "2001:db8:1:2:ffff::9", START_US), 0);
    ck_assert_int_eq(passed(2, "c", "2001:db8:1:3::1", START_US), 2);
    ck_assert_int_eq(passed(2, "d", "198.51.100.7", START_US), 2);
    ck_assert_int_eq(passed(2, "e", "::ffff:198.51.100.7", START_US), 0);
    ck_assert_int_eq(passed(2, "f", NULL, START_US), 2);
    ck_assert_int_eq(passed(2, "g", NULL, START_US), 0);
    ck_assert_int_eq(passed(2, "h", "unix:", START_US), 2);
    ck_assert_int_eq(passed(2, "i", "unix:", START_US), 0);
}
END_TEST

START_TEST(this_machine_is_no_address)
{
    make(0, 1, 1);
    ck_assert_int_eq(passed(50, "a", "127.0.0.1", START_US), 50);
    ck_assert_int_eq(passed(50, "a", "::1", START_US), 50);
    ck_assert_int_eq(passed(50, "a", "::ffff:127.0.0.2", START_US), 50);
    ck_assert_int_eq(limit_login(limit, "127.0.0.1", START_US), 0);
    ck_assert_int_eq(limit_login(limit, "127.0.0.1", START_US), 60000);
}
END_TEST

START_TEST(none_is_no_limit)
{
    make(0, 0, 0);
    ck_assert_int_eq(passed(5000, "a", "192.0.2.1", START_US), 5000);
    ck_assert_int_eq(limit_login(limit, "192.0.2.1", START_US), 0);
    ck_assert_int_eq(limit_write(NULL, "a", "192.0.2.1", START_US), 0);
    ck_assert_int_eq(limit_login(NULL, "192.0.2.1", START_US), 0);
}
END_TEST

START_TEST(logins_and_writes_are_counted_apart)
{
    make(0, 2, 2);
    ck_assert_int_eq(limit_login(limit, "192.0.2.1", START_US), 0);
    ck_assert_int_eq(limit_login(limit, "192.0.2.1", START_US), 0);
    ck_assert_int_eq(limit_login(limit, "192.0.2.1", START_US), 30000);
    ck_assert_int_eq(passed(9, "a", "192.0.2.1", START_US), 2);
}
END_TEST

/* More names than there is room for, by far: who used up his minute still has,
 * since each of them misses less than he does. */
START_TEST(many_names_do_not_press_out_an_empty_bucket)
{
    char name[32];

    make(100, 0, 0);
    ck_assert_int_eq(passed(200, "flood", "192.0.2.1", START_US), 100);
    for (int i = 0; i < 20 * LIMIT_ENTRIES; i++) {
        (void)snprintf(name, sizeof(name), "user %d", i);
        ck_assert_int_eq(limit_write(limit, name, "192.0.2.1", START_US), 0);
    }
    ck_assert_int_eq(passed(200, "flood", "192.0.2.1", START_US), 0);
}
END_TEST

Suite *limit_suite(void)
{
    Suite *suite = suite_create("limit");
    TCase *tcase = tcase_create("limit");

    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, a_minute_at_once_then_evenly);
    tcase_add_test(tcase, what_one_refuses_costs_the_other_nothing);
    tcase_add_test(tcase, an_address_counts_by_what_one_person_has);
    tcase_add_test(tcase, this_machine_is_no_address);
    tcase_add_test(tcase, none_is_no_limit);
    tcase_add_test(tcase, logins_and_writes_are_counted_apart);
    tcase_add_test(tcase, many_names_do_not_press_out_an_empty_bucket);
    suite_add_tcase(suite, tcase);
    return suite;
}
