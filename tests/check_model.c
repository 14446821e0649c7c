#include <string.h>

#include "runtime/model/model.h"
#include "tests/support/suites.h"

static struct arena *arena;
static struct buf buf;

static void setup(void)
{
    arena = arena_new(1 << 20);
    ck_assert_ptr_nonnull(arena);
    buf_init(&buf, 1 << 20);
}

static void teardown(void)
{
    arena_free(arena);
    buf_free(&buf);
}

START_TEST(a_reply_survives_its_row)
{
    const struct model_call calls[] = {
        {"call_1", "f", "{\"q\":\"a \\\"b\\\"\"}", true},
        {"call_2", "", "{\"cut", false}};
    const struct model_reply r = {
        .text = "Grüße,\n\"quoted\" \\ and \xf0\x9f\x98\x80",
        .reasoning = "",
        .reasoning_field = "reasoning_content",
        .calls = calls,
        .n_calls = 2,
        .finish = "tool_calls",
        .generation_id = "gen-1",
        .usage = {true, 10, 20, 5}};
    struct model_reply back;

    ck_assert_int_eq(model_reply_print(&r, &buf), RC_OK);
    ck_assert_int_eq(model_reply_parse(buf.data, buf.len, arena, &back), RC_OK);
    memset(buf.data, 'x', buf.len); /* nothing points into it */
    ck_assert_str_eq(back.text, r.text);
    ck_assert_str_eq(back.reasoning, "");
    ck_assert_str_eq(back.reasoning_field, r.reasoning_field);
    ck_assert_uint_eq(back.n_calls, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(back.calls[i].id, calls[i].id);
        ck_assert_str_eq(back.calls[i].name, calls[i].name);
        ck_assert_str_eq(back.calls[i].arguments, calls[i].arguments);
        ck_assert_int_eq(back.calls[i].arguments_valid,
                         calls[i].arguments_valid);
    }
    ck_assert_str_eq(back.finish, r.finish);
    ck_assert_str_eq(back.generation_id, r.generation_id);
    ck_assert(back.usage.known);
    ck_assert_int_eq(back.usage.input_tokens, 10);
    ck_assert_int_eq(back.usage.output_tokens, 20);
    ck_assert_int_eq(back.usage.cached_tokens, 5);
}
END_TEST

START_TEST(what_is_unknown_stays_unknown)
{
    const struct model_reply r = {
        .text = "", .finish = "", .generation_id = ""};
    struct model_reply back;

    ck_assert_int_eq(model_reply_print(&r, &buf), RC_OK);
    ck_assert_int_eq(model_reply_parse(buf.data, buf.len, arena, &back), RC_OK);
    ck_assert_ptr_null(back.reasoning);
    ck_assert_ptr_null(back.reasoning_field);
    ck_assert_uint_eq(back.n_calls, 0);
    ck_assert(!back.usage.known);
}
END_TEST

START_TEST(rows_of_another_form_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"text\":\"a\",\"calls\":[]}",
        "{\"text\":1,\"calls\":[],\"finish\":\"\",\"generation_id\":\"\","
        "\"usage\":null}",
        "{\"text\":\"a\",\"calls\":{},\"finish\":\"\",\"generation_id\":\"\","
        "\"usage\":null}",
        "{\"text\":\"a\",\"calls\":[{\"id\":\"a\"}],\"finish\":\"\","
        "\"generation_id\":\"\",\"usage\":null}",
        "{\"text\":\"a\",\"calls\":[],\"finish\":\"\",\"generation_id\":\"\"}",
        "{\"text\":\"a\",\"calls\":[],\"finish\":\"\",\"generation_id\":\"\","
        "\"usage\":{\"input_tokens\":1}}",
        "{\"text\":\"a\",\"calls\":[],\"finish\":\"\",\"generation_id\":\"\","
        "\"usage\":null,\"reasoning\":\"r\"}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct model_reply untouched = {.text = "before"};

        ck_assert_msg(model_reply_parse(bad[i], strlen(bad[i]), arena,
                                        &untouched) == RC_INVALID,
                      "%s", bad[i]);
        ck_assert_str_eq(untouched.text, "before");
    }
}
END_TEST

START_TEST(a_full_arena_is_told)
{
    const struct model_call call = {"a", "f", "{}", true};
    const struct model_reply r = {.text = "some text",
                                  .reasoning = "r",
                                  .reasoning_field = "reasoning",
                                  .calls = &call,
                                  .n_calls = 1,
                                  .finish = "stop",
                                  .generation_id = "g"};
    struct model_reply back;

    ck_assert_int_eq(model_reply_print(&r, &buf), RC_OK);
    for (size_t limit = 0; limit < 8; limit++) {
        struct arena *small = arena_new(limit);

        if (small != NULL) {
            ck_assert_int_eq(model_reply_parse(buf.data, buf.len, small, &back),
                             RC_NOMEM);
            arena_free(small);
        }
    }
}
END_TEST

START_TEST(a_dropped_front_is_noticed)
{
    const struct model_usage small = {true, 4096, 1, 0};
    const struct model_usage fair = {true, 8000, 1, 0};
    const struct model_usage unknown = {false, 0, 0, 0};

    ck_assert(model_input_was_dropped(20000, &small));
    ck_assert(!model_input_was_dropped(20000, &fair));
    ck_assert(!model_input_was_dropped(20000, &unknown));
    ck_assert(
        !model_input_was_dropped(2000, &(struct model_usage){true, 9, 1, 0}));
}
END_TEST

START_TEST(words_have_names)
{
    for (int i = 0; i < MODEL_VERDICT__MAX; i++) {
        ck_assert_str_ne(model_verdict_name((enum model_verdict)i), "");
    }
    for (int i = 0; i < MODEL_ERROR_KIND__MAX; i++) {
        ck_assert_str_ne(model_error_kind_name((enum model_error_kind)i), "");
    }
}
END_TEST

Suite *model_suite(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("model");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_reply_survives_its_row);
    tcase_add_test(t, what_is_unknown_stays_unknown);
    tcase_add_test(t, rows_of_another_form_are_refused);
    tcase_add_test(t, a_full_arena_is_told);
    tcase_add_test(t, a_dropped_front_is_noticed);
    tcase_add_test(t, words_have_names);
    suite_add_tcase(s, t);
    return s;
}
