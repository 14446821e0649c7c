/* check_report.c - a report as a file: complete, and harmless whatever the
 * model or a document wrote. */
#include <string.h>

#include "fcgi/report.h"
#include "tests/support/suites.h"

static struct coverage coverage[] = {
    {.message_id = 4, .status = COVERED, .remark = "", .evidence = "[1,20]"},
    {.handoff_id = 9,
     .message_id = 5,
     .status = COVERED_NOT,
     .remark = "<i>no"},
};
static struct source sources[] = {
    {.n = 1,
     .title = "Write-Ahead [Logging]",
     .heading = "Ways *to* write",
     .location = "wal.html"},
    {.n = 2,
     .title = "<img src=x onerror=alert(1)>",
     .heading = "",
     .location = "javascript:alert(1)"},
};
static struct run run = {
    .id = 17,
    .title = "A <script>alert(1)</script> & more",
    .lead = "A lead.",
    .answer_body =
        "Fact [1].\n\n<script>alert(2)</script>\n\n"
        "[link](javascript:alert(3)) and [good](https://a.example)\n\n"
        "[![a *chart*](https://a.example/c.png)](https://a.example)\n",
    .coverage = coverage,
    .n_coverage = 2,
};
static const char *const asked[] = {"Why\ntides?", "Also `salt`"};
static const struct report REPORT = {
    .run = &run, .sources = sources, .n_sources = 2, .asked = asked};

static struct buf out;

static void set_up(void)
{
    buf_init(&out, 65536);
}

static void tear_down(void)
{
    buf_free(&out);
}

static void assert_has(const char *text)
{
    ck_assert_msg(strstr(buf_str(&out), text) != NULL, "no \"%s\" in:\n%s",
                  text, buf_str(&out));
}

static void assert_has_not(const char *text)
{
    ck_assert_msg(strstr(buf_str(&out), text) == NULL, "\"%s\" in:\n%s", text,
                  buf_str(&out));
}

START_TEST(markdown_has_all_parts)
{
    ck_assert_int_eq(report_markdown(&REPORT, &out), RC_OK);
    assert_has("A lead.\n\nFact [1].");
    assert_has("- \\[1\\] Write\\-Ahead \\[Logging\\] \xe2\x80\xba "
               "Ways \\*to\\* write \xe2\x80\x94 wal.html\n");
    assert_has(
        "\n## What I could not find\n\n- The adjustment (Also \\`salt\\`): "
        "not covered. \\<i\\>no\n\n## Sources\n");
    assert_has(
        "\n## Coverage\n\n- The request (Why tides?): covered. It rests on "
        "\\[1\\] \\[20\\]\n- The adjustment (Also \\`salt\\`): not "
        "covered. \\<i\\>no\n");
}
END_TEST

START_TEST(what_is_missing_without_a_reason_says_so)
{
    struct coverage lines[2] = {{.status = COVERED_PARTIAL, .remark = ""},
                                {.handoff_id = 9, .remark = ""}};
    struct run other = run;
    const struct report r = {.run = &other};

    other.coverage = lines;
    other.answer_body = "月亮吸引海水，形成潮汐 [1]。";
    ck_assert_int_eq(report_markdown(&r, &out), RC_OK);
    assert_has("\n## 未能找到的内容\n\n- 最初的请求: 部分覆盖。没有说明原因\n\n"
               "## 覆盖情况\n\n- 最初的请求: 部分覆盖。没有说明原因\n- "
               "补充的要求: 已覆盖\n");
    buf_clear(&out);
    lines[0].status = COVERED;
    ck_assert_int_eq(report_markdown(&r, &out), RC_OK);
    assert_has_not("未能找到");
}
END_TEST

START_TEST(a_last_draft_says_so)
{
    struct run draft = run;
    const struct report r = {.run = &draft};

    draft.answer_draft = true;
    ck_assert_int_eq(report_markdown(&r, &out), RC_OK);
    assert_has("more\n\n*This is the last draft. The research ended without a "
               "report.*\n\nA lead.");
    buf_clear(&out);
    ck_assert_int_eq(report_markdown(&REPORT, &out), RC_OK);
    assert_has_not("draft");
}
END_TEST

static const struct {
    const char *text;
    const char *heading;
} LANGUAGE[] = {
    {"The moon pulls the water [1].", "## Coverage\n"},
    {"月亮吸引海水，形成潮汐 [1]。", "## 覆盖情况\n"},
    {"月亮吸引海水，见 [tides](https://a.example/) [1]。", "## 覆盖情况\n"},
    {"The sign 月 stands for the moon.", "## Coverage\n"},
    {"月が海水を引き寄せることで潮汐が生じる。", "## Coverage\n"},
    {"", "## Coverage\n"},
};

START_TEST(its_own_words_are_in_the_language_of_the_report)
{
    struct run other = run;
    const struct report r = {.run = &other};

    other.answer_body = LANGUAGE[_i].text;
    ck_assert_int_eq(report_markdown(&r, &out), RC_OK);
    assert_has(LANGUAGE[_i].heading);
}
END_TEST

START_TEST(html_runs_and_loads_nothing)
{
    ck_assert_int_eq(report_html(&REPORT, &out), RC_OK);
    assert_has_not("<script");
    assert_has_not("<img");
    assert_has("<em>a <em>chart</em></em>");
    assert_has_not("<i>");
    assert_has_not("href=\"javascript:");
    assert_has("<title>A &lt;script&gt;alert(1)&lt;/script&gt; &amp; "
               "more</title>");
    assert_has("<h1>A &lt;script&gt;");
    assert_has("<a href=\"https://a.example\">good</a>");
    assert_has("[1] Write-Ahead [Logging]");
    assert_has("&lt;img src=x onerror=alert(1)&gt;");
    /* Nor a picture, when the file is opened from where it was saved. */
    assert_has("<meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
               "<meta name=");
}
END_TEST

START_TEST(a_citation_is_no_link)
{
    struct run other = run;
    struct report report = REPORT;

    other.lead = "So [2][a], and [2][1].\n\n[ 2 ]: https://c.example";
    other.answer_body = "Fact [1], as [said][a].\n\n"
                        "[a]: https://b.example\n[1]: https://a.example\n";
    report.run = &other;
    ck_assert_int_eq(report_html(&report, &out), RC_OK);
    assert_has("Fact [1], as <a href=\"https://b.example\">said</a>");
    assert_has("[1]\xe2\x81\xa0: https://a.example");
    assert_has("So [2]\xe2\x81\xa0<a href=\"https://b.example\">a</a>, "
               "and [2][1].");
}
END_TEST

START_TEST(a_report_too_long_is_an_error)
{
    buf_free(&out);
    buf_init(&out, 100);
    ck_assert_int_eq(report_html(&REPORT, &out), RC_TOO_LARGE);
}
END_TEST

Suite *report_suite(void)
{
    Suite *suite = suite_create("report");
    TCase *tcase = tcase_create("report");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, markdown_has_all_parts);
    tcase_add_test(tcase, what_is_missing_without_a_reason_says_so);
    tcase_add_test(tcase, a_last_draft_says_so);
    tcase_add_loop_test(tcase, its_own_words_are_in_the_language_of_the_report,
                        0, (int)(sizeof(LANGUAGE) / sizeof(LANGUAGE[0])));
    tcase_add_test(tcase, html_runs_and_loads_nothing);
    tcase_add_test(tcase, a_citation_is_no_link);
    tcase_add_test(tcase, a_report_too_long_is_an_error);
    suite_add_tcase(suite, tcase);
    return suite;
}
