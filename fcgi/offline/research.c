#include "fcgi/offline/research.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fcgi/offline/extract.h"
#include "fcgi/offline/intent.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/report.h"
#include "fcgi/offline/say.h"
#include "fcgi/offline/topic.h"
#include "sql/base/buf.h"

#define MAX_TURNS           20 /* with calls; then the report is due */
#define SLOW_TURNS          6
#define MAX_SEARCHES        16
#define REQUEST_SEARCHES    6
#define ADJUSTMENT_SEARCHES 3
#define REQUEST_READS       2
#define SEARCH_LIMIT        6 /* passages: many searches fill the context */
#define LEAST_SEARCHES      5 /* leads are followed up to this number */

#define READS_A_TURN 2
#define GO_ON        "request" /* id of a requirement that no message gave */
#define TERM_BYTES   160
/* A report must fit into the reply's token limit, escapes and coverage
 * included; a token is taken for four bytes. */
#define BYTES_A_TOKEN 2

struct research {
    struct arena *a;
    const struct chat *chat;
    const struct scene *scene;
    struct plan *plan;
    struct report_aim aims[SCENE_MAX_REQUIREMENTS];
    size_t n_aims;
    const char *assumed;
    bool subject;       /* the requirements name one */
    const char *chosen; /* the first search of this reply, or NULL */
    struct buf prose;
    struct corpus corpus; /* of the passages found */
    struct query words;   /* of all requirements */
    double worth[SCENE_MAX_PASSAGES];
};

static void say(struct research *r, enum say what, const char *one,
                const char *two, const char *three)
{
    if (r->prose.len > 0) {
        buf_putc(&r->prose, ' ');
    }
    say_put(&r->prose, r->scene->chinese, what, one, two, three);
}

/* Text of documents or people inside a sentence of ours. */
static void say_text(struct research *r, enum say what, const char *text)
{
    struct buf safe;

    buf_init(&safe, 1024);
    quote_plain(&safe, text, strlen(text), TERM_BYTES);
    say(r, what, buf_str(&safe), NULL, NULL);
    buf_free(&safe);
}

/* A page's title as it reads in a line of progress, which is no Markdown. */
static void put_page(struct buf *b, const char *title)
{
    buf_puts(b, "“");
    quote_plain(b, title, strlen(title), TERM_BYTES);
    buf_puts(b, "”");
}

/* --- what is asked
 * -------------------------------------------------------------------- */

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

/* --- what was done
 * --------------------------------------------------------------------- */

static bool searched(const struct research *r, const char *query)
{
    const struct scene *s = r->scene;

    if (r->chosen != NULL && strcasecmp(r->chosen, query) == 0) {
        return true; /* in this very reply */
    }
    for (size_t i = 0; i < s->n_calls; i++) {
        const char *made = json_str(s->calls[i].arguments, "query", NULL);
        if (made != NULL && strcasecmp(made, query) == 0 &&
            strcmp(s->calls[i].name, "library_search") == 0) {
            return true;
        }
    }
    return false;
}

static bool page_read(const struct scene *s, const char *location)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (strcmp(s->calls[i].name, "library_read") == 0 &&
            strcmp(json_str(s->calls[i].arguments, "location", ""), location) ==
                0) {
            return true;
        }
    }
    return false;
}

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

static size_t count_adjustments(const struct research *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_aims; i++) {
        n += r->aims[i].of->kind == SCENE_ADJUSTMENT ? 1 : 0;
    }
    return n;
}

/* --- the next step
 * ---------------------------------------------------------------------- */

static bool can(const struct research *r, const char *tool)
{
    return r->chat->may_call && chat_offers(r->chat, tool);
}

/* The first search of an aim that was not made; NULL if all were. *fresh: none
 * of them was. */
