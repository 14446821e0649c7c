/* check_tokens.c - what a text costs is counted high, and clipped whole. */
#include <string.h>

#include "sql/base/tokens.h"
#include "tests/support/suites.h"

START_TEST(tokens_are_estimated_high)
{
    static const struct {
        const char *text;
        int64_t tokens;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {"abc", 1},
        {"abcd", 2},
        {"The quick brown fox jumps over the lazy dog.", 15}, /* really 10 */
        {"\xc3\xa4\xc3\xb6", 2},
        {"\xe4\xbd\xa0\xe5\xa5\xbd", 3}, /* really 1 or 2 */
        {"\xf0\x9f\x98\x80", 3},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_int_eq(tokens_estimate(rows[i].text, strlen(rows[i].text)),
                         rows[i].tokens);
    }
}
END_TEST

START_TEST(a_clip_fits_and_splits_no_code_point)
{
    const char *s = "ab\xc3\xa4\xe4\xbd\xa0\xf0\x9f\x98\x80z";
    static const size_t want[] = {0, 2, 4, 4, 7, 7, 7, 12, 12, 12};

    for (size_t max = 0; max < sizeof(want) / sizeof(want[0]); max++) {
        size_t n = tokens_clip(s, strlen(s), (int64_t)max);

        ck_assert_msg(n == want[max], "at most %zu tokens: %zu bytes", max, n);
        ck_assert_int_le(tokens_estimate(s, n), (int64_t)max);
    }
    ck_assert_uint_eq(tokens_clip(s, strlen(s), -1), 0);
}
END_TEST

Suite *tokens_suite(void)
{
    Suite *s = suite_create("tokens");
    TCase *t = tcase_create("tokens");

    tcase_add_test(t, tokens_are_estimated_high);
    tcase_add_test(t, a_clip_fits_and_splits_no_code_point);
    suite_add_tcase(s, t);
    return s;
}
