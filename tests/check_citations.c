/* check_citations.c - which numbers of a report are citations. */
#include <stdio.h>
#include <string.h>

#include "runtime/citations.h"
#include "sql/store_effect.h"
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
        {"[a] [1a] [] [ 1] [1.5]", ""},
        /* A definition does not make a link of a citation. */
        {"[1]: https://example.org/\n\nsee [1] and [2]", "1 2"},
        {"> [ 3\n]: https://example.org/\n\nsee [3], [x][3]", "3"},
        {"[4-5]: /a\n\n[^6]: /b\n\n[4-5] [^6]", "4 5 6"},
        {"[a]: https://example.org/\n\nsee [a] and [2]: so", "2"},
        {"[a]: https://example.org/\n\nsee [7][a], [8][9], [x][a]", "7 8 9"},
        /* Ranges, other marks between, other brackets. */
        {"[1-3] [5 \xe2\x80\x93 6; 8] [^9]", "1 2 3 5 6 8 9"},
        {"[0-9] [3-1] [4-4] [1-] [-1] [1-2-3] [1-200] [1990-2000] [1.-2]", ""},
        {"\xe3\x80\x90"
         "1\xef\xbc\x8c"
         "2\xe3\x80\x91\xef\xbc\xbb"
         "3\xe3\x80\x81"
         "4\xef\xbc\xbd [5\xef\xbc\x9b"
         "6]",
         "1 2 3 4 5 6"},
        {"\xe3\x80\x90"
         "1] [2\xe3\x80\x91 \xe3\x80\x90\xe6\xb3\xa8\xe3\x80\x91",
         ""},
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

        ck_assert_int_eq(citations_find(rows[i].text, NULL, &found), RC_OK);
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

/* A database from before no passage had such a number. */
START_TEST(a_year_that_is_a_passage_is_cited)
{
    const struct source list[] = {{.n = 1499}, {.n = 1600}, {.n = 1601}};
    struct citations years = {.count = 0};
    struct citations found = {.count = 0};

    ck_assert_int_eq(citations_years(list, 3, &years), RC_OK);
    ck_assert_uint_eq(years.count, 2);
    ck_assert_int_eq(citations_find("[1600, 7] [1600-1601] [1602] [1601, 1602]",
                                    &years, &found),
                     RC_OK);
    ck_assert_uint_eq(found.count, 3);
    ck_assert(citations_has(&found, 7) && citations_has(&found, 1601));
    ck_assert(!citations_has(&found, 1602));
    citations_free(&found);
    citations_free(&years);
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
    ck_assert_int_eq(citations_find("[7] [600]", NULL, &all), RC_OK);
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
    tcase_add_test(t, a_year_that_is_a_passage_is_cited);
    tcase_add_test(t, a_number_is_kept_once);
    suite_add_tcase(s, t);
    return s;
}
