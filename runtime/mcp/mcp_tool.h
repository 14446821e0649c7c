/* mcp_tool.h - what a server of the Model Context Protocol says of its tools:
 * a page of tools/list, read into tools as a model may be offered them.
 *
 * Pure. Whatever a server sends, a tool's name is one that model endpoints
 * take, its description and its schema are bounded, and what they say is marked
 * as data (runtime/data_mark.h); a page is read to at most as many tools as the
 * caller wants.
 */
#ifndef ASIDE_RUNTIME_MCP_TOOL_H
#define ASIDE_RUNTIME_MCP_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sql/base/hash.h"
#include "sql/base/rc.h"

#define MCP_TOOL_NAME_BYTES        65 /* with its NUL */
#define MCP_TOOL_REMOTE_BYTES      256
#define MCP_TOOL_DESCRIPTION_BYTES 1024 /* without the marks */
#define MCP_TOOL_SCHEMA_BYTES      8192
#define MCP_TOOL_CURSOR_BYTES      1024
#define MCP_TOOL_DIGEST_BYTES      (2 * HASH_BYTES + 1)

struct mcp_tool {
    char name[MCP_TOOL_NAME_BYTES]; /* "<server>__<tool>" */
    char *remote;                   /* its name at the server */
    char *title;                    /* for people */
    char *description;              /* in the marks of data */
    char *schema;                   /* JSON of its parameters, an object */
    bool safe; /* may be called again after a crash (R29) */
    bool acts; /* does more than read: each call is meant */
    /* Of all that the server says of it, as it says it: another one stands for
     * another tool, whatever its name. */
    char digest[MCP_TOOL_DIGEST_BYTES];
};

struct mcp_tools {
    struct mcp_tool *list; /* in the server's order */
    size_t n;
    size_t left_out; /* without a usable name or schema, or beyond max */
};

/* What model endpoints take: [a-zA-Z0-9_-]{1,64}. A name that has other
 * characters, or is too long, is changed and ends in a part of its hash, so
 * that two never become one. server is short, and such a name itself. */
void mcp_tool_name(const char *server, const char *remote,
                   char out[MCP_TOOL_NAME_BYTES]);

/* Appends the tools of one page to what pages before it brought, and the next
 * page's cursor to *next (malloc; NULL: this was the last). A tool of a name
 * that was there already is left out. RC_INVALID: it is no list of tools, or
 * its cursor is too long; nothing was appended. RC_NOMEM. */
enum rc mcp_tool_read(const cJSON *result, const char *server, size_t max,
                      struct mcp_tools *, char **next) RC_MUST_CHECK;
void mcp_tool_free(struct mcp_tool *);
void mcp_tools_free(struct mcp_tools *);

#endif
