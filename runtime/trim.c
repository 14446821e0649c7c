/* trim.c - a prompt that has outgrown the model, put together anew.
 *
 * A research's messages fall into groups: a reply and the results of all its
 * calls. The oldest whole groups go, and a notice says what went; what is asked
 * stays whole and in order, and so do notes and the newest groups. So much goes
 * that half of the room is free again: the new beginning then serves many
 * requests, and providers' caches of prompts hit (R13).
 *
 *   snapshot · what was asked before the first group that stays · notice of
 *   what went, with sources, notes and pinned passages · groups, what was asked
 *   between them · what is new */
#include <inttypes.h>
#include <string.h>

#include "runtime/context_inside.h"
#include "runtime/data_mark.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"

#define QUESTION_TOKENS 512
#define NOTES_PART      6  /* of the room, at most one in so many */
#define SOURCES_PART    12 /* likewise */
#define LOOK_UPS_PART   16 /* likewise */
#define PINS_PART       6  /* likewise */
#define DRAFT_PART      6  /* likewise */
#define LINE_TOKENS     8
#define TITLE_BYTES     200
#define HISTORY_PORTION 4

struct group {
    struct request *reply;
    const char *text; /* fragments; NULL: not composed */
    int64_t size;
};

struct work {
    const struct trim *in;
    struct group *groups; /* oldest first */
    size_t n_groups;
    size_t first; /* the oldest group that stays */
    struct handoff *asked;
    size_t n_asked;
    struct tool_call *calls; /* all of them, without results */
    size_t n_calls;
    int64_t fixed; /* what all but the snapshot and the groups takes up */
};

/* --- what there is ----------------------------------------------------- */

static enum rc find_groups(struct step *s, struct work *w)
{
    bool is_short = context_is_short(w->in->purpose);
    struct request *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    if (rc != RC_OK) {
        return rc;
    }
    w->groups = arena_alloc(s->mem, (n + 1) * sizeof(*w->groups));
    if (w->groups == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i].state == EFFECT_DONE && list[i].reply != NULL &&
            context_is_short(list[i].purpose) == is_short) {
            w->groups[w->n_groups++] = (struct group){.reply = &list[i]};
        }
    }
    return RC_OK;
}

/* What is asked and may still be met: of an ended Run's receipts none. */
static enum rc find_asked(struct step *s, struct work *w)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;

    if (!context_is_short(w->in->purpose)) {
        rc = store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (list[i].state != HANDOFF_NOT_APPLIED) {
            list[w->n_asked++] = list[i];
        }
    }
    w->asked = list;
    return rc == RC_OK ? store_tool_call_of_run(s->rt->store, s->run.id, s->mem,
                                                &w->calls, &w->n_calls)
                       : rc;
}

static enum rc keep_text(struct step *s, struct buf *text, struct group *g)
{
    enum rc rc = buf_rc(text);

    if (rc == RC_OK) {
        g->text = arena_strndup(s->mem, buf_str(text), text->len);
        g->size = context_size(text);
        rc = g->text == NULL ? RC_TOO_LARGE : RC_OK;
    }
    return rc;
}

static enum rc compose_group(struct step *s, struct group *g)
{
    struct model_reply reply;
    const char *notice = "";
    struct buf text;
    enum rc rc;

    if (g->text != NULL) {
        return RC_OK;
    }
    buf_init(&text, 8u << 20);
    rc = model_reply_parse(g->reply->reply, strlen(g->reply->reply), s->mem,
                           &reply);
    if (rc == RC_OK) {
        rc = context_add_reply(s, g->reply, &text);
    }
    /* Text without a call was answered by this, each time. */
    if (rc == RC_OK && reply.n_calls == 0) {
        rc = deliver_notice(s, &reply, &notice);
        if (rc == RC_OK) {
            rc = context_add_notice(s, notice, &text);
        }
    }
    if (rc == RC_OK) {
        rc = keep_text(s, &text, g);
    }
    buf_free(&text);
    return rc;
}

/* --- what is asked ----------------------------------------------------- */

/* The group after which a handoff stands: one more than its index. */
static size_t place_of(const struct work *w, const struct handoff *h)
{
    size_t i = w->n_groups;

    while (h->planned_request_id != 0 && i > 0 &&
           w->groups[i - 1].reply->id >= h->planned_request_id) {
        i--;
    }
    return i;
}

