#include "fcgi/offline/research.h"

#include <string.h>

#include "fcgi/offline/intent.h"
#include "fcgi/offline/research_inside.h"

#define MAX_TURNS 20        /* with calls; then the report is due */
#define GO_ON     "request" /* id of a requirement that no message gave */

bool research_can(const struct research *r, const char *tool)
{
    return r->chat->may_call && chat_offers(r->chat, tool);
}

size_t research_count_adjustments(const struct research *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_aims; i++) {
        n += r->aims[i].of->kind == SCENE_ADJUSTMENT ? 1 : 0;
    }
    return n;
}

/* --- what is asked -------------------------------------------------------- */

/* The request's text with what replies added to it. */
static const char *request_text(struct research *r,
                                const struct scene_requirement *of)
{
    const char *text = of->text;

    for (size_t i = 0; i < r->scene->n_requirements && text != NULL; i++) {
        const struct scene_requirement *q = &r->scene->requirements[i];
        if (q->kind == SCENE_REPLY) {
            text = arena_printf(r->a, "%s %s", text, q->text);
        }
    }
    return text;
}

/* "Research that": the research it goes on from, or the message before, says
 * what. */
static enum rc assume(struct research *r, int *found)
{
    const char *text =
        r->scene->earlier[0] != '\0' ? r->scene->earlier : r->scene->previous;
    enum rc rc = topic_has_subject(r->a, text, strlen(text), found);

    if (rc == RC_OK && *found) {
        r->assumed = text;
    }
    return rc;
}

static enum rc read_aim(struct research *r, const struct scene_requirement *of)
{
    struct report_aim *aim = &r->aims[r->n_aims];
    bool request = of->kind == SCENE_REQUEST;
    const char *text = request ? request_text(r, of) : of->text;
    size_t len;
    int subject = 0;
    enum rc rc;

    if (text == NULL) {
        return RC_NOMEM;
    }
    len = strlen(text);
    /* Aside's own words stand for a request without any. */
    rc = strcmp(of->id, GO_ON) == 0 && r->scene->earlier[0] != '\0'
             ? RC_OK
             : topic_has_subject(r->a, text, len, &subject);
    if (rc == RC_OK && !subject && request) {
        rc = assume(r, &subject);
        text = r->assumed[0] != '\0' ? r->assumed : text;
        len = strlen(text);
    }
    if (rc != RC_OK) {
        return rc;
    }
    r->subject = r->subject || subject;
    text = intent_substance(text, &len);
    aim->of = of;
    aim->echo = !subject && r->n_aims > 0;
    r->n_aims++;
    return topic_read(r->a, text, len, &aim->topic);
}

static enum rc read_aims(struct research *r)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->scene->n_requirements && rc == RC_OK; i++) {
        if (r->scene->requirements[i].kind != SCENE_REPLY) {
            rc = read_aim(r, &r->scene->requirements[i]);
        }
    }
    return rc;
}

/* --- what was found ------------------------------------------------------- */

/* What a passage holds of the requirements' words, in sentences that read as
 * such: lists of links hold many words and say nothing. */
static double worth(const struct research *r, const struct passage *p)
{
    double sum = 0;

    for (size_t i = 0; i < r->corpus.n; i++) {
        const struct sentence *s = &r->corpus.v[i];
        double match = s->from == p ? extract_match(s, &r->words) : 0;
        sum += match * match * s->form;
    }
    return sum;
}

/* The passages as sentences, once a request. */
static enum rc weigh_passages(struct research *r)
{
    enum rc rc = sentence_corpus(r->a, r->scene->passages, r->scene->n_passages,
                                 &r->corpus);

    for (size_t i = 0; rc == RC_OK && i < r->n_aims; i++) {
        const char *text = r->aims[i].topic.text;
        rc = extract_query_add(r->a, text, strlen(text), 1, &r->words);
    }
    for (size_t i = 0; rc == RC_OK && i < r->scene->n_passages; i++) {
        r->worth[i] = worth(r, &r->scene->passages[i]);
    }
    return rc;
}

/* --- the whole ------------------------------------------------------------ */

/* Nothing more is to be had: a limit was reached, or the last two turns brought
 * errors only. */
static bool exhausted(const struct scene *s)
{
    size_t good = 0, recent = 0;

    for (size_t i = 0; i < s->n_calls; i++) {
        const struct scene_call *c = &s->calls[i];
        if (c->limit) {
            return true;
        }
        if (c->turn + 2 >= s->n_turns) {
            recent++;
            good += c->failed || c->result == NULL ? 0 : 1;
        }
    }
    return s->n_turns >= 2 && recent > 0 && good == 0;
}

static enum rc plan_step(struct research *r)
{
    const struct scene *s = r->scene;
    bool due = s->purpose == SCENE_CLOSEOUT || s->deliver_now ||
               s->n_turns >= MAX_TURNS || exhausted(s);
    enum rc rc = RC_OK;

    if (!r->subject && !due && research_can(r, "ask_user") &&
        scene_count(s, "ask_user", false) == 0) {
        struct buf question;
        buf_init(&question, 1024);
        say_put(&question, s->chinese, SAY_ASK_SUBJECT, NULL, NULL, NULL);
        rc = plan_call(
            r->a, r->plan, "ask_user",
            (const char *const[]){"question", buf_str(&question), NULL});
        buf_free(&question);
        return rc;
    }
    if (s->n_turns == 0 && !due) {
        research_say_plan(r);
    }
    research_say_results(r);
    if (!due && r->subject) {
        rc = weigh_passages(r);
        if (rc == RC_OK) {
            rc = research_plan_search(r);
        }
        if (rc == RC_OK && r->plan->n_calls == 0) {
            rc = research_plan_read(r);
        }
        if (rc == RC_OK && r->plan->n_calls == 0) {
            rc = research_plan_note(r);
        }
    }
    if (rc == RC_OK && r->plan->n_calls == 0) {
        rc = research_plan_delivery(r);
    }
    return rc;
}

enum rc research_plan(struct arena *a, const struct chat *c,
                      const struct scene *s, struct plan *out)
{
    static const struct scene_requirement nothing = {
        .kind = SCENE_REQUEST, .id = "request", .text = ""};
    struct research *r = arena_alloc(a, sizeof(*r));
    enum rc rc;

    if (r == NULL) {
        return RC_NOMEM;
    }
    r->a = a;
    r->chat = c;
    r->scene = s;
    r->plan = out;
    r->assumed = "";
    buf_init(&r->prose, PLAN_TEXT_BYTES);
    rc = read_aims(r);
    if (rc == RC_OK && r->n_aims == 0) {
        rc = read_aim(r, &nothing);
    }
    if (rc == RC_OK) {
        rc = plan_step(r);
    }
    if (rc == RC_OK) {
        rc = buf_rc(&r->prose);
    }
    if (rc == RC_OK) {
        out->text = arena_strndup(a, buf_str(&r->prose), r->prose.len);
        rc = out->text == NULL ? RC_NOMEM : RC_OK;
    }
    buf_free(&r->prose);
    return rc;
}
