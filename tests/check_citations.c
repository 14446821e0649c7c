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
        {"[1234] [a] [1a] [] [ 1] [1.5] [1-3]", ""},
        {"[[6]] [x [7]]", "6 7"},
        {"[999] [0]", "0 999"},
        /* What was escaped is told apart no more. */
        {"\\[1\\] and &#91;2]", "1 2"},
        {"[1", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t n[CITATIONS_MAX];
        size_t count = 0;
        char seen[256] = "";

        ck_assert_int_eq(
            citations_find(rows[i].text, strlen(rows[i].text), n, &count),
            RC_OK);
        for (size_t k = 0; k < count; k++) {
            size_t len = strlen(seen);

            (void)snprintf(seen + len, sizeof(seen) - len, "%s%lld",
                           k == 0 ? "" : " ", (long long)n[k]);
        }
        ck_assert_msg(strcmp(seen, rows[i].cited) == 0, "row %zu: %s", i, seen);
    }
}
END_TEST

Suite *citations_suite(void)
{
    Suite *s = suite_create("citations");
    TCase *t = tcase_create("citations");

    tcase_add_test(t, numbers_in_prose_are_citations);
    suite_add_tcase(s, t);
    return s;
}
