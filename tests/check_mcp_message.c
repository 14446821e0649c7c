/* check_mcp_message.c - messages of the Model Context Protocol: what is sent,
 * and what is made of what a server sends, however broken or hostile. */
#include <stdio.h>
#include <string.h>

#include "runtime/mcp/mcp_message.h"
#include "sql/base/json.h"
#include "tests/support/suites.h"

static struct buf out;

static void set_up(void)
{
    buf_init(&out, 100000);
}

static void tear_down(void)
{
    buf_free(&out);
}

/* --- building ---------------------------------------------------------- */

START_TEST(what_is_sent)
{
    ck_assert_int_eq(mcp_message_initialize(1, "2025-06-18", &out), RC_OK);
    ck_assert_ptr_nonnull(
        strstr(buf_str(&out),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
               "\"params\":{\"protocolVersion\":\"2025-06-18\","
               "\"capabilities\":{},\"clientInfo\":{\"name\":\"aside\","
               "\"version\":\""));
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_notify("notifications/initialized", &out),
                     RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\","
                     "\"method\":\"notifications/initialized\"}");
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_list(2, NULL, &out), RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\","
                     "\"params\":{}}");
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_list(3, "a\"b", &out), RC_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "{\"cursor\":\"a\\\"b\"}"));
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_call(4, "get sum", "{\"a\":1}", &out), RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\","
                     "\"params\":{\"name\":\"get sum\",\"arguments\":{\"a\":1},"
                     "\"_meta\":{\"progressToken\":4}}}");
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_cancel(4, "stopped", &out), RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\","
                     "\"method\":\"notifications/cancelled\","
                     "\"params\":{\"requestId\":4,\"reason\":\"stopped\"}}");
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_empty_result("\"x\"", &out), RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
    buf_clear(&out);
    ck_assert_int_eq(mcp_message_refusal("7", &out), RC_OK);
    ck_assert_str_eq(buf_str(&out),
                     "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,"
                     "\"message\":\"Method not found\"}}");
}
END_TEST

/* --- reading ----------------------------------------------------------- */

static char told[4096];

/* "result 1 · request "x" ping · ..." */
static bool note(void *ctx, const struct mcp_message *m)
{
    static const char *const kind[] = {"result", "error", "request",
                                       "notification"};
    int *stop_after = ctx;
    size_t at = strlen(told);

    ck_assert_int_lt(m->kind, MCP_KIND__MAX);
    if (m->kind == MCP_REQUEST || m->kind == MCP_NOTIFICATION) {
        (void)snprintf(told + at, sizeof(told) - at, "%s %s %s; ",
                       kind[m->kind], m->their_id, m->method);
    } else {
        ck_assert_ptr_nonnull(m->body);
        (void)snprintf(told + at, sizeof(told) - at, "%s %lld; ", kind[m->kind],
                       (long long)m->id);
    }
    return --*stop_after > 0;
}

static enum rc read_all(const char *text, int stop_after, const char **flaw)
{
    told[0] = '\0';
    return mcp_message_read(text, strlen(text), note, &stop_after, flaw);
}

#define J "{\"jsonrpc\":\"2.0\","

static const struct {
    const char *text;
    enum rc rc;
    const char *told;
} READ[] = {
    {J "\"id\":1,\"result\":{}}", RC_OK, "result 1; "},
    {J "\"id\":1.0,\"result\":null}", RC_OK, "result 1; "},
    {J "\"id\":2,\"error\":{\"code\":-1,\"message\":\"m\"}}", RC_OK,
     "error 2; "},
    {J "\"id\":null,\"error\":{}}", RC_OK, "error 0; "},
    {J "\"error\":7}", RC_OK, "error 0; "},
    {J "\"id\":\"1\",\"result\":{}}", RC_OK, "result 0; "},
    {J "\"id\":-5,\"result\":{}}", RC_OK, "result 0; "},
    {J "\"id\":1.5,\"result\":{}}", RC_OK, "result 0; "},
    {J "\"id\":1e300,\"result\":{}}", RC_OK, "result 0; "},
    {J "\"id\":{},\"result\":{}}", RC_OK, "result 0; "},
    {J "\"id\":\"a\\\"b\",\"method\":\"ping\"}", RC_OK,
     "request \"a\\\"b\" ping; "},
    {J "\"id\":9,\"method\":\"roots/list\",\"params\":{}}", RC_OK,
     "request 9 roots/list; "},
    {J "\"method\":\"notifications/message\"}", RC_OK,
     "notification  notifications/message; "},
    {"[" J "\"id\":1,\"result\":{}}," J "\"method\":\"x\"}]", RC_OK,
     "result 1; notification  x; "},
    {"[]", RC_OK, ""},
    {"[" J "\"id\":1,\"result\":{}},7]", RC_INVALID, "result 1; "},
    {"[[" J "\"id\":1,\"result\":{}}]]", RC_INVALID, ""},
    {"", RC_INVALID, ""},
    {"null", RC_INVALID, ""},
    {"7", RC_INVALID, ""},
    {"{}", RC_INVALID, ""},
    {"{\"id\":1,\"result\":{}}", RC_INVALID, ""},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}", RC_INVALID, ""},
    {"{\"jsonrpc\":2.0,\"id\":1,\"result\":{}}", RC_INVALID, ""},
    {J "\"id\":1}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{},\"error\":{}}", RC_INVALID, ""},
    {J "\"id\":1,\"id\":2,\"result\":{}}", RC_INVALID, ""},
    {J "\"id\":{},\"method\":\"ping\"}", RC_INVALID, ""},
    {J "\"id\":null,\"method\":\"ping\"}", RC_INVALID, ""},
    {J "\"id\":1,\"method\":7}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{\"a\":\"\\u0000\"}}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{\"a\":\"\\ud800\"}}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{\"a\":\"\xff\"}}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{}} {}", RC_INVALID, ""},
    {J "\"id\":1,\"result\":{}", RC_INVALID, ""},
};

