/* check_json.c - what is refused, what is read, what is written. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql/base/json.h"
#include "tests/support/suites.h"

#define BODY_BYTES ((size_t)256 * 1024)

/* len 0 stands for strlen. */
static const struct {
    const char *text;
    size_t len;
    enum json_flaw flaw;
} ROW[] = {
    {"{}", 0, JSON_FLAW_NONE},
    {" \t\r\n[ ] \n", 0, JSON_FLAW_NONE},
    {"null", 0, JSON_FLAW_NONE},
    {"\"\"", 0, JSON_FLAW_NONE},
    {"-0", 0, JSON_FLAW_NONE},
    {"1e5", 0, JSON_FLAW_NONE},
    {"[1.5E-3,true,false,null,\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"]", 0,
     JSON_FLAW_NONE},
    {"{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}]}", 0,
     JSON_FLAW_NONE},
    {"\"\\ud83d\\ude00\"", 0, JSON_FLAW_NONE},
    {"\"\xe4\xb8\xad\"", 0, JSON_FLAW_NONE},

    {"", 0, JSON_FLAW_EMPTY},
    {" \n\t ", 0, JSON_FLAW_EMPTY},

    {"\"\xff\"", 0, JSON_FLAW_UTF8},
    {"\"\xed\xa0\x80\"", 0, JSON_FLAW_UTF8},
    {"\"\xc3", 0, JSON_FLAW_UTF8},

    {"\"a\0b\"", 5, JSON_FLAW_NUL},
    {"{}\0", 3, JSON_FLAW_NUL},
    {"\"a\\u0000b\"", 0, JSON_FLAW_NUL},
    {"{\"a\\u0000\":1}", 0, JSON_FLAW_NUL},

    {"\"\\ud83d\"", 0, JSON_FLAW_SURROGATE},
    {"\"\\ud83dx\"", 0, JSON_FLAW_SURROGATE},
    {"\"\\ud83d\\u0041\"", 0, JSON_FLAW_SURROGATE},
    {"\"\\ude00\"", 0, JSON_FLAW_SURROGATE},
    {"\"\\ud83d\\ud83d\\ude00\"", 0, JSON_FLAW_SURROGATE},

    {"{\"a\":1,\"a\":2}", 0, JSON_FLAW_DUPLICATE},
    {"{\"a\":1,\"\\u0061\":2}", 0, JSON_FLAW_DUPLICATE},
    {"[0,{\"b\":{\"x\":1,\"y\":2,\"x\":3}}]", 0, JSON_FLAW_DUPLICATE},
    {"{\"\":1,\"\":2}", 0, JSON_FLAW_DUPLICATE},
    {"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,"
     "\"j\":1,\"k\":2,\"l\":3,\"m\":4,\"n\":5,\"o\":6,\"p\":7,\"q\":8,\"a\":9}",
     0, JSON_FLAW_DUPLICATE},

    {"{", 0, JSON_FLAW_SYNTAX},
    {"}", 0, JSON_FLAW_SYNTAX},
    {"[1,]", 0, JSON_FLAW_SYNTAX},
    {"[,1]", 0, JSON_FLAW_SYNTAX},
    {"[1 2]", 0, JSON_FLAW_SYNTAX},
    {"[1}", 0, JSON_FLAW_SYNTAX},
    {"{\"a\"}", 0, JSON_FLAW_SYNTAX},
    {"{\"a\":}", 0, JSON_FLAW_SYNTAX},
    {"{\"a\":1,}", 0, JSON_FLAW_SYNTAX},
    {"{a:1}", 0, JSON_FLAW_SYNTAX},
    {"{'a':1}", 0, JSON_FLAW_SYNTAX},
    {"{1:1}", 0, JSON_FLAW_SYNTAX},
    {"{}{}", 0, JSON_FLAW_SYNTAX},
    {"{} x", 0, JSON_FLAW_SYNTAX},
    {"\xef\xbb\xbf{}", 0, JSON_FLAW_SYNTAX},
    {"\v{}", 0, JSON_FLAW_SYNTAX},
    {"[1,\f2]", 0, JSON_FLAW_SYNTAX},
    {"\"a\nb\"", 0, JSON_FLAW_SYNTAX},
    {"\"a\tb\"", 0, JSON_FLAW_SYNTAX},
    {"\"\\x\"", 0, JSON_FLAW_SYNTAX},
    {"\"\\u12\"", 0, JSON_FLAW_SYNTAX},
    {"\"\\u12g4\"", 0, JSON_FLAW_SYNTAX},
    {"\"\\", 0, JSON_FLAW_SYNTAX},
    {"\"abc", 0, JSON_FLAW_SYNTAX},
    {"01", 0, JSON_FLAW_SYNTAX},
    {"-", 0, JSON_FLAW_SYNTAX},
    {"+1", 0, JSON_FLAW_SYNTAX},
    {"1.", 0, JSON_FLAW_SYNTAX},
    {".5", 0, JSON_FLAW_SYNTAX},
    {"1e", 0, JSON_FLAW_SYNTAX},
    {"1e+", 0, JSON_FLAW_SYNTAX},
    {"0x10", 0, JSON_FLAW_SYNTAX},
    {"NaN", 0, JSON_FLAW_SYNTAX},
    {"Infinity", 0, JSON_FLAW_SYNTAX},
    {"True", 0, JSON_FLAW_SYNTAX},
    {"nul", 0, JSON_FLAW_SYNTAX},
    {"nullx", 0, JSON_FLAW_SYNTAX},
    {"[1] // no", 0, JSON_FLAW_SYNTAX},
};

