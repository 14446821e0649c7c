#include <stdio.h>
#include <string.h>

#include "fcgi/offline/research_inside.h"

/* A report must fit into the reply's token limit, escapes and coverage
 * included; a token is taken for four bytes. */
#define BYTES_A_TOKEN 2

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

    if (!research_can(r, "publish_draft") ||
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

enum rc research_plan_note(struct research *r)
{
    struct report_order o = order_of(r);
    struct buf text;
    enum rc rc;

    if (!research_can(r, "note") || r->scene->n_passages == 0 ||
        noted(r->scene) ||
        scene_count(r->scene, "note", false) > research_count_adjustments(r)) {
        return RC_OK;
    }
    buf_init(&text, PLAN_TEXT_BYTES / 2);
    rc = report_note(r->a, &o, &text);
    if (rc == RC_OK && text.len > 0) {
        research_say(r, SAY_NEXT_NOTE, NULL, NULL, NULL);
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
    research_say(r, SAY_NEXT_DELIVER, passages, pages, NULL);
}

enum rc research_plan_delivery(struct research *r)
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
