/* fuzz_report.c - a model's Markdown as a report: a page without a script or
 * an address that acts, whoever wrote it; and the numbers that it cites. The
 * first lines are its title, its lead, a remark, a source's title, and the
 * source's address. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/report.h"
#include "runtime/citations.h"
#include "sql/base/cite.h"
#include "sql/base/utf8.h"
#include "sql/store_effect.h"
#include "tests/fuzz/fuzz.h"

#define OUT_BYTES ((size_t)8 << 20)

/* What only HTML that somebody else wrote would begin. Text has its < as an
 * entity. */
static const char *const NEVER[] = {
    "<script",
    "<iframe",
    "<object",
    "<embed",
    "<form",
    "<svg",
    "<base",
    "href=\"javascript:",
    "href=\"vbscript:",
    "href=\"file:",
    "src=\"javascript:",
    "src=\"vbscript:",
};

static void check_html(const char *html)
{
    const char *body = strstr(html, "<body>");

    FUZZ_CHECK(strstr(html, "default-src 'none'") != NULL);
    FUZZ_CHECK(body != NULL);
    for (size_t i = 0; i < sizeof(NEVER) / sizeof(NEVER[0]); i++) {
        FUZZ_CHECK(strcasestr(body, NEVER[i]) == NULL);
    }
}

static void check_citations(const char *text)
{
    struct citations found = {.count = 0};

    FUZZ_CHECK(citations_find(text, NULL, &found) == RC_OK);
    for (size_t i = 0; i < found.count; i++) {
        FUZZ_CHECK(found.n[i] >= 0 && found.n[i] < 1000000);
        FUZZ_CHECK(!cite_is_year(found.n[i]));
        FUZZ_CHECK(i == 0 || found.n[i] > found.n[i - 1]);
    }
    citations_free(&found);
}

static void check_report(const struct report *r)
{
    struct buf markdown, html;

    buf_init(&markdown, OUT_BYTES);
    buf_init(&html, OUT_BYTES);
    FUZZ_CHECK(report_markdown(r, &markdown) == RC_OK);
    FUZZ_CHECK(report_html(r, &html) == RC_OK);
    FUZZ_CHECK(fuzz_is_text(buf_str(&markdown), markdown.len));
    FUZZ_CHECK(fuzz_is_text(buf_str(&html), html.len));
    check_html(buf_str(&html));
    check_citations(buf_str(&markdown));
    buf_free(&markdown);
    buf_free(&html);
}

/* The store holds valid UTF-8 alone. */
static char *valid_line(struct fuzz_input *in)
{
    char *line = fuzz_line(in);
    const struct fuzz_input whole = {line, strlen(line)};
    char *valid = fuzz_valid_text(&whole);

    free(line);
    return valid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *title = valid_line(&in);
    char *lead = valid_line(&in);
    char *remark = valid_line(&in);
    char *name = valid_line(&in);
    char *location = valid_line(&in);
    char *body = fuzz_valid_text(&in);
    struct coverage coverage[] = {
        {.message_id = 4,
         .status = COVERED_NOT,
         .remark = remark,
         .evidence = "[1,20]"},
        {.handoff_id = 9, .message_id = 5, .status = COVERED, .remark = remark},
    };
    const struct source source = {
        .n = 1, .title = name, .heading = remark, .location = location};
    const char *const asked[] = {lead, NULL};
    struct run run = {.id = 17,
                      .title = title,
                      .lead = lead,
                      .answer_body = body,
                      .coverage = coverage,
                      .n_coverage = 2};
    const struct report r = {
        .run = &run, .sources = &source, .n_sources = 1, .asked = asked};

    check_report(&r);
    free(title);
    free(lead);
    free(remark);
    free(name);
    free(location);
    free(body);
    return 0;
}
