#include "runtime/mcp/mcp_message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "sql/base/version.h"

/* Newest first. */
static const char *const VERSION[] = {"2025-06-18", "2025-03-26", "2024-11-05"};
#define N_VERSIONS (sizeof(VERSION) / sizeof(VERSION[0]))

const char mcp_message_version[] = "2025-06-18";

bool mcp_message_speaks(const char *version)
{
    for (size_t i = 0; i < N_VERSIONS; i++) {
        if (strcmp(VERSION[i], version) == 0) {
            return true;
        }
    }
    return false;
}

/* --- building ---------------------------------------------------------- */

static void begin(struct json_out *j, struct buf *out)
{
    json_begin(j, out);
    json_open_object(j);
    json_kstr(j, "jsonrpc", "2.0");
}

static void begin_request(struct json_out *j, struct buf *out, int64_t id,
                          const char *method)
{
    begin(j, out);
    json_ki64(j, "id", id);
    json_kstr(j, "method", method);
    json_key(j, "params");
    json_open_object(j);
}

static enum rc end(struct json_out *j)
{
    json_close_object(j);
    return json_end(j);
}

enum rc mcp_message_initialize(int64_t id, const char *version, struct buf *out)
{
    struct json_out j;

    begin_request(&j, out, id, "initialize");
    json_kstr(&j, "protocolVersion", version);
    json_key(&j, "capabilities");
    json_open_object(&j);
    json_close_object(&j);
    json_key(&j, "clientInfo");
    json_open_object(&j);
    json_kstr(&j, "name", "aside");
    json_kstr(&j, "version", ASIDE_VERSION);
    json_close_object(&j);
    json_close_object(&j);
    return end(&j);
}

enum rc mcp_message_notify(const char *method, struct buf *out)
{
    struct json_out j;

    begin(&j, out);
    json_kstr(&j, "method", method);
    return end(&j);
}

enum rc mcp_message_list(int64_t id, const char *cursor, struct buf *out)
{
    struct json_out j;

    begin_request(&j, out, id, "tools/list");
    if (cursor != NULL) {
        json_kstr(&j, "cursor", cursor);
    }
    json_close_object(&j);
    return end(&j);
}

enum rc mcp_message_call(int64_t id, const char *tool, const char *arguments,
                         struct buf *out)
{
    struct json_out j;

    begin_request(&j, out, id, "tools/call");
    json_kstr(&j, "name", tool);
    json_key(&j, "arguments");
    json_put_raw(&j, arguments, strlen(arguments));
    json_key(&j, "_meta");
    json_open_object(&j);
    json_ki64(&j, "progressToken", id);
    json_close_object(&j);
    json_close_object(&j);
    return end(&j);
}

enum rc mcp_message_cancel(int64_t id, const char *reason, struct buf *out)
{
    struct json_out j;

    begin(&j, out);
    json_kstr(&j, "method", "notifications/cancelled");
    json_key(&j, "params");
    json_open_object(&j);
    json_ki64(&j, "requestId", id);
    json_kstr(&j, "reason", reason);
    json_close_object(&j);
    return end(&j);
}

static void begin_reply(struct json_out *j, struct buf *out, const char *id,
                        const char *member)
{
    begin(j, out);
    json_key(j, "id");
    json_put_raw(j, id, strlen(id));
    json_key(j, member);
    json_open_object(j);
}

enum rc mcp_message_empty_result(const char *their_id, struct buf *out)
{
    struct json_out j;

    begin_reply(&j, out, their_id, "result");
    json_close_object(&j);
    return end(&j);
}

enum rc mcp_message_refusal(const char *their_id, struct buf *out)
{
    struct json_out j;

    begin_reply(&j, out, their_id, "error");
    json_ki64(&j, "code", MCP_NO_METHOD);
    json_kstr(&j, "message", "Method not found");
    json_close_object(&j);
    return end(&j);
}

/* --- reading ----------------------------------------------------------- */

/* A string or a number, as JSON text; false: neither, or too long. */
static bool keep_id(const cJSON *id, char out[MCP_ID_BYTES])
{
    struct buf text;
    bool ok;

    if (!cJSON_IsString(id) && !cJSON_IsNumber(id)) {
        return false;
    }
    buf_init(&text, MCP_ID_BYTES - 1);
    ok = json_print(id, &text) == RC_OK;
    (void)snprintf(out, MCP_ID_BYTES, "%s", ok ? buf_str(&text) : "");
    buf_free(&text);
    return ok;
}

/* JSON-RPC 2.0, 4 and 5. NULL: it is a message. */
static const char *classify(const cJSON *item, struct mcp_message *m)
{
    const cJSON *id = json_get(item, "id");
    const cJSON *method = json_get(item, "method");
    const cJSON *result = json_get(item, "result");
    const cJSON *error = json_get(item, "error");

    *m = (struct mcp_message){.kind = MCP_KIND__MAX};
    if (!cJSON_IsObject(item) ||
        strcmp(json_str(item, "jsonrpc", ""), "2.0") != 0) {
        return "is no JSON-RPC 2.0 message";
    }
    if (cJSON_IsString(method)) {
        m->method = method->valuestring;
        m->body = json_get(item, "params");
        m->kind = id == NULL ? MCP_NOTIFICATION : MCP_REQUEST;
        return id == NULL || keep_id(id, m->their_id)
                   ? NULL
                   : "has an id that is none";
    }
    if ((result == NULL) == (error == NULL)) {
        return "is neither a result nor an error";
    }
    m->kind = result != NULL ? MCP_RESULT : MCP_ERROR;
    m->body = result != NULL ? result : error;
    if (json_i64(item, "id", &m->id) != RC_OK || m->id < 0) {
        m->id = 0;
    }
    return NULL;
}

