/* context.c - a model request's input, composed from rows.
 *
 * A body is head (model, tools, system text) + messages + tail. The head is
 * fixed by purpose and offer and shared by all Runs; the messages of a Run
 * grow by appending, so that each request stores only what is new (R13). The
 * tail is each request's own: what is asked, called to mind (reminder.c).
 *
 * The marks below are the whole protocol between Aside and the model:
 *   [facts of this moment]   date, occupancy, Runs that may be named
 *   [requirement msg_1]      the message that started the research, verbatim
 *   [adjustment msg_2]       a handoff, verbatim; [reply msg_3] likewise
 *   [earlier report of run_4] what a continuation goes on from
 *   [notice]                 something Aside has to say
 *   [reminder]               what is asked, in short, as the last message
 *   [data] ... [end of data] what tools brought, and what models wrote, whoever
 *                            talked them into it; see data_mark.h
 * Once older steps are gone:
 *   [notes of this research], [pinned passages] what it kept with note
 *   [draft of this research] in the closeout, which cannot recall it
 *
 * Before it would outgrow the model, the body is begun anew under its head,
 * without the oldest steps; see trim.c.
 */
#include <string.h>

#include "runtime/context_inside.h"
#include "runtime/data_mark.h"
#include "sql/base/id.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"

#define TOOLS_BYTES  (256u << 10)
#define BODY_BYTES   (8u << 20)
#define RESULTS_PART 3  /* of the room, all results of one reply */
#define RESULT_PART  6  /* likewise, one result: several steps stay in view */
#define RESULT_LEAST 48 /* tokens */
#define REPLY_PART   2  /* of the room, a reply of the model given back */
#define CALL_LEAST   16 /* tokens */

int64_t context_size(const struct buf *b)
{
    return tokens_estimate(buf_str(b), b->len);
}

int64_t context_room(const struct step *s)
{
    return conf_context_tokens(&s->rt->conf) -
           s->rt->conf.model_max_output_tokens;
}

bool context_is_short(enum request_purpose p)
{
    return p == PURPOSE_ENTRY || p == PURPOSE_ANSWER;
}

/* --- pieces ------------------------------------------------------------ */

const char *context_clip(struct step *s, const char *text, int64_t max_tokens)
{
    size_t len = strlen(text);
    size_t keep = tokens_clip(text, len, max_tokens);
    const char *cut;

    if (keep == len) {
        return text;
    }
    cut = arena_printf(s->mem, "%.*s\n[cut here]", (int)keep, text);
    return cut != NULL ? cut : "";
}

/* Whether the newest message is the model's. Quotes are escaped within texts,
 * so that this mark stands only where a message begins. */
static bool after_assistant(const struct buf *out)
{
    static const char MARK[] = ",{\"role\":\"";
    const char *text = buf_str(out);
    size_t len = sizeof(MARK) - 1;

    for (size_t i = out->len; i >= len; i--) {
        if (memcmp(text + i - len, MARK, len) == 0) {
            return strncmp(text + i, "assistant", strlen("assistant")) == 0;
        }
    }
    return false; /* unknown: it follows what was sent before */
}

void context_add_user(struct step *s, const char *text, struct buf *out)
{
    if (!after_assistant(out)) {
        model_chat_bridge(out, s->rt->profile);
    }
    model_chat_message(out, MODEL_CHAT_USER, text);
}

static enum rc add_said(struct step *s, const char *mark, const char *text,
                        struct buf *out)
{
    const char *all = arena_printf(s->mem, "[%s]\n%s", mark, text);

    if (all == NULL) {
        return RC_TOO_LARGE;
    }
    context_add_user(s, all, out);
    return RC_OK;
}

enum rc context_add_notice(struct step *s, const char *text, struct buf *out)
{
    return add_said(s, "notice", text, out);
}

enum rc context_add_marked(struct step *s, const char *mark, int64_t message_id,
                           struct buf *out)
{
    struct message m;
    char id[ID_TEXT_BYTES];
    const char *whole;
    enum rc rc = store_message_get(s->rt->store, 0, message_id, s->mem, &m);

