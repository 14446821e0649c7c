/* check_buf.c - a buffer with a limit, and failures that stay. */
#include <signal.h>
#include <string.h>

#include "sql/base/buf.h"
#include "tests/support/suites.h"

START_TEST(grows_and_ends_with_nul)
{
    struct buf b;

    buf_init(&b, 100000);
    ck_assert_str_eq(buf_str(&b), "");
    for (int i = 0; i < 5000; i++) {
        buf_putc(&b, (char)('a' + i % 26));
        ck_assert_int_eq(b.data[b.len], '\0');
    }
    buf_printf(&b, "%05d%s", 42, "end");
    buf_add(&b, "", 0);
    ck_assert_uint_eq(b.len, 5008);
    ck_assert_str_eq(buf_str(&b) + 5000, "00042end");
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    buf_free(&b);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_uint_eq(b.limit, 100000);
}
END_TEST

START_TEST(numbers_are_decimal)
{
    struct buf b;

    buf_init(&b, 1000);
    buf_put_i64(&b, 0);
    buf_putc(&b, ' ');
    buf_put_i64(&b, -7);
    buf_putc(&b, ' ');
    buf_put_i64(&b, INT64_MAX);
    buf_putc(&b, ' ');
    buf_put_i64(&b, INT64_MIN);
    ck_assert_str_eq(buf_str(&b),
                     "0 -7 9223372036854775807 -9223372036854775808");
    buf_free(&b);
}
END_TEST

START_TEST(limit_is_exact_and_failure_stays)
{
    struct buf b;

    buf_init(&b, 10);
    buf_puts(&b, "0123456789");
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    buf_putc(&b, 'x');
    ck_assert_int_eq(buf_rc(&b), RC_TOO_LARGE);
    ck_assert_str_eq(buf_str(&b), "0123456789");
    buf_drop_front(&b, 5);
    buf_putc(&b, 'y');
    buf_printf(&b, "%d", 1);
    ck_assert_msg(strcmp(buf_str(&b), "56789") == 0,
                  "appended after a failure: %s", buf_str(&b));
    ck_assert_int_eq(buf_rc(&b), RC_TOO_LARGE);
    buf_clear(&b);
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    ck_assert_str_eq(buf_str(&b), "");
    buf_printf(&b, "%s", "0123456789");
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    buf_printf(&b, "%s", "a");
    ck_assert_int_eq(buf_rc(&b), RC_TOO_LARGE);
    buf_free(&b);
    ck_assert_int_eq(buf_rc(&b), RC_OK);
}
END_TEST

START_TEST(limit_of_nothing)
{
    struct buf b;

    buf_init(&b, 0);
    buf_add(&b, "", 0);
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    buf_putc(&b, 'x');
    ck_assert_int_eq(buf_rc(&b), RC_TOO_LARGE);
    buf_free(&b);
}
END_TEST

START_TEST(bytes_are_bytes)
{
    struct buf b;

    buf_init(&b, 100);
    buf_add(&b, "a\0b\0c", 5);
    buf_drop_front(&b, 0);
    buf_drop_front(&b, 2);
    ck_assert_uint_eq(b.len, 3);
    ck_assert_mem_eq(b.data, "b\0c\0", 4);
    buf_drop_front(&b, 3);
    ck_assert_str_eq(buf_str(&b), "");
    buf_free(&b);
}
END_TEST

START_TEST(dropping_more_than_there_is_asserts)
{
    struct buf b;

    buf_init(&b, 100);
    buf_puts(&b, "abc");
    buf_drop_front(&b, 4);
}
END_TEST

Suite *buf_suite(void)
{
    Suite *s = suite_create("buf");
    TCase *t = tcase_create("buf");

    tcase_add_test(t, grows_and_ends_with_nul);
    tcase_add_test(t, numbers_are_decimal);
    tcase_add_test(t, limit_is_exact_and_failure_stays);
    tcase_add_test(t, limit_of_nothing);
    tcase_add_test(t, bytes_are_bytes);
    if (suite_may_abort()) {
        tcase_add_test_raise_signal(t, dropping_more_than_there_is_asserts,
                                    SIGABRT);
    }
    suite_add_tcase(s, t);
    return s;
}
