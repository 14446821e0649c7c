/* check_context.c - results that are too large for a prompt are cut where it
 * hurts least, and never silently (R13). */
#include <stdlib.h>
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/tokens.h"
#include "tests/support/suites.h"

/* {"passages":[{"n":1,...},...]} of n passages, each with text of so many
 * bytes. */
static void put_result(struct buf *out, int n, size_t bytes, bool read)
{
    struct json_out j;
    struct buf text;

    buf_init(&text, 1u << 20);
    for (size_t i = 0; i < bytes; i += 3) {
        buf_puts(&text, "\xe4\xbd\xa0");
    }
    json_begin(&j, out);
    json_open_object(&j);
    if (read) {
        json_kstr(&j, "location", "a.md");
    }
    json_key(&j, "passages");
    json_open_array(&j);
    for (int i = 1; i <= n; i++) {
        json_open_object(&j);
        json_ki64(&j, "n", i);
        json_kstr(&j, "text", buf_str(&text));
        json_close_object(&j);
    }
    json_close_array(&j);
    json_close_object(&j);
    ck_assert_int_eq(json_end(&j), RC_OK);
    buf_free(&text);
}

static const struct {
    const char *what;
    int n;
    size_t bytes;
    bool read;
    int64_t max_tokens;
    int want; /* passages that stay */
    bool cut;
} ROWS[] = {
    {"fits", 3, 300, false, 1000, 3, false},
    {"the last goes", 3, 300, false, 430, 2, true},
    {"all but one go", 10, 300, false, 220, 1, true},
    {"one, shortened", 10, 3000, false, 220, 1, true},
    {"a page read", 3, 300, true, 430, 2, true},
    {"a page shortened", 1, 3000, true, 220, 1, true},
};

START_TEST(passages_are_cut_from_the_end)
{
    struct buf result;
    struct buf out;
    struct excerpt e;
    cJSON *tree = NULL;
    const cJSON *first;

    buf_init(&result, 1u << 20);
    buf_init(&out, 1u << 20);
    put_result(&result, ROWS[_i].n, ROWS[_i].bytes, ROWS[_i].read);
    e = (struct excerpt){.result = buf_str(&result),
                         .max_tokens = ROWS[_i].max_tokens};
    ck_assert_int_eq(excerpt_result(&e, &out), RC_OK);
    ck_assert_int_le(tokens_estimate(buf_str(&out), out.len),
                     ROWS[_i].max_tokens);
    ck_assert_int_eq(json_parse(buf_str(&out), out.len, &tree, NULL), RC_OK);
    ck_assert_msg(cJSON_GetArraySize(json_get(tree, "passages")) ==
                      ROWS[_i].want,
                  "%s: %d passages", ROWS[_i].what,
                  cJSON_GetArraySize(json_get(tree, "passages")));
    ck_assert_int_eq(json_get(tree, "cut") != NULL, ROWS[_i].cut);
    if (ROWS[_i].cut) {
        ck_assert_ptr_nonnull(
            strstr(json_str(tree, "cut", ""), "left out here"));
    }
    first = cJSON_GetArrayItem(json_get(tree, "passages"), 0);
    ck_assert_str_ne(json_str(first, "text", ""), "");
    json_free(tree);
    buf_free(&result);
    buf_free(&out);
}
END_TEST

/* Twenty addresses as long as there may be, of a page that wants no room left
 * for anything else. */
START_TEST(links_of_a_page_give_way_to_what_it_says)
{
    struct buf result;
    struct buf out;
    struct excerpt e = {.max_tokens = 1000, .number = 7};
    cJSON *tree = NULL;
    const cJSON *first;

    buf_init(&result, 1u << 20);
    buf_init(&out, 1u << 20);
    buf_puts(&result, "{\"location\":\"https://a.example/\",\"passages\":"
                      "[{\"n\":1,\"text\":\"the moon\"}],\"links\":[");
    for (int i = 0; i < 20; i++) {
        buf_printf(&result, "%s{\"text\":\"more\",\"url\":\"https://a/%0*d\"}",
                   i > 0 ? "," : "", i == 0 ? 20 : 2000, i);
    }
    buf_puts(&result, "],\"has_more\":false}");
    e.result = buf_str(&result);
    ck_assert_int_eq(excerpt_result(&e, &out), RC_OK);
    ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 1000);
    ck_assert_int_eq(json_parse(buf_str(&out), out.len, &tree, NULL), RC_OK);
    first = cJSON_GetArrayItem(json_get(tree, "passages"), 0);
    ck_assert_str_eq(json_str(first, "text", ""), "the moon");
    ck_assert_int_eq(cJSON_GetArraySize(json_get(tree, "links")), 1);
    json_free(tree);
    buf_free(&result);
    buf_free(&out);
}
END_TEST

static const char *const TEXTS[] = {
    "no JSON, but long: ",
    "{\"error\":\"something long",
    "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]",
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
};

