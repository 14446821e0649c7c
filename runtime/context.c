/* context.c - a model request's input, composed from rows.
 *
 * A body is head (model, tools, system text) + messages + tail. The head is
 * fixed by purpose and offer and shared by all Runs; the messages of a Run
 * grow by appending, so that each request stores only what is new (R13).
 *
 * The marks below are the whole protocol between Aside and the model:
 *   [facts of this moment]   date, occupancy, Runs that may be named
 *   [requirement msg_1]      the message that started the research, verbatim
 *   [adjustment msg_2]       a handoff, verbatim; [reply msg_3] likewise
 *   [earlier report of run_4] what a continuation goes on from
 *   [notice]                 something Aside has to say
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"

/* Bounds of the history that a request sees (R14). */
#define HISTORY_MESSAGES     20
#define HISTORY_BYTES        (24 * 1024)
#define HISTORY_ITEM_BYTES   (6 * 1024)
#define EARLIER_REPORT_BYTES (16 * 1024)
#define BODY_BYTES           (1024 * 1024)
#define LISTED_ENDED         5

/* --- what may be offered (R07) ----------------------------------------- */

static enum rc list_runs(struct step *s, struct offer *o)
{
    const struct run_filter f = {.account_id = s->run.account_id,
                                 .conversation_id = s->run.conversation_id,
                                 .limit = 50,
                                 .state = -1,
                                 .kind = RUN_RESEARCH};
    struct run *all = NULL;
    size_t n = 0;
    size_t ended = 0;
    enum rc rc = store_run_list(s->rt->store, &f, s->mem, &all, &n);

    o->listed = all;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        bool active = !states_run_ended(all[i].state);

        if (all[i].id == s->run.id || (!active && ended == LISTED_ENDED)) {
            continue;
        }
        ended += active ? 0 : 1;
        o->steer = o->steer || active;
        o->reply = o->reply || all[i].state == RUN_AWAITING_INPUT;
        o->proceed = o->proceed || !active;
        o->listed[o->n_listed++] = all[i];
    }
    return rc;
}

enum rc offer_find(struct step *s, struct offer *o)
{
    bool free_slot;
    enum rc rc;

    *o = (struct offer){.look_up = s->rt->indexer != NULL,
                        .ask = s->run.missing_info != MISSING_ASSUME};
    rc = store_occupancy(s->rt->store, s->run.account_id, &o->occupancy);
    if (rc != RC_OK || s->run.kind == RUN_RESEARCH) {
        return rc;
    }
    rc = list_runs(s, o);
    free_slot =
        o->occupancy.used[SLOT_BACKGROUND] < s->rt->conf.background_limit;
    o->start = free_slot;
    o->proceed = o->proceed && free_slot;
    return rc;
}

bool offer_any_operation(const struct offer *o)
{
    return o->start || o->steer || o->reply || o->proceed;
}

/* --- history (R09, R14) ------------------------------------------------ */

static const char *clip(struct step *s, const char *text, size_t max)
{
    size_t len = strlen(text);
    size_t keep = utf8_clip(text, len, max);
    const char *cut;

    if (keep == len) {
        return text;
    }
    cut = arena_printf(s->mem, "%.*s\n[cut here]", (int)keep, text);
    return cut != NULL ? cut : "";
}

/* What stands under an earlier message, as this Run may know it. */
static enum rc answer_of(struct step *s, const struct message *m,
                         const char **out)
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
            s->mem, "%s\n(%s)", clip(s, r.answer_body, HISTORY_ITEM_BYTES),
            r.state == RUN_STOPPED ? "stopped here by the person"
                                   : "this answer failed");
    } else if (r.answer_body[0] == '\0') {
        *out = m->n_handoffs > 0 ? "(handed over to a research)" : "(done)";
    } else {
        *out = clip(s, r.answer_body, HISTORY_ITEM_BYTES);
    }
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

static enum rc add_history(struct step *s, struct buf *out)
{
    struct message *page = NULL;
    const char *answers[HISTORY_MESSAGES];
    size_t n = 0;
    size_t first;
    size_t bytes = 0;
    bool more;
    enum rc rc;

    rc = store_message_page(s->rt->store, s->run.conversation_id,
                            s->run.message_id, HISTORY_MESSAGES, s->mem, &page,
                            &n, &more);
    /* Continued without words: what was said later is not asked about. */
    while (s->run.message_id == 0 && n > 0 &&
           page[n - 1].created_ms > s->run.created_ms) {
        n--;
    }
    /* As many as fit, counted from the newest. */
    for (first = n; first > 0 && rc == RC_OK; first--) {
        struct message *m = &page[first - 1];

        m->body = clip(s, m->body, HISTORY_ITEM_BYTES);
        rc = answer_of(s, m, &answers[first - 1]);
        if (rc != RC_OK) {
            return rc;
        }
        bytes += strlen(m->body) + strlen(answers[first - 1]);
        if (bytes > HISTORY_BYTES) {
            break;
        }
    }
    for (size_t i = first; i < n && rc == RC_OK; i++) {
        model_chat_message(out, MODEL_CHAT_USER, page[i].body);
        model_chat_message(out, MODEL_CHAT_ASSISTANT, answers[i]);
    }
    return rc;
}

