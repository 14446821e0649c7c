/* deliver.c - a research's report: what it covers, what it cites, and how it
 * ends the Run; or one put together from notes and sources (R26, R31). */
#include <inttypes.h>
#include <string.h>

#include "runtime/citations.h"
#include "runtime/coverage.h"
#include "runtime/runtime.h"
#include "runtime/torn.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

/* An assembled report takes up notes and sources until it is so long. */
#define REPORT_BYTES (256u << 10)
#define NOTE_BYTES   4096
#define QUOTE_BYTES  400
#define TOLD_MAX     20 /* invented numbers that are named */
#define TOLD_BYTES   4096

static const char BREAKS_OFF[] = "The report breaks off: it was too long.";

/* --- citations: each names a passage that was retrieved ------------------ */

static const char INVENTED[] = "held back: it cites what was never retrieved";

struct known {
    struct source *list; /* by number, without their texts */
    size_t n;
};

/* Of the numbers those that no source has, as "[7], [12]"; "": none. */
static enum rc print_unknown(struct step *s, const struct citations *cited,
                             const struct known *known, const char **out)
{
    struct buf text;
    size_t at = 0;
    size_t told = 0;

    buf_init(&text, TOLD_BYTES);
    for (size_t i = 0; i < cited->count; i++) {
        while (at < known->n && known->list[at].n < cited->n[i]) {
            at++; /* both ascend */
        }
        if (at < known->n && known->list[at].n == cited->n[i]) {
            continue;
        }
        if (told++ == TOLD_MAX) {
            buf_puts(&text, " and more");
            break;
        }
        buf_printf(&text, "%s[%" PRId64 "]", told > 1 ? ", " : "", cited->n[i]);
    }
    *out = arena_strdup(s->mem, buf_str(&text));
    buf_free(&text);
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

enum rc deliver_find_invented(struct step *s, const char *report,
                              const cJSON *coverage, const char **out)
{
    struct citations cited = {.count = 0};
    struct citations years = {.count = 0};
    struct known known = {.n = 0};
    enum rc rc = store_source_of_run(s->rt->store, s->run.id, 0, s->mem,
                                     &known.list, &known.n);

    if (rc == RC_OK) {
        rc = citations_years(known.list, known.n, &years);
    }
    if (rc == RC_OK) {
        rc = citations_find(report, &years, &cited);
    }
    if (rc == RC_OK) {
        rc = coverage_cited(coverage, &cited);
    }
    if (rc == RC_OK) {
        rc = print_unknown(s, &cited, &known, out);
    }
    citations_free(&years);
    citations_free(&cited);
    return rc;
}

/* Whether a plain text other than the reply to `but` was said to cite what was
 * never retrieved: each that did not end the Run was answered by
 * deliver_notice. */
static enum rc text_was_told(struct step *s, int64_t but, bool *out)
{
    struct request *list = NULL;
    struct model_reply r;
    const char *invented = "";
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = 0; i < n && rc == RC_OK && !*out; i++) {
        if (list[i].id == but || list[i].purpose != PURPOSE_RESEARCH ||
            list[i].state != EFFECT_DONE || list[i].reply == NULL) {
            continue;
        }
        rc =
            model_reply_parse(list[i].reply, strlen(list[i].reply), s->mem, &r);
        if (rc == RC_OK && r.n_calls == 0) {
            rc = deliver_find_invented(s, r.text, NULL, &invented);
            *out = rc == RC_OK && invented[0] != '\0';
        }
    }
    return rc;
}

/* The model is told once, however it hands the report in, if it can still mend
 * it: a closeout is not repeated. What was held back of the same reply it has
 * not been told yet. request_id: of the reply that holds it. */
static enum rc may_tell(struct step *s, int64_t request_id, bool closeout,
                        bool *out)
{
    const struct tool_call like = {.run_id = s->run.id,
                                   .request_id = request_id,
                                   .name = "deliver_report",
                                   .error = INVENTED};
    bool told = closeout;
    enum rc rc = RC_OK;

    if (!told) {
        rc = store_tool_call_failed_so(s->rt->store, &like, &told);
    }
    if (rc == RC_OK && !told) {
        rc = text_was_told(s, request_id, &told);
    }
    *out = !told;
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

/* --- the end ----------------------------------------------------------- */

static enum rc write_report(struct step *s, const char *report)
{
    enum rc rc = store_answer_open(s->rt->store, &s->run);

    return rc == RC_OK
               ? store_answer_add(s->rt->store, &s->run, report, strlen(report))
               : rc;
}

static enum rc doubt(struct step *s, struct cover *c, const char *invented)
{
    const char *why = arena_printf(
        s->mem, "The report cites %s, which was never retrieved.", invented);

    return why == NULL ? RC_TOO_LARGE : coverage_doubt(s, c, why);
}

/* invented: what the report or its evidence cites and no source has; "": none.
 */
static enum rc end_with(struct step *s, const char *report, struct cover *c,
                        const char *invented)
{
    enum run_reason limit = s->run.limit_reason;
    enum rc rc = write_report(s, report);

    if (rc == RC_OK && invented[0] != '\0') {
        rc = doubt(s, c, invented);
    }
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
    const char *invented = "";
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
        rc = deliver_find_invented(s, buf_str(&report), NULL, &invented);
    }
    if (rc == RC_OK) {
        rc = end_with(s, buf_str(&report), &c, invented);
    }
    buf_free(&report);
    return rc;
}

