/* deliver.c - a research's report: what it covers, what it cites, and how it
 * ends the Run; or one put together from notes and sources (R26, R31). */
#include <stdio.h>
#include <string.h>

#include "runtime/citations.h"
#include "runtime/coverage.h"
#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

/* An assembled report takes up notes and sources until it is so long. */
#define REPORT_BYTES (256u << 10)
#define NOTE_BYTES   4096
#define QUOTE_BYTES  400

/* --- the end ----------------------------------------------------------- */

static enum rc write_report(struct step *s, const char *report)
{
    enum rc rc = store_answer_open(s->rt->store, &s->run);

    return rc == RC_OK
               ? store_answer_add(s->rt->store, &s->run, report, strlen(report))
               : rc;
}

static enum rc end_with(struct step *s, const char *report,
                        const struct cover *c)
{
    enum run_reason limit = s->run.limit_reason;
    enum rc rc = write_report(s, report);

    if (rc == RC_OK) {
        rc = store_coverage_set(s->rt->store, s->run.id, c->items, c->n);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (limit != REASON_NONE) {
        return run_end(s, RUN_INCOMPLETE, limit, "Ended at a limit.");
    }
    return coverage_is_whole(c)
               ? run_end(s, RUN_COMPLETED, REASON_NONE, "Report delivered.")
               : run_end(s, RUN_INCOMPLETE, REASON_PARTIAL_COVERAGE,
                         "Report delivered; not everything is covered.");
}

static enum rc add_draft(struct step *s, struct buf *out)
{
    const char *text = "";
    enum rc rc;

    if (!s->run.answer_draft) {
        return RC_OK;
    }
    rc = store_answer_text(s->rt->store, &s->run, s->mem, &text);
    if (rc == RC_OK) {
        buf_puts(out, "\n## Its last draft\n\n");
        buf_add(out, text, utf8_clip(text, strlen(text), REPORT_BYTES / 2));
        buf_putc(out, '\n');
    }
    return rc;
}

static enum rc add_notes(struct step *s, struct buf *out)
{
    struct note *notes = NULL;
    size_t n = 0;
    enum rc rc = store_note_of_run(s->rt->store, s->run.id, s->mem, &notes, &n);

    if (rc == RC_OK && n > 0) {
        buf_puts(out, "\n## Notes\n\n");
    }
    for (size_t i = 0; i < n && rc == RC_OK && out->len < REPORT_BYTES; i++) {
        size_t keep =
            utf8_clip(notes[i].body, strlen(notes[i].body), NOTE_BYTES);

        buf_printf(out, "- %.*s\n", (int)keep, notes[i].body);
    }
    return rc;
}

/* Words of a stranger in one line: they cite nothing, load nothing, and end no
 * list. */
static void put_quoted(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20) {
            buf_putc(out, ' ');
            continue;
        }
        if (strchr("\\`*_[]<>&~", text[i]) != NULL) {
            buf_putc(out, '\\');
        }
        buf_putc(out, text[i]);
    }
}

static void put_found(struct buf *out, const struct source *src)
{
    size_t len = strlen(src->body);
    size_t keep = utf8_clip(src->body, len, QUOTE_BYTES);

    buf_puts(out, "- ");
    put_quoted(out, src->title, strlen(src->title));
    buf_puts(out, src->heading[0] != '\0' ? ", " : "");
    put_quoted(out, src->heading, strlen(src->heading));
    buf_puts(out, ": \"");
    put_quoted(out, src->body, keep);
    buf_printf(out, "%s\" [%lld]\n", keep < len ? "\xe2\x80\xa6" : "",
               (long long)src->n);
}

static enum rc add_sources(struct step *s, struct buf *out)
{
    struct source *list = NULL;
    size_t n = 0;
    enum rc rc = store_source_of_run(s->rt->store, s->run.id, QUOTE_BYTES + 1,
                                     s->mem, &list, &n);

    if (rc == RC_OK && n > 0) {
        buf_puts(out, "\n## What was found\n\n");
    }
    for (size_t i = 0; i < n && rc == RC_OK && out->len < REPORT_BYTES; i++) {
        put_found(out, &list[i]);
    }
    return rc;
}

enum rc deliver_assemble(struct step *s)
{
    struct cover c;
    struct buf report;
    enum rc rc = coverage_list(s, &c);

    for (size_t i = 0; i < c.n && rc == RC_OK; i++) {
        c.items[i].remark = "The research ended before its report was written.";
    }
    buf_init(&report, 4 * REPORT_BYTES);
    buf_printf(
        &report,
        "# %s\n\nThe research ended before the model could write its "
        "report. This is what it had found, put together from its %snotes "
        "and sources.\n",
        s->run.title, s->run.answer_draft ? "last draft, " : "");
    if (rc == RC_OK) {
        rc = add_draft(s, &report);
    }
    if (rc == RC_OK) {
        rc = add_notes(s, &report);
    }
    if (rc == RC_OK) {
        rc = add_sources(s, &report);
    }
    if (rc == RC_OK) {
        rc = buf_rc(&report);
    }
    if (rc == RC_OK && s->run.limit_reason == REASON_NONE) {
        run_hit_limit(s, REASON_PROVIDER_ERROR);
    }
    if (rc == RC_OK) {
        rc = end_with(s, buf_str(&report), &c);
    }
    buf_free(&report);
    return rc;
}