START_TEST(what_is_read)
{
    const char *flaw = NULL;
    enum rc rc = read_all(READ[_i].text, 100, &flaw);

    ck_assert_msg(rc == READ[_i].rc, "%s: %s", READ[_i].text, rc_name(rc));
    ck_assert_str_eq(told, READ[_i].told);
    ck_assert_msg(rc == RC_OK || (flaw != NULL && flaw[0] != '\0'), "%s",
                  READ[_i].text);
}
END_TEST

START_TEST(a_reader_stops_when_it_has_enough)
{
    const char *flaw;

    ck_assert_int_eq(read_all("[" J "\"id\":1,\"result\":{}}," J
                              "\"method\":\"x\"}," J "\"method\":\"y\"}]",
                              2, &flaw),
                     RC_OK);
    ck_assert_str_eq(told, "result 1; notification  x; ");
}
END_TEST

START_TEST(a_batch_is_bounded)
{
    const char *flaw = NULL;
    struct buf text;

    buf_init(&text, 100000);
    buf_putc(&text, '[');
    for (int i = 0; i <= MCP_BATCH_MAX; i++) {
        buf_puts(&text, i > 0 ? "," : "");
        buf_puts(&text, J "\"method\":\"x\"}");
    }
    buf_putc(&text, ']');
    ck_assert_int_eq(read_all(buf_str(&text), 1000, &flaw), RC_INVALID);
    ck_assert_str_eq(flaw, "is a batch of too many messages");
    buf_free(&text);
}
END_TEST

START_TEST(nesting_and_long_ids_are_bounded)
{
    const char *flaw = NULL;
    struct buf text;

    buf_init(&text, 100000);
    buf_puts(&text, J "\"id\":1,\"result\":");
    for (int i = 0; i < 2000; i++) {
        buf_putc(&text, '[');
    }
    for (int i = 0; i < 2000; i++) {
        buf_putc(&text, ']');
    }
    buf_putc(&text, '}');
    ck_assert_int_eq(read_all(buf_str(&text), 10, &flaw), RC_INVALID);
    ck_assert_str_eq(flaw, "is nested too deeply");
    buf_clear(&text);
    buf_puts(&text, J "\"method\":\"ping\",\"id\":\"");
    for (int i = 0; i < 200; i++) {
        buf_putc(&text, 'x');
    }
    buf_puts(&text, "\"}");
    ck_assert_int_eq(read_all(buf_str(&text), 10, &flaw), RC_INVALID);
    ck_assert_str_eq(flaw, "has an id that is none");
    buf_free(&text);
}
END_TEST

START_TEST(values_are_bounded_and_text_is_none)
{
    const char *flaw = NULL;
    struct buf text;

    buf_init(&text, 1000000);
    buf_puts(&text, J "\"id\":1,\"result\":[0");
    for (int i = 0; i < MCP_VALUES_MAX; i++) {
        buf_puts(&text, ",0");
    }
    buf_puts(&text, "]}");
    ck_assert_int_eq(read_all(buf_str(&text), 10, &flaw), RC_INVALID);
    ck_assert_str_eq(flaw, "holds too many values");
    buf_clear(&text);
    buf_puts(&text, J "\"id\":1,\"result\":\"\\\"");
    for (int i = 0; i < MCP_VALUES_MAX; i++) {
        buf_puts(&text, ",[{");
    }
    buf_puts(&text, "\\\\\"}");
    ck_assert_int_eq(read_all(buf_str(&text), 10, &flaw), RC_OK);
    ck_assert_str_eq(told, "result 1; ");
    buf_free(&text);
}
END_TEST

/* --- what is in them --------------------------------------------------- */

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;

    ck_assert_int_eq(json_parse(text, strlen(text), &tree, NULL), RC_OK);
    return tree;
}

