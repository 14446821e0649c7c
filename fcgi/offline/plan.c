#include "fcgi/offline/plan.h"

#include <stdio.h>
#include <string.h>

#include "fcgi/offline/entry.h"
#include "fcgi/offline/research.h"
#include "fcgi/offline/scene.h"
#include "sql/base/buf.h"
#include "sql/base/utf8.h"

void plan_call_raw(struct plan *p, const char *name, const char *arguments)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        if (strcmp(p->calls[i].name, name) == 0 &&
            strcmp(p->calls[i].arguments, arguments) == 0) {
            return;
        }
    }
    if (p->n_calls < PLAN_MAX_CALLS) {
        p->calls[p->n_calls].name = name;
        p->calls[p->n_calls].arguments = arguments;
        p->n_calls++;
    }
}

enum rc plan_call(struct arena *a, struct plan *p, const char *name,
                  const char *const *pairs)
{
    struct json_out j;
    struct buf b;
    const char *text = NULL;
    enum rc rc;

    buf_init(&b, PLAN_TEXT_BYTES);
    json_begin(&j, &b);
    json_open_object(&j);
    for (; *pairs != NULL; pairs += 2) {
        json_kstr(&j, pairs[0], pairs[1]);
    }
    json_close_object(&j);
    rc = json_end(&j);
    if (rc == RC_OK) {
        text = arena_strndup(a, buf_str(&b), b.len);
        rc = text == NULL ? RC_NOMEM : RC_OK;
    }
    if (rc == RC_OK) {
        plan_call_raw(p, name, text);
    }
    buf_free(&b);
    return rc;
}

enum rc plan_search(struct arena *a, const struct chat *c, struct plan *p,
                    const char *query, int64_t limit)
{
    struct json_out j;
    struct buf b;
    const char *text = NULL;
    enum rc rc;

    buf_init(&b, PLAN_TEXT_BYTES);
    json_begin(&j, &b);
    json_open_object(&j);
    json_kstr(&j, "query", query);
    if (chat_takes(c, "library_search", "limit")) {
        json_ki64(&j, "limit", limit);
    }
    json_close_object(&j);
    rc = json_end(&j);
    if (rc == RC_OK) {
        text = arena_strndup(a, buf_str(&b), b.len);
        rc = text == NULL ? RC_NOMEM : RC_OK;
    }
    if (rc == RC_OK) {
        plan_call_raw(p, "library_search", text);
    }
    buf_free(&b);
    return rc;
}

/* Ids follow from the request, so that the same request gets the same ones
 * and no two requests of a Run share one. */
static void name_calls(const struct chat *c, struct plan *p)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        snprintf(p->calls[i].id, sizeof(p->calls[i].id), "call_%.20s%zu",
                 c->hash, i);
    }
}

static enum rc keep_to_limit(struct arena *a, const struct chat *c,
                             struct plan *p)
{
    size_t len = strlen(p->text), most = PLAN_TEXT_BYTES;

    if (c->max_tokens > 0 && c->max_tokens < (int64_t)(PLAN_TEXT_BYTES / 4)) {
        most = (size_t)c->max_tokens * 4;
    }
    if (len > most) {
        p->text = arena_strndup(a, p->text, utf8_clip(p->text, len, most));
        p->cut = true;
    }
    return p->text == NULL ? RC_NOMEM : RC_OK;
}

enum rc plan_make(struct arena *a, const struct chat *c, struct plan *out)
{
    struct plan p = {.text = ""};
    struct scene *s = arena_alloc(a, sizeof(*s));
    enum rc rc;

    if (s == NULL) {
        return RC_NOMEM;
    }
    rc = scene_read(a, c, s);
    if (rc == RC_OK) {
        rc = s->purpose == SCENE_RESEARCH || s->purpose == SCENE_CLOSEOUT
                 ? research_plan(a, c, s, &p)
                 : entry_plan(a, c, s, &p);
    }
    if (rc == RC_OK) {
        rc = keep_to_limit(a, c, &p);
    }
    if (rc == RC_OK) {
        name_calls(c, &p);
        *out = p;
    }
    scene_free(s);
    return rc;
}
