#include "fcgi/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cmark.h>

#include "sql/base/cite.h"
#include "sql/base/utf8.h"

#define LIMIT_BYTES ((size_t)16 * 1024 * 1024)
#define ASKED_BYTES 200

/* One line of plain text, with what Markdown would take for markup escaped. */
static void put_plain(struct buf *out, const char *text)
{
    static const char MARKUP[] = "\\`*_{}[]<>()#+-!|~&";

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20) {
            buf_putc(out, ' ');
            continue;
        }
        if (strchr(MARKUP, *text) != NULL) {
            buf_putc(out, '\\');
        }
        buf_putc(out, *text);
    }
}

static void put_source(struct buf *out, const struct source *s)
{
    buf_printf(out, "- \\[%" PRId64 "\\] ", s->n);
    put_plain(out, s->title);
    if (*s->heading != '\0') {
        buf_puts(out, " \xe2\x80\xba ");
        put_plain(out, s->heading);
    }
    if (*s->location != '\0') {
        buf_puts(out, " \xe2\x80\x94 ");
        put_plain(out, s->location);
    }
    buf_putc(out, '\n');
}

/* --- its own words, in the language of the report ----------------------- */

struct words {
    const char *title;
    const char *draft;
    const char *sources;
    const char *coverage;
    const char *request;
    const char *adjustment;
    const char *status[COVERAGE_STATUS__MAX];
    const char *stop; /* between a status and its note */
    const char *missing;
    const char *no_reason;
    const char *rests_on;
};

static const struct words ENGLISH = {
    .title = "Report",
    .draft = "This is the last draft. The research ended without a report.",
    .sources = "Sources",
    .coverage = "Coverage",
    .request = "The request",
    .adjustment = "The adjustment",
    .status = {[COVERED] = "covered",
               [COVERED_PARTIAL] = "covered in part",
               [COVERED_NOT] = "not covered"},
    .stop = ". ",
    .missing = "What I could not find",
    .no_reason = "No reason was given",
    .rests_on = "It rests on",
};
static const struct words CHINESE = {
    .title = "报告",
    .draft = "这是最后的草稿。研究结束时没有完成报告。",
    .sources = "来源",
    .coverage = "覆盖情况",
    .request = "最初的请求",
    .adjustment = "补充的要求",
    .status = {[COVERED] = "已覆盖",
               [COVERED_PARTIAL] = "部分覆盖",
               [COVERED_NOT] = "未覆盖"},
    .stop = "。",
    .missing = "未能找到的内容",
    .no_reason = "没有说明原因",
    .rests_on = "依据：",
};

/* Chinese, if most of it is: a character of that counts as a word of four
 * letters. Kana means that it is Japanese. */
static const struct words *words_of(const char *text)
{
    size_t letters = 0;
    size_t han = 0;
    size_t kana = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
        if (*p < 0x80) {
            letters += isalpha(*p) ? 1 : 0;
        } else if (*p >= 0xe4 && *p <= 0xe9) {
            han++;
        } else if (*p == 0xe3 && p[1] >= 0x81 && p[1] <= 0x83) {
            kana++;
        }
    }
    return 4 * han > letters && 8 * kana <= han ? &CHINESE : &ENGLISH;
}

/* Whose words they are, and as much of them as tells what they are about. */
static void put_asked(struct buf *out, const struct words *w,
                      const struct report *report, size_t i)
{
    const struct coverage *c = &report->run->coverage[i];
    const char *text = report->asked != NULL ? report->asked[i] : NULL;
    char line[ASKED_BYTES + 1];
    size_t keep;

    buf_puts(out, c->handoff_id == 0 ? w->request : w->adjustment);
    if (text == NULL) {
        return;
    }
    keep = utf8_clip(text, strlen(text), ASKED_BYTES);
    memcpy(line, text, keep);
    line[keep] = '\0';
    buf_puts(out, " (");
    put_plain(out, line);
    buf_puts(out, text[keep] != '\0' ? "…)" : ")");
}

/* [1,4] of the row as [1] [4]. */
static void put_evidence(struct buf *out, const struct words *w,
                         const char *evidence)
{
    bool stopped = out->len > 0 && buf_str(out)[out->len - 1] == '.';

    buf_printf(out, "%s%s", stopped ? " " : w->stop, w->rests_on);
    for (const char *p = evidence; *p != '\0'; p++) {
        if (isdigit((unsigned char)*p)) {
            size_t len = strspn(p, "0123456789");

            buf_printf(out, " \\[%.*s\\]", (int)len, p);
            p += len - 1;
        }
    }
}

static void put_line(struct buf *out, const struct words *w,
                     const struct report *report, size_t i)
{
    const struct coverage *c = &report->run->coverage[i];

    buf_puts(out, "- ");
    put_asked(out, w, report, i);
    buf_printf(out, ": %s", w->status[c->status]);
    if (*c->remark != '\0') {
        buf_puts(out, w->stop);
        put_plain(out, c->remark);
    } else if (c->status != COVERED) {
        buf_printf(out, "%s%s", w->stop, w->no_reason);
    }
    if (c->evidence != NULL && strpbrk(c->evidence, "0123456789") != NULL) {
        put_evidence(out, w, c->evidence);
    }
    buf_putc(out, '\n');
}

