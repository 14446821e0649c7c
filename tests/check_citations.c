/* check_citations.c - which numbers of a report are citations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/citations.h"
#include "sql/base/json.h"
#include "sql/store_effect.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static void check_row(const char *text, const char *cites)
{
    struct citations found = {.count = 0};
    char seen[256] = "[";

    ck_assert_int_eq(citations_find(text, NULL, &found), RC_OK);
    for (size_t i = 0; i < found.count; i++) {
        size_t len = strlen(seen);

        (void)snprintf(seen + len, sizeof(seen) - len, "%s%lld",
                       i == 0 ? "" : ",", (long long)found.n[i]);
    }
    (void)strncat(seen, "]", sizeof(seen) - strlen(seen) - 1);
    ck_assert_msg(strcmp(seen, cites) == 0, "%s: %s", text, seen);
    citations_free(&found);
}

/* tests/page/markdown.test.mjs reads the same rows: there is one rule. */
START_TEST(numbers_in_prose_are_citations)
{
    char *all = tmp_read("tests/support/citations.json");
    cJSON *tree = NULL;
    const cJSON *row;

    ck_assert_int_eq(json_parse(all, strlen(all), &tree, NULL), RC_OK);
    ck_assert_int_gt(cJSON_GetArraySize(tree), 20);
    cJSON_ArrayForEach(row, tree)
    {
        char *cites = cJSON_PrintUnformatted(json_get(row, "cites"));

        ck_assert_ptr_nonnull(cites);
        check_row(json_str(row, "text", NULL), cites);
        cJSON_free(cites);
    }
    json_free(tree);
    free(all);
}
END_TEST

/* What the page shows by its ends alone, or reads otherwise, and the check has
 * to be strict about. */
START_TEST(ranges_and_lists_are_cited_whole)
{
    check_row("[1-3] [5 \xe2\x80\x93 6; 8]", "[1,2,3,5,6,8]");
    check_row("[6,7,8,9,10,11,12,13,14,15,16,17,18,19]",
              "[6,7,8,9,10,11,12,13,14,15,16,17,18,19]");
    check_row("| a | b |\n|---|---|\n| x [3] | y |\n", "[3]");
    check_row("[[6]] [x [7]]", "[6,7]");
    check_row("A reference &#91;5] is told apart no more.", "[5]");
    check_row("[1", "[]");
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
    tcase_add_test(t, ranges_and_lists_are_cited_whole);
    tcase_add_test(t, a_year_that_is_a_passage_is_cited);
    tcase_add_test(t, a_number_is_kept_once);
    suite_add_tcase(s, t);
    return s;
}
