/* check_target.c - request targets, good and broken. */
#include "fcgi/target.h"
#include "sql/base/buf.h"
#include "tests/support/suites.h"

static struct arena *arena;

static void set_up(void)
{
    arena = arena_new(65536);
    ck_assert_ptr_nonnull(arena);
}

static void tear_down(void)
{
    arena_free(arena);
}

static const struct path_row {
    const char *target;
    const char *prefix;
    enum rc rc;
    const char *path;
} PATH[] = {
    {"/api/v1/health", "", RC_OK, "/api/v1/health"},
    {"/api/v1/health?x=1#y", "", RC_OK, "/api/v1/health"},
    {"/api/%76%31/health", "", RC_OK, "/api/v1/health"},
    {"/a%C3%A9", "", RC_OK, "/a\xc3\xa9"},
    {"/a+b", "", RC_OK, "/a+b"},
    {"/aside/api", "/aside", RC_OK, "/api"},
    {"/asides/api", "/aside", RC_NOT_FOUND, NULL},
    {"/aside", "/aside", RC_NOT_FOUND, NULL},
    {"/other/api", "/aside", RC_NOT_FOUND, NULL},
    {"", "", RC_NOT_FOUND, NULL},
    {"api", "", RC_NOT_FOUND, NULL},
    {"/a%00b", "", RC_INVALID, NULL},
    {"/a%", "", RC_INVALID, NULL},
    {"/a%4", "", RC_INVALID, NULL},
    {"/a%4g", "", RC_INVALID, NULL},
    {"/a%ff", "", RC_INVALID, NULL},
    {"/a%C3", "", RC_INVALID, NULL},
};

START_TEST(a_path_is_decoded_below_the_prefix)
{
    const struct path_row *row = &PATH[_i];
    const char *path = NULL;
    enum rc rc = target_path(arena, row->target, row->prefix, &path);

    ck_assert_msg(rc == row->rc, "%s: %s", row->target, rc_name(rc));
    if (rc == RC_OK) {
        ck_assert_str_eq(path, row->path);
    }
}
END_TEST

START_TEST(a_query_is_split_and_decoded)
{
    const struct target_pair *pairs;
    size_t n;

    ck_assert_int_eq(
        target_query(arena, "a=1&&b=x%26y+z&c&=d&a=2&e==", &pairs, &n), RC_OK);
    ck_assert_uint_eq(n, 6);
    ck_assert_str_eq(pairs[0].name, "a");
    ck_assert_str_eq(pairs[0].value, "1");
    ck_assert_str_eq(pairs[1].value, "x&y z");
    ck_assert_str_eq(pairs[2].name, "c");
    ck_assert_str_eq(pairs[2].value, "");
    ck_assert_str_eq(pairs[3].name, "");
    ck_assert_str_eq(pairs[3].value, "d");
    ck_assert_str_eq(pairs[4].value, "2");
    ck_assert_str_eq(pairs[5].value, "=");
}
END_TEST

START_TEST(a_broken_query_is_refused)
{
    static const char *const BROKEN[] = {"a=%", "%zz=1", "a=%00", "a=%80"};
    const struct target_pair *pairs;
    struct buf many;
    size_t n;

    for (size_t i = 0; i < sizeof(BROKEN) / sizeof(BROKEN[0]); i++) {
        ck_assert_int_eq(target_query(arena, BROKEN[i], &pairs, &n),
                         RC_INVALID);
    }
    buf_init(&many, 4096);
    for (int i = 0; i < TARGET_MAX_QUERY; i++) {
        buf_puts(&many, "a=1&");
    }
    ck_assert_int_eq(target_query(arena, buf_str(&many), &pairs, &n), RC_OK);
    ck_assert_uint_eq(n, TARGET_MAX_QUERY);
    buf_puts(&many, "a=1");
    ck_assert_int_eq(target_query(arena, buf_str(&many), &pairs, &n),
                     RC_INVALID);
    buf_free(&many);
}
END_TEST

Suite *target_suite(void)
{
    Suite *suite = suite_create("target");
    TCase *tcase = tcase_create("target");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_path_is_decoded_below_the_prefix, 0,
                        (int)(sizeof(PATH) / sizeof(PATH[0])));
    tcase_add_test(tcase, a_query_is_split_and_decoded);
    tcase_add_test(tcase, a_broken_query_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
