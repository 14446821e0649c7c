#include "fcgi/offline/entry.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/offline/answer.h"
#include "fcgi/offline/intent.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/say.h"
#include "fcgi/offline/topic.h"
#include "fcgi/offline/words.h"
#include "sql/base/buf.h"

#define MAX_QUESTIONS  3
#define SEARCH_LIMIT   8
#define MAX_FACT_LINES 24
#define LIST_SHOWN     4
#define NAME_BYTES     60
#define QUERY_BYTES    2000
#define CONTEXT_BYTES  400
#define LINE_BYTES     200
#define NOBODY         (-1)
#define UNCLEAR        (-2)

/* One message being planned. Every rule adds calls, notes (what is said
 * about Runs) or questions. */
struct entry {
    struct arena *a;
    const struct chat *chat;
    const struct scene *scene;
    struct plan *plan;
    struct intent intent;
    struct buf notes;
    const char *questions[MAX_QUESTIONS];
    size_t n_questions;
    struct buf pending; /* statements that lead to the next question */
    bool follow_up;     /* calls were made for this message already */
    bool unclear;       /* notes hold a question to the person */
    bool wishes;        /* the message wishes for research */
};

static const char *const OPERATIONS[] = {
    "start_research",   "adjust_research", "stop_research",
    "inspect_research", "reply_research",  "continue_research",
};

static void note(struct entry *e, enum say what, const char *one,
                 const char *two, const char *three)
{
    if (e->notes.len > 0) {
        buf_puts(&e->notes, "\n\n");
    }
    say_put(&e->notes, e->scene->chinese, what, one, two, three);
}

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

/* --- which Run
 * ----------------------------------------------------------------- */

static bool is_active(const struct scene_run *r)
{
    return r->state != SCENE_ENDED;
}

static bool is_awaiting(const struct scene_run *r)
{
    return r->state == SCENE_AWAITING;
}

static bool is_ended(const struct scene_run *r)
{
    return r->state == SCENE_ENDED;
}

typedef bool run_test(const struct scene_run *);

static size_t count_runs(const struct entry *e, run_test *test)
{
    size_t n = 0;

    for (size_t i = 0; i < e->scene->n_runs; i++) {
        n += test(&e->scene->runs[i]) ? 1 : 0;
    }
    return n;
}

/* Words of the title that the clause holds; naming the id counts most. */
static enum rc likeness(const struct entry *e, const struct clause *c,
                        const struct scene_run *r, size_t *out)
{
    struct words title, clause;
    const char *id = memmem(c->text, c->len, r->id, strlen(r->id));
    size_t behind = id == NULL ? 0 : (size_t)(id - c->text) + strlen(r->id);
    enum rc rc = words_split(e->a, r->title, strlen(r->title), &title);

    if (rc == RC_OK) {
        rc = words_split(e->a, c->text, c->len, &clause);
    }
    if (rc != RC_OK) {
        return rc;
    }
    /* "run_1" does not name run_17. */
    *out = id != NULL && (behind == c->len || c->text[behind] < '0' ||
                          c->text[behind] > '9')
               ? 1000
               : 0;
    for (size_t i = 0; i < title.n; i++) {
        bool hit = false;
        for (size_t k = 0; k < clause.n; k++) {
            hit = hit || clause.v[k].key == title.v[i].key;
        }
        *out += hit && title.v[i].weight == WORD_FULL ? 1 : 0;
    }
    return RC_OK;
}

/* The one Run of this kind that the clause means: its index, NOBODY or
 * UNCLEAR. A single one is meant without being named. */
static enum rc resolve(const struct entry *e, const struct clause *c,
                       run_test *test, int *out)
{
    size_t best = 0, n = 0;

    *out = NOBODY;
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        size_t like = 0;
        enum rc rc;

        if (!test(&e->scene->runs[i])) {
            continue;
        }
        rc = likeness(e, c, &e->scene->runs[i], &like);
        if (rc != RC_OK) {
            return rc;
        }
        n++;
        if (n == 1 || like > best) {
            *out = (int)i;
            best = like;
        } else if (like == best) {
            *out = UNCLEAR;
        }
    }
    return RC_OK;
}