/* --- facts, requirements ----------------------------------------------- */

static void put_listed(struct step *s, const struct run *r, struct buf *out)
{
    char id[ID_TEXT_BYTES];
    int64_t end = r->ended_ms != 0 ? r->ended_ms : s->now_ms;

    buf_printf(out, "research %s | %s | \"%s\" | elapsed %" PRId64 " s",
               id_text(ID_RUN, r->id, id),
               states_text(LIST_RUN_STATE, (int)r->state), r->title,
               (end - r->created_ms) / 1000);
    if (r->progress[0] != '\0') {
        buf_printf(out, " | progress: %s", r->progress);
    }
    if (r->state == RUN_AWAITING_INPUT && r->question != NULL) {
        buf_printf(out, " | asks: %s", r->question);
    }
    buf_putc(out, '\n');
}

static enum rc add_facts(struct step *s, const struct offer *o, struct buf *out)
{
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
    }
    for (size_t i = 0; i < o->n_listed; i++) {
        put_listed(s, &o->listed[i], &text);
    }
    rc = buf_rc(&text);
    if (rc == RC_OK) {
        model_chat_message(out, MODEL_CHAT_USER, buf_str(&text));
    }
    buf_free(&text);
    return rc;
}

static enum rc add_marked(struct step *s, const char *mark, int64_t message_id,
                          struct buf *out)
{
    struct message m;
    char id[ID_TEXT_BYTES];
    const char *text;
    enum rc rc = store_message_get(s->rt->store, 0, message_id, s->mem, &m);

    if (rc != RC_OK) {
        return rc;
    }
    text = arena_printf(s->mem, "[%s %s]\n%s", mark,
                        id_text(ID_MESSAGE, message_id, id), m.body);
    if (text == NULL) {
        return RC_TOO_LARGE;
    }
    model_chat_bridge(out, s->rt->profile);
    model_chat_message(out, MODEL_CHAT_USER, text);
    return RC_OK;
}

/* Received handoffs that stand in no request yet, in order of arrival. */
static enum rc add_handoffs(struct step *s, struct buf *out)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        if (list[i].state == HANDOFF_RECEIVED &&
            list[i].planned_request_id == 0) {
            rc =
                add_marked(s, states_text(LIST_HANDOFF_KIND, (int)list[i].kind),
                           list[i].message_id, out);
        }
    }
    return rc;
}

static enum rc add_earlier(struct step *s, struct buf *out)
{
    struct run old;
    char id[ID_TEXT_BYTES];
    const char *text;
    enum rc rc;

    if (s->run.continues == 0) {
        return RC_OK;
    }
    rc = store_run_get(s->rt->store, 0, s->run.continues, true, s->mem, &old);
    if (rc == RC_NOT_FOUND) {
        return RC_OK;
    }
    if (rc != RC_OK) {
        return rc;
    }
    text = arena_printf(s->mem, "[earlier report of %s]\n%s\n%s",
                        id_text(ID_RUN, old.id, id), old.title,
                        clip(s, old.answer_body, EARLIER_REPORT_BYTES));
    if (text == NULL) {
        return RC_TOO_LARGE;
    }
    model_chat_message(out, MODEL_CHAT_USER, text);
    return RC_OK;
}