static enum rc tell(const cJSON *item, mcp_message_fn *fn, void *ctx,
                    bool *go_on, const char **flaw)
{
    struct mcp_message m;

    *flaw = classify(item, &m);
    if (*flaw != NULL) {
        return RC_INVALID;
    }
    *go_on = fn(ctx, &m);
    return RC_OK;
}

static enum rc tell_batch(const cJSON *list, mcp_message_fn *fn, void *ctx,
                          const char **flaw)
{
    const cJSON *item;
    bool go_on = true;
    size_t n = 0;
    enum rc rc = RC_OK;

    cJSON_ArrayForEach(item, list)
    {
        if (++n > MCP_BATCH_MAX) {
            *flaw = "is a batch of too many messages";
            return RC_INVALID;
        }
        rc = tell(item, fn, ctx, &go_on, flaw);
        if (rc != RC_OK || !go_on) {
            break;
        }
    }
    return rc;
}

/* Commas and brackets outside of strings: no fewer than its values, but one. */
static size_t count_values(const char *text, size_t len)
{
    bool in_string = false;
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == ',' || c == '[' || c == '{')) {
            n++;
        }
    }
    return n;
}

enum rc mcp_message_read(const char *text, size_t len, mcp_message_fn *fn,
                         void *ctx, const char **flaw)
{
    enum json_flaw why = JSON_FLAW_NONE;
    cJSON *tree = NULL;
    bool go_on;
    enum rc rc;

    if (count_values(text, len) > MCP_VALUES_MAX) {
        *flaw = "holds too many values";
        return RC_INVALID;
    }
    rc = json_parse(text, len, &tree, &why);
    *flaw = json_flaw_text(why);
    if (rc != RC_OK) {
        return rc;
    }
    rc = cJSON_IsArray(tree) ? tell_batch(tree, fn, ctx, flaw)
                             : tell(tree, fn, ctx, &go_on, flaw);
    json_free(tree);
    return rc;
}

/* --- what is in them --------------------------------------------------- */

bool mcp_message_hello(const cJSON *result, struct mcp_hello *out)
{
    const char *version = json_str(result, "protocolVersion", NULL);

    *out = (struct mcp_hello){.has_tools = false};
    if (version == NULL) {
        return false;
    }
    if (strlen(version) < sizeof(out->version)) {
        (void)snprintf(out->version, sizeof(out->version), "%s", version);
    }
    out->has_tools =
        cJSON_IsObject(json_get(json_get(result, "capabilities"), "tools"));
    return true;
}

const char *mcp_message_offered(const cJSON *error)
{
    const cJSON *list = json_get(json_get(error, "data"), "supported");
    const cJSON *item;
    size_t best = N_VERSIONS;

    if (!cJSON_IsArray(list)) {
        return NULL;
    }
    cJSON_ArrayForEach(item, list)
    {
        for (size_t i = 0; cJSON_IsString(item) && i < best; i++) {
            if (strcmp(VERSION[i], item->valuestring) == 0) {
                best = i;
            }
        }
    }
    return best < N_VERSIONS ? VERSION[best] : NULL;
}

void mcp_message_line(const char *text, char out[MCP_LINE_BYTES])
{
    size_t len = utf8_clip(text, strlen(text), MCP_LINE_BYTES - 1);

    (void)snprintf(out, MCP_LINE_BYTES, "%.*s", (int)len, text);
    for (char *p = out; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            *p = ' ';
        }
    }
}

void mcp_message_error(const cJSON *error, char out[MCP_LINE_BYTES])
{
    const char *message = json_str(error, "message", "");
    int64_t code = 0;

    if (message[0] != '\0') {
        mcp_message_line(message, out);
    } else if (json_i64(error, "code", &code) == RC_OK) {
        (void)snprintf(out, MCP_LINE_BYTES, "error %lld", (long long)code);
    } else {
        (void)snprintf(out, MCP_LINE_BYTES, "an error without a message");
    }
}

/* "3" or "3 of 5"; a number that says nothing is left out. */
static void put_count(const cJSON *params, char out[MCP_LINE_BYTES])
{
    const cJSON *done = json_get(params, "progress");
    const cJSON *total = json_get(params, "total");
    bool counts = cJSON_IsNumber(done) && isfinite(done->valuedouble);

    out[0] = '\0';
    if (counts && cJSON_IsNumber(total) && isfinite(total->valuedouble)) {
        (void)snprintf(out, MCP_LINE_BYTES, "%.6g of %.6g", done->valuedouble,
                       total->valuedouble);
    } else if (counts) {
        (void)snprintf(out, MCP_LINE_BYTES, "%.6g", done->valuedouble);
    }
}

int64_t mcp_message_progress(const cJSON *params, char out[MCP_LINE_BYTES])
{
    const char *message = json_str(params, "message", "");
    int64_t token = 0;

    out[0] = '\0';
    if (json_i64(params, "progressToken", &token) != RC_OK || token < 0) {
        return 0;
    }
    if (message[0] != '\0') {
        mcp_message_line(message, out);
    } else {
        put_count(params, out);
    }
    return token;
}
