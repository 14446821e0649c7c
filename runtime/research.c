/* research.c - what the reply to a research request means, and how a research
 * ends: with the report it delivers, with its last text, or with a report put
 * together from notes and sources (R26, R31). */
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

/* An assembled report takes up notes and sources until it is so long. */
#define REPORT_BYTES (256u << 10)
#define NOTE_BYTES   4096
#define QUOTE_BYTES  400

const char research_please_deliver[] =
    "Your text was kept as progress. Hand in the report now with "
    "deliver_report, with the coverage of every requirement.";

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
    enum rc rc =
        store_source_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

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

enum rc research_assemble(struct step *s)
{
    struct cover c;
    struct buf report;
    enum rc rc = list_requirements(s, &c);

    buf_init(&report, 4 * REPORT_BYTES);
    buf_printf(&report,
               "# %s\n\nThe research ended before the model could write its "
               "report. This is what it had found, put together from its notes "
               "and sources.\n",
               s->run.title);
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

/* --- delivering -------------------------------------------------------- */

/* A handoff that the model has not seen yet. */
static enum rc anything_waiting(struct step *s, bool *out)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        *out = *out || list[i].state == HANDOFF_RECEIVED;
    }
    return rc;
}

static enum rc deliver(struct step *s, struct tool_call *t, const cJSON *args)
{
    const char *report = json_str(args, "report", "");
    struct cover c;
    bool waiting = false;
    enum rc rc = anything_waiting(s, &waiting);

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
    rc = list_requirements(s, &c);
    if (rc == RC_OK) {
        rc = read_coverage(s, json_get(args, "coverage"), &c);
    }
    if (rc == RC_OK) {
        rc = tool_settle_inside(s, t, false, "{\"outcome\":\"delivered\"}",
                                "delivered");
    }
    return rc == RC_OK ? end_with(s, report, &c) : rc;
}

static enum rc take_delivery(struct step *s, struct tool_call *t)
{
    cJSON *args = NULL;
    enum rc rc;

    if (json_parse(t->arguments, strlen(t->arguments), &args, NULL) != RC_OK) {
        return tool_settle_inside(
            s, t, true, "{\"error\":\"the arguments are not a JSON object\"}",
            "broken arguments");
    }
    rc = deliver(s, t, args);
    json_free(args);
    return rc;
}

/* --- questions and notes ----------------------------------------------- */

static enum rc pause_for(struct step *s, struct tool_call *t,
                         const char *question)
{
    enum rc rc;

    t->state = EFFECT_SENT;
    t->summary = "waiting for a reply";
    rc = store_tool_call_move(s->rt->store, &s->run, t, EFFECT_PLANNED,
                              s->now_ms);
    if (rc == RC_OK) {
        s->run.state = RUN_AWAITING_INPUT;
        s->run.question = question;
        s->run.waiting_since_ms = s->now_ms;
        s->save = true;
    }
    return rc;
}

/* Neither asked nor assumed: the Run ends at once, and says what it lacked. */
static enum rc fail_for(struct step *s, struct tool_call *t,
                        const char *question)
{
    enum rc rc = tool_settle_inside(
        s, t, false, "{\"outcome\":\"not asked: the research ends\"}",
        "not asked");

    if (rc != RC_OK) {
        return rc;
    }
    s->run.question = question;
    s->save = true;
    return run_end(s, RUN_FAILED, REASON_NO_REPLY,
                   "Something was missing that only the person could tell.");
}

static enum rc take_question(struct step *s, struct tool_call *t)
{
    const char *question = NULL;
    bool waiting = false;
    enum rc rc = tool_question(s, t->arguments, &question);

    if (rc == RC_INVALID) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"question: expected a text\"}",
                                  "no question was given");
    }
    if (rc == RC_OK) {
        rc = anything_waiting(s, &waiting);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (waiting) { /* R22: nor paused past an adjustment */
        return tool_settle_inside(s, t, false,
                                  "{\"outcome\":\"not asked: the person said "
                                  "something meanwhile, which follows\"}",
                                  "not asked: something else was said");
    }
    switch (s->run.missing_info) {
    case MISSING_ASK:
        return pause_for(s, t, question);
    case MISSING_ASSUME:
        return tool_settle_inside(s, t, false,
                                  "{\"outcome\":\"not asked: assume what is "
                                  "likely and state it in the report\"}",
                                  "assumed");
    case MISSING_FAIL:
    case MISSING_INFO__MAX:
        break;
    }
    return fail_for(s, t, question);
}

static enum rc take_note(struct step *s, struct tool_call *t)
{
    cJSON *args = NULL;
    const char *text;
    bool refused = false;
    enum rc rc = tool_admit(s, t, &refused);