/* A reply means nothing without its question. */
static enum rc add_question(struct step *s, const struct group *g,
                            struct buf *out)
{
    struct tool_call *calls = NULL;
    const char *question = NULL;
    size_t n = 0;
    enum rc rc = store_tool_call_of_request(s->rt->store, g->reply->id, s->mem,
                                            &calls, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (strcmp(calls[i].name, "ask_user") == 0 &&
            tool_question(s, calls[i].arguments, &question) == RC_OK) {
            model_chat_message(out, MODEL_CHAT_ASSISTANT,
                               context_clip(s, question, QUESTION_TOKENS));
            break;
        }
    }
    return rc;
}

/* Everything that stands after `from` groups and up to `to` of them. */
static enum rc add_asked(struct step *s, const struct work *w, size_t from,
                         size_t to, struct buf *out)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < w->n_asked && rc == RC_OK; i++) {
        const struct handoff *h = &w->asked[i];
        size_t at = place_of(w, h);

        if (at < from || at > to) {
            continue;
        }
        if (h->kind == HANDOFF_REPLY && at > 0 && at <= w->first) {
            rc = add_question(s, &w->groups[at - 1], out);
        }
        if (rc == RC_OK) {
            rc = context_add_marked(
                s, states_text(LIST_HANDOFF_KIND, (int)h->kind), h->message_id,
                out);
        }
    }
    return rc;
}

/* Whether a call was made in one of the oldest groups. */
static bool is_gone(const struct work *w, size_t n_gone,
                    const struct tool_call *c)
{
    return n_gone > 0 && c->request_id <= w->groups[n_gone - 1].reply->id;
}

/* The draft that stands was published in a group that goes. */
static bool draft_is_gone(const struct step *s, const struct work *w,
                          size_t n_gone)
{
    for (size_t i = w->n_calls; i > 0 && s->run.answer_draft; i--) {
        const struct tool_call *c = &w->calls[i - 1];

        if (strcmp(c->name, "publish_draft") == 0 && c->state == EFFECT_DONE) {
            return is_gone(w, n_gone, c);
        }
    }
    return false;
}

/* --- what went --------------------------------------------------------- */

/* The newest titles that fit, in order of their numbers. */
static enum rc put_sources(struct step *s, int64_t room, struct buf *out)
{
    struct source *list = NULL;
    struct buf titles;
    struct buf line;
    size_t n = 0;
    size_t first;
    enum rc rc =
        store_source_of_run(s->rt->store, s->run.id, 0, s->mem, &list, &n);

    if (rc != RC_OK || n == 0) {
        return rc;
    }
    buf_printf(out,
               " What was found keeps its numbers, [%" PRId64 "] to [%" PRId64
               "], and may be cited by them:",
               list[0].n, list[n - 1].n);
    buf_init(&line, 64 * 1024);
    for (first = n; first > 0; first--) {
        buf_clear(&line);
        buf_putc(&line, '\n');
        recall_put_head(&list[first - 1], &line);
        room -= context_size(&line);
        if (room < 0) {
            break;
        }
    }
    buf_free(&line);
    buf_init(&titles, 2u << 20);
    for (size_t i = first; i < n; i++) {
        buf_puts(&titles, i > first ? "\n" : "");
        recall_put_head(&list[i], &titles);
    }
    rc = buf_rc(&titles);
    if (rc == RC_OK && titles.len > 0) {
        buf_putc(out, '\n');
        data_mark_put(buf_str(&titles), titles.len, out);
    }
    buf_free(&titles);
    return rc;
}

/* The look-ups of the groups that go, so that none is made twice for want of
 * memory, and the number by which each result is recalled. */
static void put_look_ups(struct step *s, const struct work *w, size_t n_gone,
                         struct buf *list, size_t *look_ups)
{
    int64_t room = w->in->room / LOOK_UPS_PART;

    *look_ups = 0;
    for (size_t i = w->n_calls; i > 0; i--) {
        const struct tool_call *c = &w->calls[i - 1];
        const struct tool *t = tool_find(s->rt, c->name);
        size_t keep =
            utf8_clip(c->arguments, strlen(c->arguments), TITLE_BYTES);

        if (t == NULL || t->run == NULL || !is_gone(w, n_gone, c)) {
            continue;
        }
        ++*look_ups;
        room -= tokens_estimate(c->arguments, keep) + LINE_TOKENS;
        if (room >= 0) {
            buf_printf(list, "%s%zu: %s ", list->len > 0 ? "\n" : "", i,
                       c->name);
            buf_add(list, c->arguments, keep);
        }
    }
}

