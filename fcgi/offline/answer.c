#include "fcgi/offline/answer.h"

#include <stdbool.h>
#include <string.h>

#include "fcgi/offline/extract.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/say.h"
#include "fcgi/offline/topic.h"

#define MAX_SENTENCES 5
#define MAX_PAGES     3
#define FIRST_SCORE   0.5
#define LEAST_SCORE   0.3
#define LEAST_SHARE   0.4
#define CONTEXT_SCALE 0.6
/* Of the query's weight that one passage must hold to be an answer at all. */
#define RELEVANT    0.5
#define SHORT_QUERY 4.0 /* below this weight more than half must be there */

static bool one_of(const char *text, const struct word *w,
                   const char *const *list)
{
    for (; *list != NULL; list++) {
        if (words_is(text, w, *list)) {
            return true;
        }
    }
    return false;
}

/* "And durability?", "What about readers?": no question of its own. */
static bool is_elliptic(const char *text, const struct words *w)
{
    static const char *const asks[] = {
        "what", "how",  "why", "when", "where", "which", "who",  "is",
        "are",  "does", "do",  "can",  "could", "did",   "will", NULL,
    };

    if (w->n < 2) {
        return false;
    }
    if (words_is(text, &w->v[0], "and")) {
        return !one_of(text, &w->v[1], asks);
    }
    return words_is(text, &w->v[1], "about") &&
           (words_is(text, &w->v[0], "what") ||
            words_is(text, &w->v[0], "how"));
}

enum rc answer_leans(struct arena *a, const char *question, int *out)
{
    static const char *const pronouns[] = {
        "it",    "its",   "they", "them", "their", "that", "this",
        "those", "these", "he",   "she",  "same",  "both", NULL,
    };
    struct words w;
    size_t full = 0;
    bool pronoun = false;
    enum rc rc = words_split(a, question, strlen(question), &w);

    if (rc != RC_OK) {
        return rc;
    }
    for (size_t i = 0; i < w.n; i++) {
        full += w.v[i].weight == WORD_FULL ? 1 : 0;
        pronoun = pronoun || one_of(question, &w.v[i], pronouns);
    }
    *out = full == 0 || (full <= 2 && (pronoun || is_elliptic(question, &w)));
    return RC_OK;
}

static bool page_seen(struct sentence *const *s, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(s[k]->from->title, s[i]->from->title) == 0) {
            return true;
        }
    }
    return false;
}

size_t answer_pages(struct buf *b, struct sentence *const *s, size_t n,
                    size_t max)
{
    size_t pages = 0;

    for (size_t i = 0; i < n; i++) {
        if (page_seen(s, i)) {
            continue;
        }
        if (pages < max) {
            buf_puts(b, pages > 0 ? ", " : "");
            quote_title(b, s[i]->from->title);
        }
        pages++;
    }
    return pages;
}

/* Titles of the first passages, each once. */
static void nearest_pages(struct buf *b, const struct scene *s)
{
    size_t pages = 0;

    for (size_t i = 0; i < s->n_passages && pages < MAX_PAGES; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen =
                seen || strcmp(s->passages[k].title, s->passages[i].title) == 0;
        }
        if (!seen) {
            buf_puts(b, pages > 0 ? ", " : "");
            quote_title(b, s->passages[i].title);
            pages++;
        }
    }
}

static void put_unknown(const struct scene *s, const struct corpus *c,
                        const struct query *q, struct buf *out)
{
    struct buf words;

    buf_init(&words, 1024);
    for (size_t i = 0; i < q->n; i++) {
        const struct query_term *t = &q->v[i];
        /* Pairs of characters are no words to name. */
        if (t->weight >= 1 && !t->cjk && !extract_known(c, t)) {
            buf_puts(&words, words.len > 0 ? ", " : "");
            quote_plain(&words, t->text, t->len, 60);
        }
    }
    if (words.len > 0) {
        buf_puts(out, "\n\n");
        say_put(out, s->chinese, SAY_NOT_MENTIONED, buf_str(&words), NULL,
                NULL);
    }
    buf_free(&words);
}

