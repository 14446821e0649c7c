#include <string.h>

#include "fcgi/offline/research_inside.h"

#define REQUEST_READS 2
#define READS_A_TURN  2

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
        research_put_page(&page, s->passages[first->best].title);
        research_say(r, SAY_NEXT_READ, buf_str(&page), NULL, NULL);
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

enum rc research_plan_read(struct research *r)
{
    size_t most = REQUEST_READS + research_count_adjustments(r);
    size_t done = count_pages(r->scene);
    const struct passage *p = NULL;
    struct buf titles;
    enum rc rc = RC_OK;

    if (!research_can(r, "library_read") ||
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
        research_put_page(&titles, p->title);
        rc = plan_call(r->a, r->plan, "library_read",
                       (const char *const[]){"location", p->location, NULL});
    }
    if (titles.len > 0) {
        research_say(r, SAY_NEXT_READ, buf_str(&titles), NULL, NULL);
    }
    buf_free(&titles);
    return rc == RC_OK && r->plan->n_calls == 0 ? plan_reading_on(r) : rc;
}