START_TEST(flaws)
{
    size_t len = ROW[_i].len == 0 ? strlen(ROW[_i].text) : ROW[_i].len;
    enum json_flaw flaw = JSON_FLAW__MAX;
    /* Without a NUL behind it: nothing may read past the end. */
    char *bytes = malloc(len + (len == 0));
    cJSON *tree = NULL;
    enum rc rc;

    memcpy(bytes, ROW[_i].text, len);
    rc = json_parse(bytes, len, &tree, &flaw);
    ck_assert_msg(flaw == ROW[_i].flaw, "%s: %s", ROW[_i].text,
                  json_flaw_text(flaw));
    ck_assert_int_eq(rc, flaw == JSON_FLAW_NONE ? RC_OK : RC_INVALID);
    ck_assert_int_eq(tree != NULL, rc == RC_OK);
    json_free(tree);
    ck_assert_int_eq(json_parse(bytes, len, &tree, NULL), rc);
    json_free(rc == RC_OK ? tree : NULL);
    free(bytes);
}
END_TEST

static enum json_flaw nested(size_t n, char open, char close)
{
    enum json_flaw flaw;
    char *text = malloc(2 * n);
    cJSON *tree;

    memset(text, open, n);
    memset(text + n, close, n);
    if (json_parse(text, 2 * n, &tree, &flaw) == RC_OK) {
        json_free(tree);
    }
    free(text);
    return flaw;
}

START_TEST(depth)
{
    ck_assert_int_eq(nested(JSON_MAX_DEPTH, '[', ']'), JSON_FLAW_NONE);
    ck_assert_int_eq(nested(JSON_MAX_DEPTH + 1, '[', ']'), JSON_FLAW_DEPTH);
    ck_assert_int_eq(nested(BODY_BYTES / 2, '[', ']'), JSON_FLAW_DEPTH);
    ck_assert_int_eq(nested(BODY_BYTES / 2, '{', '}'), JSON_FLAW_SYNTAX);
}
END_TEST

/* A body of 256 KiB full of members must not cost the square of their number:
 * 20,000 members compared each with each would be 2 * 10^8 comparisons. */
START_TEST(many_members)
{
    enum json_flaw flaw;
    struct buf b;
    cJSON *tree;
    clock_t from = clock(); /* processor time: the machine may be busy */

    buf_init(&b, BODY_BYTES);
    buf_putc(&b, '{');
    for (int i = 0; i < 20000; i++) {
        buf_printf(&b, "\"m%d\":%d,", i, i % 10);
    }
    buf_puts(&b, "\"last\":1");
    buf_putc(&b, '}');
    ck_assert_int_eq(buf_rc(&b), RC_OK);
    ck_assert_int_eq(json_parse(b.data, b.len, &tree, &flaw), RC_OK);
    json_free(tree);
    memcpy(strstr(b.data, "last"), "m199", 4);
    ck_assert_int_eq(json_parse(b.data, b.len, &tree, &flaw), RC_INVALID);
    ck_assert_int_eq(flaw, JSON_FLAW_DUPLICATE);
    ck_assert_int_lt((clock() - from) * 1000 / CLOCKS_PER_SEC, 1000);
    buf_free(&b);
}
END_TEST

