/* mcp_message.h - the Model Context Protocol's messages, built and read.
 *
 * JSON-RPC 2.0, without any I/O: bytes in, structs out. What is read comes from
 * a server that may be broken or hostile: every text is bounded, and nothing
 * that is missing or of the wrong type is taken for anything.
 *
 * Our requests are numbered from 1. A batch, which revision 2025-03-26 allows,
 * is read as its messages.
 */
#ifndef ASIDE_RUNTIME_MCP_MESSAGE_H
#define ASIDE_RUNTIME_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sql/base/buf.h"
#include "sql/base/rc.h"

#define MCP_ID_BYTES      128 /* of an id of the server's, as JSON */
#define MCP_LINE_BYTES    200 /* of a line for people */
#define MCP_VERSION_BYTES 16
#define MCP_BATCH_MAX     64
/* A text may hold many values, each of which takes a hundred times its bytes. */
#define MCP_VALUES_MAX 100000

/* JSON-RPC 2.0, 5.1. */
#define MCP_NO_METHOD (-32601)

/* The newest revision that is spoken here. */
extern const char mcp_message_version[];
/* Is it spoken here? */
bool mcp_message_speaks(const char *version);

/* --- building: one message, appended to out ----------------------------- */

enum rc mcp_message_initialize(int64_t id, const char *version,
                               struct buf *out) RC_MUST_CHECK;
/* A notification without parameters. */
enum rc mcp_message_notify(const char *method, struct buf *out) RC_MUST_CHECK;
/* cursor NULL: from the start. */
enum rc mcp_message_list(int64_t id, const char *cursor,
                         struct buf *out) RC_MUST_CHECK;
/* arguments: the JSON text of an object. Progress is asked for under the id. */
enum rc mcp_message_call(int64_t id, const char *tool, const char *arguments,
                         struct buf *out) RC_MUST_CHECK;
enum rc mcp_message_cancel(int64_t id, const char *reason,
                           struct buf *out) RC_MUST_CHECK;
/* To a request of the server's, whose id stands as it came. */
enum rc mcp_message_empty_result(const char *their_id,
                                 struct buf *out) RC_MUST_CHECK;
enum rc mcp_message_refusal(const char *their_id,
                            struct buf *out) RC_MUST_CHECK;

/* --- reading ------------------------------------------------------------ */

enum mcp_kind {
    MCP_RESULT = 0,
    MCP_ERROR,
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_KIND__MAX
};

struct mcp_message {
    enum mcp_kind kind;
    int64_t id;                  /* of a result or error; 0: none of ours */
    char their_id[MCP_ID_BYTES]; /* of a request, as JSON */
    const char *method;          /* of a request or notification */
    const cJSON *body; /* the result, the error, or the parameters or NULL */
};

/* One message; valid during the call. Returns false to read no further. */
typedef bool mcp_message_fn(void *ctx, const struct mcp_message *);

/* One text: a message or a batch. RC_INVALID: *flaw says why, "is not JSON";
 * the messages of a batch before the flaw were told. RC_NOMEM. */
enum rc mcp_message_read(const char *text, size_t len, mcp_message_fn *,
                         void *ctx, const char **flaw) RC_MUST_CHECK;

/* The result of initialize; false: it is none. */
struct mcp_hello {
    char version[MCP_VERSION_BYTES]; /* "" if it cannot be one */
    bool has_tools;
};
bool mcp_message_hello(const cJSON *result, struct mcp_hello *out);
/* The newest revision that an error of initialize offers and that is spoken
 * here; NULL: none. */
const char *mcp_message_offered(const cJSON *error);

/* An error as one line. */
void mcp_message_error(const cJSON *error, char out[MCP_LINE_BYTES]);
/* The progress of one of our calls as one line; 0: of none. */
int64_t mcp_message_progress(const cJSON *params, char out[MCP_LINE_BYTES]);
/* Text as one line: clipped, without control characters. */
void mcp_message_line(const char *text, char out[MCP_LINE_BYTES]);

#endif
