#include "fcgi/view.h"

void view_conversation(struct json_out *json, const struct conversation *c)
{
    json_open_object(json);
    view_id(json, "id", ID_CONVERSATION, c->id);
    json_kstr(json, "title", c->title);
    json_ki64(json, "created_at", c->created_ms);
    json_ki64(json, "updated_at", c->updated_ms);
    json_ki64(json, "active_runs", c->active_runs);
    json_ki64(json, "unread", c->unread);
    json_close_object(json);
}

void view_message(struct json_out *json, const struct message *m)
{
    char text[ID_TEXT_BYTES];

    json_open_object(json);
    view_id(json, "id", ID_MESSAGE, m->id);
    view_id(json, "conversation_id", ID_CONVERSATION, m->conversation_id);
    json_kstr(json, "role", "user");
    json_kstr(json, "body", m->body);
    view_id(json, "run_id", ID_RUN, m->run_id);
    json_key(json, "handoff_ids");
    json_open_array(json);
    for (size_t i = 0; i < m->n_handoffs; i++) {
        json_put_str(json, id_text(ID_HANDOFF, m->handoff_ids[i], text));
    }
    json_close_array(json);
    json_ki64(json, "created_at", m->created_ms);
    json_close_object(json);
}