    if (rc != RC_OK) {
        return rc;
    }
    whole = arena_printf(s->mem, "%s %s", mark,
                         id_text(ID_MESSAGE, message_id, id));
    return whole != NULL ? add_said(s, whole, m.body, out) : RC_TOO_LARGE;
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
            rc = context_add_marked(
                s, states_text(LIST_HANDOFF_KIND, (int)list[i].kind),
                list[i].message_id, out);
        }
    }
    return rc;
}

/* What was let through to a tool may bring a stranger's words, and so does what
 * is answered as such a call was before; what is told of a research has the
 * titles of what it found, and what it says of itself. */
static bool brings_data(const struct tool_call *t)
{
    return t->admitted_ms != 0 || t->repeats != 0 ||
           strcmp(t->name, "inspect_research") == 0;
}

static enum rc add_result(struct step *s, const struct tool_call *t,
                          int64_t max_tokens, struct buf *out)
{
    struct excerpt e = {.result = t->result != NULL
                                      ? t->result
                                      : "{\"error\":\"not carried out\"}",
                        .max_tokens = max_tokens};
    struct buf text;
    struct buf marked;
    enum rc rc = RC_OK;

    if (s->run.kind == RUN_RESEARCH &&
        tokens_estimate(e.result, strlen(e.result)) > max_tokens) {
        rc = store_tool_call_number(s->rt->store, s->run.id, t->id, &e.number);
    }
    buf_init(&text, BODY_BYTES);
    buf_init(&marked, BODY_BYTES);
    if (rc == RC_OK) {
        rc = excerpt_result(&e, &text);
    }
    if (rc == RC_OK && brings_data(t)) {
        data_mark_put(buf_str(&text), text.len, &marked);
        rc = buf_rc(&marked);
    }
    if (rc == RC_OK) {
        model_chat_tool_result(out, s->rt->profile, t->call_id,
                               buf_str(brings_data(t) ? &marked : &text));
    }
    buf_free(&marked);
    buf_free(&text);
    return rc;
}

/* Tokens that each of n results of one reply may take up. */
static int64_t most_of(const struct step *s, size_t n)
{
    int64_t part = n > RESULT_PART / RESULTS_PART ? RESULTS_PART * (int64_t)n
                                                  : RESULT_PART;
    int64_t most = context_room(s) / part;

    return most > RESULT_LEAST ? most : RESULT_LEAST;
}

/* --- a reply, given back ------------------------------------------------ */

/* Arguments with no room for all of them: no longer what was called, so that
 * nobody takes it for that. */
static const char *shorten_arguments(struct step *s, const char *arguments,
                                     int64_t max_tokens)
{
    struct json_out j;
    struct buf text;
    const char *copy = NULL;

    buf_init(&text, BODY_BYTES);
    json_begin(&j, &text);
    json_open_object(&j);
    json_kstr(&j, "shortened", context_clip(s, arguments, max_tokens));
    json_close_object(&j);
    if (json_end(&j) == RC_OK) {
        copy = arena_strndup(s->mem, buf_str(&text), text.len);
    }
    buf_free(&text);
    return copy;
}

static int64_t tokens_of(const char *text)
{
    return text != NULL ? tokens_estimate(text, strlen(text)) : 0;
}

/* A reply that would leave no room for the work: each of its parts is cut to
 * its share. The row keeps all of it. RC_TOO_LARGE: no memory. */
static enum rc shorten_reply(struct step *s, struct model_reply *r)
{
    int64_t room = context_room(s) / REPLY_PART;
    int64_t size = tokens_of(r->text) + tokens_of(r->reasoning);
    struct model_call *calls =
        arena_alloc(s->mem, (r->n_calls + 1) * sizeof(*calls));
    int64_t share;

    if (calls == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < r->n_calls; i++) {
        calls[i] = r->calls[i];
        size += tokens_of(calls[i].arguments);
    }
    if (size <= room) {
        return RC_OK;
    }
    share = room / (int64_t)(r->n_calls + 2);
    share = share > CALL_LEAST ? share : CALL_LEAST;
    r->text = context_clip(s, r->text, share);
    if (r->reasoning != NULL) {
        r->reasoning = context_clip(s, r->reasoning, share);
    }
    for (size_t i = 0; i < r->n_calls; i++) {
        if (tokens_of(calls[i].arguments) > share) {
            calls[i].arguments =
                shorten_arguments(s, calls[i].arguments, share);
            calls[i].arguments_valid = true;
        }
        if (calls[i].arguments == NULL) {
            return RC_TOO_LARGE;
        }
    }
    r->calls = calls;
    return RC_OK;
}

