/* entry.c - what the reply to a short Run's request means (R06 to R12).
 *
 * Text is the answer, and was streamed into it already. Calls are operations,
 * carried out here, or look-ups, carried out after the commit; look-ups,
 * inspect_research and refused operations get one further request, which
 * offers no operations. */
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/utf8.h"

struct exchange {
    bool became_research;
    bool wants_further; /* there is something to answer from */
    bool acted;         /* an operation succeeded */
    const char *question;
};

static enum rc take_question(struct step *s, const struct model_call *c,
                             struct tool_call *t, struct exchange *x)
{
    const char *question = NULL;
    enum rc rc = tool_question(s, c->arguments, &question);

    if (rc == RC_INVALID) {
        x->wants_further = true;
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"question: expected a text\"}",
                                  "no question was given");
    }
    if (rc == RC_OK) {
        x->question = question;
        rc =
            tool_settle_inside(s, t, false, "{\"outcome\":\"asked\"}", "asked");
    }
    return rc;
}

static enum rc take_look_up(struct step *s, struct tool_call *t, bool further,
                            struct exchange *x)
{
    bool refused = false;

    if (further) {
        /* It was told to answer; there is no request left to use this in. */
        return tool_settle_inside(s, t, true, "{\"error\":\"not offered\"}",
                                  "not offered here");
    }
    x->wants_further = true;
    return tool_admit(s, t, &refused);
}

static enum rc take_call(struct step *s, const struct request *q,
                         const struct model_reply *reply, size_t n,
                         bool further, struct exchange *x)
{
    const struct model_call *c = &reply->calls[n];
    const struct tool *tool = tool_find(s->rt, c->name);
    struct operation_result r;
    struct tool_call t;
    enum rc rc = tool_insert(s, q, c, n, &t);

    if (rc != RC_OK) {
        return rc;
    }
    if (strcmp(c->name, "ask_user") == 0) {
        return take_question(s, c, &t, x);
    }
    if (tool != NULL && tool->run != NULL && !tool->for_research) {
        return take_look_up(s, &t, further, x);
    }
    /* Operations are offered by an entry request alone. */
    rc = q->purpose == PURPOSE_ENTRY && !x->became_research
             ? operation_run(s, q, c, reply->text, &r)
             : RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND) {
        x->wants_further = true;
        return tool_settle_inside(s, &t, true, "{\"error\":\"not offered\"}",
                                  "not offered here");
    }
    if (rc != RC_OK) {
        return rc;
    }
    x->became_research = x->became_research || r.became_research;
    x->acted = x->acted || r.ends_exchange;
    x->wants_further = x->wants_further || !r.ends_exchange;
    return tool_settle_inside(s, &t, !r.done, r.text, r.summary);
}

static enum rc is_further(struct step *s, const struct request *q, bool *out)
{
    struct request *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        *out = *out || (list[i].state == EFFECT_DONE && list[i].id != q->id);
    }
    return rc;
}

/* The question is the answer (DESIGN 7). */
static enum rc answer_with(struct step *s, const char *text)
{
    enum rc rc = RC_OK;

    if (s->run.answer_parts > 0) {
        rc = store_answer_add(s->rt->store, &s->run, "\n\n", 2);
    } else if (s->run.answer_revision == 0) {
        rc = store_answer_open(s->rt->store, &s->run);
    }
    return rc == RC_OK
               ? store_answer_add(s->rt->store, &s->run, text, strlen(text))
               : rc;
}

static enum rc end_exchange(struct step *s, const struct model_reply *reply,
                            const struct exchange *x)
{
    enum rc rc = RC_OK;

    if (x->question != NULL) {
        rc = answer_with(s, x->question);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (model_reply_is_torn(reply)) {
        return run_end(s, RUN_INCOMPLETE, REASON_LENGTH,
                       strcmp(reply->finish, MODEL_FINISH_LIMIT) == 0
                           ? "The answer was cut: it grew beyond what is kept."
                           : "The answer reached the model's length limit.");
    }
    return utf8_is_blank(reply->text) && x->question == NULL && !x->acted
               ? run_end(s, RUN_FAILED, REASON_PROVIDER_ERROR,
                         "The model gave neither an answer nor an operation.")
               : run_end(s, RUN_COMPLETED, REASON_NONE, NULL);
}

enum rc entry_take_reply(struct step *s, struct request *q,
                         const struct model_reply *reply)
{
    struct exchange x = {0};
    bool further = false;
    enum rc rc = is_further(s, q, &further);

    for (size_t i = 0; i < reply->n_calls && rc == RC_OK; i++) {
        rc = take_call(s, q, reply, i, further, &x);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (x.became_research) {
        /* The rest of the exchange gives way to the research. */
        return store_run_skip_planned(s->rt->store, &s->run, s->now_ms);
    }
    if (x.wants_further && !further && x.question == NULL) {
        return RC_OK; /* the next decision goes on from the results */
    }
    return end_exchange(s, reply, &x);
}