/* The first messages of a Run, or of a short one that became research. */
static enum rc add_beginning(struct step *s, enum request_purpose purpose,
                             const struct offer *o, struct buf *out)
{
    struct message m;
    enum rc rc = add_history(s, out);

    if (rc == RC_OK) {
        rc = add_facts(s, o, out);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (purpose == PURPOSE_RESEARCH || purpose == PURPOSE_CLOSEOUT) {
        rc = add_earlier(s, out);
        if (rc == RC_OK && s->run.message_id != 0) {
            return add_marked(s, "requirement", s->run.message_id, out);
        }
        model_chat_message(out, MODEL_CHAT_USER,
                           "[requirement request]\nGo on with the earlier "
                           "research where it was left.");
        return rc;
    }
    rc = store_message_get(s->rt->store, 0, s->run.message_id, s->mem, &m);
    if (rc == RC_OK) {
        model_chat_message(out, MODEL_CHAT_USER, m.body);
    }
    return rc;
}

/* --- what came of the last request ------------------------------------- */

/* The reply and one result for each of its calls (CASES G-1: every call id is
 * answered exactly once). */
static enum rc add_reply(struct step *s, const struct request *last,
                         struct buf *out)
{
    struct model_reply reply;
    struct tool_call *calls = NULL;
    size_t n = 0;
    enum rc rc;

    if (last->state != EFFECT_DONE || last->reply == NULL) {
        return RC_OK;
    }
    rc = model_reply_parse(last->reply, strlen(last->reply), s->mem, &reply);
    if (rc == RC_OK) {
        rc = store_tool_call_of_request(s->rt->store, last->id, s->mem, &calls,
                                        &n);
    }
    if (rc != RC_OK) {
        return rc;
    }
    model_chat_assistant(out, s->rt->profile, &reply);
    for (size_t i = 0; i < n; i++) {
        model_chat_tool_result(out, s->rt->profile, calls[i].call_id,
                               calls[i].result != NULL
                                   ? calls[i].result
                                   : "{\"error\":\"not carried out\"}");
    }
    return RC_OK;
}

static enum rc add_head(struct step *s, enum request_purpose purpose,
                        const struct offer *o, bool further, struct buf *out)
{
    struct model_chat_head_options opt = {
        .model = s->rt->conf.model_name,
        .system = prompt_system(purpose),
        .max_output_tokens = s->rt->conf.model_max_output_tokens};
    struct buf tools;
    enum rc rc;

    buf_init(&tools, 64 * 1024);
    rc = prompt_tools(purpose, o, &tools);
    if (rc == RC_OK && tools.len > 2) {
        opt.tools_json = buf_str(&tools);
        /* The further request of a short exchange must answer (R12). */
        opt.tool_choice =
            purpose == PURPOSE_ANSWER && further ? "none" : "auto";
    }
    if (rc == RC_OK) {
        model_chat_head(out, s->rt->profile, &opt);
        rc = buf_rc(out);
    }
    buf_free(&tools);
    return rc;
}

static bool is_short(enum request_purpose p)
{
    return p == PURPOSE_ENTRY || p == PURPOSE_ANSWER;
}

/* What is new since last, or all of it at the beginning. */
static enum rc add_new(struct step *s, enum request_purpose purpose,
                       const struct offer *o, const struct request *last,
                       struct buf *out)
{
    enum rc rc = last == NULL ? add_beginning(s, purpose, o, out)
                              : add_reply(s, last, out);

    if (rc == RC_OK && s->notice != NULL) {
        const char *text = arena_printf(s->mem, "[notice]\n%s", s->notice);

        if (text == NULL) {
            return RC_TOO_LARGE;
        }
        model_chat_bridge(out, s->rt->profile);
        model_chat_message(out, MODEL_CHAT_USER, text);
        s->notice = NULL;
    }
    /* The newest adjustment is the last item (R15). */
    if (rc == RC_OK && !is_short(purpose)) {
        rc = add_handoffs(s, out);
    }
    return rc == RC_OK ? buf_rc(out) : rc;
}

/* Put the new messages behind the old ones, under the root of this purpose. */
static enum rc place(struct step *s, const struct request *last, int64_t root,
                     struct buf *fresh, int64_t *segment)
{
    struct store *st = s->rt->store;
    struct buf all;
    int64_t old_root = 0;
    enum rc rc = RC_OK;

    if (last != NULL) {
        rc = store_segment_root_of(st, last->segment_id, &old_root);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (last != NULL && old_root == root && fresh->len == 0) {
        *segment = last->segment_id;
        return RC_OK;
    }
    if (last == NULL || old_root == root) {
        return store_segment_add(st, s->run.id,
                                 last == NULL ? root : last->segment_id,
                                 buf_str(fresh), fresh->len, segment);
    }
    buf_init(&all, BODY_BYTES);
    rc = store_segment_after_root(st, last->segment_id, &all);
    buf_add(&all, buf_str(fresh), fresh->len);
    if (rc == RC_OK) {
        rc = buf_rc(&all);
    }
    if (rc == RC_OK) {
        rc = store_segment_add(st, s->run.id, root, buf_str(&all), all.len,
                               segment);
    }
    buf_free(&all);
    return rc;
}

enum rc context_plan(struct step *s, enum request_purpose purpose,
                     const struct request *last, int64_t attempt,
                     int64_t not_before_ms, struct request *out)
{
    struct request_new in = {.purpose = purpose,
                             .attempt = attempt,
                             .tail = MODEL_CHAT_TAIL,
                             .not_before_ms = not_before_ms,
                             .now_ms = s->now_ms};
    struct buf head;
    struct buf fresh;
    struct offer o;
    int64_t root = 0;
    enum rc rc = offer_find(s, &o);

    /* A short Run that became research begins anew, from the snapshot of its
     * message (R15). */
    if (last != NULL && is_short(last->purpose) && !is_short(purpose)) {
        last = NULL;
    }
    buf_init(&head, 128 * 1024);
    buf_init(&fresh, BODY_BYTES);
    if (rc == RC_OK) {
        rc = add_head(s, purpose, &o, last != NULL, &head);
    }
    if (rc == RC_OK) {
        rc = store_segment_add(s->rt->store, 0, 0, buf_str(&head), head.len,
                               &root);
    }
    if (rc == RC_OK) {
        rc = add_new(s, purpose, &o, last, &fresh);
    }
    if (rc == RC_OK) {
        rc = place(s, last, root, &fresh, &in.segment_id);
    }
    in.input_estimate =
        tokens_estimate(buf_str(&fresh), fresh.len) +
        (last != NULL ? last->input_estimate
                      : tokens_estimate(buf_str(&head), head.len));
    buf_free(&head);
    buf_free(&fresh);
    return rc == RC_OK
               ? store_request_plan(s->rt->store, &s->run, &in, s->mem, out)
               : rc;
}
