#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/offline/scene_inside.h"
#include "fcgi/offline/words.h"
#include "sql/base/utf8.h"

#define DASH   " \xE2\x80\x94 "
#define OPENS  "\xE2\x80\x9C"
#define CLOSES "\xE2\x80\x9D"

static int64_t number_of(const cJSON *p)
{
    int64_t n = 0;

    return json_i64(p, "n", &n) == RC_OK && n > 0 ? n : 0;
}

/* Keep a passage, unless its number is known. Its index, or -1. */
static int64_t keep_passage(struct scene *s, const struct passage *p,
                            bool *known)
{
    *known = false;
    for (size_t i = 0; i < s->n_passages; i++) {
        if (s->passages[i].n == p->n) {
            *known = true;
            return (int64_t)i;
        }
    }
    if (s->n_passages == SCENE_MAX_PASSAGES || p->text[0] == '\0') {
        return -1;
    }
    s->passages[s->n_passages] = *p;
    return (int64_t)s->n_passages++;
}

void scene_read_passages(struct scene *s, const cJSON *result,
                         struct scene_call *call)
{
    const cJSON *p;
    const char *title = json_str(result, "title", "");
    const char *location = json_str(result, "location", "");

    call->best = -1;
    cJSON_ArrayForEach(p, json_get(result, "passages"))
    {
        struct passage one = {
            .n = number_of(p),
            .title = json_str(p, "title", title),
            .location = json_str(p, "location", location),
            .heading = json_str(p, "heading", ""),
            .text = json_str(p, "text", ""),
        };
        bool known;
        int64_t at = one.n > 0 ? keep_passage(s, &one, &known) : -1;

        if (at >= 0) {
            call->n_passages++;
            call->n_new += known ? 0 : 1;
            call->best = call->best < 0 ? at : call->best;
        }
    }
}

enum rc scene_read_notes(struct reading *r, const char *text)
{
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n"), *p = text + 1;
        const char *location, *heading, *quote, *close;
        struct passage one;
        bool known;

        if (*text == '[' && isdigit((unsigned char)*p)) {
            one.n = strtoll(p, NULL, 10);
            p = strstr(p, "] ");
            location = p == NULL ? NULL : strstr(p, DASH);
            heading = location == NULL ? NULL : strstr(location + 1, DASH);
            quote = heading == NULL ? NULL : strstr(heading, ": " OPENS);
            close = quote == NULL ? NULL : strstr(quote + 5, CLOSES);
            if (close != NULL && close < end && one.n > 0) {
                one.title = scene_trimmed(r->a, p + 2, location);
                one.location = scene_trimmed(r->a, location + 5, heading);
                one.heading = scene_trimmed(r->a, heading + 5, quote);
                one.text = scene_trimmed(r->a, quote + 5, close);
                if (one.title == NULL || one.location == NULL ||
                    one.heading == NULL || one.text == NULL) {
                    return RC_NOMEM;
                }
                (void)keep_passage(r->out, &one, &known);
            }
        }
        text = *end == '\0' ? end : end + 1;
    }
    return RC_OK;
}

const char *scene_note_line(struct arena *a, const struct passage *p,
                            const char *text, size_t len)
{
    char *line = arena_printf(
        a, "[%lld] %.*s" DASH "%.*s" DASH "%.*s: " OPENS "%.*s" CLOSES,
        (long long)p->n, words_clip(p->title, 120), p->title,
        words_clip(p->location, 300), p->location, words_clip(p->heading, 120),
        p->heading, (int)utf8_clip(text, len, SENTENCE_MAX_BYTES), text);

    for (char *c = line; c != NULL && *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') {
            *c = ' ';
        }
    }
    return line;
}
