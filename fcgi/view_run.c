#include "fcgi/view.h"

#include <string.h>

static void put_used(struct json_out *json, const char *name,
                     const struct used_of *u)
{
    json_key(json, name);
    json_open_object(json);
    json_ki64(json, "used", u->used);
    json_ki64(json, "limit", u->limit);
    json_close_object(json);
}

static void put_budget(struct json_out *json, const struct run *r)
{
    struct used_of seconds = {r->active_ms / 1000, r->seconds_limit};

    json_key(json, "budget");
    json_open_object(json);
    put_used(json, "requests", &r->requests);
    put_used(json, "tool_calls", &r->tool_calls);
    put_used(json, "seconds", &seconds);
    json_key(json, "tokens");
    json_open_object(json);
    json_ki64(json, "used", r->tokens.used);
    json_ki64(json, "limit", r->tokens.limit);
    json_ki64(json, "unknown_requests", r->unknown_requests);
    json_close_object(json);
    json_close_object(json);
}

/* A requirement is known by the id of its message, as the model is shown it. */
static void put_coverage(struct json_out *json, const struct run *r)
{
    json_key(json, "coverage");
    json_open_array(json);
    for (size_t i = 0; i < r->n_coverage; i++) {
        const struct coverage *c = &r->coverage[i];

        json_open_object(json);
        json_kstr(json, "source", c->handoff_id == 0 ? "request" : "handoff");
        /* Requirements are known by their message (R31). */
        view_id(json, "id", ID_MESSAGE, c->message_id);
        json_kstr(json, "status",
                  states_text(LIST_COVERAGE_STATUS, (int)c->status));
        json_kstr(json, "note", c->remark);
        json_key(json, "evidence");
        json_put_raw(json, c->evidence, strlen(c->evidence));
        json_close_object(json);
    }
    json_close_array(json);
}

static void put_answer(struct json_out *json, const struct run *r)
{
    json_key(json, "answer");
    json_open_object(json);
    json_ki64(json, "revision", r->answer_revision);
    json_ki64(json, "parts", r->answer_parts);
    if (r->answer_body != NULL) {
        json_kstr(json, "body", r->answer_body);
    }
    json_kbool(json, "complete", r->answer_complete);
    json_kbool(json, "draft", r->answer_draft);
    json_close_object(json);
}

void view_run(struct json_out *json, const struct run *r)
{
    json_open_object(json);
    view_id(json, "id", ID_RUN, r->id);
    view_id(json, "conversation_id", ID_CONVERSATION, r->conversation_id);
    view_id(json, "message_id", ID_MESSAGE, r->message_id);
    json_kstr(json, "kind", states_text(LIST_RUN_KIND, (int)r->kind));
    json_kstr(json, "depth", states_text(LIST_RUN_DEPTH, (int)r->depth));
    json_kstr(json, "state", states_text(LIST_RUN_STATE, (int)r->state));
    json_kstr(json, "phase", states_text(LIST_RUN_PHASE, (int)r->phase));
    json_kstr(json, "reason", states_text(LIST_RUN_REASON, (int)r->reason));
    json_kstr(json, "title", r->title);
    json_kstr(json, "progress", r->progress);
    json_kstr(json, "lead", r->lead);
    json_ki64(json, "created_at", r->created_ms);
    json_ki64_or_null(json, "started_at", r->started_ms);
    json_ki64_or_null(json, "ended_at", r->ended_ms);
    view_id(json, "continues", ID_RUN, r->continues);
    json_kstr(json, "question", r->question);
    json_key(json, "approval");
    if (r->approval != NULL) {
        view_approval(json, r->approval);
    } else {
        json_put_null(json);
    }
    json_kstr(json, "missing_info",
              states_text(LIST_MISSING_INFO, (int)r->missing_info));
    put_budget(json, r);
    put_coverage(json, r);
    put_answer(json, r);
    json_close_object(json);
}