static enum rc next_query(struct research *r, const struct report_aim *aim,
                          const char **out, bool *fresh)
{
    const char *queries[TOPIC_MAX_QUERIES];
    bool request = aim->of->kind == SCENE_REQUEST;
    size_t n, most = request ? REQUEST_SEARCHES : ADJUSTMENT_SEARCHES;
    enum rc rc = topic_queries(r->a, &aim->topic,
                               request ? NULL : &r->aims[0].topic, queries, &n);

    *out = NULL;
    *fresh = true;
    for (size_t i = 0; rc == RC_OK && i < n && i < most; i++) {
        if (searched(r, queries[i])) {
            *fresh = false;
        } else if (*out == NULL) {
            *out = queries[i];
        }
    }
    return rc;
}

/* A request of few words: the heading of the passage that promises most, and
 * was not searched for, leads on. */
static enum rc next_lead(struct research *r, const char **out)
{
    const char *subject = r->aims[0].topic.subject;
    double most = 0;

    *out = NULL;
    for (size_t i = 0; i < r->scene->n_passages; i++) {
        const char *heading = r->scene->passages[i].heading, *terms, *query;
        const char *tail = strrchr(heading, '>');

        tail = tail == NULL ? heading : tail + 1;
        if (r->worth[i] <= most || subject == NULL) {
            continue;
        }
        terms = topic_terms(r->a, tail, strnlen(tail, 80));
        query =
            terms == NULL ? NULL : arena_printf(r->a, "%s %s", subject, terms);
        if (query == NULL) {
            return RC_NOMEM;
        }
        if (terms[0] != '\0' && strcasecmp(terms, subject) != 0 &&
            !searched(r, query)) {
            most = r->worth[i];
            *out = query;
        }
    }
    return RC_OK;
}

/* The next search that the requirements ask for, or that a heading leads to;
 * NULL if there is none. */
static enum rc choose_query(struct research *r, const char **out)
{
    const char *query = NULL;
    bool fresh;
    enum rc rc = RC_OK;

    /* The newest adjustment first, the request last. */
    for (size_t i = r->n_aims; rc == RC_OK && i-- > 0 && query == NULL;) {
        if (r->aims[i].echo) {
            continue;
        }
        rc = next_query(r, &r->aims[i], &query, &fresh);
        if (query != NULL && fresh && r->aims[i].of->kind == SCENE_ADJUSTMENT) {
            say_text(r, SAY_NEW_ADJUSTMENT, r->aims[i].of->text);
        }
    }
    if (rc == RC_OK && query == NULL &&
        scene_count(r->scene, "library_search", false) < LEAST_SEARCHES) {
        rc = next_lead(r, &query);
    }
    if (rc == RC_OK) {
        *out = query;
    }
    return rc;
}

/* One search a turn, so that each can be watched; two once many turns, each of
 * which costs a request, have gone by. */
static enum rc plan_next_search(struct research *r)
{
    size_t most = r->scene->n_turns < SLOW_TURNS ? 1 : 2;
    size_t done = scene_count(r->scene, "library_search", false);
    enum rc rc = RC_OK;

    for (size_t i = 0; can(r, "library_search") && i < most && rc == RC_OK &&
                       done + i < MAX_SEARCHES;
         i++) {
        const char *query = NULL;

        rc = choose_query(r, &query);
        if (rc != RC_OK || query == NULL) {
            break;
        }
        say_text(r, i == 0 ? SAY_NEXT_SEARCH : SAY_AND_SEARCH, query);
        r->chosen = query;
        rc = plan_search(r->a, r->chat, r->plan, query, SEARCH_LIMIT);
    }
    return rc;
}

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

static bool title_read(const struct research *r, const char *title)
{
    for (size_t i = 0; i < r->scene->n_passages; i++) {
        const struct passage *p = &r->scene->passages[i];
        if (strcmp(p->title, title) == 0 && page_read(r->scene, p->location)) {
            return true;
        }
    }
    return false;
}

/* The page that promises most and was not read; NULL if there is none. Two
 * pages of one title are one document twice. */
