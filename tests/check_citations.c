/* check_citations.c - which numbers of a report are citations. */
#include <stdio.h>
#include <string.h>

#include "runtime/citations.h"
#include "tests/support/suites.h"

START_TEST(numbers_in_prose_are_citations)
{
    static const struct {
        const char *text;
        const char *cited;
    } rows[] = {
        {"", ""},
        {"The moon [1] pulls [12].", "1 12"},
        {"Twice [2][1], together [3, 4 ,5], once more [2].", "1 2 3 4 5"},
        {"# Heading [7]\n\n- item [8]\n\n> quote [9]\n", "7 8 9"},
        {"**bold [1]** and *[2]*", "1 2"},
        {"| a | b |\n|---|---|\n| x [3] | y |\n", "3"},
        {"over the line [4,\n5]", ""},
        {"`[1]` and\n\n```\n[2]\n```\n\n    [3]\n", ""},
        {"[1](https://example.org/) and ![2](a.png)", ""},
        {"[1]: https://example.org/\n\nsee [1] and [2]", "2"},
        {"[a] [1a] [] [ 1] [1.5] [1-3]", ""},
        {"[[6]] [x [7]]", "6 7"},
        {"[999] [0]", "0 999"},
        {"[1000] [1499, 2101] [999999] [01]", "1 1000 1499 2101 999999"},
        {"[1234567] [20240101]", ""},
        /* Years. */
        {"[2024] [1500] [2100] [02024], [3, 1999] and [4]", "4"},
        {"\\[1\\] [2] \\\\[3] [a\\](b) \\[4]", "2 3"},
        {"A reference &#91;5] is told apart no more.", "5"},
        {"[6,7,8,9,10,11,12,13,14,15,16,17,18,19]",
         "6 7 8 9 10 11 12 13 14 15 16 17 18 19"},
        {"[1", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct citations found = {.count = 0};
        char seen[256] = "";

        ck_assert_int_eq(
            citations_find(rows[i].text, strlen(rows[i].text), &found), RC_OK);
        for (size_t k = 0; k < found.count; k++) {
            size_t len = strlen(seen);

            (void)snprintf(seen + len, sizeof(seen) - len, "%s%lld",
                           k == 0 ? "" : " ", (long long)found.n[k]);
        }
        ck_assert_msg(strcmp(seen, rows[i].cited) == 0, "row %zu: %s", i, seen);
        citations_free(&found);
    }
}
END_TEST

START_TEST(a_number_is_kept_once)
{
    struct citations all = {.count = 0};

    for (int64_t i = 0; i < 1000; i++) {
        ck_assert_int_eq(citations_add(&all, 500 - i % 500), RC_OK);
    }
    citations_sort(&all);
    ck_assert_uint_eq(all.count, 500);
    ck_assert_int_eq(citations_find("[7] [600]", strlen("[7] [600]"), &all),
                     RC_OK);
    ck_assert_uint_eq(all.count, 501);
    ck_assert(citations_has(&all, 1) && citations_has(&all, 500));
    ck_assert(citations_has(&all, 600) && !citations_has(&all, 501));
    citations_free(&all);
    ck_assert(!citations_has(&all, 1));
}
END_TEST

Suite *citations_suite(void)
{
    Suite *s = suite_create("citations");
    TCase *t = tcase_create("citations");

    tcase_add_test(t, numbers_in_prose_are_citations);
    tcase_add_test(t, a_number_is_kept_once);
    suite_add_tcase(s, t);
    return s;
}