/* The lines of the coverage, or those of them that lack something. */
static void put_coverage(struct buf *out, const struct words *w,
                         const struct report *report, bool lacking)
{
    const char *heading = lacking ? w->missing : w->coverage;

    for (size_t i = 0; i < report->run->n_coverage; i++) {
        if (lacking && report->run->coverage[i].status == COVERED) {
            continue;
        }
        if (heading != NULL) {
            buf_printf(out, "\n## %s\n\n", heading);
            heading = NULL;
        }
        put_line(out, w, report, i);
    }
}

static void put_text(struct buf *out, const struct words *w,
                     const struct run *run)
{
    buf_puts(out, "# ");
    put_plain(out, *run->title == '\0' ? w->title : run->title);
    buf_puts(out, "\n\n");
    if (run->answer_draft) {
        buf_printf(out, "*%s*\n\n", w->draft);
    }
    if (run->lead != NULL && *run->lead != '\0') {
        cite_unlink(run->lead, strlen(run->lead), out);
        buf_puts(out, "\n\n");
    }
    if (run->answer_body != NULL) {
        cite_unlink(run->answer_body, strlen(run->answer_body), out);
    }
    buf_puts(out, "\n");
}

enum rc report_markdown(const struct report *report, struct buf *out)
{
    const struct run *run = report->run;
    const struct words *w =
        words_of(run->answer_body == NULL ? "" : run->answer_body);

    put_text(out, w, run);
    put_coverage(out, w, report, true);
    if (report->n_sources > 0) {
        buf_printf(out, "\n## %s\n\n", w->sources);
    }
    for (size_t i = 0; i < report->n_sources; i++) {
        put_source(out, &report->sources[i]);
    }
    put_coverage(out, w, report, false);
    return buf_rc(out);
}

static void put_html_text(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        default:
            buf_putc(out, *text);
            break;
        }
    }
}

/* A picture would tell its server who reads the report, wherever the file is
 * opened: its words stay, as in the page. */
static bool drop_pictures(cmark_node *document)
{
    cmark_iter *at = cmark_iter_new(document);
    bool done = true;
    cmark_event_type event = CMARK_EVENT_NONE;

    if (at == NULL) {
        return false;
    }
    while (done && (event = cmark_iter_next(at)) != CMARK_EVENT_DONE) {
        cmark_node *picture = cmark_iter_get_node(at);
        cmark_node *words;

        if (event != CMARK_EVENT_EXIT ||
            cmark_node_get_type(picture) != CMARK_NODE_IMAGE) {
            continue;
        }
        words = cmark_node_new(CMARK_NODE_EMPH);
        while (
            words != NULL && cmark_node_first_child(picture) != NULL &&
            cmark_node_append_child(words, cmark_node_first_child(picture))) {
        }
        done = words != NULL && cmark_node_replace(picture, words);
        cmark_node_free(done ? picture : words);
    }
    cmark_iter_free(at);
    return done;
}

/* Without CMARK_OPT_UNSAFE raw HTML and unsafe links are left out. NULL: no
 * memory. */
static char *html_of(const struct buf *markdown)
{
    cmark_node *document = cmark_parse_document(markdown->data, markdown->len,
                                                CMARK_OPT_VALIDATE_UTF8);
    char *html = NULL;

    if (document != NULL && drop_pictures(document)) {
        html = cmark_render_html(document, CMARK_OPT_VALIDATE_UTF8);
    }
    cmark_node_free(document);
    return html;
}

enum rc report_html(const struct report *report, struct buf *out)
{
    static const char STYLE[] =
        "body{max-width:44rem;margin:2rem auto;padding:0 1rem;"
        "font:1rem/1.6 system-ui,sans-serif;color:#1b1b1b;background:#fff}"
        "h1,h2,h3{line-height:1.25}pre{overflow-x:auto}"
        "pre,code{background:#f3f3f3}"
        "blockquote{margin-left:0;padding-left:1rem;"
        "border-left:.25rem solid #ccc}";
    struct buf markdown;
    char *html;
    enum rc rc;

    buf_init(&markdown, LIMIT_BYTES);
    rc = report_markdown(report, &markdown);
    if (rc != RC_OK) {
        buf_free(&markdown);
        return rc;
    }
    html = html_of(&markdown);
    buf_free(&markdown);
    if (html == NULL) {
        return RC_NOMEM;
    }
    /* Saved, it has no header that keeps it from loading a picture. */
    buf_puts(out, "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" "
                  "content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\">\n"
                  "<meta name=\"viewport\" "
                  "content=\"width=device-width\">\n<title>");
    put_html_text(out, report->run->title);
    buf_printf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", STYLE);
    buf_puts(out, html);
    buf_puts(out, "</body>\n</html>\n");
    free(html);
    return buf_rc(out);
}