static void put_picks(const struct scene *s, struct sentence *const *picks,
                      size_t n, struct buf *out)
{
    struct buf pages;

    buf_init(&pages, 1024);
    (void)answer_pages(&pages, picks, n, MAX_PAGES);
    say_put(out, s->chinese, SAY_FROM, buf_str(&pages), NULL, NULL);
    buf_free(&pages);
    buf_puts(out, "\n\n");
    quote_sentence(out, picks[0]);
    for (size_t i = 1; i < n; i++) {
        buf_puts(out, i == 1 ? "\n\n- " : "\n- ");
        quote_sentence(out, picks[i]);
    }
}

/* Why no search brought anything, if one failed. */
static const char *search_failure(const struct scene *s)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        if (s->calls[i].failed &&
            strcmp(s->calls[i].name, "library_search") == 0) {
            const cJSON *e = json_get(s->calls[i].tree, "error");
            return cJSON_IsString(e)
                       ? e->valuestring
                       : json_str(e, "message", s->calls[i].result);
        }
    }
    return NULL;
}

static enum rc put_nothing(struct arena *a, const struct scene *s,
                           const char *question, const char *context,
                           struct buf *out)
{
    const char *failure = search_failure(s);
    const char *all = arena_printf(a, "%s %s", question, context), *terms;
    struct buf safe, pages;

    terms = all == NULL ? NULL : topic_terms(a, all, strlen(all));
    if (terms == NULL) {
        return RC_NOMEM;
    }
    buf_init(&safe, 1024);
    buf_init(&pages, 1024);
    if (s->n_passages > 0) {
        quote_plain(&safe, terms, strlen(terms), 200);
        nearest_pages(&pages, s);
        say_put(out, s->chinese, SAY_IRRELEVANT, buf_str(&safe),
                buf_str(&pages), NULL);
    } else if (failure != NULL) {
        quote_plain(&safe, failure, strlen(failure), 200);
        say_put(out, s->chinese, SAY_SEARCH_FAILED, buf_str(&safe), NULL, NULL);
    } else if (scene_count(s, "library_search", false) == 0) {
        say_put(out, s->chinese, SAY_NO_LIBRARY, NULL, NULL, NULL);
    } else {
        quote_plain(&safe, terms, strlen(terms), 200);
        say_put(out, s->chinese, SAY_NOTHING, buf_str(&safe), NULL, NULL);
    }
    buf_free(&pages);
    buf_free(&safe);
    return RC_OK;
}

/* "What is a checkpoint?" */
static bool asks_what(const char *question)
{
    static const char *const forms[] = {
        "what is",  "what's", "what are",     "what does",
        "define ",  "who is", "explain what", "tell me what",
        "what do ", "什么是", "是什么",
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        if (strcasestr(question, forms[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static double weight_of(const struct query *q)
{
    double total = 0;

    for (size_t i = 0; i < q->n; i++) {
        total += q->v[i].weight;
    }
    return total;
}

enum rc answer_put(struct arena *a, const struct scene *s, const char *question,
                   const char *context, struct buf *out)
{
    struct corpus *c = arena_alloc(a, sizeof(*c));
    struct query q = {.n = 0};
    struct sentence *picks[MAX_SENTENCES];
    struct extract_options o = {.query = &q,
                                .max = MAX_SENTENCES,
                                .first = FIRST_SCORE,
                                .least = LEAST_SCORE,
                                .least_share = LEAST_SHARE};
    double relevance;
    size_t n = 0;
    enum rc rc;

    if (c == NULL) {
        return RC_NOMEM;
    }
    rc = sentence_corpus(a, s->passages, s->n_passages, c);
    if (rc == RC_OK) {
        rc = extract_query_add(a, question, strlen(question), 1, &q);
    }
    if (rc == RC_OK && context[0] != '\0') {
        rc = extract_query_add(a, context, strlen(context), CONTEXT_SCALE, &q);
    }
    if (rc != RC_OK) {
        return rc;
    }
    o.define = asks_what(question);
    relevance = extract_relevance(c, &q);
    if (relevance > RELEVANT ||
        (relevance >= RELEVANT && weight_of(&q) >= SHORT_QUERY)) {
        n = extract_pick(c, &o, picks);
    }
    if (n == 0) {
        return put_nothing(a, s, question, context, out);
    }
    put_picks(s, picks, n, out);
    put_unknown(s, c, &q, out);
    return RC_OK;
}
