#include "runtime/mcp/mcp_tool.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data_mark.h"
#include "sql/base/buf.h"
#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define HASH_DIGITS 8
#define SAID_BYTES  (8u << 20)

/* --- names ------------------------------------------------------------- */

static bool fits(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

void mcp_tool_name(const char *server, const char *remote,
                   char out[MCP_TOOL_NAME_BYTES])
{
    uint8_t hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];
    size_t most = MCP_TOOL_NAME_BYTES - 1;
    size_t at;
    bool changed = strlen(server) + 2 + strlen(remote) > most;

    (void)snprintf(out, MCP_TOOL_NAME_BYTES, "%s__%s", server, remote);
    for (at = 0; out[at] != '\0'; at++) {
        if (!fits(out[at])) {
            out[at] = '_';
            changed = true;
        }
    }
    if (!changed) {
        return;
    }
    hash_sha256(remote, strlen(remote), hash);
    hash_hex(hash, hex);
    at = at > most - HASH_DIGITS - 1 ? most - HASH_DIGITS - 1 : at;
    (void)snprintf(out + at, MCP_TOOL_NAME_BYTES - at, "_%.*s", HASH_DIGITS,
                   hex);
}

/* --- one tool ---------------------------------------------------------- */

void mcp_tool_free(struct mcp_tool *t)
{
    free(t->remote);
    free(t->title);
    free(t->description);
    free(t->schema);
}

static bool hint(const cJSON *annotations, const char *name)
{
    return cJSON_IsTrue(json_get(annotations, name));
}

static char *clipped(const char *text, size_t max)
{
    char *copy = strndup(text, utf8_clip(text, strlen(text), max));

    for (char *p = copy; p != NULL && *p != '\0'; p++) {
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f) {
            *p = ' ';
        }
    }
    return copy;
}

/* In the marks of data, with all that a text of so many bytes may need. */
static char *marked(const char *text, size_t max)
{
    char *copy = clipped(text, max);
    struct buf out;
    char *all = NULL;

    if (copy == NULL) {
        return NULL;
    }
    buf_init(&out, 4 * max + 64);
    data_mark_put(copy, strlen(copy), &out);
    if (buf_rc(&out) == RC_OK) {
        all = strdup(buf_str(&out));
    }
    buf_free(&out);
    free(copy);
    return all;
}

static bool is_one_of(const char *key, const char *const *list)
{
    while (*list != NULL && strcmp(*list, key) != 0) {
        list++;
    }
    return *list != NULL;
}

/* A text in the place of another, as data in one line. */
static bool mark_text(cJSON *item)
{
    struct buf out;
    bool done;

    buf_init(&out, MCP_TOOL_SCHEMA_BYTES);
    data_mark_put_line(item->valuestring,
                       utf8_clip(item->valuestring, strlen(item->valuestring),
                                 MCP_TOOL_DESCRIPTION_BYTES),
                       &out);
    done = buf_rc(&out) == RC_OK &&
           cJSON_SetValuestring(item, buf_str(&out)) != NULL;
    buf_free(&out);
    return done;
}

/* What a schema says of its parts, as data; values that it lists are what they
 * are. names: what is in node goes by names of the server's, not by those of
 * JSON Schema. As deep as JSON is read. */
static bool mark_schema(cJSON *node, bool names)
{
    static const char *const NAMES[] = {"properties", "patternProperties",
                                        "$defs", "definitions", NULL};
    static const char *const VALUES[] = {"default",  "const",    "enum",
                                         "examples", "required", NULL};
    static const char *const TEXTS[] = {"title", "description", "$comment",
                                        NULL};
    bool done = true;
    cJSON *item;

    cJSON_ArrayForEach(item, node)
    {
        const char *key = names || item->string == NULL ? "" : item->string;

        if (cJSON_IsString(item)) {
            done = done && (!is_one_of(key, TEXTS) || mark_text(item));
        } else if (!is_one_of(key, VALUES)) {
            done = done && mark_schema(item, is_one_of(key, NAMES));
        }
    }
    return done;
}

/* Endpoints refuse a whole request for one schema that is none: what can be
 * seen at its top. */
static bool is_schema(const cJSON *schema)
{
    const cJSON *properties = json_get(schema, "properties");
    const cJSON *required = json_get(schema, "required");
    const cJSON *item;
    bool ok = strcmp(json_str(schema, "type", ""), "object") == 0 &&
              (properties == NULL || cJSON_IsObject(properties)) &&
              (required == NULL || cJSON_IsArray(required));

    cJSON_ArrayForEach(item, properties)
    {
        ok = ok && (cJSON_IsObject(item) || cJSON_IsBool(item));
    }
    cJSON_ArrayForEach(item, required)
    {
        ok = ok && cJSON_IsString(item);
    }
    return ok;
}

/* The schema as text; NULL with RC_OK: it cannot be offered. Names of dialects
 * are left out, since some endpoints refuse them; for the same reason there are
 * always properties. */
static enum rc print_schema(const cJSON *schema, char **out)
{
    cJSON *copy;
    struct buf text;
    enum rc rc;

    *out = NULL;
    if (!is_schema(schema)) {
        return RC_OK;
    }
    copy = cJSON_Duplicate(schema, true);
    if (copy == NULL) {
        return RC_NOMEM;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "$schema");
    if (json_get(copy, "properties") == NULL &&
        cJSON_AddObjectToObject(copy, "properties") == NULL) {
        cJSON_Delete(copy);
        return RC_NOMEM;
    }
    if (!mark_schema(copy, false)) {
        cJSON_Delete(copy);
        return RC_NOMEM;
    }
    buf_init(&text, MCP_TOOL_SCHEMA_BYTES);
    rc = json_print(copy, &text);
    if (rc == RC_OK) {
        *out = strdup(buf_str(&text));
        rc = *out == NULL ? RC_NOMEM : RC_OK;
    }
    buf_free(&text);
    cJSON_Delete(copy);
    return rc == RC_TOO_LARGE ? RC_OK : rc;
}

