#include "runtime/model/model.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "sql/base/json.h"

const char *model_verdict_name(enum model_verdict verdict)
{
    static const char *const name[MODEL_VERDICT__MAX] = {
        [MODEL_OPEN] = "open",     [MODEL_COMPLETE] = "complete",
        [MODEL_LENGTH] = "length", [MODEL_FILTERED] = "filtered",
        [MODEL_EMPTY] = "empty",   [MODEL_ERROR] = "error",
        [MODEL_CUT] = "cut",
    };

    assert(verdict < MODEL_VERDICT__MAX);
    return name[verdict];
}

const char *model_error_kind_name(enum model_error_kind kind)
{
    static const char *const name[MODEL_ERROR_KIND__MAX] = {
        [MODEL_ERROR_NONE] = "none",   [MODEL_ERROR_RATE] = "rate",
        [MODEL_ERROR_QUOTA] = "quota", [MODEL_ERROR_CONTEXT] = "context",
        [MODEL_ERROR_AUTH] = "auth",   [MODEL_ERROR_NO_STREAM] = "no_stream",
        [MODEL_ERROR_OTHER] = "other",
    };

    assert(kind < MODEL_ERROR_KIND__MAX);
    return name[kind];
}

bool model_reply_is_torn(const struct model_reply *reply)
{
    return strcasecmp(reply->finish, "length") == 0 ||
           strcasecmp(reply->finish, "max_tokens") == 0 ||
           strcmp(reply->finish, MODEL_FINISH_LIMIT) == 0;
}

/* --- a reply as a row keeps it ----------------------------------------- */

static void put_calls(struct json_out *w, const struct model_reply *reply)
{
    json_key(w, "calls");
    json_open_array(w);
    for (size_t i = 0; i < reply->n_calls; i++) {
        const struct model_call *call = &reply->calls[i];

        json_open_object(w);
        json_kstr(w, "id", call->id);
        json_kstr(w, "name", call->name);
        json_kstr(w, "arguments", call->arguments);
        json_kbool(w, "arguments_valid", call->arguments_valid);
        json_close_object(w);
    }
    json_close_array(w);
}

enum rc model_reply_print(const struct model_reply *reply, struct buf *out)
{
    struct json_out w;

    json_begin(&w, out);
    json_open_object(&w);
    json_kstr(&w, "text", reply->text);
    json_kstr(&w, "reasoning", reply->reasoning);
    json_kstr(&w, "reasoning_field", reply->reasoning_field);
    put_calls(&w, reply);
    json_kstr(&w, "finish", reply->finish);
    json_kstr(&w, "generation_id", reply->generation_id);
    json_key(&w, "usage");
    if (reply->usage.known) {
        json_open_object(&w);
        json_ki64(&w, "input_tokens", reply->usage.input_tokens);
        json_ki64(&w, "output_tokens", reply->usage.output_tokens);
        json_ki64(&w, "cached_tokens", reply->usage.cached_tokens);
        json_close_object(&w);
    } else {
        json_put_null(&w);
    }
    json_close_object(&w);
    return json_end(&w);
}

/* A string member, copied; NULL if it is missing, null or no string. *ok
 * becomes false if memory is missing. */
static const char *copy_str(const cJSON *object, const char *name,
                            struct arena *a, bool *ok)
{
    const char *s = json_str(object, name, NULL);
    const char *copy = s == NULL ? NULL : arena_strdup(a, s);

    if (s != NULL && copy == NULL) {
        *ok = false;
    }
    return copy;
}

static enum rc read_calls(const cJSON *array, struct arena *a,
                          struct model_reply *out)
{
    size_t n = (size_t)cJSON_GetArraySize(array);
    struct model_call *calls = arena_alloc(a, n * sizeof(*calls));
    const cJSON *m;
    bool ok = calls != NULL;
    size_t i = 0;

    if (!ok) {
        return RC_NOMEM;
    }
    cJSON_ArrayForEach(m, array)
    {
        struct model_call *call = &calls[i++];

        call->id = copy_str(m, "id", a, &ok);
        call->name = copy_str(m, "name", a, &ok);
        call->arguments = copy_str(m, "arguments", a, &ok);
        call->arguments_valid = cJSON_IsTrue(json_get(m, "arguments_valid"));
        if (!ok) {
            return RC_NOMEM;
        }
        if (call->id == NULL || call->name == NULL || call->arguments == NULL) {
            return RC_INVALID;
        }
    }
    out->calls = calls;
    out->n_calls = n;
    return RC_OK;
}

static enum rc read_usage(const cJSON *usage, struct model_usage *out)
{
    if (cJSON_IsNull(usage)) {
        return RC_OK;
    }
    out->known = true;
    if (json_i64(usage, "input_tokens", &out->input_tokens) != RC_OK ||
        json_i64(usage, "output_tokens", &out->output_tokens) != RC_OK ||
        json_i64(usage, "cached_tokens", &out->cached_tokens) != RC_OK) {
        return RC_INVALID;
    }
    return RC_OK;
}

static enum rc read_reply(const cJSON *tree, struct arena *a,
                          struct model_reply *out)
{
    struct model_reply reply = {.n_calls = 0};
    bool ok = true;
    enum rc rc;

    reply.text = copy_str(tree, "text", a, &ok);
    reply.reasoning = copy_str(tree, "reasoning", a, &ok);
    reply.reasoning_field = copy_str(tree, "reasoning_field", a, &ok);
    reply.finish = copy_str(tree, "finish", a, &ok);
    reply.generation_id = copy_str(tree, "generation_id", a, &ok);
    if (!ok) {
        return RC_NOMEM;
    }
    if (reply.text == NULL || reply.finish == NULL ||
        reply.generation_id == NULL ||
        !cJSON_IsArray(json_get(tree, "calls")) ||
        (reply.reasoning == NULL) != (reply.reasoning_field == NULL)) {
        return RC_INVALID;
    }
    rc = read_calls(json_get(tree, "calls"), a, &reply);
    if (rc == RC_OK) {
        rc = read_usage(json_get(tree, "usage"), &reply.usage);
    }
    if (rc == RC_OK) {
        *out = reply;
    }
    return rc;
}

enum rc model_reply_parse(const char *json, size_t len, struct arena *a,
                          struct model_reply *out)
{
    cJSON *tree = NULL;
    enum rc rc = json_parse(json, len, &tree, NULL);

    if (rc != RC_OK) {
        return rc;
    }
    rc = read_reply(tree, a, out);
    json_free(tree);
    return rc;
}

/* --- counting ---------------------------------------------------------- */

bool model_input_was_dropped(int64_t estimated_tokens,
                             const struct model_usage *usage)
{
    /* The estimate is high by design, but hardly three times too high; short
     * inputs are left out, where what a template adds or saves weighs most. */
    const int64_t least = 3000;

    return usage->known && estimated_tokens >= least &&
           usage->input_tokens < estimated_tokens / 3;
}