static const struct passage *best_page(const struct research *r,
                                       const struct passage *other)
{
    const struct scene *s = r->scene;
    const struct passage *best = NULL;
    double most = 0;

    for (size_t i = 0; i < s->n_passages; i++) {
        const struct passage *p = &s->passages[i];
        double sum = 0;
        if (p->location[0] == '\0' || title_read(r, p->title) ||
            (other != NULL && strcmp(other->title, p->title) == 0)) {
            continue;
        }
        for (size_t k = 0; k < s->n_passages; k++) {
            const struct passage *q = &s->passages[k];
            sum += strcmp(p->location, q->location) == 0 ? r->worth[k] : 0;
        }
        if (sum > most) {
            best = p;
            most = sum;
        }
    }
    return best;
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

static bool page_has_more(const struct scene_call *c)
{
    return cJSON_IsTrue(json_get(c->tree, "has_more"));
}

/* Go on in the page that promised most, once: what a page is about often
 * stands behind its introduction. */
static enum rc plan_reading_on(struct research *r)
{
    const struct scene *s = r->scene;
    const struct scene_call *first = NULL;
    struct json_out j;
    struct buf b;
    const char *location, *text = NULL;
    enum rc rc;

    for (size_t i = 0; i < s->n_calls; i++) {
        const struct scene_call *c = &s->calls[i];
        if (strcmp(c->name, "library_read") == 0 &&
            json_get(c->arguments, "from") != NULL) {
            return RC_OK;
        }
        if (strcmp(c->name, "library_read") == 0 && first == NULL) {
            first = c;
        }
    }
    if (first == NULL || !page_has_more(first) || first->best < 0 ||
        !chat_takes(r->chat, "library_read", "from")) {
        return RC_OK;
    }
    location = json_str(first->arguments, "location", "");
    buf_init(&b, PLAN_TEXT_BYTES);
    json_begin(&j, &b);
    json_open_object(&j);
    json_kstr(&j, "location", location);
    json_ki64(&j, "from", (int64_t)first->n_passages);
    json_close_object(&j);
    rc = json_end(&j);
    if (rc == RC_OK) {
        text = arena_strndup(r->a, buf_str(&b), b.len);
        rc = text == NULL ? RC_NOMEM : RC_OK;
    }
    buf_free(&b);
    if (rc == RC_OK) {
        struct buf page;
        plan_call_raw(r->plan, "library_read", text);
        buf_init(&page, 1024);
        put_page(&page, s->passages[first->best].title);
        say(r, SAY_NEXT_READ, buf_str(&page), NULL, NULL);
        buf_free(&page);
    }
    return rc;
}

/* Pages begun; reading on is no page of its own. */
static size_t count_pages(const struct scene *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_calls; i++) {
        n += strcmp(s->calls[i].name, "library_read") == 0 &&
             json_get(s->calls[i].arguments, "from") == NULL;
    }
    return n;
}

static enum rc plan_next_read(struct research *r)
{
    size_t most = REQUEST_READS + count_adjustments(r);
    size_t done = count_pages(r->scene);
    const struct passage *p = NULL;
    struct buf titles;
    enum rc rc = RC_OK;

    if (!can(r, "library_read") ||
        !chat_takes(r->chat, "library_read", "location")) {
        return RC_OK;
    }

    buf_init(&titles, 2048);
    for (size_t i = 0; rc == RC_OK && i < READS_A_TURN && done + i < most;
         i++) {
        p = best_page(r, p);
        if (p == NULL) {
            break;
        }
        buf_puts(&titles, titles.len > 0 ? ", " : "");
        put_page(&titles, p->title);
        rc = plan_call(r->a, r->plan, "library_read",
                       (const char *const[]){"location", p->location, NULL});
    }
    if (titles.len > 0) {
        say(r, SAY_NEXT_READ, buf_str(&titles), NULL, NULL);
    }
    buf_free(&titles);
    return rc == RC_OK && r->plan->n_calls == 0 ? plan_reading_on(r) : rc;
}

