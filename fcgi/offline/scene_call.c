#include <string.h>

#include "fcgi/offline/scene_inside.h"

/* Parse text into a tree that the scene owns; NULL if it is not JSON. */
static enum rc open_json(struct scene *s, const char *text, const cJSON **out)
{
    cJSON *tree = NULL;
    enum rc rc = json_parse(text, strlen(text), &tree, NULL);

    *out = NULL;
    if (rc == RC_NOMEM) {
        return rc;
    }
    if (rc == RC_OK) {
        s->owned[s->n_owned++] = tree;
        *out = tree;
    }
    return RC_OK;
}

/* Most send arguments as JSON text, some as an object. */
static enum rc open_arguments(struct scene *s, const cJSON *function,
                              struct scene_call *call)
{
    const cJSON *given = json_get(function, "arguments");

    if (cJSON_IsObject(given)) {
        call->arguments = given;
        return RC_OK;
    }
    return open_json(s, json_str(function, "arguments", "{}"),
                     &call->arguments);
}

enum rc scene_read_calls(struct reading *r, const cJSON *m)
{
    struct scene *s = r->out;
    const cJSON *c;
    bool any = false;

    cJSON_ArrayForEach(c, json_get(m, "tool_calls"))
    {
        const cJSON *f = json_get(c, "function");
        struct scene_call call = {
            .name = json_str(f, "name", ""), .turn = s->n_turns, .best = -1};
        enum rc rc = RC_OK;

        if (s->n_calls == SCENE_MAX_CALLS) {
            break;
        }
        rc = open_arguments(s, f, &call);
        if (rc != RC_OK) {
            return rc;
        }
        if (strcmp(call.name, "note") == 0) {
            rc = scene_read_notes(r, json_str(call.arguments, "text", ""));
            if (rc != RC_OK) {
                return rc;
            }
        }
        r->ids[s->n_calls] = json_str(c, "id", "");
        s->calls[s->n_calls++] = call;
        any = true;
    }
    s->n_turns += any ? 1 : 0;
    return RC_OK;
}

static bool mentions(const char *text, const char *what)
{
    return strcasestr(text, what) != NULL;
}

static void judge_result(struct scene_call *call)
{
    const cJSON *tree = call->tree, *error = json_get(tree, "error");
    const char *text = cJSON_IsString(error) ? error->valuestring
                                             : json_str(error, "message", "");

    if (cJSON_IsObject(tree)) {
        call->failed = error != NULL && !cJSON_IsNull(error);
        call->limit = call->failed && mentions(text, "limit reached");
    } else {
        call->failed = scene_begins(call->result, "error") ||
                       scene_begins(call->result, "Error") ||
                       scene_begins(call->result, "limit reached");
        call->limit = mentions(call->result, "limit reached");
    }
}

enum rc scene_read_result(struct reading *r, const cJSON *m)
{
    struct scene *s = r->out;
    const char *id = json_str(m, "tool_call_id", "");
    const char *text = chat_text(r->a, m);
    if (text == NULL) {
        return RC_NOMEM;
    }
    text = scene_unmarked(r->a, text);
    if (text == NULL) {
        return RC_NOMEM;
    }
    for (size_t i = s->n_calls; i-- > 0;) {
        struct scene_call *call = &s->calls[i];
        enum rc rc;

        if (call->result != NULL || strcmp(r->ids[i], id) != 0) {
            continue;
        }
        call->result = text;
        rc = open_json(s, text, &call->tree);
        if (rc != RC_OK) {
            return rc;
        }
        judge_result(call);
        if (!call->failed) {
            scene_read_passages(s, call->tree, call);
        }
        return RC_OK;
    }
    return RC_OK;
}