static const struct {
    const char *text;
    bool is_hello;
    const char *version;
    bool has_tools;
    bool speaks;
} HELLO[] = {
    {"{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}",
     true, "2025-06-18", true, true},
    {"{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{\"tools\":"
     "{\"listChanged\":true}}}",
     true, "2025-03-26", true, true},
    {"{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}}", true,
     "2024-11-05", false, true},
    {"{\"protocolVersion\":\"2024-11-05\"}", true, "2024-11-05", false, true},
    {"{\"protocolVersion\":\"2031-01-01\",\"capabilities\":{\"tools\":true}}",
     true, "2031-01-01", false, false},
    {"{\"protocolVersion\":\"2025-06-18-and-much-more\"}", true, "", false,
     false},
    {"{\"protocolVersion\":7}", false, "", false, false},
    {"{}", false, "", false, false},
    {"[]", false, "", false, false},
};

START_TEST(greetings)
{
    struct mcp_hello h;
    cJSON *tree = parse(HELLO[_i].text);

    ck_assert_int_eq(mcp_message_hello(tree, &h), HELLO[_i].is_hello);
    ck_assert_str_eq(h.version, HELLO[_i].version);
    ck_assert_int_eq(h.has_tools, HELLO[_i].has_tools);
    ck_assert_int_eq(mcp_message_speaks(h.version), HELLO[_i].speaks);
    json_free(tree);
}
END_TEST

static const struct {
    const char *text;
    const char *offered; /* NULL: none */
    const char *line;
} ERROR_[] = {
    {"{\"code\":-32602,\"message\":\"Unsupported\",\"data\":{\"supported\":"
     "[\"2024-11-05\",\"2025-03-26\",\"2030-01-01\"]}}",
     "2025-03-26", "Unsupported"},
    {"{\"code\":-32602,\"data\":{\"supported\":[7,null]}}", NULL,
     "error -32602"},
    {"{\"data\":{\"supported\":\"2025-03-26\"}}", NULL,
     "an error without a message"},
    {"{\"message\":\"a\\nb\\u0007\"}", NULL, "a b "},
    {"{\"message\":{},\"code\":\"x\"}", NULL, "an error without a message"},
    {"7", NULL, "an error without a message"},
};

START_TEST(errors)
{
    char line[MCP_LINE_BYTES];
    cJSON *tree = parse(ERROR_[_i].text);
    const char *offered = mcp_message_offered(tree);

    ck_assert_pstr_eq(offered, ERROR_[_i].offered);
    mcp_message_error(tree, line);
    ck_assert_str_eq(line, ERROR_[_i].line);
    json_free(tree);
}
END_TEST

static const struct {
    const char *text;
    int64_t token;
    const char *line;
} PROGRESS[] = {
    {"{\"progressToken\":7,\"progress\":3,\"total\":5}", 7, "3 of 5"},
    {"{\"progressToken\":7,\"progress\":0.25}", 7, "0.25"},
    {"{\"progressToken\":7,\"progress\":1,\"message\":\"half\\tway\"}", 7,
     "half way"},
    {"{\"progressToken\":7,\"progress\":1e999}", 7, ""},
    {"{\"progressToken\":7}", 7, ""},
    {"{\"progressToken\":\"7\",\"progress\":1}", 0, ""},
    {"{\"progressToken\":-7,\"progress\":1}", 0, ""},
    {"{\"progress\":1}", 0, ""},
    {"null", 0, ""},
};

START_TEST(progress)
{
    char line[MCP_LINE_BYTES];
    cJSON *tree = parse(PROGRESS[_i].text);

    ck_assert_int_eq(mcp_message_progress(tree, line), PROGRESS[_i].token);
    ck_assert_str_eq(line, PROGRESS[_i].line);
    json_free(tree);
}
END_TEST

START_TEST(a_line_is_clipped_between_code_points)
{
    char text[3 * MCP_LINE_BYTES + 1];
    char line[MCP_LINE_BYTES];

    for (size_t i = 0; i < MCP_LINE_BYTES; i++) {
        memcpy(text + 3 * i, "\xe2\x80\xa6", 3);
    }
    text[sizeof(text) - 1] = '\0';
    mcp_message_line(text, line);
    ck_assert_uint_eq(strlen(line), 198);
}
END_TEST

#define LOOP(t, fn, table)                                                     \
    tcase_add_loop_test(t, fn, 0, (int)(sizeof(table) / sizeof((table)[0])))

Suite *mcp_message_suite(void)
{
    Suite *s = suite_create("mcp_message");
    TCase *t = tcase_create("mcp_message");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, what_is_sent);
    LOOP(t, what_is_read, READ);
    tcase_add_test(t, a_reader_stops_when_it_has_enough);
    tcase_add_test(t, a_batch_is_bounded);
    tcase_add_test(t, nesting_and_long_ids_are_bounded);
    tcase_add_test(t, values_are_bounded_and_text_is_none);
    LOOP(t, greetings, HELLO);
    LOOP(t, errors, ERROR_);
    LOOP(t, progress, PROGRESS);
    tcase_add_test(t, a_line_is_clipped_between_code_points);
    suite_add_tcase(s, t);
    return s;
}
