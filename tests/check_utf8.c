/* check_utf8.c - well-formed, cut, clipped, repaired. */
#include <stdio.h>
#include <string.h>

#include "sql/base/utf8.h"
#include "tests/support/suites.h"

static const struct {
    const char *name;
    const char *bytes;
    size_t len;
    bool valid;
    size_t complete; /* utf8_complete_len */
    const char *repaired;
} ROW[] = {
    {"empty", "", 0, true, 0, ""},
    {"ascii", "abc", 3, true, 3, "abc"},
    {"nul", "a\0b", 3, true, 3,
     "a\xef\xbf\xbd"
     "b"},
    {"two bytes", "\xc3\xa9", 2, true, 2, "\xc3\xa9"},
    {"three bytes", "\xe4\xb8\xad", 3, true, 3, "\xe4\xb8\xad"},
    {"four bytes", "\xf0\x9f\x98\x80", 4, true, 4, "\xf0\x9f\x98\x80"},
    {"last code point", "\xf4\x8f\xbf\xbf", 4, true, 4, "\xf4\x8f\xbf\xbf"},
    {"before the surrogates", "\xed\x9f\xbf", 3, true, 3, "\xed\x9f\xbf"},
    {"above the last", "\xf4\x90\x80\x80", 4, false, 4,
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"f5", "\xf5", 1, false, 1, "\xef\xbf\xbd"},
    {"overlong 2", "\xc0\x80", 2, false, 2, "\xef\xbf\xbd\xef\xbf\xbd"},
    {"overlong 2b", "\xc1\xbf", 2, false, 2, "\xef\xbf\xbd\xef\xbf\xbd"},
    {"overlong 3", "\xe0\x9f\xbf", 3, false, 3,
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"overlong 4", "\xf0\x8f\xbf\xbf", 4, false, 4,
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"surrogate", "\xed\xa0\x80", 3, false, 3,
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"lone continuation", "a\x80", 2, false, 2, "a\xef\xbf\xbd"},
    {"broken off in the middle",
     "\xe4\xb8"
     "a",
     3, false, 3,
     "\xef\xbf\xbd"
     "a"},
    {"cut after 1 of 2", "a\xc3", 2, false, 1, "a\xef\xbf\xbd"},
    {"cut after 1 of 3", "a\xe4", 2, false, 1, "a\xef\xbf\xbd"},
    {"cut after 2 of 3", "a\xe4\xb8", 3, false, 1, "a\xef\xbf\xbd"},
    {"cut after 3 of 4", "a\xf0\x9f\x98", 4, false, 1, "a\xef\xbf\xbd"},
    {"cut overlong", "a\xe0\x80", 3, false, 3, "a\xef\xbf\xbd\xef\xbf\xbd"},
    {"cut surrogate", "a\xed\xa0", 3, false, 3, "a\xef\xbf\xbd\xef\xbf\xbd"},
};

START_TEST(table)
{
    char out[64];
    size_t len = ROW[_i].len;
    size_t n;

    ck_assert_msg(utf8_valid(ROW[_i].bytes, len) == ROW[_i].valid, "%s: valid",
                  ROW[_i].name);
    n = utf8_complete_len(ROW[_i].bytes, len);
    ck_assert_msg(n == ROW[_i].complete, "%s: complete length %zu",
                  ROW[_i].name, n);
    n = utf8_repair(ROW[_i].bytes, len, out);
    ck_assert_msg(strcmp(out, ROW[_i].repaired) == 0, "%s: repaired \"%s\"",
                  ROW[_i].name, out);
    ck_assert_uint_eq(n, strlen(out));
    ck_assert(n <= 3 * len);
}
END_TEST