static enum rc add_gone(struct step *s, const struct work *w, size_t n_gone,
                        struct buf *out)
{
    bool recall = w->in->purpose == PURPOSE_RESEARCH;
    struct buf text;
    struct buf list;
    size_t look_ups = 0;
    enum rc rc;

    buf_init(&text, 2u << 20);
    buf_init(&list, 1u << 20);
    put_look_ups(s, w, n_gone, &list, &look_ups);
    buf_printf(&text,
               "To make room, %zu earlier steps with %zu look-ups and their "
               "results are left out here. Notes are kept.%s",
               n_gone, look_ups,
               recall
                   ? " What you need of the rest word for word, recall gives "
                     "back: {\"source\":n} a passage, {\"result\":n} a "
                     "result."
                   : "");
    if (recall && draft_is_gone(s, w, n_gone)) {
        buf_puts(&text, " {\"draft\":true} is your last draft.");
    }
    rc = put_sources(s, w->in->room / SOURCES_PART, &text);
    if (list.len > 0) {
        buf_puts(&text, "\nWhat was looked up, newest first, by the numbers of "
                        "the results:\n");
        data_mark_put(buf_str(&list), list.len, &text);
    }
    if (rc == RC_OK) {
        rc = buf_rc(&text);
    }
    if (rc == RC_OK) {
        rc = context_add_notice(s, buf_str(&text), out);
    }
    buf_free(&list);
    buf_free(&text);
    return rc;
}

/* What the marks of data cost, about a token a line. */
static int64_t lines_of(const char *text)
{
    int64_t n = 1;

    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

/* The newest notes that fit, whole, in order. */
static enum rc add_notes(struct step *s, int64_t room, struct buf *out)
{
    struct note *notes = NULL;
    struct buf text;
    struct buf marked;
    size_t n = 0;
    size_t first;
    enum rc rc = store_note_of_run(s->rt->store, s->run.id, s->mem, &notes, &n);

    if (rc != RC_OK || n == 0) {
        return rc;
    }
    for (first = n; first > 0; first--) {
        const char *body = notes[first - 1].body;

        room -= tokens_estimate(body, strlen(body)) + 1 + lines_of(body);
        if (room < 0) {
            break;
        }
    }
    buf_init(&text, 2u << 20);
    buf_init(&marked, 4u << 20);
    for (size_t i = first; i < n; i++) {
        buf_printf(&text, "%s%s", i > first ? "\n" : "", notes[i].body);
    }
    buf_puts(&marked, "[notes of this research]\n");
    data_mark_put(buf_str(&text), text.len, &marked);
    rc = buf_rc(&text) != RC_OK ? buf_rc(&text) : buf_rc(&marked);
    if (rc == RC_OK && first < n) {
        context_add_user(s, buf_str(&marked), out);
    }
    buf_free(&marked);
    buf_free(&text);
    return rc;
}

/* Pinned passages, whole; of those that do not fit, the title stands above. */
static enum rc add_pins(struct step *s, int64_t room, struct buf *out)
{
    int64_t *numbers = NULL;
    struct buf text;
    struct buf one;
    size_t n = 0;
    enum rc rc =
        store_pin_of_run(s->rt->store, s->run.id, s->mem, &numbers, &n);

    buf_init(&text, 2u << 20);
    buf_init(&one, 2u << 20);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct source src;

        rc = store_source_by_number(s->rt->store, s->run.id, numbers[i], s->mem,
                                    &src);
        if (rc != RC_OK) {
            break;
        }
        buf_clear(&one);
        buf_puts(&one, text.len > 0 ? "\n" : "");
        recall_put_head(&src, &one);
        buf_printf(&one, "\n%s", src.body);
        if (context_size(&one) <= room) {
            room -= context_size(&one);
            buf_add(&text, buf_str(&one), one.len);
        }
    }
    if (rc == RC_OK && text.len > 0) {
        buf_clear(&one);
        buf_puts(&one, "[pinned passages]\n");
        data_mark_put(buf_str(&text), text.len, &one);
        rc = buf_rc(&text) != RC_OK ? buf_rc(&text) : buf_rc(&one);
        if (rc == RC_OK) {
            context_add_user(s, buf_str(&one), out);
        }
    }
    buf_free(&one);
    buf_free(&text);
    return rc;
}

/* A closeout offers no recall: it has the draft before it. */
static enum rc add_draft(struct step *s, const struct work *w, size_t n_gone,
                         struct buf *out)
{
    const char *text = "";
    struct buf marked;
    enum rc rc = RC_OK;