static void ask_which(struct entry *e, run_test *test, enum say what)
{
    struct buf list;

    buf_init(&list, 4096);
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (test(r)) {
            buf_puts(&list, list.len > 0 ? ", " : "");
            buf_puts(&list, "“");
            quote_plain(&list, r->title, strlen(r->title), 100);
            buf_printf(&list, "” (%s)", r->id);
        }
    }
    note(e, what, buf_str(&list), NULL, NULL);
    buf_free(&list);
    e->unclear = true;
}

/* --- rules by kind of clause
 * ----------------------------------------------------- */

static enum rc add_question(struct entry *e, const char *text, size_t len)
{
    const char *copy;

    if (e->n_questions == MAX_QUESTIONS) {
        return RC_OK;
    }
    if (e->pending.len > 0) {
        buf_putc(&e->pending, ' ');
    }
    buf_add(&e->pending, text, len);
    copy = arena_strndup(e->a, buf_str(&e->pending), e->pending.len);
    buf_clear(&e->pending);
    if (copy == NULL) {
        return RC_NOMEM;
    }
    e->questions[e->n_questions++] = copy;
    return RC_OK;
}

static void add_statement(struct entry *e, const struct clause *c)
{
    if (e->pending.len > 0) {
        buf_putc(&e->pending, ' ');
    }
    buf_add(&e->pending, c->text, c->len);
}

static void say_nothing_runs(struct entry *e)
{
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        note(e, SAY_ENDED, r->title, r->state_text, NULL);
    }
    if (e->scene->n_runs == 0) {
        note(e, SAY_NO_RUN, NULL, NULL, NULL);
    } else if (offered(e, "continue_research")) {
        note(e, SAY_CAN_CONTINUE, NULL, NULL, NULL);
    }
}

/* One operation on the Run that the clause means, or a question which. */
static enum rc operate_on(struct entry *e, const struct clause *c,
                          const char *op, run_test *test, enum say which)
{
    int at;
    enum rc rc = resolve(e, c, test, &at);

    if (rc != RC_OK) {
        return rc;
    }
    if (at == UNCLEAR) {
        ask_which(e, test, which);
        return RC_OK;
    }
    if (at == NOBODY || !offered(e, op)) {
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
            if (is_active(&e->scene->runs[i])) {
                rc = operate(e, "stop_research", e->scene->runs[i].id);
            }
        }
        return rc;
    }
    return operate_on(e, c, "stop_research", is_active, SAY_WHICH);
}

static void say_listed(struct entry *e, const struct scene_run *r)
{
    struct buf rest;

    buf_init(&rest, 1024);
    buf_puts(&rest, r->state_text);
    if (r->rest[0] != '\0') {
        buf_puts(&rest, ", ");
        quote_plain(&rest, r->rest, strlen(r->rest), LINE_BYTES);
    }
    note(e, SAY_LISTED, r->title, r->id, buf_str(&rest));
    buf_free(&rest);
}

/* Looking at a Run changes nothing: all that may be meant are shown. */
static enum rc on_status(struct entry *e, const struct clause *c)
{
    bool look = offered(e, "inspect_research");
    enum rc rc;
    int at;