START_TEST(anything_else_is_cut_as_text)
{
    struct buf text;
    struct buf out;
    struct excerpt e;

    buf_init(&text, 1u << 20);
    buf_init(&out, 1u << 20);
    while (text.len < 3000) {
        buf_puts(&text, TEXTS[_i]);
    }
    e = (struct excerpt){.result = buf_str(&text), .max_tokens = 100};
    ck_assert_int_eq(excerpt_result(&e, &out), RC_OK);
    ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 100);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "[cut here"));
    ck_assert_int_eq(strncmp(buf_str(&text), buf_str(&out), 12), 0);
    buf_free(&text);
    buf_free(&out);
}
END_TEST

/* Page by page, as the cuts say, until nothing is cut: all of it was there. */
START_TEST(recalled_passages_come_page_by_page_each_once)
{
    struct buf result;
    int64_t seen = 0;
    struct excerpt e = {.max_tokens = 800, .number = 7};

    buf_init(&result, 1u << 20);
    put_result(&result, 11, 300, false);
    e.result = buf_str(&result);
    for (int page = 0; page < 11; page++) {
        const cJSON *p;
        cJSON *tree = NULL;
        struct buf out;
        const char *from;

        buf_init(&out, 1u << 20);
        ck_assert_int_eq(excerpt_result(&e, &out), RC_OK);
        ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 800);
        ck_assert_int_eq(json_parse(buf_str(&out), out.len, &tree, NULL),
                         RC_OK);
        cJSON_ArrayForEach(p, json_get(tree, "passages"))
        {
            int64_t n = 0;

            ck_assert_int_eq(json_i64(p, "n", &n), RC_OK);
            ck_assert_int_eq(n, ++seen);
        }
        from =
            strstr(json_str(tree, "cut", ""), "recall {\"result\":7,\"from\":");
        e.from = from != NULL ? strtoul(from + 26, NULL, 10) : 0;
        json_free(tree);
        buf_free(&out);
        if (from == NULL) {
            break;
        }
        ck_assert_int_eq((int64_t)e.from, seen);
    }
    ck_assert_int_eq(seen, 11);
    buf_free(&result);
}
END_TEST

START_TEST(a_passage_too_long_for_a_page_is_recalled_by_its_number)
{
    struct buf result;
    struct buf out;
    cJSON *tree = NULL;
    const cJSON *first;
    int64_t n = 0;
    struct excerpt e = {.max_tokens = 220, .number = 7, .from = 2};

    buf_init(&result, 1u << 20);
    buf_init(&out, 1u << 20);
    put_result(&result, 5, 3000, false);
    e.result = buf_str(&result);
    ck_assert_int_eq(excerpt_result(&e, &out), RC_OK);
    ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 220);
    ck_assert_int_eq(json_parse(buf_str(&out), out.len, &tree, NULL), RC_OK);
    first = cJSON_GetArrayItem(json_get(tree, "passages"), 0);
    ck_assert_int_eq(json_i64(first, "n", &n), RC_OK);
    ck_assert_int_eq(n, 3);
    ck_assert_ptr_nonnull(
        strstr(json_str(tree, "cut", ""), "recall {\"source\":3}"));
    ck_assert_ptr_nonnull(
        strstr(json_str(tree, "cut", ""), "recall {\"result\":7,\"from\":3}"));
    json_free(tree);
    buf_free(&result);
    buf_free(&out);
}
END_TEST

START_TEST(a_text_comes_page_by_page_without_a_gap)
{
    struct buf text;
    struct buf all;
    size_t from = 0;

    buf_init(&text, 1u << 20);
    buf_init(&all, 1u << 20);
    for (int i = 0; i < 700; i++) {
        buf_printf(&text, "%d\xe2\x82\xac ", i);
    }
    for (int page = 0; page < 100; page++) {
        struct buf out;

        buf_init(&out, 1u << 20);
        from = excerpt_text(buf_str(&text), from, 100, &out);
        ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 100);
        buf_add(&all, buf_str(&out), out.len);
        buf_free(&out);
        if (from == 0) {
            break;
        }
    }
    ck_assert_str_eq(buf_str(&all), buf_str(&text));
    /* Beyond the end there is nothing, and no page after it. */
    buf_clear(&all);
    ck_assert_uint_eq(excerpt_text(buf_str(&text), 1u << 30, 100, &all), 0);
    ck_assert_uint_eq(all.len, 0);
    buf_free(&text);
    buf_free(&all);
}
END_TEST

Suite *context_suite(void)
{
    Suite *s = suite_create("context");
    TCase *t = tcase_create("excerpts");

    tcase_add_loop_test(t, passages_are_cut_from_the_end, 0,
                        (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    tcase_add_test(t, links_of_a_page_give_way_to_what_it_says);
    tcase_add_loop_test(t, anything_else_is_cut_as_text, 0,
                        (int)(sizeof(TEXTS) / sizeof(TEXTS[0])));
    tcase_add_test(t, recalled_passages_come_page_by_page_each_once);
    tcase_add_test(t, a_passage_too_long_for_a_page_is_recalled_by_its_number);
    tcase_add_test(t, a_text_comes_page_by_page_without_a_gap);
    suite_add_tcase(s, t);
    return s;
}
