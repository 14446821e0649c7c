/* research.c - what the reply to a research request means: its calls, its
 * questions and notes, and whether it goes on. deliver.c ends it. */
#include <string.h>

#include "runtime/policy.h"
#include "runtime/runtime.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

/* --- questions and tools inside ----------------------------------------------- */

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
        rc = run_has_received(s, &waiting);
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

/* A tool that touches only rows; one that the person has to allow stays
 * planned. */
static enum rc take_inside(struct step *s, struct tool_call *t,
                           const struct tool *tool)
{
    enum policy_outcome outcome = POLICY_SETTLED;
    bool refused = false;
    enum rc rc = tool_admit(s, t, &refused);

    if (rc == RC_OK && !refused) {
        rc = policy_rule(s, t, true, &outcome);
    }
    return rc == RC_OK && outcome == POLICY_GOES ? tool_carry_out(s, t, tool)
                                                 : rc;
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
    const struct tool *tool = tool_find(s->rt, t->name);
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
    return tool->run == NULL ? take_inside(s, t, tool)
                             : tool_admit(s, t, &refused);
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
        return deliver_take(s, &t, closeout);
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
        return utf8_is_blank(reply.text)
                   ? deliver_assemble(s)
                   : deliver_text(s, last, &reply, is_end);
    }
    if (reply.n_calls > 0) {
        return RC_OK;
    }
    if (!pending) { /* R22 */
        rc = was_asked(s, last, &asked);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (asked && utf8_is_blank(reply.text)) {
        *is_end = true;
        run_hit_limit(s, REASON_LENGTH);
        return deliver_assemble(s);
    }
    return asked ? deliver_text(s, last, &reply, is_end)
                 : deliver_notice(s, &reply, &s->notice);
}
