/* operation.c - what an entry reply may do to research: it names operation and
 * target, nothing else (R11). All of it touches only rows and is carried out
 * in the transaction that stores the reply (R01). */
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "sql/store_approval.h"
#include "sql/store_audit.h"

typedef enum rc operation_fn(struct step *, const struct request *,
                             const cJSON *args, const char *lead,
                             struct operation_result *);

#define TITLE_BYTES 200
#define TOO_LONG                                                               \
    "{\"error\":\"not accepted: with this message the research would have "    \
    "to cover more than the model can hold; say it in fewer words, or begin "  \
    "another research\"}"

static void refuse(struct operation_result *out, const char *why)
{
    out->text = why;
    out->summary = why;
}

static void succeed(struct step *s, struct operation_result *out,
                    const char *summary, int64_t run_id)
{
    char id[ID_TEXT_BYTES];
    const char *text =
        arena_printf(s->mem, "{\"outcome\":\"%s\",\"run\":\"%s\"}", summary,
                     id_text(ID_RUN, run_id, id));

    out->done = true;
    out->run_id = run_id;
    out->ends_exchange = true;
    out->text = text != NULL ? text : "{}";
    out->summary = summary;
}

/* The named Run, if it is research of this conversation. */
static enum rc target(struct step *s, const cJSON *args, struct run *out,
                      struct operation_result *result)
{
    const char *text = json_str(args, "run", "");
    int64_t id = 0;
    enum rc rc = id_parse(ID_RUN, text, &id);

    if (rc == RC_OK) {
        rc = store_run_get(s->rt->store, s->run.account_id, id, false, s->mem,
                           out);
    }
    if (rc == RC_OK && (out->kind != RUN_RESEARCH ||
                        out->conversation_id != s->run.conversation_id)) {
        rc = RC_NOT_FOUND;
    }
    if (rc == RC_NOT_FOUND || rc == RC_INVALID) {
        refuse(result, "{\"error\":\"no such research in this conversation\"}");
        return RC_NOT_FOUND;
    }
    return rc;
}

/* A refusal inside is a result, not a failure of the step. */
static enum rc refused(enum rc rc)
{
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* A model's title as one bounded line; NULL without memory. */
static const char *title_of(struct step *s, const cJSON *args)
{
    const char *text = json_str(args, "title", "");
    size_t keep = utf8_clip(text, strlen(text), TITLE_BYTES);
    char *line = arena_strndup(s->mem, text, keep);

    if (line != NULL) {
        utf8_one_line(line);
    }
    return line;
}

static enum rc op_start(struct step *s, const struct request *q,
                        const cJSON *args, const char *lead,
                        struct operation_result *out)
{
    const char *title = title_of(s, args);
    const char *kept = lead[0] != '\0' ? arena_strdup(s->mem, lead) : NULL;
    int depth = DEPTH_NORMAL;
    enum rc rc;

    (void)q;
    if (title == NULL) {
        return RC_TOO_LARGE;
    }
    if (states_value(LIST_RUN_DEPTH, json_str(args, "depth", "normal"),
                     &depth) != RC_OK) {
        depth = DEPTH_NORMAL;
    }
    rc = store_run_to_research(s->rt->store, &s->run, title,
                               (enum run_depth)depth, kept, &s->rt->conf);
    if (rc == RC_FULL) {
        refuse(out, "{\"error\":\"no free background slot: neither accepted "
                    "nor queued\"}");
        return RC_OK;
    }
    if (rc == RC_TOO_LONG) {
        refuse(out, TOO_LONG);
        return RC_OK;
    }
    /* What was said before is the lead now; the answer starts empty. */
    if (rc == RC_OK && s->run.answer_parts > 0) {
        rc = store_answer_open(s->rt->store, &s->run);
    }
    if (rc == RC_OK) {
        succeed(s, out, "research started", s->run.id);
        out->became_research = true;
        s->save = true;
    }
    return rc;
}

static enum rc hand_over(struct step *s, const struct request *q,
                         struct run *to, enum handoff_kind kind,
                         struct operation_result *out)
{
    const struct handoff_new in = {.kind = kind,
                                   .origin = ORIGIN_ENTRY,
                                   .message_id = s->run.message_id,
                                   .decided_by = q->id,
                                   .conf = &s->rt->conf,
                                   .now_ms = s->now_ms};
    struct handoff h;
    enum rc rc = store_handoff_add(s->rt->store, to, &in, &h);

