#include <string.h>

#include "fcgi/offline/answer.h"
#include "fcgi/offline/entry_inside.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/topic.h"
#include "fcgi/offline/words.h"

#define SEARCH_LIMIT  8
#define QUERY_BYTES   2000
#define CONTEXT_BYTES 400

enum rc entry_add_question(struct entry *e, const char *text, size_t len)
{
    const char *copy;

    if (e->n_questions == ENTRY_MAX_QUESTIONS) {
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

void entry_add_statement(struct entry *e, const struct clause *c)
{
    if (e->pending.len > 0) {
        buf_putc(&e->pending, ' ');
    }
    buf_add(&e->pending, c->text, c->len);
}

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

enum rc entry_look_up(struct entry *e, size_t i)
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

enum rc entry_answer_all(struct entry *e, struct buf *out)
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
                        ENTRY_LINE_BYTES);
            buf_puts(out, "**\n\n");
        }
        rc = answer_put(e->a, e->scene, e->questions[i], context, out);
        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}