static struct report_order order_of(const struct research *r)
{
    struct report_order o = {.scene = r->scene,
                             .aims = r->aims,
                             .n_aims = r->n_aims,
                             .assumed = r->assumed,
                             .max_bytes = REPORT_MAX_BYTES};
    int64_t tokens = r->chat->max_tokens;

    if (tokens > 0 && tokens < (int64_t)(REPORT_MAX_BYTES / BYTES_A_TOKEN)) {
        o.max_bytes = (size_t)tokens * BYTES_A_TOKEN;
    }
    return o;
}

/* Nothing new was found since the last note. */
static bool noted(const struct scene *s)
{
    bool is = false;

    for (size_t i = 0; i < s->n_calls; i++) {
        if (strcmp(s->calls[i].name, "note") == 0) {
            is = true;
        } else if (s->calls[i].n_new > 0) {
            is = false;
        }
    }
    return is;
}

/* What there is so far can be read while the rest is looked up: once, beside the
 * first note. */
static enum rc plan_draft(struct research *r)
{
    struct report_order o = order_of(r);
    struct buf text;
    const char *arguments;
    enum rc rc;

    if (!can(r, "publish_draft") ||
        scene_count(r->scene, "publish_draft", false) > 0) {
        return RC_OK;
    }
    buf_init(&text, (size_t)8 * PLAN_TEXT_BYTES);
    rc = report_draft(r->a, &o, &text);
    if (rc == RC_OK) {
        arguments = arena_strndup(r->a, buf_str(&text), text.len);
        rc = arguments == NULL ? RC_NOMEM : RC_OK;
    }
    if (rc == RC_OK) {
        plan_call_raw(r->plan, "publish_draft", arguments);
    }
    buf_free(&text);
    return rc;
}

static enum rc plan_note(struct research *r)
{
    struct report_order o = order_of(r);
    struct buf text;
    enum rc rc;

    if (!can(r, "note") || r->scene->n_passages == 0 || noted(r->scene) ||
        scene_count(r->scene, "note", false) > count_adjustments(r)) {
        return RC_OK;
    }
    buf_init(&text, PLAN_TEXT_BYTES / 2);
    rc = report_note(r->a, &o, &text);
    if (rc == RC_OK && text.len > 0) {
        say(r, SAY_NEXT_NOTE, NULL, NULL, NULL);
        rc = plan_call(r->a, r->plan, "note",
                       (const char *const[]){"text", buf_str(&text), NULL});
        rc = rc == RC_OK ? plan_draft(r) : rc;
    }
    buf_free(&text);
    return rc;
}

static void say_delivery(struct research *r)
{
    const struct scene *s = r->scene;
    char passages[24], pages[24];
    size_t n = 0;

    for (size_t i = 0; i < s->n_passages; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen = seen || strcmp(s->passages[k].location,
                                  s->passages[i].location) == 0;
        }
        n += seen ? 0 : 1;
    }
    snprintf(passages, sizeof(passages), "%zu", s->n_passages);
    snprintf(pages, sizeof(pages), "%zu", n);
    say(r, SAY_NEXT_DELIVER, passages, pages, NULL);
}

static enum rc plan_delivery(struct research *r)
{
    struct report_order o = order_of(r);
    struct buf text;
    const char *arguments;
    enum rc rc;

    buf_init(&text, (size_t)8 * PLAN_TEXT_BYTES);
    rc = report_deliver(r->a, &o, &text);
    if (rc == RC_OK) {
        arguments = arena_strndup(r->a, buf_str(&text), text.len);
        if (arguments == NULL) {
            rc = RC_NOMEM;
        } else {
            say_delivery(r);
            plan_call_raw(r->plan, "deliver_report", arguments);
        }
    }
    buf_free(&text);
    return rc;
}

/* --- thinking aloud
 * ----------------------------------------------------------------------- */