    if (rc == RC_TOO_LONG) {
        refuse(out, TOO_LONG);
        return RC_OK;
    }
    if (rc == RC_OK) {
        s->rt->touched = true;
        succeed(s, out,
                h.state == HANDOFF_NOT_APPLIED
                    ? "not applied: the research had ended"
                    : "received",
                to->id);
    }
    return rc;
}

static enum rc op_adjust(struct step *s, const struct request *q,
                         const cJSON *args, const char *lead,
                         struct operation_result *out)
{
    struct run to;
    enum rc rc = target(s, args, &to, out);

    (void)lead;
    return rc == RC_OK ? hand_over(s, q, &to, HANDOFF_ADJUSTMENT, out)
                       : refused(rc);
}

static enum rc op_reply(struct step *s, const struct request *q,
                        const cJSON *args, const char *lead,
                        struct operation_result *out)
{
    struct run to;
    enum rc rc = target(s, args, &to, out);

    (void)lead;
    if (rc == RC_OK &&
        (to.state != RUN_AWAITING_INPUT || to.approval != NULL)) {
        refuse(out, "{\"error\":\"this research does not await a reply\"}");
        return RC_OK;
    }
    return rc == RC_OK ? hand_over(s, q, &to, HANDOFF_REPLY, out) : refused(rc);
}

static enum rc op_stop(struct step *s, const struct request *q,
                       const cJSON *args, const char *lead,
                       struct operation_result *out)
{
    struct run to;
    enum rc rc = target(s, args, &to, out);

    (void)q;
    (void)lead;
    if (rc != RC_OK) {
        return refused(rc);
    }
    if (states_run_ended(to.state)) {
        refuse(out, "{\"error\":\"this research has ended already\"}");
        return RC_OK;
    }
    rc = store_run_stop_row(s->rt->store, &to, s->now_ms);
    if (rc == RC_OK) {
        s->rt->touched = true;
        succeed(s, out, "stopped", to.id);
    }
    return rc;
}

static enum rc op_continue(struct step *s, const struct request *q,
                           const cJSON *args, const char *lead,
                           struct operation_result *out)
{
    struct run old;
    struct run r;
    enum rc rc = target(s, args, &old, out);

    (void)lead;
    if (rc != RC_OK) {
        return refused(rc);
    }
    rc = store_run_continue_by_entry(s->rt->store, &s->run, old.id,
                                     &s->rt->conf, s->now_ms, s->mem, &r);
    if (rc == RC_FULL) {
        refuse(out, "{\"error\":\"no free background slot: neither accepted "
                    "nor queued\"}");
        return RC_OK;
    }
    if (rc == RC_TOO_LONG) {
        refuse(out, TOO_LONG);
        return RC_OK;
    }
    if (rc == RC_NOT_ELIGIBLE) {
        refuse(out, "{\"error\":\"only a research that has ended can be "
                    "continued\"}");
        return RC_OK;
    }
    return rc == RC_OK ? hand_over(s, q, &r, HANDOFF_ADJUSTMENT, out) : rc;
}

/* --- inspect: from rows, so that the model speaks from facts ----------- */

static void put_used(struct json_out *j, const char *name, int64_t used,
                     int64_t limit)
{
    json_key(j, name);
    json_open_object(j);
    json_ki64(j, "used", used);
    json_ki64(j, "limit", limit);
    json_close_object(j);
}

static enum rc put_lists(struct step *s, const struct run *r,
                         struct json_out *j)
{
    struct source *sources = NULL;
    struct handoff *handoffs = NULL;
    size_t n = 0;
    size_t waiting = 0;
    enum rc rc =
        store_source_of_run(s->rt->store, r->id, 0, s->mem, &sources, &n);

    json_key(j, "sources");
    json_open_array(j);
    for (size_t i = 0; i < n && i < 20 && rc == RC_OK; i++) {
        json_put_str(j, sources[i].title);
    }
    json_close_array(j);
    json_ki64(j, "sources_so_far", (int64_t)n);
    if (rc == RC_OK) {
        rc = store_handoff_of_run(s->rt->store, r->id, s->mem, &handoffs, &n);
    }
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        waiting += handoffs[i].state == HANDOFF_RECEIVED ? 1 : 0;
    }
    json_ki64(j, "adjustments_not_yet_handed", (int64_t)waiting);
    return rc;
}

static enum rc describe(struct step *s, const struct run *r, struct buf *text)
{
    struct json_out j;
    char id[ID_TEXT_BYTES];
    int64_t end = r->ended_ms != 0 ? r->ended_ms : s->now_ms;
    enum rc rc;
    enum rc built;

