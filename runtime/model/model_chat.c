#include "runtime/model/model_chat.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_error.h"
#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define NINE           9
#define NAME_MAX_BYTES ((size_t)64)

/* --- profiles ---------------------------------------------------------------
 *
 * The first row of which both words occur counts. Weights of one family keep
 * the rules of their template wherever they are served.
 */

struct rule {
    const char *in_url;   /* NULL: any */
    const char *in_model; /* NULL: any */
    struct model_chat_profile profile;
};

static const struct rule RULES[] = {
    {"api.openai.com",
     NULL,
     {.name = "openai", .max_tokens_key = "max_completion_tokens"}},
    {"mistral.ai",
     NULL,
     {.name = "mistral",
      .max_tokens_key = "max_tokens",
      .no_stream_options = true,
      .nine_char_ids = true,
      .no_user_after_tool = true}},
    {"deepseek.com",
     NULL,
     {.name = "deepseek",
      .max_tokens_key = "max_tokens",
      .always_reasoning = true}},
    {NULL,
     "deepseek",
     {.name = "deepseek",
      .max_tokens_key = "max_tokens",
      .always_reasoning = true}},
    {NULL,
     "mistral",
     {.name = "mistral weights",
      .max_tokens_key = "max_tokens",
      .nine_char_ids = true,
      .no_user_after_tool = true}},
    {NULL,
     "mixtral",
     {.name = "mistral weights",
      .max_tokens_key = "max_tokens",
      .nine_char_ids = true,
      .no_user_after_tool = true}},
    {NULL, NULL, {.name = "reference", .max_tokens_key = "max_tokens"}},
};

const struct model_chat_profile *model_chat_profile_for(const char *url,
                                                        const char *model)
{
    const struct rule *r = RULES;

    while ((r->in_url != NULL && strcasestr(url, r->in_url) == NULL) ||
           (r->in_model != NULL && strcasestr(model, r->in_model) == NULL)) {
        r++; /* the last row holds for all */
    }
    return &r->profile;
}

/* --- values ------------------------------------------------------------ */

static void put_text(struct json_out *w, const char *text)
{
    size_t len = strlen(text);
    char *valid;

    if (utf8_valid(text, len)) {
        json_put_strn(w, text, len);
        return;
    }
    valid = malloc(3 * len + 1);
    if (valid == NULL) {
        w->buf->rc = RC_NOMEM;
        json_put_null(w);
        return;
    }
    len = utf8_repair(text, len, valid);
    json_put_strn(w, valid, len);
    free(valid);
}

static void put_key_text(struct json_out *w, const char *key, const char *text)
{
    json_key(w, key);
    put_text(w, text);
}

/* An id as the endpoint takes it: the same for the call and its result. */
static void put_call_id(struct json_out *w, const struct model_chat_profile *p,
                        const char *id)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strlen(id);
    uint8_t hash[HASH_BYTES];
    char mapped[NINE + 1];

    if (!p->nine_char_ids || (len == NINE && strspn(id, letters) == NINE)) {
        put_text(w, id);
        return;
    }
    hash_sha256(id, len, hash);
    for (size_t i = 0; i < NINE; i++) {
        mapped[i] = letters[hash[i] % (sizeof(letters) - 1)];
    }
    mapped[NINE] = '\0';
    json_put_str(w, mapped);
}

/* A name the model made up may hold anything; endpoints refuse to read back
 * what is not 1 to 64 of [A-Za-z0-9_-]. */
static void put_call_name(struct json_out *w, const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_-";
    char safe[NAME_MAX_BYTES + 1];
    size_t n = 0;

    for (; n < NAME_MAX_BYTES && name[n] != '\0'; n++) {
        safe[n] = name[n];
        if (strchr(allowed, name[n]) == NULL) {
            safe[n] = '_';
        }
    }
    safe[n] = '\0';
    json_put_str(w, n == 0 ? "unnamed" : safe);
}

/* The member arguments is JSON text within a string. */
static void put_arguments(struct json_out *w, const struct model_call *call)
{
    struct json_out inner;
    struct buf safe;

    if (call->arguments_valid) {
        put_text(w, call->arguments);
        return;
    }
    if (call->arguments[0] == '\0') {
        json_put_str(w, "{}");
        return;
    }
    buf_init(&safe, w->buf->limit);
    json_begin(&inner, &safe);
    json_open_object(&inner);
    put_key_text(&inner, "unparsable_arguments", call->arguments);
    json_close_object(&inner);
    if (json_end(&inner) != RC_OK) {
        w->buf->rc = buf_rc(&safe);
    }
    json_put_str(w, buf_str(&safe));
    buf_free(&safe);
}

