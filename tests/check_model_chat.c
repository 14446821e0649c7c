/* check_model_chat.c - what providers are sent, and the profiles of those that
 * want it otherwise. */
#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_chat.h"
#include "sql/base/json.h"
#include "tests/support/suites.h"

/* --- building ---------------------------------------------------------- */

static const struct model_chat_profile *reference(void)
{
    return model_chat_profile_for("http://127.0.0.1:8080/v1", "some");
}

static cJSON *parse(const struct buf *b)
{
    enum json_flaw flaw = JSON_FLAW_NONE;
    cJSON *tree = NULL;
    enum rc rc = json_parse(buf_str(b), b->len, &tree, &flaw);

    ck_assert_int_eq(buf_rc(b), RC_OK);
    ck_assert_msg(rc == RC_OK, "%s: %s", json_flaw_text(flaw), buf_str(b));
    return tree;
}

START_TEST(a_body_as_it_stands)
{
    static const char tools[] = "[{\"type\":\"function\",\"function\":{"
                                "\"name\":\"f\",\"parameters\":{}}}]";
    struct model_call calls[] = {{"a", "f", "{\"q\": 1}", true},
                                 {"b", "g", "", false}};
    struct model_reply r = {.text = "",
                            .calls = calls,
                            .n_calls = 2,
                            .finish = "",
                            .generation_id = ""};
    struct model_chat_head_options o = {.model = "m",
                                        .system = "Be \"brief\".\n",
                                        .max_output_tokens = 99,
                                        .tools_json = tools,
                                        .tool_choice = "auto"};
    struct buf b;

    buf_init(&b, 1 << 16);
    model_chat_head(&b, reference(), &o);
    model_chat_message(&b, MODEL_CHAT_USER, "Hi");
    model_chat_assistant(&b, reference(), &r);
    model_chat_tool_result(&b, reference(), "a", "found");
    model_chat_tool_result(&b, reference(), "b", "");
    model_chat_bridge(&b, reference());
    model_chat_message(&b, MODEL_CHAT_USER, "And?");
    buf_puts(&b, MODEL_CHAT_TAIL);
    ck_assert_str_eq(
        buf_str(&b),
        "{\"model\":\"m\",\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true},\"max_tokens\":99,"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"parameters\":{}}}],\"tool_choice\":\"auto\",\"messages\":["
        "{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\\n\"},"
        "{\"role\":\"user\",\"content\":\"Hi\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"arguments\":\"{\\\"q\\\": 1}\"}},"
        "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\","
        "\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"found\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"\"},"
        "{\"role\":\"user\",\"content\":\"And?\"}]}");
    json_free(parse(&b));
    buf_free(&b);
}
END_TEST

START_TEST(a_whole_reply_is_asked_for_without_stream_options)
{
    struct model_chat_head_options o = {
        .model = "m", .system = "s", .whole = true};
    struct buf b;

    buf_init(&b, 1 << 16);
    model_chat_head(&b, reference(), &o);
    buf_puts(&b, MODEL_CHAT_TAIL);
    ck_assert_str_eq(buf_str(&b),
                     "{\"model\":\"m\",\"stream\":false,\"messages\":["
                     "{\"role\":\"system\",\"content\":\"s\"}]}");
    buf_free(&b);
}
END_TEST

START_TEST(any_bytes_make_a_valid_body)
{
    struct model_call call = {"\xff", "bad name.\xf0", "{\"a\":\"\xc3", false};
    struct model_reply r = {.text = "\xe2\x82",
                            .reasoning = "\xed\xa0\x80",
                            .reasoning_field = "reasoning",
                            .calls = &call,
                            .n_calls = 1};
    struct model_chat_head_options o = {.model = "\x80", .system = "\xc0"};
    const cJSON *message, *function;
    struct buf b;
    cJSON *tree;

    buf_init(&b, 1 << 16);
    model_chat_head(&b, reference(), &o);
    model_chat_message(&b, MODEL_CHAT_USER, "\x01\xfe");
    model_chat_assistant(&b, reference(), &r);
    model_chat_tool_result(&b, reference(), "\xff", "\xff");
    buf_puts(&b, MODEL_CHAT_TAIL);
    tree = parse(&b);
    message = cJSON_GetArrayItem(json_get(tree, "messages"), 2);
    function = json_get(cJSON_GetArrayItem(json_get(message, "tool_calls"), 0),
                        "function");
    ck_assert_str_eq(json_str(function, "name", ""), "bad_name__");
    json_free(tree);
    buf_free(&b);
}
END_TEST

