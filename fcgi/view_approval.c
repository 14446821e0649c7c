#include "fcgi/view.h"

#include <string.h>

/* A server's tool is called "<server>__<tool>"; no other name holds "__". */
static void put_server(struct json_out *json, const char *tool)
{
    const char *end = strstr(tool, "__");

    json_key(json, "server");
    if (end == NULL) {
        json_put_null(json);
    } else {
        json_put_strn(json, tool, (size_t)(end - tool));
    }
}

void view_approval(struct json_out *json, const struct approval *a)
{
    json_open_object(json);
    view_id(json, "id", ID_APPROVAL, a->id);
    view_id(json, "run_id", ID_RUN, a->run_id);
    view_id(json, "tool_call_id", ID_TOOL_CALL, a->tool_call_id);
    json_kstr(json, "tool", a->tool);
    put_server(json, a->tool);
    /* A text: what a model sends need not be JSON. */
    json_kstr(json, "arguments", a->arguments);
    json_kstr(json, "reason",
              states_text(LIST_APPROVAL_REASON, (int)a->reason));
    json_kbool(json, "changed", a->changed);
    json_kstr(json, "state", states_text(LIST_APPROVAL_STATE, (int)a->state));
    json_kstr(json, "note", a->note);
    json_ki64(json, "created_at", a->created_ms);
    json_ki64_or_null(json, "decided_at", a->decided_ms);
    json_close_object(json);
}
