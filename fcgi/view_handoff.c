#include "fcgi/view.h"

void view_handoff(struct json_out *json, const struct handoff *h)
{
    json_open_object(json);
    view_id(json, "id", ID_HANDOFF, h->id);
    json_kstr(json, "kind", states_text(LIST_HANDOFF_KIND, (int)h->kind));
    view_id(json, "message_id", ID_MESSAGE, h->message_id);
    view_id(json, "run_id", ID_RUN, h->run_id);
    json_kstr(json, "origin", states_text(LIST_HANDOFF_ORIGIN, (int)h->origin));
    json_kstr(json, "state", states_text(LIST_HANDOFF_STATE, (int)h->state));
    json_kstr(json, "reason", states_text(LIST_HANDOFF_REASON, (int)h->reason));
    view_id(json, "request_id", ID_REQUEST, h->request_id);
    json_ki64(json, "created_at", h->created_ms);
    json_ki64_or_null(json, "handed_at", h->handed_ms);
    json_close_object(json);
}
