/* check_excerpt.c - a result that is cut keeps its bound, whatever is in it. */
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/tokens.h"
#include "tests/support/suites.h"

#define RESULT_BYTES (1u << 20)
#define LONG         6000
#define MOST         1500

/* The letter so many times. */
static const char *many(char c, size_t n)
{
    static char texts[4][LONG + 1];
    static size_t at;
    char *text = texts[at++ % 4];

    memset(text, c, n);
    text[n] = '\0';
    return text;
}

static void put_passage(struct json_out *j, const char *title,
                        const char *location, const char *text)
{
    json_open_object(j);
    json_ki64(j, "n", 1234);
    json_kstr(j, "id", "p1");
    json_kstr(j, "title", title);
    json_kstr(j, "location", location);
    json_kstr(j, "heading", "Of the sea");
    json_kstr(j, "text", text);
    json_close_object(j);
}

enum shape { PLAIN, LONG_TITLE, LONG_PLACE, LONG_NOTE, ESCAPES, LINKS, SHAPES };

static void put_links(struct json_out *j)
{
    json_key(j, "links");
    json_open_array(j);
    for (int i = 0; i < 40; i++) {
        json_open_object(j);
        json_kstr(j, "text", "on");
        json_kstr(j, "url", "https://example.org/");
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_result(enum shape shape, int n, struct buf *out)
{
    struct json_out j;

    json_begin(&j, out);
    json_open_object(&j);
    json_kstr(&j, "title", shape == LONG_TITLE ? many('t', LONG) : "A page");
    json_kstr(&j, "location", shape == LONG_PLACE ? many('l', LONG) : "a.md");
    json_key(&j, "passages");
    json_open_array(&j);
    for (int i = 0; i < n; i++) {
        put_passage(&j, shape == LONG_TITLE ? many('u', LONG) : "A page",
                    shape == LONG_PLACE ? many('m', LONG) : "a.md",
                    many(shape == ESCAPES ? '"' : 'x', LONG / 2));
    }
    json_close_array(&j);
    if (shape == LINKS) {
        put_links(&j);
    }
    json_kbool(&j, "has_more", true);
    if (shape == LONG_NOTE) {
        json_kstr(&j, "note", many('n', LONG));
    }
    json_close_object(&j);
    ck_assert_int_eq(json_end(&j), RC_OK);
}

/* The excerpt as a tree; NULL: it is none. */
static cJSON *cut(const char *result, int64_t max, size_t from)
{
    const struct excerpt e = {
        .result = result, .max_tokens = max, .number = 12, .from = from};
    struct buf text;
    cJSON *tree = NULL;

    buf_init(&text, RESULT_BYTES);
    ck_assert_int_eq(excerpt_result(&e, &text), RC_OK);
    ck_assert_msg(tokens_estimate(buf_str(&text), text.len) <= max,
                  "%lld tokens: %.300s", (long long)max, buf_str(&text));
    if (json_parse(buf_str(&text), text.len, &tree, NULL) != RC_OK) {
        tree = NULL;
    }
    buf_free(&text);
    return tree;
}

START_TEST(no_bound_is_exceeded)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int n = 1; n <= 3; n++) {
            struct buf result;

            buf_init(&result, RESULT_BYTES);
            put_result((enum shape)shape, n, &result);
            for (int64_t max = 1; max < MOST; max += max < 150 ? 1 : 97) {
                for (size_t from = 0; from < 5; from += 2) {
                    cJSON *tree = cut(buf_str(&result), max, from);

                    ck_assert_msg(tree != NULL, "%d %d: %lld", shape, n,
                                  (long long)max);
                    json_free(tree);
                }
            }
            buf_free(&result);
        }
    }
}
END_TEST

/* However long a title or a place is, something of the text is told, with its
 * number and how to read on. */
START_TEST(what_is_cut_still_tells_something)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        struct buf result;
        const cJSON *first;
        int64_t number = 0;
        cJSON *tree;

        buf_init(&result, RESULT_BYTES);
        put_result((enum shape)shape, 2, &result);
        tree = cut(buf_str(&result), 200, 0);
        first = cJSON_GetArrayItem(json_get(tree, "passages"), 0);
        ck_assert_int_eq(json_i64(first, "n", &number), RC_OK);
        ck_assert_int_eq(number, 1234);
        ck_assert_uint_gt(strlen(json_str(first, "text", "")), 40);
        ck_assert_ptr_nonnull(
            strstr(json_str(tree, "cut", ""), "recall {\"result\":12"));
        json_free(tree);
        buf_free(&result);
    }
}
END_TEST

START_TEST(a_text_keeps_its_bound_too)
{
    for (int64_t max = 1; max < 200; max++) {
        ck_assert_ptr_null(cut(many('x', LONG), max, 0));
        ck_assert_ptr_null(cut(many('x', LONG), max, 17));
    }
}
END_TEST

Suite *excerpt_suite(void)
{
    Suite *s = suite_create("excerpt");
    TCase *t = tcase_create("excerpt");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_bound_is_exceeded);
    tcase_add_test(t, what_is_cut_still_tells_something);
    tcase_add_test(t, a_text_keeps_its_bound_too);
    suite_add_tcase(s, t);
    return s;
}