    json_begin(&j, text);
    json_open_object(&j);
    json_kstr(&j, "run", id_text(ID_RUN, r->id, id));
    json_kstr(&j, "title", r->title);
    json_kstr(&j, "state", states_text(LIST_RUN_STATE, (int)r->state));
    json_kstr(&j, "reason", states_text(LIST_RUN_REASON, (int)r->reason));
    json_kstr(&j, "phase",
              r->state == RUN_RUNNING
                  ? states_text(LIST_RUN_PHASE, (int)r->phase)
                  : NULL);
    json_kstr(&j, "progress", r->progress);
    json_kstr(&j, "question",
              r->state == RUN_AWAITING_INPUT ? r->question : NULL);
    json_kstr(&j, "waits_to_be_allowed_by_the_person",
              r->approval != NULL ? r->approval->tool : NULL);
    json_kbool(&j, "draft_published", r->answer_draft);
    json_ki64(&j, "elapsed_seconds", (end - r->created_ms) / 1000);
    put_used(&j, "requests", r->requests.used, r->requests.limit);
    put_used(&j, "tool_calls", r->tool_calls.used, r->tool_calls.limit);
    put_used(&j, "tokens", r->tokens.used, r->tokens.limit);
    put_used(&j, "seconds", r->active_ms / 1000, r->seconds_limit);
    rc = put_lists(s, r, &j);
    json_close_object(&j);
    built = json_end(&j);
    return rc == RC_OK ? built : rc;
}

static enum rc op_inspect(struct step *s, const struct request *q,
                          const cJSON *args, const char *lead,
                          struct operation_result *out)
{
    struct run r;
    struct buf text;
    enum rc rc = target(s, args, &r, out);

    (void)q;
    (void)lead;
    if (rc != RC_OK) {
        return refused(rc);
    }
    buf_init(&text, 64 * 1024);
    rc = describe(s, &r, &text);
    if (rc == RC_OK) {
        out->done = true;
        out->text = arena_strndup(s->mem, buf_str(&text), text.len);
        out->summary = "inspected";
        rc = out->text == NULL ? RC_TOO_LARGE : RC_OK;
    }
    buf_free(&text);
    return rc;
}

/* --- the table --------------------------------------------------------- */

static const struct {
    const char *name;
    operation_fn *fn;
    enum audit_action action; /* __MAX: it changes nothing */
} OPERATIONS[] = {
    {"start_research", op_start, AUDIT_RUN_START_RESEARCH},
    {"adjust_research", op_adjust, AUDIT_RUN_ADJUST},
    {"stop_research", op_stop, AUDIT_RUN_STOP},
    {"inspect_research", op_inspect, AUDIT_ACTION__MAX},
    {"reply_research", op_reply, AUDIT_RUN_REPLY},
    {"continue_research", op_continue, AUDIT_RUN_CONTINUE},
};

static enum rc log_operation(struct step *s, enum audit_action action,
                             int64_t run_id)
{
    const struct audit_new line = {
        .actor = {.kind = ACTOR_RUN, .id = s->run.id},
        .action = action,
        .account_id = s->run.account_id,
        .subject_kind = ID_RUN,
        .subject_id = run_id,
        .at_ms = s->now_ms};

    return action == AUDIT_ACTION__MAX ? RC_OK
                                       : store_audit_add(s->rt->store, &line);
}

enum rc operation_run(struct step *s, const struct request *q,
                      const struct model_call *call, const char *lead,
                      struct operation_result *out)
{
    cJSON *args = NULL;
    enum rc rc = RC_NOT_FOUND;

    *out = (struct operation_result){0};
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); i++) {
        if (strcmp(OPERATIONS[i].name, call->name) != 0) {
            continue;
        }
        rc = !call->arguments_valid
                 ? RC_INVALID
                 : json_parse(call->arguments, strlen(call->arguments), &args,
                              NULL);
        if (rc == RC_NOMEM) {
            return rc;
        }
        if (rc != RC_OK) {
            refuse(out, "{\"error\":\"the arguments are not a JSON object\"}");
            return RC_OK;
        }
        rc = s->run.kind == RUN_RESEARCH && OPERATIONS[i].fn == op_start
                 ? RC_OK
                 : OPERATIONS[i].fn(s, q, args, lead, out);
        if (rc == RC_OK && out->done) {
            rc = log_operation(s, OPERATIONS[i].action, out->run_id);
        }
        break;
    }
    json_free(args);
    return rc;
}
