#include <stdio.h>
#include <string.h>

#include "runtime/tool/web_turns.h"
#include "tests/support/suites.h"

#define N 5

static struct web_turns *turns;
static struct web_turn t[N];
static enum web_turn_answer said[N]; /* WEB_TURN__MAX: nothing yet */
static int order[N];
static int n_said;

static void setup(void)
{
    memset(t, 0, sizeof(t));
    n_said = 0;
    for (int i = 0; i < N; i++) {
        said[i] = WEB_TURN__MAX;
    }
    ck_assert_int_eq(web_turns_new(&turns), RC_OK);
}

static void teardown(void)
{
    for (int i = 0; i < N; i++) {
        web_turn_leave(&t[i]);
    }
    web_turns_free(turns);
    turns = NULL;
}

static void on_turn(void *ctx, enum web_turn_answer answer)
{
    int i = (int)((struct web_turn *)ctx - t);

    ck_assert_int_eq(said[i], WEB_TURN__MAX);
    said[i] = answer;
    order[n_said++] = i;
}

static enum web_turn_answer take(int i, const char *host, int64_t now,
                                 int64_t end)
{
    enum web_turn_answer answer = WEB_TURN__MAX;

    ck_assert_int_eq(
        web_turn_take(turns, &t[i], host, now, end, on_turn, &t[i], &answer),
        RC_OK);
    return answer;
}

START_TEST(two_at_once_and_the_rest_in_order)
{
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(take(i, "a.test", 100, 1000 + i),
                         i < 2 ? WEB_TURN_YOURS : WEB_TURN_WAIT);
    }
    ck_assert_int_eq(take(4, "b.test", 100, 1000), WEB_TURN_YOURS);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 1002);
    web_turns_tick(turns, 200);
    ck_assert_int_eq(n_said, 0);

    web_turn_leave(&t[4]); /* of another host: nobody's turn has come */
    web_turns_tick(turns, 200);
    ck_assert_int_eq(n_said, 0);

    web_turn_leave(&t[1]);
    ck_assert_int_le(web_turns_deadline_ms(turns), 200);
    /* Who comes now does not go before those who wait. */
    ck_assert_int_eq(take(4, "a.test", 200, 900), WEB_TURN_WAIT);
    web_turns_tick(turns, 200);
    ck_assert_int_eq(n_said, 1);
    ck_assert_int_eq(said[2], WEB_TURN_YOURS);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 900);

    web_turn_leave(&t[3]); /* one that waited goes away */
    web_turn_leave(&t[0]);
    web_turns_tick(turns, 300);
    ck_assert_int_eq(n_said, 2);
    ck_assert_int_eq(said[4], WEB_TURN_YOURS);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 0);
}
END_TEST

START_TEST(who_waits_too_long_is_told)
{
    ck_assert_int_eq(take(0, "a.test", 100, 100), WEB_TURN_LATE);
    ck_assert_int_eq(take(0, "a.test", 100, 1000), WEB_TURN_YOURS);
    ck_assert_int_eq(take(1, "a.test", 100, 1000), WEB_TURN_YOURS);
    ck_assert_int_eq(take(2, "a.test", 100, 500), WEB_TURN_WAIT);
    ck_assert_int_eq(take(3, "a.test", 100, 400), WEB_TURN_WAIT);
    web_turns_tick(turns, 400);
    ck_assert_int_eq(n_said, 1);
    ck_assert_int_eq(said[3], WEB_TURN_LATE);
    web_turns_tick(turns, 499);
    ck_assert_int_eq(n_said, 1);
    web_turns_tick(turns, 500);
    ck_assert_int_eq(said[2], WEB_TURN_LATE);
    /* Neither is counted any more. */
    web_turn_leave(&t[0]);
    ck_assert_int_eq(take(2, "a.test", 500, 1000), WEB_TURN_YOURS);
}
END_TEST

START_TEST(a_host_that_rests_is_not_asked)
{
    ck_assert_int_eq(take(0, "a.test", 100, 9000), WEB_TURN_YOURS);
    ck_assert_int_eq(take(1, "a.test", 100, 9000), WEB_TURN_YOURS);
    ck_assert_int_eq(take(2, "a.test", 100, 9000), WEB_TURN_WAIT);
    web_turns_rest(turns, "a.test", 200, 3000);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 200);
    web_turns_tick(turns, 200);
    ck_assert_int_eq(said[2], WEB_TURN_RESTS);
    web_turn_leave(&t[0]);
    web_turn_leave(&t[1]);
    ck_assert_int_eq(take(0, "a.test", 3199, 9000), WEB_TURN_RESTS);
    ck_assert_int_eq(web_turns_rest_ms(turns, "a.test", 3199), 1);
    ck_assert_int_eq(take(1, "b.test", 3199, 9000), WEB_TURN_YOURS);
    ck_assert_int_eq(take(0, "a.test", 3200, 9000), WEB_TURN_YOURS);

    web_turns_rest(turns, "c.test", 0, INT64_MAX);
    ck_assert_int_eq(web_turns_rest_ms(turns, "c.test", 0), WEB_TURNS_REST_MS);
}
END_TEST

START_TEST(rests_are_remembered_within_a_bound)
{
    char name[32];
    int kept = 0;

    ck_assert_int_eq(take(0, "used.test", 0, 9000), WEB_TURN_YOURS);
    web_turns_rest(turns, "used.test", 0, 1);
    for (int i = 0; i < 3 * WEB_TURNS_RESTS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "%d.test", i);
        web_turns_rest(turns, name, 0, 1000 + i);
    }
    for (int i = 0; i < 3 * WEB_TURNS_RESTS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "%d.test", i);
        kept += web_turns_rest_ms(turns, name, 0) > 0 ? 1 : 0;
    }
    ck_assert_int_eq(kept, WEB_TURNS_RESTS_MAX);
    ck_assert_int_gt(web_turns_rest_ms(turns, name, 0), 0); /* the longest */
    ck_assert_int_eq(web_turns_rest_ms(turns, "0.test", 0), 0);
}
END_TEST

START_TEST(a_turn_is_put_off)
{
    ck_assert_int_eq(take(0, "a.test", 100, 9000), WEB_TURN_YOURS);
    web_turn_put_off(&t[0], 300);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 300);
    web_turns_tick(turns, 299);
    ck_assert_int_eq(n_said, 0);
    web_turns_tick(turns, 300);
    ck_assert_int_eq(said[0], WEB_TURN_YOURS);
    ck_assert_int_eq(web_turns_deadline_ms(turns), 0);
}
END_TEST

Suite *web_turns_suite(void)
{
    Suite *s = suite_create("web_turns");
    TCase *c = tcase_create("web_turns");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, two_at_once_and_the_rest_in_order);
    tcase_add_test(c, who_waits_too_long_is_told);
    tcase_add_test(c, a_host_that_rests_is_not_asked);
    tcase_add_test(c, rests_are_remembered_within_a_bound);
    tcase_add_test(c, a_turn_is_put_off);
    suite_add_tcase(s, c);
    return s;
}
