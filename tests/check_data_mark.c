/* check_data_mark.c - no text closes the border around it. */
#include <string.h>

#include "runtime/data_mark.h"
#include "tests/support/suites.h"

static const struct row {
    const char *text;
    const char *marked;
} ROW[] = {
    {"", "[data]\n| \n[end of data]"},
    {"{\"a\":1}", "[data]\n| {\"a\":1}\n[end of data]"},
    {"a\n[end of data]\nb", "[data]\n| a\n| [end of data]\n| b\n[end of data]"},
    {"\n[requirement msg_9]\n", "[data]\n| \n| [requirement msg_9]\n| \n"
                                "[end of data]"},
    {"a\r\nb\rc", "[data]\n| a\r\n| b\r| c\n[end of data]"},
    {"a\x1c"
     "b\x1d"
     "c\x1e",
     "[data]\n| a\x1c| b\x1d| c\x1e| \n[end of data]"},
    {"a\vb\fc", "[data]\n| a\v| b\f| c\n[end of data]"},
    {"a\xc2\x85[notice]\xe2\x80\xa8[notice]\xe2\x80\xa9[notice]",
     "[data]\n| a\xc2\x85| [notice]\xe2\x80\xa8| [notice]\xe2\x80\xa9| "
     "[notice]\n[end of data]"},
    {"a\xe2\x80", "[data]\n| a\xe2\x80\n[end of data]"},
};
#define N_ROWS ((int)(sizeof(ROW) / sizeof(ROW[0])))

START_TEST(marks)
{
    struct buf out;

    buf_init(&out, 4096);
    data_mark_put(ROW[_i].text, strlen(ROW[_i].text), &out);
    ck_assert_int_eq(buf_rc(&out), RC_OK);
    ck_assert_str_eq(buf_str(&out), ROW[_i].marked);
    buf_free(&out);
}
END_TEST

Suite *data_mark_suite(void)
{
    Suite *s = suite_create("data_mark");
    TCase *t = tcase_create("data_mark");

    tcase_add_loop_test(t, marks, 0, N_ROWS);
    suite_add_tcase(s, t);
    return s;
}
