/* draft.c - a draft of the report, published while the research goes on: a
 * revision of its answer (R05), which the next draft or the report supersedes.
 *
 * It ends nothing and covers nothing. What it cites must have been retrieved,
 * as in a report; since nothing is lost by it, a draft that cites anything else
 * is refused each time. */
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

static enum rc refuse(struct step *s, struct tool_call *t, const char *invented)
{
    const char *text = arena_printf(
        s->mem,
        "{\"error\":\"not published: %s: no passage with that number was "
        "retrieved. Cite only numbers that stand in results.\"}",
        invented);

    return text == NULL ? RC_TOO_LARGE
                        : tool_settle_inside(s, t, true, text,
                                             "not published: it cites what was "
                                             "never retrieved");
}

/* The same text again is no news. */
static enum rc stands_already(struct step *s, const char *report, bool *out)
{
    const char *text = "";
    enum rc rc = RC_OK;

    if (s->run.answer_draft) {
        rc = store_answer_text(s->rt->store, &s->run, s->mem, &text);
    }
    *out = strcmp(text, report) == 0;
    return rc;
}

static enum rc publish(struct step *s, const char *report)
{
    enum rc rc = store_answer_open_draft(s->rt->store, &s->run);

    return rc == RC_OK
               ? store_answer_add(s->rt->store, &s->run, report, strlen(report))
               : rc;
}

enum rc draft_take(struct step *s, struct tool_call *t, const cJSON *args)
{
    const char *report = json_str(args, "report", "");
    const char *invented = "";
    bool same = false;
    enum rc rc;

    if (utf8_is_blank(report)) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"report: expected a text\"}",
                                  "no text was given");
    }
    rc = deliver_find_invented(s, report, NULL, &invented);
    if (rc == RC_OK && invented[0] != '\0') {
        return refuse(s, t, invented);
    }
    if (rc == RC_OK) {
        rc = stands_already(s, report, &same);
    }
    if (rc == RC_OK && !same) {
        rc = publish(s, report);
    }
    return rc == RC_OK
               ? tool_settle_inside(s, t, false,
                                    "{\"outcome\":\"published; go on, and hand "
                                    "the report in with deliver_report\"}",
                                    "published")
               : rc;
}
