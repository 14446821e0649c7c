/* check_context.c - results that are too large for a prompt are cut where it
 * hurts least, and never silently (R13). */
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
    cJSON *tree = NULL;
    const cJSON *first;

    buf_init(&result, 1u << 20);
    buf_init(&out, 1u << 20);
    put_result(&result, ROWS[_i].n, ROWS[_i].bytes, ROWS[_i].read);
    ck_assert_int_eq(
        excerpt_result(buf_str(&result), ROWS[_i].max_tokens, &out), RC_OK);
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
            strstr(json_str(tree, "cut", ""), "library_read"));
        ck_assert_int_eq(strstr(json_str(tree, "cut", ""), "from") != NULL, 1);
    }
    first = cJSON_GetArrayItem(json_get(tree, "passages"), 0);
    ck_assert_str_ne(json_str(first, "text", ""), "");
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

    buf_init(&text, 1u << 20);
    buf_init(&out, 1u << 20);
    while (text.len < 3000) {
        buf_puts(&text, TEXTS[_i]);
    }
    ck_assert_int_eq(excerpt_result(buf_str(&text), 100, &out), RC_OK);
    ck_assert_int_le(tokens_estimate(buf_str(&out), out.len), 100);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "[cut here"));
    ck_assert_int_eq(strncmp(buf_str(&text), buf_str(&out), 12), 0);
    buf_free(&text);
    buf_free(&out);
}
END_TEST

Suite *context_suite(void)
{
    Suite *s = suite_create("context");
    TCase *t = tcase_create("excerpts");

    tcase_add_loop_test(t, passages_are_cut_from_the_end, 0,
                        (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    tcase_add_loop_test(t, anything_else_is_cut_as_text, 0,
                        (int)(sizeof(TEXTS) / sizeof(TEXTS[0])));
    suite_add_tcase(s, t);
    return s;
}
