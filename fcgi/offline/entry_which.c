#include <string.h>

#include "fcgi/offline/entry_inside.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/words.h"

bool entry_is_active(const struct scene_run *r)
{
    return r->state != SCENE_ENDED;
}

bool entry_is_awaiting(const struct scene_run *r)
{
    return r->state == SCENE_AWAITING;
}

bool entry_is_ended(const struct scene_run *r)
{
    return r->state == SCENE_ENDED;
}

size_t entry_count_runs(const struct entry *e, entry_run_test *test)
{
    size_t n = 0;

    for (size_t i = 0; i < e->scene->n_runs; i++) {
        n += test(&e->scene->runs[i]) ? 1 : 0;
    }
    return n;
}

/* Words of the title that the clause holds; naming the id counts most. */
static enum rc likeness(const struct entry *e, const struct clause *c,
                        const struct scene_run *r, size_t *out)
{
    struct words title, clause;
    const char *id = memmem(c->text, c->len, r->id, strlen(r->id));
    size_t behind = id == NULL ? 0 : (size_t)(id - c->text) + strlen(r->id);
    enum rc rc = words_split(e->a, r->title, strlen(r->title), &title);

    if (rc == RC_OK) {
        rc = words_split(e->a, c->text, c->len, &clause);
    }
    if (rc != RC_OK) {
        return rc;
    }
    /* "run_1" does not name run_17. */
    *out = id != NULL && (behind == c->len || c->text[behind] < '0' ||
                          c->text[behind] > '9')
               ? 1000
               : 0;
    for (size_t i = 0; i < title.n; i++) {
        bool hit = false;
        for (size_t k = 0; k < clause.n; k++) {
            hit = hit || clause.v[k].key == title.v[i].key;
        }
        *out += hit && title.v[i].weight == WORD_FULL ? 1 : 0;
    }
    return RC_OK;
}

enum rc entry_resolve(const struct entry *e, const struct clause *c,
                      entry_run_test *test, int *out)
{
    size_t best = 0, n = 0;

    *out = ENTRY_NOBODY;
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        size_t like = 0;
        enum rc rc;

        if (!test(&e->scene->runs[i])) {
            continue;
        }
        rc = likeness(e, c, &e->scene->runs[i], &like);
        if (rc != RC_OK) {
            return rc;
        }
        n++;
        if (n == 1 || like > best) {
            *out = (int)i;
            best = like;
        } else if (like == best) {
            *out = ENTRY_UNCLEAR;
        }
    }
    return RC_OK;
}

void entry_ask_which(struct entry *e, entry_run_test *test, enum say what)
{
    struct buf list;

    buf_init(&list, 4096);
    for (size_t i = 0; i < e->scene->n_runs; i++) {
        const struct scene_run *r = &e->scene->runs[i];
        if (test(r)) {
            buf_puts(&list, list.len > 0 ? ", " : "");
            buf_puts(&list, "“");
            quote_plain(&list, r->title, strlen(r->title), 100);
            buf_printf(&list, "” (%s)", r->id);
        }
    }
    entry_note(e, what, buf_str(&list), NULL, NULL);
    buf_free(&list);
    e->unclear = true;
}