START_TEST(reading)
{
    static const char text[] =
        "{\"s\":\"x\\ny\",\"n\":42,\"big\":9007199254740992,"
        "\"neg\":-9007199254740992,\"over\":9007199254740994,"
        "\"half\":0.5,\"huge\":1e300,\"inf\":1e999,\"null\":null,"
        "\"text\":\"42\",\"S\":\"other\"}";
    int64_t n = 7;
    cJSON *t;

    ck_assert_int_eq(json_parse(text, sizeof(text) - 1, &t, NULL), RC_OK);
    ck_assert_str_eq(json_str(t, "s", "none"), "x\ny");
    ck_assert_str_eq(json_str(t, "S", "none"), "other");
    ck_assert_str_eq(json_str(t, "n", "none"), "none");
    ck_assert_ptr_null(json_str(t, "missing", NULL));
    ck_assert_ptr_null(json_get(t, "missing"));
    ck_assert_ptr_null(json_get(json_get(t, "s"), "s"));
    ck_assert_ptr_null(json_get(NULL, "s"));
    ck_assert_int_eq(json_i64(t, "missing", &n), RC_NOT_FOUND);
    ck_assert_int_eq(json_i64(t, "null", &n), RC_NOT_FOUND);
    ck_assert_int_eq(json_i64(t, "text", &n), RC_INVALID);
    ck_assert_int_eq(json_i64(t, "half", &n), RC_INVALID);
    ck_assert_int_eq(json_i64(t, "huge", &n), RC_INVALID);
    ck_assert_int_eq(json_i64(t, "inf", &n), RC_INVALID);
    ck_assert_int_eq(json_i64(t, "over", &n), RC_INVALID);
    ck_assert_int_eq(n, 7);
    ck_assert_int_eq(json_i64(t, "n", &n), RC_OK);
    ck_assert_int_eq(n, 42);
    ck_assert_int_eq(json_i64(t, "big", &n), RC_OK);
    ck_assert_int_eq(n, INT64_C(9007199254740992));
    ck_assert_int_eq(json_i64(t, "neg", &n), RC_OK);
    ck_assert_int_eq(n, INT64_C(-9007199254740992));
    json_free(t);
}
END_TEST

START_TEST(printing)
{
    static const char text[] = "{\"a\":[1,2.5,\"\\u00e9\\n\"],\"b\":{}}";
    struct buf b;
    cJSON *t;

    ck_assert_int_eq(json_parse(text, sizeof(text) - 1, &t, NULL), RC_OK);
    buf_init(&b, 100);
    buf_puts(&b, "<");
    ck_assert_int_eq(json_print(t, &b), RC_OK);
    ck_assert_str_eq(buf_str(&b), "<{\"a\":[1,2.5,\"\xc3\xa9\\n\"],\"b\":{}}");
    buf_free(&b);
    buf_init(&b, 5);
    ck_assert_int_eq(json_print(t, &b), RC_TOO_LARGE);
    buf_free(&b);
    json_free(t);
}
END_TEST

START_TEST(writing)
{
    struct json_out w;
    struct buf b;

    buf_init(&b, 1000);
    json_begin(&w, &b);
    json_open_object(&w);
    json_kstr(&w, "s", "a\"b\\c\n\x01\x7f\xc3\xa9/");
    json_kstr(&w, "none", NULL);
    json_key(&w, "list");
    json_open_array(&w);
    json_put_i64(&w, INT64_MIN);
    json_put_bool(&w, true);
    json_put_null(&w);
    json_open_object(&w);
    json_close_object(&w);
    json_open_array(&w);
    json_close_array(&w);
    json_put_raw(&w, "{\"x\":1}", 7);
    json_put_strn(&w, "a\0b", 3);
    json_close_array(&w);
    json_ki64(&w, "n", 5);
    json_kbool(&w, "no", false);
    json_knull(&w, "nil");
    json_ki64_or_null(&w, "unset", 0);
    json_ki64_or_null(&w, "set", 3);
    json_close_object(&w);
    ck_assert_int_eq(json_end(&w), RC_OK);
    ck_assert_str_eq(
        buf_str(&b),
        "{\"s\":\"a\\\"b\\\\c\\n\\u0001\x7f\xc3\xa9/\",\"none\":null,"
        "\"list\":[-9223372036854775808,true,null,{},[],{\"x\":1},"
        "\"a\\u0000b\"],\"n\":5,\"no\":false,\"nil\":null,\"unset\":null,"
        "\"set\":3}");
    buf_free(&b);
}
END_TEST

