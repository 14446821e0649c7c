#include <stdio.h>
#include <string.h>

#include "fcgi/offline/quote.h"
#include "fcgi/offline/research_inside.h"

#define TERM_BYTES 160

void research_say(struct research *r, enum say what, const char *one,
                  const char *two, const char *three)
{
    if (r->prose.len > 0) {
        buf_putc(&r->prose, ' ');
    }
    say_put(&r->prose, r->scene->chinese, what, one, two, three);
}

void research_say_text(struct research *r, enum say what, const char *text)
{
    struct buf safe;

    buf_init(&safe, 1024);
    quote_plain(&safe, text, strlen(text), TERM_BYTES);
    research_say(r, what, buf_str(&safe), NULL, NULL);
    buf_free(&safe);
}

void research_put_page(struct buf *b, const char *title)
{
    buf_puts(b, "“");
    quote_plain(b, title, strlen(title), TERM_BYTES);
    buf_puts(b, "”");
}

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
        research_say(r, SAY_FOUND_NONE, buf_str(&query), NULL, NULL);
    } else {
        research_put_page(&page, r->scene->passages[c->best].title);
        research_say(r, SAY_FOUND, buf_str(&query), count, buf_str(&page));
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
    research_put_page(&page, r->scene->passages[c->best].title);
    snprintf(count, sizeof(count), "%zu", c->n_passages);
    research_say(r, SAY_READ, buf_str(&page), count, NULL);
    buf_free(&page);
}

void research_say_results(struct research *r)
{
    const struct scene *s = r->scene;

    for (size_t i = 0; i < s->n_calls; i++) {
        const struct scene_call *c = &s->calls[i];
        if (c->turn + 1 != s->n_turns || c->result == NULL) {
            continue;
        }
        if (c->failed) {
            const cJSON *e = json_get(c->tree, "error");
            research_say_text(r, SAY_FAILED_STEP,
                              cJSON_IsString(e)
                                  ? e->valuestring
                                  : json_str(e, "message", c->result));
        } else if (strcmp(c->name, "library_search") == 0) {
            say_search(r, c);
        } else if (strcmp(c->name, "library_read") == 0) {
            say_read(r, c);
        }
    }
}

void research_say_plan(struct research *r)
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
        research_say(r, SAY_PLAN_COMPARE, t->side[0], t->side[1],
                     buf_str(&tail));
        buf_free(&tail);
    } else if (aspects.len > 0) {
        research_say(r, SAY_PLAN_LIST, buf_str(&aspects), NULL, NULL);
    } else if (t->subject != NULL) {
        research_say_text(r, SAY_PLAN_ONE, t->subject);
    }
    buf_free(&aspects);
}