    if (rc != RC_OK || refused) {
        return rc;
    }
    if (json_parse(t->arguments, strlen(t->arguments), &args, NULL) != RC_OK) {
        return tool_settle_inside(
            s, t, true, "{\"error\":\"the arguments are not a JSON object\"}",
            "broken arguments");
    }
    text = json_str(args, "text", "");
    if (text[0] == '\0') {
        rc = tool_settle_inside(s, t, true,
                                "{\"error\":\"text: expected a text\"}",
                                "no text was given");
    } else {
        rc = store_note_add(s->rt->store, s->run.id, text, s->now_ms);
        if (rc == RC_OK) {
            rc = tool_settle_inside(s, t, false, "{\"outcome\":\"noted\"}",
                                    "noted");
        }
    }
    json_free(args);
    return rc;
}

/* --- one reply --------------------------------------------------------- */

static bool is_call(const struct model_call *c, const char *name)
{
    return strcmp(c->name, name) == 0;
}

static bool has_call(const struct model_reply *r, const char *name)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        if (is_call(&r->calls[i], name)) {
            return true;
        }
    }
    return false;
}

static enum rc take_other(struct step *s, struct tool_call *t, bool asking)
{
    const struct tool *tool = tool_find(t->name);
    bool refused = false;

    if (tool == NULL) {
        return tool_settle_inside(s, t, true, "{\"error\":\"no such tool\"}",
                                  "no such tool");
    }
    if (asking) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"not carried out: a question "
                                  "to the person came with it\"}",
                                  "not carried out beside a question");
    }
    return tool->run == NULL ? take_note(s, t) : tool_admit(s, t, &refused);
}

static enum rc take_call(struct step *s, const struct request *q,
                         const struct model_reply *reply, size_t n)
{
    const struct model_call *c = &reply->calls[n];
    bool closeout = q->purpose == PURPOSE_CLOSEOUT;
    struct tool_call t;
    enum rc rc = tool_insert(s, q, c, n, &t);

    if (rc != RC_OK) {
        return rc;
    }
    if (is_call(c, "deliver_report")) {
        return take_delivery(s, &t);
    }
    if (closeout) {
        return tool_settle_inside(s, &t, true, "{\"error\":\"not offered\"}",
                                  "not offered in the closeout");
    }
    if (is_call(c, "ask_user")) {
        return take_question(s, &t);
    }
    return take_other(s, &t, has_call(reply, "ask_user"));
}

enum rc research_take_reply(struct step *s, struct request *q,
                            const struct model_reply *reply)
{
    enum rc rc = RC_OK;

    if (reply->text[0] != '\0' && reply->n_calls > 0) {
        run_set_progress(s, reply->text);
    }
    for (size_t i = 0;
         i < reply->n_calls && rc == RC_OK && !states_run_ended(s->run.state);
         i++) {
        rc = take_call(s, q, reply, i);
    }
    return rc;
}

/* --- going on ---------------------------------------------------------- */

/* Plain text as the report: nothing was stated about coverage. */
static enum rc end_with_text(struct step *s, const char *text)
{
    struct cover c;
    enum rc rc = list_requirements(s, &c);

    for (size_t i = 0; i < c.n && rc == RC_OK; i++) {
        c.items[i].remark = "The model stated no coverage.";
    }
    return rc == RC_OK ? end_with(s, text, &c) : rc;
}

/* Whether the done request before last was plain text too: then the model was
 * asked to deliver properly, and did not. */
static enum rc was_asked(struct step *s, const struct request *last, bool *out)
{
    struct request *list = NULL;
    struct model_reply r;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = n; i > 0 && rc == RC_OK; i--) {
        const struct request *q = &list[i - 1];

        if (q->id == last->id || q->state != EFFECT_DONE || q->reply == NULL) {
            continue;
        }
        if (q->purpose == PURPOSE_RESEARCH) {
            rc = model_reply_parse(q->reply, strlen(q->reply), s->mem, &r);
            *out = rc == RC_OK && r.n_calls == 0;
        }
        break;
    }
    return rc;
}

enum rc research_go_on(struct step *s, const struct request *last, bool pending,
                       bool *is_end)
{
    struct model_reply reply;
    bool asked = false;
    enum rc rc;

    *is_end = false;
    if (last->purpose != PURPOSE_RESEARCH &&
        last->purpose != PURPOSE_CLOSEOUT) {
        return RC_OK; /* the entry reply that started it */
    }
    rc = model_reply_parse(last->reply, strlen(last->reply), s->mem, &reply);
    if (rc != RC_OK) {
        return rc;
    }
    if (last->purpose == PURPOSE_CLOSEOUT) {
        *is_end = true;
        return reply.text[0] != '\0' ? end_with_text(s, reply.text)
                                     : research_assemble(s);
    }
    if (reply.n_calls > 0) {
        return RC_OK;
    }
    if (!pending) { /* R22 */
        rc = was_asked(s, last, &asked);
    }
    if (rc == RC_OK && asked) {
        *is_end = true;
        return end_with_text(s, reply.text);
    }
    s->notice = research_please_deliver;
    return rc;
}
