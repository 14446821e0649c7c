#include "fcgi/offline/entry.h"

#include <string.h>

#include "fcgi/offline/entry_inside.h"

void entry_note(struct entry *e, enum say what, const char *one,
                const char *two, const char *three)
{
    if (e->notes.len > 0) {
        buf_puts(&e->notes, "\n\n");
    }
    say_put(&e->notes, e->scene->chinese, what, one, two, three);
}

enum rc entry_take_text(struct entry *e, const struct buf *text)
{
    enum rc rc = buf_rc(text);

    if (rc == RC_OK) {
        e->plan->text = arena_strndup(e->a, buf_str(text), text->len);
        rc = e->plan->text == NULL ? RC_NOMEM : RC_OK;
    }
    return rc;
}

/* --- the first request ---------------------------------------------------- */

static bool starts(const struct plan *p)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        if (strcmp(p->calls[i].name, "start_research") == 0) {
            return true;
        }
    }
    return false;
}

static enum rc finish_first(struct entry *e)
{
    size_t before = e->plan->n_calls;
    bool look = e->chat->may_call && chat_offers(e->chat, "library_search");
    enum rc rc = RC_OK;

    /* A start ends the exchange: an answer would not be seen. */
    for (size_t i = 0; look && !starts(e->plan) && i < e->n_questions; i++) {
        rc = entry_look_up(e, i);
        if (rc != RC_OK) {
            return rc;
        }
    }
    if (e->plan->n_calls > before) {
        return RC_OK; /* the answer and the notes come with the follow-up */
    }
    if (e->unclear && e->plan->n_calls == 0 && e->n_questions == 0 &&
        e->chat->may_call && chat_offers(e->chat, "ask_user")) {
        return plan_call(
            e->a, e->plan, "ask_user",
            (const char *const[]){"question", buf_str(&e->notes), NULL});
    }
    if (e->n_questions > 0 && !starts(e->plan)) {
        rc = entry_answer_all(e, &e->notes);
    }
    if (rc == RC_OK && e->notes.len == 0 && e->plan->n_calls == 0) {
        entry_note(e, SAY_HELLO, NULL, NULL, NULL);
    }
    return rc == RC_OK ? entry_take_text(e, &e->notes) : rc;
}

/* --- both ----------------------------------------------------------------- */

static enum rc read_message(struct entry *e)
{
    const char *titles[SCENE_MAX_RUNS];
    enum rc rc;

    for (size_t i = 0; i < e->scene->n_runs; i++) {
        titles[i] = e->scene->runs[i].title;
    }
    rc = intent_read(e->scene->message, titles, e->scene->n_runs, &e->intent);
    for (size_t i = 0; rc == RC_OK && i < e->intent.n; i++) {
        e->wishes = e->wishes || e->intent.v[i].kind == INTENT_RESEARCH;
    }
    for (size_t i = 0; rc == RC_OK && i < e->intent.n; i++) {
        rc = entry_consider(e, &e->intent.v[i]);
    }
    /* Statements without a question are looked up as they are. */
    if (rc == RC_OK && e->pending.len > 0 && e->plan->n_calls == 0) {
        rc = entry_add_question(e, "", 0);
    }
    return rc;
}

enum rc entry_plan(struct arena *a, const struct chat *c, const struct scene *s,
                   struct plan *out)
{
    struct entry *e = arena_alloc(a, sizeof(*e));
    enum rc rc;

    if (e == NULL) {
        return RC_NOMEM;
    }
    e->a = a;
    e->chat = c;
    e->scene = s;
    e->plan = out;
    e->follow_up = s->n_calls > 0;
    buf_init(&e->notes, PLAN_TEXT_BYTES);
    buf_init(&e->pending, PLAN_TEXT_BYTES);
    rc = read_message(e);
    if (rc == RC_OK) {
        rc = e->follow_up ? entry_finish_follow_up(e) : finish_first(e);
    }
    buf_free(&e->notes);
    buf_free(&e->pending);
    return rc;
}
