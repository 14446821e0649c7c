#include <string.h>

#include "fcgi/offline/entry_inside.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/topic.h"

/* In a follow-up the operations are gone, but what was called was offered. */
static bool offered(const struct entry *e, const char *op)
{
    if (e->follow_up) {
        return scene_count(e->scene, op, false) > 0;
    }
    return e->chat->may_call && chat_offers(e->chat, op);
}

static enum rc operate(struct entry *e, const char *op, const char *run)
{
    if (e->follow_up) {
        return RC_OK; /* it was done, or refused, before */
    }
    return plan_call(e->a, e->plan, op,
                     (const char *const[]){"run", run, NULL});
}

static void say_nothing_runs(struct entry *e)
{
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        entry_note(e, SAY_ENDED, r->title, r->state_text, NULL);
    }
    if (e->scene->n_runs == 0) {
        entry_note(e, SAY_NO_RUN, NULL, NULL, NULL);
    } else if (offered(e, "continue_research")) {
        entry_note(e, SAY_CAN_CONTINUE, NULL, NULL, NULL);
    }
}

/* One operation on the Run that the clause means, or a question which. */
static enum rc operate_on(struct entry *e, const struct clause *c,
                          const char *op, entry_run_test *test, enum say which)
{
    int at;
    enum rc rc = entry_resolve(e, c, test, &at);

    if (rc != RC_OK) {
        return rc;
    }
    if (at == ENTRY_UNCLEAR) {
        entry_ask_which(e, test, which);
        return RC_OK;
    }
    if (at == ENTRY_NOBODY || !offered(e, op)) {
        say_nothing_runs(e);
        return RC_OK;
    }
    return operate(e, op, e->scene->runs[at].id);
}

static enum rc on_stop(struct entry *e, const struct clause *c)
{
    if (c->all && offered(e, "stop_research")) {
        enum rc rc = RC_OK;
        for (size_t i = 0; i < e->scene->n_runs && rc == RC_OK; i++) {
            if (entry_is_active(&e->scene->runs[i])) {
                rc = operate(e, "stop_research", e->scene->runs[i].id);
            }
        }
        return rc;
    }
    return operate_on(e, c, "stop_research", entry_is_active, SAY_WHICH);
}

static void say_listed(struct entry *e, const struct scene_run *r)
{
    struct buf rest;

    buf_init(&rest, 1024);
    buf_puts(&rest, r->state_text);
    if (r->rest[0] != '\0') {
        buf_puts(&rest, ", ");
        quote_plain(&rest, r->rest, strlen(r->rest), ENTRY_LINE_BYTES);
    }
    entry_note(e, SAY_LISTED, r->title, r->id, buf_str(&rest));
    buf_free(&rest);
}

/* Looking at a Run changes nothing: all that may be meant are shown. */
static enum rc on_status(struct entry *e, const struct clause *c)
{
    bool look = offered(e, "inspect_research");
    enum rc rc;
    int at;

    if (entry_count_runs(e, entry_is_active) == 0) {
        say_nothing_runs(e);
        return RC_OK;
    }
    rc = entry_resolve(e, c, entry_is_active, &at);
    for (int i = 0; i < (int)e->scene->n_runs && rc == RC_OK; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (!entry_is_active(r) || (at != ENTRY_UNCLEAR && at != i)) {
            continue;
        }
        if (look) {
            rc = operate(e, "inspect_research", r->id);
        } else {
            say_listed(e, r);
        }
    }
    return rc;
}

static enum rc on_change(struct entry *e, const struct clause *c)
{
    if (e->wishes && !c->names_research) {
        return RC_OK; /* says more of the research wished for */
    }
    if (entry_count_runs(e, entry_is_active) == 0) {
        if (c->names_research) {
            say_nothing_runs(e);
            return RC_OK;
        }
        return entry_add_question(e, c->text, c->len);
    }
    if (!c->adds && entry_count_runs(e, entry_is_awaiting) > 0 &&
        offered(e, "reply_research")) {
        return operate_on(e, c, "reply_research", entry_is_awaiting,
                          SAY_WHICH_REPLY);
    }
    return operate_on(e, c, "adjust_research", entry_is_active, SAY_WHICH);
}