/* That a reply with calls was cut, unless the result of the last one says so:
 * its arguments break off. */
static enum rc add_cut(struct step *s, const struct model_reply *r,
                       struct buf *out)
{
    if (r->n_calls == 0 || !model_reply_is_torn(r) ||
        !r->calls[r->n_calls - 1].arguments_valid) {
        return RC_OK;
    }
    return context_add_notice(s,
                              "Your reply was too long: what stood behind its "
                              "last call is lost.",
                              out);
}

/* CASES G-1: every call id is answered exactly once. */
enum rc context_add_reply(struct step *s, const struct request *last,
                          struct buf *out)
{
    struct model_reply reply;
    struct model_reply given;
    struct tool_call *calls = NULL;
    size_t n = 0;
    int64_t most;
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
    given = reply;
    rc = shorten_reply(s, &given);
    if (rc != RC_OK) {
        return rc;
    }
    most = most_of(s, n);
    /* Some endpoints refuse a message of nothing. */
    if (given.n_calls > 0 || !utf8_is_blank(given.text)) {
        model_chat_assistant(out, s->rt->profile, &given);
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = add_result(s, &calls[i], most, out);
    }
    return rc == RC_OK ? add_cut(s, &reply, out) : rc;
}

/* --- planning ----------------------------------------------------------- */

