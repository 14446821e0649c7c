/* check_torn.c - JSON that breaks off, at each of its bytes. */
#include <string.h>

#include "runtime/torn.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "tests/support/suites.h"

static const char REPORT[] = "# A \"sea\", [1]\n{x} \\ \U0001f30a";
static const char WHOLE[] =
    " {\"coverage\":[{\"id\":\"m\",\"sources\":[1, 2]},{\"id\":\"n\"}], "
    "\"report\" : \"# A \\\"sea\\\", [1]\\n{x} \\\\ \\ud83c\\udf0a\",\"n\":12,"
    "\"t\":true}";

static cJSON *close_at(size_t len, struct buf *out)
{
    char torn[sizeof(WHOLE)];
    cJSON *tree = NULL;

    memcpy(torn, WHOLE, len);
    torn[len] = '\0';
    buf_clear(out);
    ck_assert(torn_is(torn) == (len > 1 && len < sizeof(WHOLE) - 1));
    torn_close(torn, out);
    ck_assert_int_eq(buf_rc(out), RC_OK);
    if (json_parse(buf_str(out), out->len, &tree, NULL) != RC_OK) {
        tree = NULL;
    }
    return tree;
}

START_TEST(what_there_is_of_a_text_is_had_wherever_it_breaks_off)
{
    size_t begin = (size_t)(strchr(WHOLE, '#') - WHOLE);
    size_t seen = 0;
    struct buf out;

    buf_init(&out, 4096);
    for (size_t len = 0; len < sizeof(WHOLE); len++) {
        cJSON *tree = close_at(len, &out);
        const char *report = json_str(tree, "report", "");

        ck_assert_msg(len < begin || tree != NULL, "%zu: %s", len,
                      buf_str(&out));
        ck_assert(strncmp(report, REPORT, strlen(report)) == 0);
        ck_assert_uint_ge(strlen(report), seen);
        ck_assert(tree == NULL || len < begin ||
                  cJSON_GetArraySize(json_get(tree, "coverage")) == 2);
        seen = strlen(report);
        json_free(tree);
    }
    ck_assert_uint_eq(seen, strlen(REPORT));
    buf_free(&out);
}
END_TEST

START_TEST(what_is_broken_otherwise_is_not_torn)
{
    struct buf out;
    char deep[200];

    ck_assert(!torn_is("") && !torn_is("x") && !torn_is("[\"a") &&
              !torn_is("{}") && !torn_is("{\"a\":1}}") && !torn_is("\"{"));
    buf_init(&out, 4096);
    memset(deep, '{', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    ck_assert(!torn_is(deep));
    torn_close(deep, &out);
    torn_close("{\"a", &out);
    torn_close("}}", &out);
    ck_assert_int_eq(buf_rc(&out), RC_OK);
    buf_free(&out);
}
END_TEST

Suite *torn_suite(void)
{
    Suite *s = suite_create("torn");
    TCase *t = tcase_create("torn");

    tcase_add_test(t, what_there_is_of_a_text_is_had_wherever_it_breaks_off);
    tcase_add_test(t, what_is_broken_otherwise_is_not_torn);
    suite_add_tcase(s, t);
    return s;
}