    if (count_runs(e, is_active) == 0) {
        say_nothing_runs(e);
        return RC_OK;
    }
    rc = resolve(e, c, is_active, &at);
    for (int i = 0; i < (int)e->scene->n_runs && rc == RC_OK; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (!is_active(r) || (at != UNCLEAR && at != i)) {
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
    if (count_runs(e, is_active) == 0) {
        if (c->names_research) {
            say_nothing_runs(e);
            return RC_OK;
        }
        return add_question(e, c->text, c->len);
    }
    if (!c->adds && count_runs(e, is_awaiting) > 0 &&
        offered(e, "reply_research")) {
        return operate_on(e, c, "reply_research", is_awaiting, SAY_WHICH_REPLY);
    }
    return operate_on(e, c, "adjust_research", is_active, SAY_WHICH);
}

static enum rc on_reply(struct entry *e, const struct clause *c)
{
    if (count_runs(e, is_awaiting) == 0) {
        add_statement(e, c);
        return RC_OK;
    }
    return operate_on(e, c, "reply_research", is_awaiting, SAY_WHICH_REPLY);
}

static enum rc on_statement(struct entry *e, const struct clause *c)
{
    if (offered(e, "reply_research") && count_runs(e, is_awaiting) > 0) {
        return on_reply(e, c);
    }
    add_statement(e, c);
    return RC_OK;
}

static enum rc on_continue(struct entry *e, const struct clause *c)
{
    if (!c->names_research && count_runs(e, is_awaiting) > 0 &&
        offered(e, "reply_research")) {
        return on_reply(e, c);
    }
    if (offered(e, "continue_research")) {
        return operate_on(e, c, "continue_research", is_ended, SAY_WHICH);
    }
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        if (is_active(&e->scene->runs[i])) {
            say_listed(e, &e->scene->runs[i]);
        }
    }
    if (count_runs(e, is_active) == 0) {
        note(e, SAY_NO_RUN, NULL, NULL, NULL);
    }
    return RC_OK;
}

static void say_full(struct entry *e)
{
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (is_active(r)) {
            note(e, SAY_FULL_NAMED, r->title, r->id, NULL);
            return;
        }
    }
    note(e, SAY_FULL, NULL, NULL, NULL);
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
        say_full(e);
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

static enum rc consider(struct entry *e, const struct clause *c)
{
    switch (c->kind) {
    case INTENT_QUESTION:
        return e->wishes ? RC_OK : add_question(e, c->text, c->len);
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

/* --- the first request
 * ------------------------------------------------------------ */

/* What a question is searched with: its own words, and those of what it leans
 * on. */
static enum rc context_of(const struct entry *e, size_t i, const char **out)
{
    int leans = 0;
    enum rc rc = answer_leans(e->a, e->questions[i], &leans);

    *out = "";
    if (rc == RC_OK && leans) {
        *out = i > 0 ? e->questions[i - 1] : e->scene->previous;
    }
    return rc;
}

static enum rc look_up(struct entry *e, size_t i)
{
    const char *queries[TOPIC_MAX_QUERIES], *context, *text;
    struct topic t;
    size_t n = 0;
    enum rc rc = context_of(e, i, &context);

    if (rc != RC_OK) {
        return rc;
    }
    text = arena_printf(
        e->a, "%.*s %.*s", words_clip(e->questions[i], QUERY_BYTES),
        e->questions[i], words_clip(context, CONTEXT_BYTES), context);
    if (text == NULL) {
        return RC_NOMEM;
    }
    rc = topic_read(e->a, text, strlen(text), &t);
    if (rc == RC_OK) {
        rc = topic_queries(e->a, &t, NULL, queries, &n);
    }
    if (rc == RC_OK && n > 0) {
        rc = plan_search(e->a, e->chat, e->plan, queries[0], SEARCH_LIMIT);
    }
    /* A second, narrower search where the question has parts. */
    if (rc == RC_OK && n > 1 && e->n_questions == 1 &&
        (t.n_aspects > 0 || t.side[0] != NULL)) {
        rc = plan_search(e->a, e->chat, e->plan, queries[1], SEARCH_LIMIT);
    }
    return rc;
}

static enum rc answer_all(struct entry *e, struct buf *out)
{
    for (size_t i = 0; i < e->n_questions; i++) {
        const char *context;
        enum rc rc = context_of(e, i, &context);

        if (rc != RC_OK) {
            return rc;
        }
        if (out->len > 0) {
            buf_puts(out, "\n\n");
        }
        if (e->n_questions > 1) {
            buf_puts(out, "**");
            quote_plain(out, e->questions[i], strlen(e->questions[i]),
                        LINE_BYTES);
            buf_puts(out, "**\n\n");
        }
        rc = answer_put(e->a, e->scene, e->questions[i], context, out);
        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}

static enum rc take_text(struct entry *e, const struct buf *text)
{
    enum rc rc = buf_rc(text);

    if (rc == RC_OK) {
        e->plan->text = arena_strndup(e->a, buf_str(text), text->len);
        rc = e->plan->text == NULL ? RC_NOMEM : RC_OK;
    }
    return rc;
}

static bool starts(const struct plan *p)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        if (strcmp(p->calls[i].name, "start_research") == 0) {
            return true;
        }
    }
    return false;
}

static enum rc finish_first(struct entry *e)
{
    size_t before = e->plan->n_calls;
    bool look = e->chat->may_call && chat_offers(e->chat, "library_search");
    enum rc rc = RC_OK;