/* How a report came. */
struct way {
    bool closeout;
    bool torn; /* it breaks off */
};

static enum rc deliver(struct step *s, struct tool_call *t, const cJSON *args,
                       const struct way *way)
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
    if (utf8_is_blank(report)) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"report: expected a text\"}",
                                  "no report was given");
    }
    rc =
        deliver_find_invented(s, report, json_get(args, "coverage"), &invented);
    if (rc == RC_OK && invented[0] != '\0') {
        rc = may_tell(s, t->request_id, way->closeout, &tell);
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
    if (rc == RC_OK && way->torn) {
        rc = coverage_doubt(s, &c, BREAKS_OFF);
    }
    if (rc == RC_OK) {
        rc = tool_settle_inside(s, t, false, "{\"outcome\":\"delivered\"}",
                                "delivered");
    }
    return rc == RC_OK ? end_with(s, report, &c, invented) : rc;
}

/* A closeout is not repeated: of a report that breaks off, what there is. */
static enum rc read_torn(const char *arguments, cJSON **args)
{
    struct buf whole;
    enum rc rc;

    if (!torn_is(arguments)) {
        return RC_OK;
    }
    buf_init(&whole, strlen(arguments) + JSON_MAX_DEPTH + 2);
    torn_close(arguments, &whole);
    rc = buf_rc(&whole);
    if (rc == RC_OK) {
        rc = json_parse(buf_str(&whole), whole.len, args, NULL);
    }
    buf_free(&whole);
    if (rc == RC_OK && utf8_is_blank(json_str(*args, "report", ""))) {
        json_free(*args);
        *args = NULL;
    }
    return rc == RC_NOMEM ? rc : RC_OK;
}

enum rc deliver_take(struct step *s, struct tool_call *t, bool closeout)
{
    cJSON *args = NULL;
    bool torn = false;
    enum rc rc = closeout ? read_torn(t->arguments, &args) : RC_OK;

    torn = args != NULL;
    if (rc == RC_OK && !torn) {
        rc = tool_arguments(s, t, &args);
    }
    if (rc != RC_OK || args == NULL) {
        return rc;
    }
    coverage_unwrap(args);
    rc = deliver(s, t, args, &(struct way){.closeout = closeout, .torn = torn});
    json_free(args);
    return rc;
}

/* --- plain text ---------------------------------------------------------- */

#define NO_TEXT                                                                \
    "Your reply came to its length before it held a text or a call. Think in " \
    "fewer words, and go on, or hand in the report with deliver_report."
#define PLEASE_DELIVER                                                         \
    "Your text was kept as progress. Hand in the report now with "             \
    "deliver_report, with the coverage of every requirement."

enum rc deliver_notice(struct step *s, const struct model_reply *reply,
                       const char **out)
{
    const char *cut =
        model_reply_is_torn(reply)
            ? " It breaks off: it was too long. Say it in fewer words."
            : "";
    const char *invented = "";
    enum rc rc;

    if (utf8_is_blank(reply->text)) {
        *out = NO_TEXT;
        return RC_OK;
    }
    rc = deliver_find_invented(s, reply->text, NULL, &invented);
    if (rc != RC_OK) {
        return rc;
    }
    *out = invented[0] == '\0'
               ? arena_printf(s->mem, PLEASE_DELIVER "%s", cut)
               : arena_printf(s->mem,
                              PLEASE_DELIVER
                              "%s It cites what is not there: no passage with "
                              "the number %s was retrieved. Cite only numbers "
                              "that stand in results, and take out what "
                              "nothing supports.",
                              cut, invented);
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

/* Nothing was stated about coverage. */
static enum rc end_with_text(struct step *s, const struct model_reply *reply,
                             const char *invented)
{
    struct cover c;
    enum rc rc = coverage_list(s, &c);

    for (size_t i = 0; i < c.n && rc == RC_OK; i++) {
        c.items[i].remark = "The model stated no coverage.";
    }
    if (rc == RC_OK && model_reply_is_torn(reply)) {
        rc = coverage_doubt(s, &c, BREAKS_OFF);
    }
    return rc == RC_OK ? end_with(s, reply->text, &c, invented) : rc;
}

enum rc deliver_text(struct step *s, const struct request *from,
                     const struct model_reply *reply, bool *ended)
{
    bool closeout = from->purpose == PURPOSE_CLOSEOUT;
    const char *invented = "";
    bool tell = false;
    enum rc rc = deliver_find_invented(s, reply->text, NULL, &invented);

    if (rc == RC_OK && invented[0] != '\0') {
        rc = may_tell(s, from->id, closeout, &tell);
    }
    *ended = !tell;
    if (rc != RC_OK) {
        return rc;
    }
    return tell ? deliver_notice(s, reply, &s->notice)
                : end_with_text(s, reply, invented);
}
