/* mcp_result.h - the result of a call of a tool of the Model Context Protocol,
 * read into pieces of text that a Run can keep and cite.
 *
 * Pure. Text, embedded texts and structured content become pieces, cut where a
 * reader would; links to resources are named in a piece of their own; images,
 * audio and other bytes are named, but not passed on. Control characters become
 * spaces: escaped, they would be six times as long.
 */
#ifndef ASIDE_RUNTIME_MCP_RESULT_H
#define ASIDE_RUNTIME_MCP_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define MCP_RESULT_PIECE_BYTES 2000
#define MCP_RESULT_PIECES_MAX  100
#define MCP_RESULT_ERROR_BYTES 2000
#define MCP_RESULT_URI_BYTES   1000
#define MCP_RESULT_HEAD_BYTES  300

struct mcp_piece {
    const char *heading; /* "" for plain text */
    const char *uri;     /* of an embedded resource, else "" */
    const char *text;
};

struct mcp_result {
    bool is_error;
    const char *error; /* is_error: what the server said; never NULL then */
    struct mcp_piece *pieces;
    size_t n;
    const char *note; /* what is not passed on, or "" */
};

/* Everything is allocated in the arena. RC_INVALID: it is no result of a call.
 * RC_NOMEM: nor memory for it. */
enum rc mcp_result_read(const cJSON *result, struct arena *,
                        struct mcp_result *out) RC_MUST_CHECK;

#endif