static void say_search(struct research *r, const struct scene_call *c)
{
    struct buf page, query;
    char count[24];
    const char *text = json_str(c->arguments, "query", "");

    buf_init(&page, 1024);
    buf_init(&query, 1024);
    quote_plain(&query, text, strlen(text), TERM_BYTES);
    snprintf(count, sizeof(count), "%zu", c->n_passages);
    if (c->n_passages == 0) {
        say(r, SAY_FOUND_NONE, buf_str(&query), NULL, NULL);
    } else {
        put_page(&page, r->scene->passages[c->best].title);
        say(r, SAY_FOUND, buf_str(&query), count, buf_str(&page));
    }
    buf_free(&query);
    buf_free(&page);
}

static void say_read(struct research *r, const struct scene_call *c)
{
    struct buf page;
    char count[24];

    if (c->best < 0) {
        return;
    }
    buf_init(&page, 1024);
    put_page(&page, r->scene->passages[c->best].title);
    snprintf(count, sizeof(count), "%zu", c->n_passages);
    say(r, SAY_READ, buf_str(&page), count, NULL);
    buf_free(&page);
}

/* What the calls of the last turn brought. */
static void say_results(struct research *r)
{
    const struct scene *s = r->scene;

    for (size_t i = 0; i < s->n_calls; i++) {
        const struct scene_call *c = &s->calls[i];
        if (c->turn + 1 != s->n_turns || c->result == NULL) {
            continue;
        }
        if (c->failed) {
            const cJSON *e = json_get(c->tree, "error");
            say_text(r, SAY_FAILED_STEP,
                     cJSON_IsString(e) ? e->valuestring
                                       : json_str(e, "message", c->result));
        } else if (strcmp(c->name, "library_search") == 0) {
            say_search(r, c);
        } else if (strcmp(c->name, "library_read") == 0) {
            say_read(r, c);
        }
    }
}

/* How the request was understood, before the first step. */
static void say_plan(struct research *r)
{
    const struct topic *t = &r->aims[0].topic;
    struct buf aspects;

    buf_init(&aspects, 1024);
    for (size_t i = 0; i < t->n_aspects; i++) {
        buf_puts(&aspects, i > 0 ? ", " : "");
        quote_plain(&aspects, t->aspect[i], strlen(t->aspect[i]), 60);
    }
    if (t->side[0] != NULL) {
        struct buf tail;
        buf_init(&tail, 2048);
        if (aspects.len > 0) {
            buf_printf(&tail, r->scene->chinese ? "（%s）" : " (%s)",
                       buf_str(&aspects));
        }
        say(r, SAY_PLAN_COMPARE, t->side[0], t->side[1], buf_str(&tail));
        buf_free(&tail);
    } else if (aspects.len > 0) {
        say(r, SAY_PLAN_LIST, buf_str(&aspects), NULL, NULL);
    } else if (t->subject != NULL) {
        say_text(r, SAY_PLAN_ONE, t->subject);
    }
    buf_free(&aspects);
}

/* --- the whole
 * ------------------------------------------------------------------------------
 */

static enum rc plan_step(struct research *r)
{
    const struct scene *s = r->scene;
    bool due = s->purpose == SCENE_CLOSEOUT || s->deliver_now ||
               s->n_turns >= MAX_TURNS || exhausted(s);
    enum rc rc = RC_OK;

    if (!r->subject && !due && can(r, "ask_user") &&
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
        say_plan(r);
    }
    say_results(r);
    if (!due && r->subject) {
        rc = weigh_passages(r);
        if (rc == RC_OK) {
            rc = plan_next_search(r);
        }
        if (rc == RC_OK && r->plan->n_calls == 0) {
            rc = plan_next_read(r);
        }
        if (rc == RC_OK && r->plan->n_calls == 0) {
            rc = plan_note(r);
        }
    }
    if (rc == RC_OK && r->plan->n_calls == 0) {
        rc = plan_delivery(r);
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
