/* deliver.c - a research's report: what it covers, what it cites, and how it
 * ends the Run; or one put together from notes and sources (R26, R31). */
#include <stdio.h>
#include <string.h>

#include "runtime/citations.h"
#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

/* An assembled report takes up notes and sources until it is so long. */
#define REPORT_BYTES (256u << 10)
#define NOTE_BYTES   4096
#define QUOTE_BYTES  400

/* --- coverage (R31) ---------------------------------------------------- */

struct cover {
    struct coverage *items;
    bool *named; /* by the model */
    size_t n;
};

/* The request and every handed adjustment, each not covered so far. */
static enum rc list_requirements(struct step *s, struct cover *out)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    out->n = 0;
    out->items = arena_alloc(s->mem, (n + 1) * sizeof(out->items[0]));
    out->named = arena_alloc(s->mem, (n + 1) * sizeof(out->named[0]));
    if (rc != RC_OK || out->items == NULL || out->named == NULL) {
        return rc == RC_OK ? RC_TOO_LARGE : rc;
    }
    memset(out->named, 0, (n + 1) * sizeof(out->named[0]));
    out->items[out->n++] = (struct coverage){
        .message_id = s->run.message_id, .status = COVERED_NOT, .remark = ""};
    for (size_t i = 0; i < n; i++) {
        if (list[i].kind == HANDOFF_ADJUSTMENT &&
            list[i].state == HANDOFF_HANDED) {
            out->items[out->n++] =
                (struct coverage){.handoff_id = list[i].id,
                                  .message_id = list[i].message_id,
                                  .status = COVERED_NOT,
                                  .remark = ""};
        }
    }
    return RC_OK;
}

static struct coverage *find_requirement(struct cover *c, const char *id)
{
    char text[ID_TEXT_BYTES];

    for (size_t i = 0; i < c->n; i++) {
        const char *own =
            c->items[i].message_id != 0
                ? id_text(ID_MESSAGE, c->items[i].message_id, text)
                : "request";

        if (strcmp(own, id) == 0) {
            return &c->items[i];
        }
    }
    return NULL;
}

/* What the model states; unknown ids and words are ignored. Of two statements
 * on one requirement the less favourable counts. */
static enum rc read_coverage(struct step *s, const cJSON *list, struct cover *c)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        struct coverage *line = find_requirement(c, json_str(item, "id", ""));
        int status = COVERED_NOT;

        if (line == NULL ||
            states_value(LIST_COVERAGE_STATUS, json_str(item, "status", ""),
                         &status) != RC_OK) {
            continue;
        }
        if (c->named[line - c->items] && status <= (int)line->status) {
            continue;
        }
        c->named[line - c->items] = true;
        line->status = (enum coverage_status)status;
        line->remark = arena_strdup(s->mem, json_str(item, "note", ""));
        if (line->remark == NULL) {
            return RC_TOO_LARGE;
        }
    }
    return RC_OK;
}

static bool all_covered(const struct cover *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->items[i].status != COVERED) {
            return false;
        }
    }
    return true;
}

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
    return all_covered(c)
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
        size_t len = strlen(list[i].body);
        size_t keep = utf8_clip(list[i].body, len, QUOTE_BYTES);

        buf_printf(out, "- %s%s%s: \"%.*s%s\" [%lld]\n", list[i].title,
                   list[i].heading[0] != '\0' ? ", " : "", list[i].heading,
                   (int)keep, list[i].body, keep < len ? "\xe2\x80\xa6" : "",
                   (long long)list[i].n);
    }
    return rc;
}

enum rc deliver_assemble(struct step *s)
{
    struct cover c;
    struct buf report;
    enum rc rc = list_requirements(s, &c);

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

enum rc deliver_find_invented(struct step *s, const char *report,
                              const char **out)
{
    int64_t cited[CITATIONS_MAX];
    struct source *list = NULL;
    struct buf text;
    size_t n_cited = 0;
    size_t n = 0;
    size_t at = 0;
    enum rc rc = citations_find(report, strlen(report), cited, &n_cited);

    if (rc == RC_OK && n_cited > 0) {
        rc = store_source_of_run(s->rt->store, s->run.id, 0, s->mem, &list, &n);
    }
    buf_init(&text, CITATIONS_MAX * 8);
    for (size_t i = 0; i < n_cited && rc == RC_OK; i++) {
        while (at < n && list[at].n < cited[i]) { /* both ascend */
            at++;
        }
        if (at == n || list[at].n != cited[i]) {
            buf_printf(&text, "%s[%lld]", text.len > 0 ? ", " : "",
                       (long long)cited[i]);
        }
    }
    *out = arena_strdup(s->mem, buf_str(&text));
    buf_free(&text);
    return rc == RC_OK && *out == NULL ? RC_TOO_LARGE : rc;
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

/* What rests on passages that nobody has seen is not covered whole. */
static enum rc mark_invented(struct step *s, struct cover *c,
                             const char *invented)
{
    for (size_t i = 0; i < c->n; i++) {
        struct coverage *line = &c->items[i];

        if (line->status != COVERED) {
            continue;
        }
        line->status = COVERED_PARTIAL;
        line->remark = arena_printf(
            s->mem, "%s%sThe report cites %s, which was never retrieved.",
            line->remark, line->remark[0] != '\0' ? " \xe2\x80\x93 " : "",
            invented);
        if (line->remark == NULL) {
            return RC_TOO_LARGE;
        }
    }
    return RC_OK;
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
    rc = deliver_find_invented(s, report, &invented);
    if (rc == RC_OK && invented[0] != '\0') {
        rc = may_tell(s, t, closeout, &tell);
    }
    if (rc == RC_OK && tell) {
        return hold_back(s, t, invented);
    }
    if (rc == RC_OK) {
        rc = list_requirements(s, &c);
    }
    if (rc == RC_OK) {
        rc = read_coverage(s, json_get(args, "coverage"), &c);
    }
    if (rc == RC_OK && invented[0] != '\0') {
        rc = mark_invented(s, &c, invented);
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
    enum rc rc = list_requirements(s, &c);

    for (size_t i = 0; i < c.n && rc == RC_OK; i++) {
        c.items[i].remark = "The model stated no coverage.";
    }
    return rc == RC_OK ? end_with(s, text, &c) : rc;
}
