/* snapshot.c - what a Run begins with (R14, R15): the conversation as it was
 * when its message was accepted, the facts of the moment, the report that it
 * goes on from, its message.
 *
 * All but the message gives way where the model has little room: the message
 * stands whole or the request is not made. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "runtime/citations.h"
#include "runtime/context_inside.h"
#include "runtime/data_mark.h"
#include "sql/base/id.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"
#include "sql/store_approval.h"

/* Bounds where the model has room for more. */
#define HISTORY_MESSAGES     20
#define HISTORY_TOKENS       8192
#define HISTORY_ITEM_TOKENS  2048
#define EARLIER_TOKENS       6144
#define LINE_BYTES           300 /* of a title, a question: one line */
#define FACTS_PART           8   /* the list of Runs: one eighth of the room */
#define MESSAGE_FRAME_TOKENS 12  /* what JSON puts around a message */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- history (R09, R14) ------------------------------------------------ */

/* What stands under an earlier message, as this Run may know it. */
static enum rc answer_of(struct step *s, const struct message *m,
                         int64_t max_tokens, const char **out)
{
    struct run r;
    char id[ID_TEXT_BYTES];
    enum rc rc;

    if (m->run_id == 0) {
        *out = m->n_handoffs > 0 ? "(handed over to a research)" : "(noted)";
        return RC_OK;
    }
    rc = store_run_get(s->rt->store, 0, m->run_id, true, s->mem, &r);
    if (rc != RC_OK) {
        return rc;
    }
    (void)id_text(ID_RUN, r.id, id);
    if (!states_run_ended(r.state) || r.ended_seq > s->run.accepted_seq) {
        *out = r.kind == RUN_RESEARCH
                   ? arena_printf(s->mem, "(research %s: no result yet)", id)
                   : "(no result yet)";
    } else if (r.state == RUN_STOPPED || r.state == RUN_FAILED) {
        *out = arena_printf(
            s->mem, "%s\n(%s%s)", context_clip(s, r.answer_body, max_tokens),
            r.answer_draft ? "the last draft of a research: " : "",
            r.state == RUN_STOPPED ? "stopped here by the person"
                                   : "this answer failed");
    } else if (r.answer_body[0] == '\0') {
        *out = m->n_handoffs > 0 ? "(handed over to a research)" : "(done)";
    } else {
        *out = context_clip(s, r.answer_body, max_tokens);
    }
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

static int64_t cost_of(const char *text)
{
    return tokens_estimate(text, strlen(text)) + MESSAGE_FRAME_TOKENS;
}

static enum rc page_before(struct step *s, struct message **page, size_t *n)
{
    bool more;
    enum rc rc = store_message_page(s->rt->store, s->run.conversation_id,
                                    s->run.message_id, HISTORY_MESSAGES, s->mem,
                                    page, n, &more);

    /* Continued without words: what was said later is not asked about. */
    while (rc == RC_OK && s->run.message_id == 0 && *n > 0 &&
           (*page)[*n - 1].created_ms > s->run.created_ms) {
        (*n)--;
    }
    return rc;
}

/* As many messages with their answers as fit, counted from the newest. */
static enum rc add_history(struct step *s, int64_t room, struct buf *out)
{
    int64_t item = least(HISTORY_ITEM_TOKENS, room / 3);
    const char *answers[HISTORY_MESSAGES];
    struct message *page = NULL;
    size_t n = 0;
    size_t first;
    enum rc rc = page_before(s, &page, &n);

    for (first = n; first > 0 && rc == RC_OK; first--) {
        struct message *m = &page[first - 1];

        m->body = context_clip(s, m->body, item);
        rc = answer_of(s, m, item, &answers[first - 1]);
        if (rc != RC_OK) {
            return rc;
        }
        room -= cost_of(m->body) + cost_of(answers[first - 1]);
        if (room < 0) {
            break;
        }
    }
    for (size_t i = first; i < n && rc == RC_OK; i++) {
        model_chat_message(out, MODEL_CHAT_USER, page[i].body);
        model_chat_message(out, MODEL_CHAT_ASSISTANT, answers[i]);
    }
    return rc;
}

/* --- facts ------------------------------------------------------------- */

/* A text of the model's in one bounded line: the list has one for each Run. */
static void put_line(const char *text, struct buf *out)
{
    size_t keep = utf8_clip(text, strlen(text), LINE_BYTES);
    char line[LINE_BYTES + 1];

    memcpy(line, text, keep);
    line[keep] = '\0';
    utf8_one_line(line);
    buf_puts(out, line);
    buf_puts(out, text[keep] != '\0' ? "\xe2\x80\xa6" : "");
}

static void put_listed(struct step *s, const struct run *r, struct buf *out)
{
    char id[ID_TEXT_BYTES];
    int64_t end = r->ended_ms != 0 ? r->ended_ms : s->now_ms;

    buf_printf(out, "research %s | %s | \"", id_text(ID_RUN, r->id, id),
               states_text(LIST_RUN_STATE, (int)r->state));
    put_line(r->title, out);
    buf_printf(out, "\" | elapsed %" PRId64 " s", (end - r->created_ms) / 1000);
    if (r->progress[0] != '\0') {
        buf_puts(out, " | progress: ");
        put_line(r->progress, out);
    }
    if (r->state == RUN_AWAITING_INPUT && r->question != NULL) {
        buf_puts(out, " | asks: ");
        put_line(r->question, out);
    }
    if (r->approval != NULL) {
        buf_puts(out, " | waits for the person to allow: ");
        put_line(r->approval->tool, out);
    }
    buf_putc(out, '\n');
}

static void put_list(struct step *s, const struct offer *o, int64_t room,
                     struct buf *out)
{
    struct buf line;
    struct buf list;

    if (o->n_listed == 0) {
        return;
    }
    buf_init(&line, 64 * 1024);
    buf_init(&list, 64 * 1024);
    for (size_t i = 0; i < o->n_listed; i++) {
        buf_clear(&line);
        put_listed(s, &o->listed[i], &line);
        room -= context_size(&line);
        if (room < 0) {
            buf_printf(&list, "and %zu more\n", o->n_listed - i);
            break;
        }
        buf_add(&list, buf_str(&line), line.len);
    }
    if (list.len > 0) {
        data_mark_put(buf_str(&list), list.len - 1, out);
        buf_putc(out, '\n');
    }
    buf_free(&list);
    buf_free(&line);
}

/* R28: the Run's policy, where it is research. */
static const char *const MISSING_TEXT[MISSING_INFO__MAX] = {
    [MISSING_ASK] = "missing information: ask the person with ask_user\n",
    [MISSING_ASSUME] =
        "missing information: nobody can be asked; assume what is likely, and "
        "state each assumption in the report\n",
    [MISSING_FAIL] =
        "missing information: nobody will reply, and nothing may be assumed. "
        "If it cannot go on without, say with ask_user what is missing; the "
        "research ends with that\n",
};

static enum rc add_facts(struct step *s, const struct snapshot *in,
                         struct buf *out)
{
    const struct offer *o = in->offer;
    struct buf text;
    struct tm tm;
    time_t now = (time_t)(s->now_ms / 1000);
    enum rc rc;

    (void)gmtime_r(&now, &tm);
    buf_init(&text, 64 * 1024);
    buf_printf(&text, "[facts of this moment]\ndate: %04d-%02d-%02d\n",
               tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    if (s->run.kind == RUN_SHORT) {
        buf_printf(&text, "background slots: %" PRId64 " of %" PRId64 " used\n",
                   o->occupancy.used[SLOT_BACKGROUND],
                   s->rt->conf.background_limit);
    } else {
        buf_puts(&text, MISSING_TEXT[s->run.missing_info]);
    }
    put_list(s, o, in->room / FACTS_PART, &text);
    rc = buf_rc(&text);
    if (rc == RC_OK) {
        model_chat_message(out, MODEL_CHAT_USER, buf_str(&text));
    }
    buf_free(&text);
    return rc;
}

/* --- the report it goes on from (R30) ---------------------------------- */

static void put_source(const struct source *src, struct buf *out)
{
    buf_printf(out, "[%" PRId64 "] ", src->n);
    put_line(src->title, out);
    if (src->heading[0] != '\0') {
        buf_puts(out, ", ");
        put_line(src->heading, out);
    }
    buf_puts(out, " (");
    put_line(src->location, out);
    buf_puts(out, ")\n");
}

/* What the old research had cited, by the numbers that this one goes on with;
 * all that it had found where it came to no report. */
static enum rc put_sources(struct step *s, const struct run *old, int64_t room,
                           struct buf *out)
{
    struct source *list = NULL;
    struct buf line;
    size_t n = 0;
    bool any = false;
    bool all = old->answer_body[0] == '\0';
    struct citations cited = {.count = 0};
    struct citations years = {.count = 0};
    enum rc rc =
        store_source_of_run(s->rt->store, old->id, 0, s->mem, &list, &n);

    if (rc == RC_OK) {
        rc = citations_years(list, n, &years);
    }
    if (rc == RC_OK) {
        rc = citations_find(old->answer_body, &years, &cited);
    }
    buf_init(&line, 64 * 1024);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (!all && !citations_has(&cited, list[i].n)) {
            continue;
        }
        buf_clear(&line);
        put_source(&list[i], &line);
        room -= context_size(&line);
        if (room < 0) {
            buf_puts(out, "and more\n");
            break;
        }
        if (!any) {
            buf_puts(out, "\n\nIts sources, to be cited by the same numbers; "
                          "look up again what you need word for word:\n");
        }
        any = true;
        buf_add(out, buf_str(&line), line.len);
    }
    citations_free(&years);
    citations_free(&cited);
    buf_free(&line);
    return rc;
}

/* Notes take the place of a report that was never written. */
static enum rc put_notes(struct step *s, const struct run *old, int64_t room,
                         struct buf *out)
{
    struct note *notes = NULL;
    size_t n = 0;
    enum rc rc = store_note_of_run(s->rt->store, old->id, s->mem, &notes, &n);

    if (rc == RC_OK) {
        buf_puts(out, "(It ended without a report.)");
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        room -= cost_of(notes[i].body);
        if (room < 0) {
            break;
        }
        buf_printf(out, "%s\n- %s", i == 0 ? "\nIts notes:" : "",
                   notes[i].body);
    }
    return rc;
}

static enum rc put_earlier(struct step *s, int64_t room, struct buf *out)
{
    struct run old;
    enum rc rc =
        store_run_get(s->rt->store, 0, s->run.continues, true, s->mem, &old);

    if (rc != RC_OK) {
        return rc;
    }
    put_line(old.title, out);
    buf_putc(out, '\n');
    if (old.answer_draft) {
        buf_puts(out, "(It ended without a report. This is its last draft.)\n");
    }
    if (old.answer_body[0] != '\0') {
        buf_puts(out, context_clip(s, old.answer_body, room * 2 / 3));
    } else {
        rc = put_notes(s, &old, room * 2 / 3, out);
    }
    return rc == RC_OK ? put_sources(s, &old, room / 3, out) : rc;
}

static enum rc add_earlier(struct step *s, int64_t room, struct buf *out)
{
    struct buf text;
    struct buf marked;
    char id[ID_TEXT_BYTES];
    enum rc rc;

    if (s->run.continues == 0 || room <= 0) {
        return RC_OK;
    }
    buf_init(&text, 1u << 20);
    buf_init(&marked, 2u << 20);
    rc = put_earlier(s, room, &text);
    if (rc == RC_OK) {
        rc = buf_rc(&text);
    }
    buf_printf(&marked, "[earlier report of %s]\n",
               id_text(ID_RUN, s->run.continues, id));
    data_mark_put(buf_str(&text), text.len, &marked);
    if (rc == RC_OK) {
        rc = buf_rc(&marked);
    }
    if (rc == RC_OK) {
        context_add_user(s, buf_str(&marked), out);
    }
    buf_free(&marked);
    buf_free(&text);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* --- all of it --------------------------------------------------------- */

static enum rc add_request(struct step *s, bool is_short, struct buf *out)
{
    struct message m;
    enum rc rc = RC_OK;

    if (!is_short && s->run.message_id != 0) {
        return context_add_marked(s, "requirement", s->run.message_id, out);
    }
    if (!is_short) {
        context_add_user(s, "[requirement request]\n" CONTEXT_GO_ON, out);
        return RC_OK;
    }
    rc = store_message_get(s->rt->store, 0, s->run.message_id, s->mem, &m);
    if (rc == RC_OK) {
        context_add_user(s, m.body, out);
    }
    return rc;
}

/* What stands in front is composed last: it gets what room is left. */
enum rc snapshot_add(struct step *s, const struct snapshot *in, struct buf *out)
{
    bool is_short = context_is_short(in->purpose);
    struct buf end;
    struct buf earlier;
    int64_t left;
    enum rc rc;

    buf_init(&end, 8u << 20);
    buf_init(&earlier, 2u << 20);
    rc = add_request(s, is_short, &end);
    if (rc == RC_OK) {
        rc = add_facts(s, in, &earlier);
    }
    left = in->room - context_size(&end) - context_size(&earlier);
    if (rc == RC_OK && !is_short) {
        int64_t facts = context_size(&earlier);

        rc = add_earlier(s, least(EARLIER_TOKENS, left / 2), &earlier);
        left -= context_size(&earlier) - facts;
    }
    if (rc == RC_OK) {
        rc = add_history(s, least(HISTORY_TOKENS, left / in->portion), out);
    }
    buf_add(out, buf_str(&earlier), earlier.len);
    buf_add(out, buf_str(&end), end.len);
    if (rc == RC_OK) {
        rc = buf_rc(&earlier);
    }
    if (rc == RC_OK) {
        rc = buf_rc(&end);
    }
    buf_free(&earlier);
    buf_free(&end);
    return rc == RC_OK ? buf_rc(out) : rc;
}