/* What an endpoint would read back from a call with these arguments. */
static void check_safe(const char *arguments)
{
    struct model_call call = {"a", "", arguments, false};
    struct model_reply r = {.text = "t", .calls = &call, .n_calls = 1};
    const cJSON *function;
    cJSON *tree, *inner = NULL;
    const char *sent;
    struct buf b;

    buf_init(&b, 1 << 16);
    model_chat_assistant(&b, reference(), &r);
    ck_assert_int_eq(b.data[0], ',');
    buf_drop_front(&b, 1);
    tree = parse(&b);
    function = json_get(cJSON_GetArrayItem(json_get(tree, "tool_calls"), 0),
                        "function");
    ck_assert_str_eq(json_str(function, "name", ""), "unnamed");
    sent = json_str(function, "arguments", "");
    ck_assert_int_eq(json_parse(sent, strlen(sent), &inner, NULL), RC_OK);
    ck_assert(cJSON_IsObject(inner));
    ck_assert_str_eq(json_str(inner, "unparsable_arguments", ""), arguments);
    json_free(inner);
    json_free(tree);
    buf_free(&b);
}

START_TEST(broken_arguments_go_back_as_valid_json)
{
    check_safe("");
    check_safe("{\"q\":\"cut of");
    check_safe("[1,2]");
    check_safe("null");
    check_safe("not \"JSON\" at all\n");
}
END_TEST

START_TEST(a_full_buffer_is_told_once)
{
    struct model_call call = {"a", "f", "broken", false};
    struct model_reply r = {.text = "t", .calls = &call, .n_calls = 1};
    struct model_chat_head_options o = {.model = "m", .system = "s"};

    for (size_t limit = 0; limit < 300; limit++) {
        struct buf b;

        buf_init(&b, limit);
        model_chat_head(&b, reference(), &o);
        model_chat_assistant(&b, reference(), &r);
        model_chat_tool_result(&b, reference(), "a", "x");
        buf_puts(&b, MODEL_CHAT_TAIL);
        ck_assert_int_eq(buf_rc(&b), RC_TOO_LARGE);
        buf_free(&b);
    }
}
END_TEST

/* --- profiles ---------------------------------------------------------- */

static const struct {
    const char *url, *model, *profile;
} PROFILES[] = {
    {"http://127.0.0.1:8080/v1", "offline", "reference"},
    {"http://127.0.0.1:11434/v1", "qwen3", "reference"},
    {"https://api.openai.com/v1", "gpt-5", "openai"},
    {"https://api.mistral.ai/v1", "codestral-latest", "mistral"},
    {"http://127.0.0.1:8000/v1", "Mistral-Small-3.2", "mistral weights"},
    {"http://127.0.0.1:8000/v1", "mixtral", "mistral weights"},
    {"https://api.deepseek.com", "chat", "deepseek"},
    {"https://openrouter.ai/api/v1", "deepseek/deepseek-r1", "deepseek"},
};

START_TEST(profiles_by_address_and_model)
{
    for (size_t i = 0; i < sizeof(PROFILES) / sizeof(PROFILES[0]); i++) {
        ck_assert_str_eq(
            model_chat_profile_for(PROFILES[i].url, PROFILES[i].model)->name,
            PROFILES[i].profile);
    }
}
END_TEST

