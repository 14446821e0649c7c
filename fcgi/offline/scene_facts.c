#include <string.h>

#include "fcgi/offline/scene_inside.h"

static enum scene_state state_of(const char *s)
{
    if (strcmp(s, "running") == 0) {
        return SCENE_RUNNING;
    }
    return scene_begins(s, "awaiting") ? SCENE_AWAITING : SCENE_ENDED;
}

/* research run_17 | running | "title" | elapsed 12 s | progress: ... */
static enum rc read_run(struct reading *r, const char *line, const char *end)
{
    struct scene *s = r->out;
    struct scene_run *run = &s->runs[s->n_runs];
    const char *id = line + strlen("research "), *bar, *state, *open, *close;

    bar = memchr(id, '|', (size_t)(end - id));
    if (bar == NULL || s->n_runs == SCENE_MAX_RUNS) {
        return RC_OK;
    }
    run->id = scene_trimmed(r->a, id, bar);
    state = bar + 1;
    bar = memchr(state, '|', (size_t)(end - state));
    bar = bar == NULL ? end : bar;
    run->state_text = scene_trimmed(r->a, state, bar);
    run->title = "";
    run->rest = "";
    open = memchr(bar, '"', (size_t)(end - bar));
    if (open != NULL) {
        /* A title may hold bars and quotes; what follows it is known. */
        close = memmem(open + 1, (size_t)(end - open - 1), "\" | elapsed", 11);
        if (close == NULL) {
            close = memrchr(open + 1, '"', (size_t)(end - open - 1));
        }
        close = close == NULL ? end : close;
        run->title = scene_trimmed(r->a, open + 1, close);
        bar = memchr(close, '|', (size_t)(end - close));
        if (bar != NULL) {
            run->rest = scene_trimmed(r->a, bar + 1, end);
        }
    }
    if (run->id == NULL || run->state_text == NULL || run->title == NULL ||
        run->rest == NULL) {
        return RC_NOMEM;
    }
    run->state = state_of(run->state_text);
    s->n_runs += run->id[0] != '\0' ? 1 : 0;
    return RC_OK;
}

enum rc scene_read_facts(struct reading *r, const char *text)
{
    enum rc rc = RC_OK;

    text = scene_without_marks(r->a, text);
    if (text == NULL) {
        return RC_NOMEM;
    }
    while (*text != '\0' && rc == RC_OK) {
        const char *end = text + strcspn(text, "\n");

        if (scene_begins(text, "research ")) {
            rc = read_run(r, text, end);
        }
        text = *end == '\0' ? end : end + 1;
    }
    return rc;
}
