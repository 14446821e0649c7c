#include "fcgi/view.h"

void view_notification(struct json_out *json, const struct notification *n)
{
    json_open_object(json);
    view_id(json, "id", ID_NOTIFICATION, n->id);
    view_id(json, "run_id", ID_RUN, n->run_id);
    json_kstr(json, "kind", "research_ended");
    json_ki64(json, "created_at", n->created_ms);
    json_ki64_or_null(json, "seen_at", n->seen_ms);
    json_close_object(json);
}

/* The thing of a change, as it is now. */
union thing {
    struct message message;
    struct run run;
    struct handoff handoff;
    struct request request;
    struct tool_call tool_call;
    struct source source;
    struct conversation conversation;
    struct notification notification;
};

static enum rc read_thing(struct store *st, const struct change *c,
                          struct arena *a, union thing *t)
{
    int64_t account = c->account_id;

    switch (c->kind) {
    case CHANGE_MESSAGE_CREATED:
        return store_message_get(st, account, c->ref, a, &t->message);
    case CHANGE_RUN_CREATED:
    case CHANGE_RUN_UPDATED:
        return store_run_get(st, account, c->run_id, false, a, &t->run);
    case CHANGE_HANDOFF_UPDATED:
        return store_handoff_get(st, account, c->ref, &t->handoff);
    case CHANGE_REQUEST_UPDATED:
        return store_request_get(st, account, c->ref, a, &t->request);
    case CHANGE_TOOL_CALL_UPDATED:
        return store_tool_call_shown(st, account, c->ref, VIEW_ARGUMENT_CHARS,
                                     a, &t->tool_call);
    case CHANGE_SOURCE_ADDED:
        return store_source_get(st, account, c->ref, VIEW_SOURCE_CHARS, a,
                                &t->source);
    case CHANGE_CONVERSATION_UPDATED:
        return store_conversation_get(st, account, c->conversation_id, a,
                                      &t->conversation);
    case CHANGE_NOTIFICATION_CREATED:
        return store_notification_get(st, account, c->ref, &t->notification);
    case CHANGE_ANSWER_PART:
    case CHANGE_CONVERSATION_DELETED:
    case CHANGE_LIBRARY_UPDATED:
    case CHANGE_KIND__MAX:
        break;
    }
    return RC_OK;
}

static void put_thing(struct json_out *json, const struct change *c,
                      const union thing *t)
{
    switch (c->kind) {
    case CHANGE_MESSAGE_CREATED:
        json_key(json, "message");
        view_message(json, &t->message);
        break;
    case CHANGE_RUN_CREATED:
    case CHANGE_RUN_UPDATED:
        json_key(json, "run");
        view_run(json, &t->run);
        break;
    case CHANGE_ANSWER_PART:
        json_ki64(json, "revision", c->revision);
        json_ki64(json, "part", c->part);
        json_kstr(json, "text", c->body);
        break;
    case CHANGE_HANDOFF_UPDATED:
        json_key(json, "handoff");
        view_handoff(json, &t->handoff);
        break;
    case CHANGE_REQUEST_UPDATED:
        json_key(json, "request");
        view_request(json, &t->request);
        break;
    case CHANGE_TOOL_CALL_UPDATED:
        json_key(json, "tool_call");
        view_tool_call(json, &t->tool_call);
        break;
    case CHANGE_SOURCE_ADDED:
        json_key(json, "source");
        view_source(json, &t->source);
        break;
    case CHANGE_CONVERSATION_UPDATED:
        json_key(json, "conversation");
        view_conversation(json, &t->conversation);
        break;
    case CHANGE_NOTIFICATION_CREATED:
        json_key(json, "notification");
        view_notification(json, &t->notification);
        break;
    case CHANGE_CONVERSATION_DELETED:
    case CHANGE_LIBRARY_UPDATED:
    case CHANGE_KIND__MAX:
        break;
    }
}

enum rc view_change(struct json_out *json, struct store *st,
                    const struct change *c, struct arena *a)
{
    union thing thing;
    enum rc rc = read_thing(st, c, a, &thing);

    if (rc != RC_OK) {
        return rc;
    }
    json_open_object(json);
    json_ki64(json, "seq", c->seq);
    json_kstr(json, "kind", states_text(LIST_CHANGE_KIND, (int)c->kind));
    view_id(json, "conversation_id", ID_CONVERSATION, c->conversation_id);
    view_id(json, "run_id", ID_RUN, c->run_id);
    put_thing(json, c, &thing);
    json_close_object(json);
    return RC_OK;
}