    /* A start ends the exchange: an answer would not be seen. */
    for (size_t i = 0; look && !starts(e->plan) && i < e->n_questions; i++) {
        rc = look_up(e, i);
        if (rc != RC_OK) {
            return rc;
        }
    }
    if (e->plan->n_calls > before) {
        return RC_OK; /* the answer and the notes come with the follow-up */
    }
    if (e->unclear && e->plan->n_calls == 0 && e->n_questions == 0 &&
        e->chat->may_call && chat_offers(e->chat, "ask_user")) {
        return plan_call(
            e->a, e->plan, "ask_user",
            (const char *const[]){"question", buf_str(&e->notes), NULL});
    }
    if (e->n_questions > 0 && !starts(e->plan)) {
        rc = answer_all(e, &e->notes);
    }
    if (rc == RC_OK && e->notes.len == 0 && e->plan->n_calls == 0) {
        note(e, SAY_HELLO, NULL, NULL, NULL);
    }
    return rc == RC_OK ? take_text(e, &e->notes) : rc;
}

/* --- the follow-up
 * ------------------------------------------------------------------ */

static bool is_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(*OPERATIONS); i++) {
        if (strcmp(OPERATIONS[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_value(struct buf *out, const cJSON *v)
{
    if (cJSON_IsString(v)) {
        quote_plain(out, v->valuestring, strlen(v->valuestring), LINE_BYTES);
    } else if (cJSON_IsNumber(v)) {
        buf_printf(out, "%.15g", v->valuedouble);
    } else if (cJSON_IsBool(v)) {
        buf_puts(out, cJSON_IsTrue(v) ? "yes" : "no");
    }
}

static bool says_something(const cJSON *v)
{
    return cJSON_IsBool(v) || cJSON_IsNumber(v) ||
           (cJSON_IsString(v) && v->valuestring[0] != '\0') ||
           ((cJSON_IsArray(v) || cJSON_IsObject(v)) && v->child != NULL);
}

static const char *json_text(const cJSON *v)
{
    return cJSON_IsString(v) ? v->valuestring : "";
}

/* A list by its first members, a budget as "7 of 24", other objects by their
 * members' names. */
static void put_group(struct buf *out, const cJSON *group)
{
    const cJSON *used = json_get(group, "used"), *v;
    int n = 0;

    if (cJSON_IsNumber(used)) {
        put_value(out, used);
        buf_puts(out, " of ");
        put_value(out, json_get(group, "limit"));
        return;
    }
    cJSON_ArrayForEach(v, group)
    {
        if (cJSON_IsString(v) && v->prev != NULL && v != group->child &&
            strcmp(v->valuestring, json_text(v->prev)) == 0) {
            continue; /* one page gives many passages */
        }
        if (n == LIST_SHOWN) {
            buf_puts(out, ", …");
            return;
        }
        buf_puts(out, n++ > 0 ? ", " : "");
        if (v->string != NULL) {
            quote_plain(out, v->string, strlen(v->string), NAME_BYTES);
            buf_putc(out, ' ');
        }
        put_value(out, v);
    }
}

/* What a tool said of a Run, as a list: whatever members it has. */
static void put_facts(struct buf *out, const cJSON *o)
{
    const cJSON *v;
    int lines = 0;

    cJSON_ArrayForEach(v, o)
    {
        size_t at;

        if (v->string == NULL || !says_something(v) ||
            strcmp(v->string, "run") == 0 || strcmp(v->string, "title") == 0 ||
            lines++ == MAX_FACT_LINES) {
            continue;
        }
        buf_puts(out, "\n- ");
        at = out->len;
        quote_plain(out, v->string, strlen(v->string), NAME_BYTES);
        for (; at < out->len; at++) {
            if (out->data[at] == '_') {
                out->data[at] = ' ';
            }
        }
        buf_puts(out, ": ");
        if (cJSON_IsArray(v) || cJSON_IsObject(v)) {
            put_group(out, v);
        } else {
            put_value(out, v);
        }
    }
}

static const char *title_of(const struct scene *s, const char *run)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        if (strcmp(s->runs[i].id, run) == 0) {
            return s->runs[i].title;
        }
    }
    return run;
}

static void report_inspection(struct entry *e, const struct scene_call *call)
{
    const char *run = json_str(call->arguments, "run", "");
    const cJSON *facts = json_get(call->tree, "run");

    note(e, SAY_STATE_OF, title_of(e->scene, run), run, NULL);
    buf_putc(&e->notes, '\n');
    facts = cJSON_IsObject(facts) ? facts : call->tree;
    if (facts != NULL) {
        put_facts(&e->notes, facts);
    } else {
        buf_putc(&e->notes, '\n');
        quote_plain(&e->notes, call->result, strlen(call->result), 1000);
    }
}

static void report_refusal(struct entry *e, const struct scene_call *call)
{
    const cJSON *error = json_get(call->tree, "error");
    const char *why = cJSON_IsString(error)
                          ? error->valuestring
                          : json_str(error, "message", call->result);
    struct buf safe;

    if (strcmp(call->name, "start_research") == 0) {
        say_full(e);
        return;
    }
    buf_init(&safe, 1024);
    quote_plain(&safe, why, strlen(why), LINE_BYTES);
    note(e, SAY_REFUSED, call->name, buf_str(&safe), NULL);
    buf_free(&safe);
}

static enum rc finish_follow_up(struct entry *e)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < e->scene->n_calls; i++) {
        const struct scene_call *call = &e->scene->calls[i];
        if (!is_operation(call->name) || call->result == NULL) {
            continue;
        }
        if (call->failed) {
            report_refusal(e, call);
        } else if (strcmp(call->name, "inspect_research") == 0) {
            report_inspection(e, call);
        }
    }
    if (e->n_questions > 0) {
        rc = answer_all(e, &e->notes);
    }
    if (rc == RC_OK && e->notes.len == 0) {
        note(e, SAY_DONE, e->scene->n_calls > 0 ? e->scene->calls[0].name : "",
             NULL, NULL);
    }
    return rc == RC_OK ? take_text(e, &e->notes) : rc;
}

/* --- both
 * ------------------------------------------------------------------------------
 */

static enum rc read_message(struct entry *e)
{
    const char *titles[SCENE_MAX_RUNS];
    enum rc rc;