static enum rc add_head(struct step *s, enum request_purpose purpose,
                        const struct offer *o, bool further, struct buf *out)
{
    struct model_chat_head_options opt = {
        .model = s->rt->conf.model_name,
        .system = prompt_system(purpose),
        .max_output_tokens = s->rt->conf.model_max_output_tokens,
        .whole = s->rt->no_stream};
    struct buf tools;
    enum rc rc;

    buf_init(&tools, TOOLS_BYTES);
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

/* A request's input on its way to be planned. */
struct body {
    enum request_purpose purpose;
    const struct request *last; /* what it goes on from; NULL: it begins */
    struct offer offer;
    struct buf head;
    struct buf fresh;      /* what stands behind the parent */
    struct buf tail;       /* what no later request goes on from */
    const char *reminder;  /* NULL: none */
    int64_t reminder_size; /* at most */
    int64_t root;          /* the segment of the head */
    int64_t parent;        /* the segment that it goes on from */
    int64_t base_size;     /* of what the parent's chain holds */
};

/* What there is room for beside the reminder and what stands before. */
static int64_t room_beside(const struct step *s, const struct body *b)
{
    return context_room(s) - b->base_size - b->reminder_size;
}

/* What is new since last, or all of it at the beginning. */
static enum rc add_new(struct step *s, struct body *b)
{
    enum rc rc;

    if (b->last == NULL) {
        const struct snapshot snapshot = {.purpose = b->purpose,
                                          .offer = &b->offer,
                                          .room = room_beside(s, b),
                                          .portion = 2};

        rc = snapshot_add(s, &snapshot, &b->fresh);
    } else {
        rc = context_add_reply(s, b->last, &b->fresh);
    }
    if (rc == RC_OK && s->notice != NULL) {
        rc = context_add_notice(s, s->notice, &b->fresh);
        s->notice = NULL;
    }
    /* The newest adjustment is the last item (R15). */
    if (rc == RC_OK && !context_is_short(b->purpose)) {
        rc = add_handoffs(s, &b->fresh);
    }
    return rc == RC_OK ? buf_rc(&b->fresh) : rc;
}

/* Of a tail without what closes the body. */
static int64_t tail_size(const char *tail)
{
    return tokens_estimate(tail, strlen(tail) - strlen(MODEL_CHAT_TAIL));
}

/* Where the new messages go: behind the old ones, or, where the purpose and
 * with it the head has changed, behind a copy of them. */
static enum rc find_parent(struct step *s, struct body *b)
{
    struct store *st = s->rt->store;
    int64_t old_root = 0;
    enum rc rc;

    rc = store_segment_add(st, 0, 0, buf_str(&b->head), b->head.len, &b->root);
    b->parent = b->root;
    b->base_size = context_size(&b->head);
    if (rc != RC_OK || b->last == NULL) {
        return rc;
    }
    rc = store_segment_root_of(st, b->last->segment_id, &old_root);
    if (rc == RC_OK && old_root == b->root) {
        b->parent = b->last->segment_id;
        b->base_size = b->last->input_estimate - tail_size(b->last->tail);
        return RC_OK;
    }
    return rc == RC_OK
               ? store_segment_after_root(st, b->last->segment_id, &b->fresh)
               : rc;
}

/* Begun anew where the model could not hold it, and for a closeout that has to
 * have the draft before it: its head has changed in any case. */
static enum rc fit(struct step *s, struct body *b)
{
    struct trim trim = {.purpose = b->purpose, .offer = &b->offer};
    bool anew = b->purpose == PURPOSE_CLOSEOUT && s->run.answer_draft;
    enum rc rc;

    if (!anew && context_size(&b->fresh) <= room_beside(s, b)) {
        return RC_OK;
    }
    buf_clear(&b->fresh);
    b->parent = b->root;
    b->base_size = context_size(&b->head);
    trim.room = room_beside(s, b);
    rc = trim_compose(s, &trim, &b->fresh);
    return rc == RC_OK && context_size(&b->fresh) > trim.room ? RC_TOO_LARGE
                                                              : rc;
}

static enum rc find_reminder(struct step *s, struct body *b)
{
    enum rc rc = reminder_text(s, b->purpose, &b->reminder);

    if (rc == RC_OK && b->reminder != NULL) {
        context_add_user(s, b->reminder, &b->tail);
        b->reminder_size = context_size(&b->tail);
        rc = buf_rc(&b->tail);
        buf_clear(&b->tail);
    }
    return rc;
}

/* The reminder, bridged where what it follows wants that, and the end. */
static enum rc close_body(struct step *s, struct body *b)
{
    if (b->reminder != NULL) {
        if (!after_assistant(&b->fresh)) {
            model_chat_bridge(&b->tail, s->rt->profile);
        }
        model_chat_message(&b->tail, MODEL_CHAT_USER, b->reminder);
    }
    buf_puts(&b->tail, MODEL_CHAT_TAIL);
    return buf_rc(&b->tail);
}

static enum rc compose(struct step *s, struct body *b)
{
    enum rc rc = offer_find(s, &b->offer);

    if (rc == RC_OK) {
        rc = add_head(s, b->purpose, &b->offer, b->last != NULL, &b->head);
    }
    if (rc == RC_OK) {
        rc = find_reminder(s, b);
    }
    if (rc == RC_OK) {
        rc = find_parent(s, b);
    }
    if (rc == RC_OK) {
        rc = add_new(s, b);
    }
    if (rc == RC_OK) {
        rc = fit(s, b);
    }
    return rc == RC_OK ? close_body(s, b) : rc;
}

enum rc context_plan(struct step *s, enum request_purpose purpose,
                     const struct request *last, int64_t attempt,
                     int64_t not_before_ms, struct request *out)
{
    struct request_new in = {.purpose = purpose,
                             .attempt = attempt,
                             .not_before_ms = not_before_ms,
                             .now_ms = s->now_ms};
    struct body b = {.purpose = purpose, .last = last};
    enum rc rc;

    /* A short Run that became research begins anew, from the snapshot of its
     * message (R15). */
    if (last != NULL && context_is_short(last->purpose) &&
        !context_is_short(purpose)) {
        b.last = NULL;
    }
    buf_init(&b.head, 128 * 1024);
    buf_init(&b.fresh, BODY_BYTES);
    buf_init(&b.tail, BODY_BYTES);
    rc = compose(s, &b);
    in.segment_id = b.parent;
    in.tail = buf_str(&b.tail);
    in.input_estimate = b.base_size + context_size(&b.fresh);
    if (rc == RC_OK) {
        in.input_estimate += tail_size(in.tail);
    }
    if (rc == RC_OK && b.fresh.len > 0) {
        rc = store_segment_add(s->rt->store, s->run.id, b.parent,
                               buf_str(&b.fresh), b.fresh.len, &in.segment_id);
    }
    if (rc == RC_OK) {
        rc = store_request_plan(s->rt->store, &s->run, &in, s->mem, out);
    }
    buf_free(&b.head);
    buf_free(&b.fresh);
    buf_free(&b.tail);
    return rc;
}
