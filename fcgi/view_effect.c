#include "fcgi/view.h"

static void put_usage(struct json_out *json, const struct usage *u)
{
    json_key(json, "usage");
    json_open_object(json);
    json_kbool(json, "known", u->known);
    if (u->known) {
        json_ki64(json, "input_tokens", u->input_tokens);
        json_ki64(json, "output_tokens", u->output_tokens);
    } else {
        json_knull(json, "input_tokens");
        json_knull(json, "output_tokens");
    }
    if (u->known && u->cached_tokens >= 0) {
        json_ki64(json, "cached_tokens", u->cached_tokens);
    } else {
        json_knull(json, "cached_tokens");
    }
    json_ki64(json, "estimate", u->estimate);
    json_close_object(json);
}

void view_request(struct json_out *json, const struct request *r)
{
    json_open_object(json);
    view_id(json, "id", ID_REQUEST, r->id);
    view_id(json, "run_id", ID_RUN, r->run_id);
    json_kstr(json, "purpose",
              states_text(LIST_REQUEST_PURPOSE, (int)r->purpose));
    json_kstr(json, "state", states_text(LIST_EFFECT_STATE, (int)r->state));
    json_kstr(json, "cause", states_text(LIST_EFFECT_CAUSE, (int)r->cause));
    put_usage(json, &r->usage);
    json_ki64_or_null(json, "sent_at", r->sent_ms);
    json_ki64_or_null(json, "ended_at", r->ended_ms);
    json_close_object(json);
}

/* What the person decided of it, or has to. */
static void put_approval(struct json_out *json, const struct tool_call *c)
{
    if (c->approval_id == 0) {
        json_knull(json, "approval");
        return;
    }
    json_key(json, "approval");
    json_open_object(json);
    view_id(json, "id", ID_APPROVAL, c->approval_id);
    json_kstr(json, "state",
              states_text(LIST_APPROVAL_STATE, (int)c->approval));
    json_kbool(json, "unanswered", c->unanswered);
    json_kstr(json, "note", c->approval_note);
    json_close_object(json);
}

void view_tool_call(struct json_out *json, const struct tool_call *c)
{
    json_open_object(json);
    view_id(json, "id", ID_TOOL_CALL, c->id);
    view_id(json, "run_id", ID_RUN, c->run_id);
    view_id(json, "request_id", ID_REQUEST, c->request_id);
    json_kstr(json, "name", c->name);
    /* A text: what a model sends need not be JSON. */
    json_kstr(json, "arguments", c->arguments);
    json_kbool(json, "arguments_cut", c->arguments_cut);
    json_kstr(json, "state", states_text(LIST_EFFECT_STATE, (int)c->state));
    json_kstr(json, "cause", states_text(LIST_EFFECT_CAUSE, (int)c->cause));
    json_kstr(json, "summary", c->summary);
    json_kstr(json, "error", c->error);
    put_approval(json, c);
    view_id(json, "repeats", ID_TOOL_CALL, c->repeats);
    json_ki64_or_null(json, "started_at", c->started_ms);
    json_ki64_or_null(json, "ended_at", c->ended_ms);
    json_close_object(json);
}

void view_source(struct json_out *json, const struct source *s)
{
    json_open_object(json);
    view_id(json, "id", ID_SOURCE, s->id);
    view_id(json, "run_id", ID_RUN, s->run_id);
    json_ki64(json, "n", s->n);
    json_kstr(json, "title", s->title);
    json_kstr(json, "location", s->location);
    json_kstr(json, "heading", s->heading);
    json_kstr(json, "text", s->body);
    json_kbool(json, "text_cut", s->body_cut);
    json_close_object(json);
}