/* --- parts of a body --------------------------------------------------- */

void model_chat_head(struct buf *b, const struct model_chat_profile *p,
                     const struct model_chat_head_options *o)
{
    struct json_out w;

    json_begin(&w, b);
    json_open_object(&w);
    put_key_text(&w, "model", o->model);
    json_kbool(&w, "stream", !o->whole);
    if (!o->whole && !p->no_stream_options) {
        json_key(&w, "stream_options");
        json_open_object(&w);
        json_kbool(&w, "include_usage", true);
        json_close_object(&w);
    }
    if (o->max_output_tokens > 0) {
        json_ki64(&w, p->max_tokens_key, o->max_output_tokens);
    }
    if (o->tools_json != NULL) {
        json_key(&w, "tools");
        json_put_raw(&w, o->tools_json, strlen(o->tools_json));
    }
    if (o->tool_choice != NULL) {
        json_kstr(&w, "tool_choice", o->tool_choice);
    }
    json_key(&w, "messages");
    json_open_array(&w);
    json_open_object(&w);
    json_kstr(&w, "role", "system");
    put_key_text(&w, "content", o->system);
    json_close_object(&w);
    /* The array and the object are closed by MODEL_CHAT_TAIL. */
}

/* A fragment: a comma, and an object that is left open. */
static void begin_fragment(struct json_out *w, struct buf *b, const char *role)
{
    buf_putc(b, ',');
    json_begin(w, b);
    json_open_object(w);
    json_kstr(w, "role", role);
}

static void end_fragment(struct json_out *w)
{
    json_close_object(w);
    /* The buf keeps a failure for its owner. */
    (void)!json_end(w);
}

void model_chat_message(struct buf *b, enum model_chat_role role,
                        const char *content)
{
    struct json_out w;

    begin_fragment(&w, b, role == MODEL_CHAT_USER ? "user" : "assistant");
    put_key_text(&w, "content", content);
    end_fragment(&w);
}

void model_chat_bridge(struct buf *b, const struct model_chat_profile *p)
{
    if (p->no_user_after_tool) {
        model_chat_message(b, MODEL_CHAT_ASSISTANT, "Understood.");
    }
}

static void put_reasoning(struct json_out *w,
                          const struct model_chat_profile *p,
                          const struct model_reply *reply)
{
    if (reply->reasoning != NULL) {
        put_key_text(w, reply->reasoning_field, reply->reasoning);
    } else if (p->always_reasoning) {
        json_kstr(w, "reasoning_content", "");
    }
}

static void put_call(struct json_out *w, const struct model_chat_profile *p,
                     const struct model_call *call)
{
    json_open_object(w);
    json_key(w, "id");
    put_call_id(w, p, call->id);
    json_kstr(w, "type", "function");
    json_key(w, "function");
    json_open_object(w);
    json_key(w, "name");
    put_call_name(w, call->name);
    json_key(w, "arguments");
    put_arguments(w, call);
    json_close_object(w);
    json_close_object(w);
}

void model_chat_assistant(struct buf *b, const struct model_chat_profile *p,
                          const struct model_reply *reply)
{
    struct json_out w;

    begin_fragment(&w, b, "assistant");
    if (reply->n_calls > 0 && reply->text[0] == '\0') {
        json_knull(&w, "content");
    } else {
        put_key_text(&w, "content", reply->text);
    }
    if (reply->n_calls > 0) {
        put_reasoning(&w, p, reply);
        json_key(&w, "tool_calls");
        json_open_array(&w);
        for (size_t i = 0; i < reply->n_calls; i++) {
            put_call(&w, p, &reply->calls[i]);
        }
        json_close_array(&w);
    }
    end_fragment(&w);
}

void model_chat_tool_result(struct buf *b, const struct model_chat_profile *p,
                            const char *call_id, const char *content)
{
    struct json_out w;

    begin_fragment(&w, b, "tool");
    json_key(&w, "tool_call_id");
    put_call_id(&w, p, call_id);
    put_key_text(&w, "content", content);
    end_fragment(&w);
}

void model_chat_error(const char *body, size_t len, long status,
                      struct model_error *out)
{
    model_error_from_body(body, len, status, out);
}