static size_t encode(unsigned c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* One assertion for all: Check's own cost would be minutes here. */
START_TEST(every_code_point)
{
    unsigned wrong = 0;
    char s[4];

    for (unsigned c = 0; c < 0x110200; c++) {
        size_t n = encode(c, s);
        bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);

        wrong += utf8_valid(s, n) != valid;
        for (size_t cut = 1; valid && cut < n; cut++) {
            wrong += utf8_complete_len(s, cut) != 0;
        }
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(blank_is_what_nobody_sees)
{
    ck_assert(utf8_is_blank(""));
    ck_assert(utf8_is_blank(" \t\r\n\x01\x7f"));
    ck_assert(utf8_is_blank("\xe3\x80\x80\xc2\xa0\xe2\x80\x8b\xe2\x80\x83"
                            "\xef\xbb\xbf\xe2\x81\xa0\xe2\x80\xa8\xc2\xad"));
    ck_assert(!utf8_is_blank(" . "));
    ck_assert(!utf8_is_blank("\xe2\x80\x94")); /* a dash */
    ck_assert(!utf8_is_blank("\xe2\x80"));     /* torn */
    ck_assert(!utf8_is_blank("\xe3\x80\x81"));
}
END_TEST

START_TEST(clip_never_splits)
{
    const char *s = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80z";
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};

    for (size_t max = 0; max < sizeof(want) / sizeof(want[0]); max++) {
        size_t n = utf8_clip(s, strlen(s), max);
        ck_assert_msg(n == want[max], "at most %zu bytes: %zu", max, n);
    }
}
END_TEST

static const struct {
    const char *in;
    const char *out;
} WILD[] = {
    {"", ""},
    {"plain \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80",
     "plain \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"},
    {"a\tb\r\nc", "a b  c"},
    {"\x1b]0;x\x07\x1b[2J\x08\x7f", "?]0;x??[2J??"},
    {"\xc2\x9b"
     "31m\xc2\xa0",
     "??31m??"},
    {"\x9b"
     "31m",
     "?31m"},                          /* C1, 8-bit */
    {"\xe4\xb8", "??"},                /* cut */
    {"\xc0\x9b\xed\xa0\x80", "?????"}, /* ill-formed */
    {"a\xe2\x80\xae"
     "b\xe2\x81\xa6\xd8\x9c",
     "a???b?????"}, /* direction */
    {"a\xe2\x80\xa8"
     "b\xe2\x80\xa9",
     "a???b???"}, /* separators */
    {"\xe2\x80\x8b\xe2\x80\xaf\xe2\x81\xa5", "?????????"},
};

START_TEST(tame)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s", WILD[_i].in);
    utf8_tame(text, strlen(text));
    ck_assert_str_eq(text, WILD[_i].out);
}
END_TEST

static const struct {
    const char *in;
    const char *out;
} SHOWN[] = {
    {"", ""},
    {"plain \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80",
     "plain \xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"},
    {"a\tb\r\n\x7f", "a\\u0009b\\u000d\\u000a\\u007f"},
    {"\xc2\xad\xe2\x80\x8b\xef\xbb\xbf\xef\xb8\x8f",
     "\\u00ad\\u200b\\ufeff\\ufe0f"},
    {"\xf3\xa0\x81\x81.", "\\udb40\\udc41."}, /* a tag */
    {"\xe3\x85\xa4\xea\xa0\x80", "\\u3164\xea\xa0\x80"},
    {"\xef\xbf\xbd", "\xef\xbf\xbd"},
    {"\xff\xe4\xb8", "\\xff\\xe4\\xb8"},
    {"\xef\xbf\xbc\xf0\x9d\x85\x99", "\\ufffc\\ud834\\udd59"},
};

START_TEST(show)
{
    char text[6 * 64 + 1];
    size_t n = utf8_show(SHOWN[_i].in, strlen(SHOWN[_i].in), text);

    ck_assert_str_eq(text, SHOWN[_i].out);
    ck_assert_uint_eq(n, strlen(SHOWN[_i].out));
}
END_TEST

Suite *utf8_suite(void)
{
    Suite *s = suite_create("utf8");
    TCase *t = tcase_create("utf8");

    tcase_add_loop_test(t, table, 0, (int)(sizeof(ROW) / sizeof(ROW[0])));
    tcase_add_test(t, every_code_point);
    tcase_add_test(t, blank_is_what_nobody_sees);
    tcase_add_test(t, clip_never_splits);
    tcase_add_loop_test(t, show, 0, (int)(sizeof(SHOWN) / sizeof(SHOWN[0])));
    tcase_add_loop_test(t, tame, 0, (int)(sizeof(WILD) / sizeof(WILD[0])));
    suite_add_tcase(s, t);
    return s;
}
