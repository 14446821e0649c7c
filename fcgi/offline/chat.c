#include "fcgi/offline/chat.h"

#include <string.h>

#include "sql/base/buf.h"

static bool member_is(const cJSON *o, const char *name, const char *expected)
{
    return strcmp(json_str(o, name, ""), expected) == 0;
}

static enum rc flawed(struct chat_flaw *f, const char *message,
                      const char *param)
{
    f->message = message;
    f->param = param;
    return RC_INVALID;
}

static enum rc check_messages(const cJSON *messages, struct chat_flaw *f)
{
    const cJSON *m;
    int n = 0;

    if (!cJSON_IsArray(messages) || messages->child == NULL) {
        return flawed(f, "'messages' must be a non-empty array", "messages");
    }
    cJSON_ArrayForEach(m, messages)
    {
        const cJSON *content = json_get(m, "content");

        if (json_str(m, "role", NULL) == NULL) {
            return flawed(f, "each message must be an object with a 'role'",
                          "messages");
        }
        if (content != NULL && !cJSON_IsString(content) &&
            !cJSON_IsArray(content) && !cJSON_IsNull(content)) {
            return flawed(f, "'content' must be a string, an array or null",
                          "messages");
        }
        if (++n > CHAT_MAX_MESSAGES) {
            return flawed(f, "too many messages", "messages");
        }
    }
    return RC_OK;
}

static enum rc check_tools(const cJSON *tools, struct chat_flaw *f)
{
    const cJSON *t;
    int n = 0;

    if (tools == NULL || cJSON_IsNull(tools)) {
        return RC_OK;
    }
    if (!cJSON_IsArray(tools)) {
        return flawed(f, "'tools' must be an array", "tools");
    }
    cJSON_ArrayForEach(t, tools)
    {
        if (json_str(json_get(t, "function"), "name", NULL) == NULL) {
            return flawed(f, "each tool must be a function with a name",
                          "tools");
        }
        if (++n > CHAT_MAX_TOOLS) {
            return flawed(f, "too many tools", "tools");
        }
    }
    return RC_OK;
}

static enum rc read_limits(struct chat *c, struct chat_flaw *f)
{
    static const char *const names[] = {"max_completion_tokens", "max_tokens"};

    for (size_t i = 0; i < 2 && c->max_tokens == 0; i++) {
        enum rc rc = json_i64(c->root, names[i], &c->max_tokens);
        if (rc == RC_INVALID || (rc == RC_OK && c->max_tokens < 1)) {
            return flawed(f, "must be a positive integer", names[i]);
        }
    }
    return RC_OK;
}

static enum rc open_members(struct chat *c, struct chat_flaw *f)
{
    const cJSON *stream = json_get(c->root, "stream");
    enum rc rc;

    if (!cJSON_IsObject(c->root)) {
        return flawed(f, "the body must be a JSON object", NULL);
    }
    if (stream != NULL && !cJSON_IsBool(stream) && !cJSON_IsNull(stream)) {
        return flawed(f, "'stream' must be a boolean", "stream");
    }
    c->messages = json_get(c->root, "messages");
    rc = check_messages(c->messages, f);
    if (rc == RC_OK) {
        rc = check_tools(json_get(c->root, "tools"), f);
    }
    if (rc == RC_OK) {
        rc = read_limits(c, f);
    }
    if (rc != RC_OK) {
        return rc;
    }
    c->tools = json_get(c->root, "tools");
    c->stream = cJSON_IsTrue(stream);
    c->include_usage = cJSON_IsTrue(
        json_get(json_get(c->root, "stream_options"), "include_usage"));
    c->may_call = cJSON_IsArray(c->tools) && c->tools->child != NULL &&
                  !member_is(c->root, "tool_choice", "none");
    c->model = json_str(c->root, "model", "offline");
    return RC_OK;
}

static const char *const FLAWS[JSON_FLAW__MAX] = {
    [JSON_FLAW_NONE] = "the body could not be read",
    [JSON_FLAW_EMPTY] = "the body is empty",
    [JSON_FLAW_UTF8] = "the body is not valid UTF-8",
    [JSON_FLAW_NUL] = "the body holds a NUL character",
    [JSON_FLAW_SYNTAX] = "the body is not JSON",
    [JSON_FLAW_DEPTH] = "the body is nested too deeply",
    [JSON_FLAW_DUPLICATE] = "an object of the body names a member twice",
    [JSON_FLAW_SURROGATE] = "the body holds half a character",
};

enum rc chat_parse(const char *body, size_t len, struct chat *out,
                   struct chat_flaw *flaw)
{
    enum json_flaw why = JSON_FLAW_NONE;
    uint8_t digest[HASH_BYTES];
    struct chat c = {.body_len = len};
    enum rc rc;

    if (len > CHAT_BODY_BYTES) {
        return flawed(flaw, "the body is too large", NULL);
    }
    rc = json_parse(body, len, &c.root, &why);
    if (rc != RC_OK) {
        return rc == RC_INVALID ? flawed(flaw, FLAWS[why], NULL) : rc;
    }
    rc = open_members(&c, flaw);
    if (rc != RC_OK) {
        json_free(c.root);
        return rc;
    }
    hash_sha256(body, len, digest);
    hash_hex(digest, c.hash);
    *out = c;
    return RC_OK;
}

void chat_free(struct chat *c)
{
    json_free(c->root);
    c->root = NULL;
}

static const cJSON *find_tool(const struct chat *c, const char *name)
{
    const cJSON *t;

    if (!cJSON_IsArray(c->tools)) {
        return NULL;
    }
    cJSON_ArrayForEach(t, c->tools)
    {
        const cJSON *f = json_get(t, "function");
        if (member_is(f, "name", name)) {
            return f;
        }
    }
    return NULL;
}

bool chat_offers(const struct chat *c, const char *name)
{
    return find_tool(c, name) != NULL;
}

bool chat_takes(const struct chat *c, const char *name, const char *property)
{
    const cJSON *properties =
        json_get(json_get(find_tool(c, name), "parameters"), "properties");

    return properties == NULL || json_get(properties, property) != NULL;
}

const char *chat_text(struct arena *a, const cJSON *message)
{
    const cJSON *content = json_get(message, "content"), *part;
    struct buf joined;
    const char *text;

    if (cJSON_IsString(content)) {
        return content->valuestring;
    }
    buf_init(&joined, CHAT_BODY_BYTES);
    cJSON_ArrayForEach(part, content)
    {
        buf_puts(&joined, joined.len > 0 ? "\n" : "");
        buf_puts(&joined, json_str(part, "text", ""));
    }
    text = buf_rc(&joined) == RC_OK
               ? arena_strndup(a, buf_str(&joined), joined.len)
               : NULL;
    buf_free(&joined);
    return text;
}

int64_t chat_tokens(size_t bytes)
{
    return (int64_t)((bytes + 3) / 4);
}