    if (w->in->purpose != PURPOSE_CLOSEOUT || !draft_is_gone(s, w, n_gone)) {
        return RC_OK;
    }
    rc = store_answer_text(s->rt->store, &s->run, s->mem, &text);
    buf_init(&marked, 2u << 20);
    buf_puts(&marked, "[draft of this research]\n");
    text = context_clip(s, text, w->in->room / DRAFT_PART);
    data_mark_put(text, strlen(text), &marked);
    if (rc == RC_OK) {
        rc = buf_rc(&marked);
    }
    if (rc == RC_OK) {
        context_add_user(s, buf_str(&marked), out);
    }
    buf_free(&marked);
    return rc;
}

/* What stands for the groups that went. */
static enum rc add_memory(struct step *s, const struct work *w, size_t n_gone,
                          struct buf *out)
{
    enum rc rc = add_gone(s, w, n_gone, out);

    if (rc == RC_OK) {
        rc = add_notes(s, w->in->room / NOTES_PART, out);
    }
    if (rc == RC_OK) {
        rc = add_pins(s, w->in->room / PINS_PART, out);
    }
    return rc == RC_OK ? add_draft(s, w, n_gone, out) : rc;
}

/* --- putting it together ----------------------------------------------- */

/* What cannot give way: what was asked, and the notice with as much as it may
 * say. */
static enum rc measure(struct step *s, struct work *w)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, 8u << 20);
    w->first = w->n_groups; /* with all questions */
    rc = add_asked(s, w, 0, w->n_groups, &text);
    if (rc == RC_OK && !context_is_short(w->in->purpose)) {
        rc = add_memory(s, w, w->n_groups, &text);
    }
    w->fixed = context_size(&text);
    buf_free(&text);
    return rc;
}

/* Which groups stay in so much room. The newest always does, but in a closeout,
 * which can do with notes and sources. */
static enum rc choose(struct step *s, struct work *w, int64_t room)
{
    bool closeout = w->in->purpose == PURPOSE_CLOSEOUT;
    int64_t left = closeout ? room : room / 2;

    w->first = w->n_groups;
    while (w->first > 0) {
        struct group *g = &w->groups[w->first - 1];
        bool must = w->first == w->n_groups && !closeout;
        enum rc rc = compose_group(s, g);

        if (rc != RC_OK) {
            return rc;
        }
        if (must ? g->size > room : g->size > left) {
            return must ? RC_TOO_LARGE : RC_OK;
        }
        left -= g->size;
        w->first--;
    }
    return RC_OK;
}

static enum rc put_together(struct step *s, const struct work *w,
                            struct buf *out)
{
    enum rc rc = RC_OK;

    /* What is new comes behind everything that was asked before. */
    if (w->first > 0) {
        rc = add_asked(
            s, w, 0, w->first < w->n_groups ? w->first : w->n_groups - 1, out);
        if (rc == RC_OK) {
            rc = add_memory(s, w, w->first, out);
        }
    }
    for (size_t i = w->first; i < w->n_groups && rc == RC_OK; i++) {
        if (i > w->first || i == 0) {
            rc = add_asked(s, w, i, i, out);
        }
        buf_puts(out, w->groups[i].text);
    }
    return rc == RC_OK ? add_asked(s, w, w->n_groups, w->n_groups, out) : rc;
}

enum rc trim_compose(struct step *s, const struct trim *in, struct buf *out)
{
    struct work w = {.in = in};
    int64_t newest = 0;
    struct buf start;
    enum rc rc = find_groups(s, &w);

    buf_init(&start, 8u << 20);
    if (rc == RC_OK) {
        rc = find_asked(s, &w);
    }
    if (rc == RC_OK) {
        rc = measure(s, &w);
    }
    if (rc == RC_OK && w.n_groups > 0) {
        rc = compose_group(s, &w.groups[w.n_groups - 1]);
        newest = w.groups[w.n_groups - 1].size;
    }
    if (rc == RC_OK) {
        const struct snapshot snapshot = {.purpose = in->purpose,
                                          .offer = in->offer,
                                          .room = in->room - w.fixed - newest,
                                          .portion = HISTORY_PORTION};

        rc = snapshot_add(s, &snapshot, &start);
    }
    if (rc == RC_OK) {
        rc = choose(s, &w, in->room - w.fixed - context_size(&start));
    }
    buf_add(out, buf_str(&start), start.len);
    buf_free(&start);
    if (rc == RC_OK) {
        rc = put_together(s, &w, out);
    }
    return rc == RC_OK ? buf_rc(out) : rc;
}