/* Whatever a string holds, reading gives back what was written. */
START_TEST(strings_come_back)
{
    char text[128 + 8];
    struct json_out w;
    struct buf b;
    cJSON *t;

    for (int i = 1; i < 128; i++) {
        text[i - 1] = (char)i;
    }
    memcpy(text + 127, "\xf0\x9f\x98\x80", 5);
    buf_init(&b, 1000);
    json_begin(&w, &b);
    json_put_str(&w, text);
    ck_assert_int_eq(json_end(&w), RC_OK);
    ck_assert_int_eq(json_parse(b.data, b.len, &t, NULL), RC_OK);
    ck_assert_str_eq(t->valuestring, text);
    json_free(t);
    buf_free(&b);
}
END_TEST

START_TEST(full_buffer_is_reported_at_the_end)
{
    struct json_out w;
    struct buf b;

    buf_init(&b, 10);
    json_begin(&w, &b);
    json_open_object(&w);
    json_kstr(&w, "key", "longer than the rest");
    json_close_object(&w);
    ck_assert_int_eq(json_end(&w), RC_TOO_LARGE);
    buf_free(&b);
}
END_TEST

/* Misuse of the writer is a bug and asserts. */
START_TEST(misuse)
{
    struct json_out w;
    struct buf b;

    buf_init(&b, 1000);
    json_begin(&w, &b);
    switch (_i) {
    case 0: /* a value where a key is due */
        json_open_object(&w);
        json_put_i64(&w, 1);
        break;
    case 1: /* a key in an array */
        json_open_array(&w);
        json_key(&w, "a");
        break;
    case 2: /* two keys in a row */
        json_open_object(&w);
        json_key(&w, "a");
        json_key(&w, "b");
        break;
    case 3: /* the wrong scope closed */
        json_open_array(&w);
        json_close_object(&w);
        break;
    case 4: /* a key without value */
        json_open_object(&w);
        json_key(&w, "a");
        json_close_object(&w);
        break;
    case 5: /* a scope left open */
        json_open_object(&w);
        ck_assert_int_eq(json_end(&w), RC_OK);
        break;
    case 6: /* two values at the top */
        json_put_null(&w);
        json_put_null(&w);
        break;
    case 7: /* nothing written */
        ck_assert_int_eq(json_end(&w), RC_OK);
        break;
    case 8: /* closed more often than opened */
        json_open_array(&w);
        json_close_array(&w);
        json_close_array(&w);
        break;
    case 9: /* a second value after a scope */
        json_open_array(&w);
        json_close_array(&w);
        json_open_array(&w);
        break;
    default: /* nested too deeply */
        for (int i = 0; i <= JSON_MAX_DEPTH; i++) {
            json_open_array(&w);
        }
    }
}
END_TEST

START_TEST(same_values)
{
    static const struct {
        const char *a;
        const char *b;
        bool same;
    } rows[] = {
        {"{\"a\":1,\"b\":[1,2]}", "{ \"b\" : [1.0, 2], \"a\": 1 }", true},
        {"{\"a\":\"\\u0041\"}", "{\"a\":\"A\"}", true},
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}", false},
        {"{\"a\":1}", "{\"A\":1}", false},
        {"{\"a\":1}", "{\"a\":\"1\"}", false},
        {"{\"a\":null}", "{}", false},
        {"{}", "{\"a\":1}", false},
        {"{\"a\":true}", "{\"a\":false}", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cJSON *a = NULL;
        cJSON *b = NULL;

        ck_assert_int_eq(json_parse(rows[i].a, strlen(rows[i].a), &a, NULL),
                         RC_OK);
        ck_assert_int_eq(json_parse(rows[i].b, strlen(rows[i].b), &b, NULL),
                         RC_OK);
        ck_assert_msg(json_same(a, b) == rows[i].same, "row %zu", i);
        json_free(a);
        json_free(b);
    }
}
END_TEST

START_TEST(every_flaw_has_a_text)
{
    for (int i = 0; i < JSON_FLAW__MAX; i++) {
        ck_assert_ptr_nonnull(json_flaw_text((enum json_flaw)i));
    }
}
END_TEST

Suite *json_suite(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");

    tcase_add_loop_test(t, flaws, 0, (int)(sizeof(ROW) / sizeof(ROW[0])));
    tcase_add_test(t, depth);
    tcase_add_test(t, many_members);
    tcase_add_test(t, reading);
    tcase_add_test(t, printing);
    tcase_add_test(t, writing);
    tcase_add_test(t, strings_come_back);
    tcase_add_test(t, full_buffer_is_reported_at_the_end);
    tcase_add_test(t, same_values);
    tcase_add_test(t, every_flaw_has_a_text);
    if (suite_may_abort()) {
        tcase_add_loop_test_raise_signal(t, misuse, SIGABRT, 0, 11);
    }
    suite_add_tcase(s, t);
    return s;
}