START_TEST(mistral_wants_nine_letters_and_an_answer_between)
{
    const struct model_chat_profile *p =
        model_chat_profile_for("https://api.mistral.ai/v1", "");
    struct model_call calls[] = {{"call_0f00dcafe", "f", "{}", true},
                                 {"abcDEF123", "f", "{}", true},
                                 {"call_0f00dcaff", "f", "{}", true}};
    struct model_reply r = {.text = "", .calls = calls, .n_calls = 3};
    struct model_chat_head_options o = {.model = "m", .system = "s"};
    const cJSON *messages, *sent, *answer;
    const char *id[3];
    struct buf b;
    cJSON *tree;

    buf_init(&b, 1 << 16);
    model_chat_head(&b, p, &o);
    ck_assert_ptr_null(strstr(buf_str(&b), "stream_options"));
    model_chat_assistant(&b, p, &r);
    for (size_t i = 0; i < 3; i++) {
        model_chat_tool_result(&b, p, calls[i].id, "x");
    }
    model_chat_bridge(&b, p);
    model_chat_message(&b, MODEL_CHAT_USER, "u");
    buf_puts(&b, MODEL_CHAT_TAIL);
    tree = parse(&b);
    messages = json_get(tree, "messages");
    sent = json_get(cJSON_GetArrayItem(messages, 1), "tool_calls");
    for (int i = 0; i < 3; i++) {
        id[i] = json_str(cJSON_GetArrayItem(sent, i), "id", "");
        answer = cJSON_GetArrayItem(messages, 2 + i);
        ck_assert_str_eq(json_str(answer, "tool_call_id", ""), id[i]);
        ck_assert_uint_eq(strlen(id[i]), 9);
        ck_assert_uint_eq(strspn(id[i], "abcdefghijklmnopqrstuvwxyz0123456789"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                          9);
    }
    ck_assert_str_eq(id[1], "abcDEF123");
    ck_assert_str_ne(id[0], id[2]);
    ck_assert_str_eq(json_str(cJSON_GetArrayItem(messages, 5), "role", ""),
                     "assistant");
    ck_assert_str_eq(json_str(cJSON_GetArrayItem(messages, 6), "role", ""),
                     "user");
    json_free(tree);
    buf_free(&b);
}
END_TEST

/* The members of a reply given back under a profile. */
static cJSON *given_back(const struct model_chat_profile *p,
                         const struct model_reply *r)
{
    struct buf b;
    cJSON *tree;

    buf_init(&b, 1 << 16);
    model_chat_assistant(&b, p, r);
    buf_drop_front(&b, 1);
    tree = parse(&b);
    buf_free(&b);
    return tree;
}

START_TEST(reasoning_goes_back_beside_calls)
{
    const struct model_chat_profile *deepseek =
        model_chat_profile_for("https://api.deepseek.com", "");
    struct model_call call = {"a", "f", "{}", true};
    struct model_reply r = {.text = "t",
                            .reasoning = "why",
                            .reasoning_field = "reasoning",
                            .calls = &call,
                            .n_calls = 1};
    cJSON *tree = given_back(reference(), &r);

    ck_assert_str_eq(json_str(tree, "reasoning", ""), "why");
    ck_assert_ptr_null(json_get(tree, "reasoning_content"));
    json_free(tree);

    r.reasoning = NULL;
    r.reasoning_field = NULL;
    tree = given_back(reference(), &r);
    ck_assert_ptr_null(json_get(tree, "reasoning_content"));
    json_free(tree);
    tree = given_back(deepseek, &r);
    ck_assert_str_eq(json_str(tree, "reasoning_content", "none"), "");
    json_free(tree);

    r.n_calls = 0;
    r.reasoning = "why";
    r.reasoning_field = "reasoning_content";
    tree = given_back(deepseek, &r);
    ck_assert_ptr_null(json_get(tree, "reasoning_content"));
    ck_assert_ptr_null(json_get(tree, "tool_calls"));
    json_free(tree);
}
END_TEST

Suite *model_chat_suite(void)
{
    Suite *s = suite_create("model_chat");
    TCase *t = tcase_create("model_chat");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_body_as_it_stands);
    tcase_add_test(t, a_whole_reply_is_asked_for_without_stream_options);
    tcase_add_test(t, any_bytes_make_a_valid_body);
    tcase_add_test(t, broken_arguments_go_back_as_valid_json);
    tcase_add_test(t, a_full_buffer_is_told_once);
    tcase_add_test(t, profiles_by_address_and_model);
    tcase_add_test(t, mistral_wants_nine_letters_and_an_answer_between);
    tcase_add_test(t, reasoning_goes_back_beside_calls);
    suite_add_tcase(s, t);
    return s;
}