/* --- citations: each names a passage that was retrieved ------------------ */

static const char INVENTED[] = "held back: it cites what was never retrieved";

/* Of the numbers those that no source has, as "[7], [12]"; "": none. */
static enum rc print_unknown(struct step *s, const bool *cited,
                             const char **out)
{
    struct source *list = NULL;
    struct buf text;
    size_t n = 0;
    size_t at = 0;
    enum rc rc =
        store_source_of_run(s->rt->store, s->run.id, 0, s->mem, &list, &n);

    buf_init(&text, CITATIONS_MAX * 8);
    for (int64_t i = 0; i < CITATIONS_MAX && rc == RC_OK; i++) {
        while (at < n && list[at].n < i) { /* both ascend */
            at++;
        }
        if (cited[i] && (at == n || list[at].n != i)) {
            buf_printf(&text, "%s[%lld]", text.len > 0 ? ", " : "",
                       (long long)i);
        }
    }
    *out = arena_strdup(s->mem, buf_str(&text));
    buf_free(&text);
    return rc == RC_OK && *out == NULL ? RC_TOO_LARGE : rc;
}

enum rc deliver_find_invented(struct step *s, const char *report,
                              const cJSON *coverage, const char **out)
{
    bool cited[CITATIONS_MAX] = {false};
    int64_t list[CITATIONS_MAX];
    size_t n = 0;
    enum rc rc = citations_find(report, strlen(report), list, &n);

    for (size_t i = 0; i < n; i++) {
        cited[list[i]] = true;
    }
    coverage_cited(coverage, cited);
    return rc == RC_OK ? print_unknown(s, cited, out) : rc;
}

/* The model is told once, if it can still mend the report. */
static enum rc may_tell(struct step *s, const struct tool_call *t,
                        bool closeout, bool *out)
{
    bool told = false;
    enum rc rc = store_tool_call_failed_so(s->rt->store, s->run.id, t->name,
                                           INVENTED, &told);

    *out = !told && !closeout;
    return rc;
}

static enum rc hold_back(struct step *s, struct tool_call *t,
                         const char *invented)
{
    const char *text = arena_printf(
        s->mem,
        "{\"error\":\"not delivered: %s: no passage with that number was "
        "retrieved. Cite only numbers that stand in results, take out what "
        "nothing supports, and hand the report in again.\"}",
        invented);

    return text == NULL ? RC_TOO_LARGE
                        : tool_settle_inside(s, t, true, text, INVENTED);
}

static enum rc deliver(struct step *s, struct tool_call *t, const cJSON *args,
                       bool closeout)
{
    const char *report = json_str(args, "report", "");
    const char *invented = "";
    struct cover c;
    bool waiting = false;
    bool tell = false;
    enum rc rc = run_has_received(s, &waiting);

    if (rc != RC_OK) {
        return rc;
    }
    if (s->run.state == RUN_AWAITING_INPUT) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"not delivered: a question to "
                                  "the person came with it\"}",
                                  "held back: a question came with it");
    }
    if (waiting) { /* R22 */
        return tool_settle_inside(
            s, t, true,
            "{\"error\":\"not delivered: the person added something, which "
            "follows; cover it too\"}",
            "held back: an adjustment had arrived");
    }
    if (report[0] == '\0') {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"report: expected a text\"}",
                                  "no report was given");
    }
    rc =
        deliver_find_invented(s, report, json_get(args, "coverage"), &invented);
    if (rc == RC_OK && invented[0] != '\0') {
        rc = may_tell(s, t, closeout, &tell);
    }
    if (rc == RC_OK && tell) {
        return hold_back(s, t, invented);
    }
    if (rc == RC_OK) {
        rc = coverage_list(s, &c);
    }
    if (rc == RC_OK) {
        rc = coverage_read(s, json_get(args, "coverage"), report, &c);
    }
    if (rc == RC_OK && invented[0] != '\0') {
        rc = coverage_doubt(s, &c, invented);
    }
    if (rc == RC_OK) {
        rc = tool_settle_inside(s, t, false, "{\"outcome\":\"delivered\"}",
                                "delivered");
    }
    return rc == RC_OK ? end_with(s, report, &c) : rc;
}

enum rc deliver_take(struct step *s, struct tool_call *t, bool closeout)
{
    cJSON *args = NULL;
    enum rc rc;

    if (json_parse(t->arguments, strlen(t->arguments), &args, NULL) != RC_OK) {
        return tool_settle_inside(
            s, t, true, "{\"error\":\"the arguments are not a JSON object\"}",
            "broken arguments");
    }
    rc = deliver(s, t, args, closeout);
    json_free(args);
    return rc;
}

/* Plain text as the report: nothing was stated about coverage. */
enum rc deliver_text(struct step *s, const char *text)
{
    struct cover c;
    enum rc rc = coverage_list(s, &c);

    for (size_t i = 0; i < c.n && rc == RC_OK; i++) {
        c.items[i].remark = "The model stated no coverage.";
    }
    return rc == RC_OK ? end_with(s, text, &c) : rc;
}