/* A tool that answers only as a task of revision 2025-11-25. */
static bool wants_task(const cJSON *item)
{
    return strcmp(json_str(json_get(item, "execution"), "taskSupport", ""),
                  "required") == 0;
}

/* What is left out is another line than anything that is said. */
static enum rc put_said(const cJSON *item, struct buf *out)
{
    enum rc rc = item != NULL ? json_print(item, out) : RC_OK;

    buf_puts(out, "\n"); /* printed JSON has none in it */
    return rc == RC_OK ? buf_rc(out) : rc;
}

static enum rc digest(const cJSON *item, char out[MCP_TOOL_DIGEST_BYTES])
{
    static const char *const SAID[] = {"name", "title", "description",
                                       "inputSchema", "annotations"};
    uint8_t hash[HASH_BYTES];
    struct hash_part all;
    struct buf text;
    enum rc rc = RC_OK;

    buf_init(&text, SAID_BYTES);
    for (size_t i = 0; i < sizeof(SAID) / sizeof(SAID[0]) && rc == RC_OK; i++) {
        rc = put_said(json_get(item, SAID[i]), &text);
    }
    if (rc == RC_OK) {
        all = (struct hash_part){buf_str(&text), text.len};
        hash_parts(&all, 1, hash);
        hash_hex(hash, out);
    }
    buf_free(&text);
    return rc;
}

/* RC_NOT_FOUND: no tool that can be offered. */
static enum rc read_tool(const cJSON *item, const char *server,
                         struct mcp_tool *t)
{
    const cJSON *hints = json_get(item, "annotations");
    const char *remote = json_str(item, "name", "");
    const char *title =
        json_str(item, "title", json_str(hints, "title", remote));
    enum rc rc;

    *t = (struct mcp_tool){.schema = NULL};
    if (remote[0] == '\0' || strlen(remote) >= MCP_TOOL_REMOTE_BYTES ||
        wants_task(item)) {
        return RC_NOT_FOUND;
    }
    rc = print_schema(json_get(item, "inputSchema"), &t->schema);
    if (rc == RC_OK && t->schema != NULL) {
        rc = digest(item, t->digest);
    }
    if (rc != RC_OK || t->schema == NULL) {
        free(t->schema);
        return rc == RC_OK || rc == RC_TOO_LARGE ? RC_NOT_FOUND : rc;
    }
    mcp_tool_name(server, remote, t->name);
    t->acts = !hint(hints, "readOnlyHint");
    t->safe = !t->acts || hint(hints, "idempotentHint");
    t->remote = strdup(remote);
    t->title = clipped(title, MCP_TOOL_REMOTE_BYTES);
    t->description = marked(json_str(item, "description", title),
                            MCP_TOOL_DESCRIPTION_BYTES);
    if (t->remote == NULL || t->title == NULL || t->description == NULL) {
        mcp_tool_free(t);
        return RC_NOMEM;
    }
    return RC_OK;
}

/* --- a page ------------------------------------------------------------ */

static bool is_there(const struct mcp_tools *ts, const char *name)
{
    for (size_t i = 0; i < ts->n; i++) {
        if (strcmp(ts->list[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum rc append(struct mcp_tools *ts, const struct mcp_tool *t)
{
    struct mcp_tool *bigger =
        realloc(ts->list, (ts->n + 1) * sizeof(ts->list[0]));

    if (bigger == NULL) {
        return RC_NOMEM;
    }
    ts->list = bigger;
    ts->list[ts->n++] = *t;
    return RC_OK;
}

static enum rc take_tool(const cJSON *item, const char *server, size_t max,
                         struct mcp_tools *ts)
{
    struct mcp_tool t;
    enum rc rc = ts->n < max ? read_tool(item, server, &t) : RC_NOT_FOUND;

    if (rc == RC_NOT_FOUND) {
        ts->left_out++;
        return RC_OK;
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (is_there(ts, t.name)) {
        ts->left_out++;
        mcp_tool_free(&t);
        return RC_OK;
    }
    rc = append(ts, &t);
    if (rc != RC_OK) {
        mcp_tool_free(&t);
    }
    return rc;
}

enum rc mcp_tool_read(const cJSON *result, const char *server, size_t max,
                      struct mcp_tools *ts, char **next)
{
    const cJSON *list = json_get(result, "tools");
    const char *cursor = json_str(result, "nextCursor", NULL);
    const cJSON *item;
    enum rc rc = RC_OK;

    *next = NULL;
    if (!cJSON_IsArray(list) ||
        (cursor != NULL && strlen(cursor) > MCP_TOOL_CURSOR_BYTES)) {
        return RC_INVALID;
    }
    cJSON_ArrayForEach(item, list)
    {
        rc = take_tool(item, server, max, ts);
        if (rc != RC_OK) {
            return rc;
        }
    }
    if (cursor != NULL) {
        *next = strdup(cursor);
        rc = *next == NULL ? RC_NOMEM : RC_OK;
    }
    return rc;
}

void mcp_tools_free(struct mcp_tools *ts)
{
    for (size_t i = 0; i < ts->n; i++) {
        mcp_tool_free(&ts->list[i]);
    }
    free(ts->list);
    *ts = (struct mcp_tools){.list = NULL};
}