    for (size_t i = 0; i < e->scene->n_runs; i++) {
        titles[i] = e->scene->runs[i].title;
    }
    rc = intent_read(e->scene->message, titles, e->scene->n_runs, &e->intent);
    for (size_t i = 0; rc == RC_OK && i < e->intent.n; i++) {
        e->wishes = e->wishes || e->intent.v[i].kind == INTENT_RESEARCH;
    }
    for (size_t i = 0; rc == RC_OK && i < e->intent.n; i++) {
        rc = consider(e, &e->intent.v[i]);
    }
    /* Statements without a question are looked up as they are. */
    if (rc == RC_OK && e->pending.len > 0 && e->plan->n_calls == 0) {
        rc = add_question(e, "", 0);
    }
    return rc;
}

enum rc entry_plan(struct arena *a, const struct chat *c, const struct scene *s,
                   struct plan *out)
{
    struct entry *e = arena_alloc(a, sizeof(*e));
    enum rc rc;

    if (e == NULL) {
        return RC_NOMEM;
    }
    e->a = a;
    e->chat = c;
    e->scene = s;
    e->plan = out;
    e->follow_up = s->n_calls > 0;
    buf_init(&e->notes, PLAN_TEXT_BYTES);
    buf_init(&e->pending, PLAN_TEXT_BYTES);
    rc = read_message(e);
    if (rc == RC_OK) {
        rc = e->follow_up ? finish_follow_up(e) : finish_first(e);
    }
    buf_free(&e->notes);
    buf_free(&e->pending);
    return rc;
}