static enum rc on_reply(struct entry *e, const struct clause *c)
{
    if (entry_count_runs(e, entry_is_awaiting) == 0) {
        entry_add_statement(e, c);
        return RC_OK;
    }
    return operate_on(e, c, "reply_research", entry_is_awaiting,
                      SAY_WHICH_REPLY);
}

static enum rc on_statement(struct entry *e, const struct clause *c)
{
    if (offered(e, "reply_research") &&
        entry_count_runs(e, entry_is_awaiting) > 0) {
        return on_reply(e, c);
    }
    entry_add_statement(e, c);
    return RC_OK;
}

static enum rc on_continue(struct entry *e, const struct clause *c)
{
    if (!c->names_research && entry_count_runs(e, entry_is_awaiting) > 0 &&
        offered(e, "reply_research")) {
        return on_reply(e, c);
    }
    if (offered(e, "continue_research")) {
        return operate_on(e, c, "continue_research", entry_is_ended, SAY_WHICH);
    }
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        if (entry_is_active(&e->scene->runs[i])) {
            say_listed(e, &e->scene->runs[i]);
        }
    }
    if (entry_count_runs(e, entry_is_active) == 0) {
        entry_note(e, SAY_NO_RUN, NULL, NULL, NULL);
    }
    return RC_OK;
}

void entry_say_full(struct entry *e)
{
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (entry_is_active(r)) {
            entry_note(e, SAY_FULL_NAMED, r->title, r->id, NULL);
            return;
        }
    }
    entry_note(e, SAY_FULL, NULL, NULL, NULL);
}

static enum rc on_research(struct entry *e, const struct clause *c)
{
    size_t len = c->len;
    const char *text = intent_substance(c->text, &len), *title;
    int subject = 0;
    enum rc rc;

    if (e->follow_up && scene_count(e->scene, "start_research", false) > 0) {
        return RC_OK; /* told with its result */
    }
    if (!offered(e, "start_research")) {
        entry_say_full(e);
        return RC_OK;
    }
    rc = topic_has_subject(e->a, text, len, &subject);
    if (rc != RC_OK) {
        return rc;
    }
    if (!subject) {
        /* "How does WAL work? Please research that." */
        text = e->scene->message;
        len = strlen(text);
    }
    title = topic_title(e->a, text, len);
    if (title == NULL) {
        return RC_NOMEM;
    }
    if (title[0] == '\0') {
        title = e->scene->message;
    }
    if (c->deep && chat_takes(e->chat, "start_research", "depth")) {
        return plan_call(
            e->a, e->plan, "start_research",
            (const char *const[]){"title", title, "depth", "deep", NULL});
    }
    return plan_call(e->a, e->plan, "start_research",
                     (const char *const[]){"title", title, NULL});
}

enum rc entry_consider(struct entry *e, const struct clause *c)
{
    switch (c->kind) {
    case INTENT_QUESTION:
        return e->wishes ? RC_OK : entry_add_question(e, c->text, c->len);
    case INTENT_STATEMENT:
        return e->wishes ? RC_OK : on_statement(e, c);
    case INTENT_RESEARCH:
        return on_research(e, c);
    case INTENT_CHANGE:
        return on_change(e, c);
    case INTENT_STOP:
        return on_stop(e, c);
    case INTENT_STATUS:
        return on_status(e, c);
    case INTENT_CONTINUE:
        return on_continue(e, c);
    case INTENT_REPLY:
        return on_reply(e, c);
    case INTENT_SMALLTALK:
    case INTENT__MAX:
        break;
    }
    return RC_OK;
}
