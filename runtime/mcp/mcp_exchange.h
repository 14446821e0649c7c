/* mcp_exchange.h - one HTTP exchange with a server of the Model Context
 * Protocol, as Streamable HTTP has it: a message goes out, and messages come
 * back as one JSON text or as an event stream.
 *
 * An exchange ends in one of two ways, never both: its end callback fires once,
 * or it is cancelled and no callback fires any more. With either the struct is
 * gone: the owner drops its pointer as end starts. It must not be cancelled
 * from within its own message callback, which ends it by returning false.
 */
#ifndef ASIDE_RUNTIME_MCP_EXCHANGE_H
#define ASIDE_RUNTIME_MCP_EXCHANGE_H

#include "runtime/http/http.h"
#include "runtime/mcp/mcp_message.h"
#include "runtime/model/sse.h"

/* Of one reply, and of one event of a stream. */
#define MCP_REPLY_BYTES   (4u << 20)
#define MCP_SESSION_BYTES 256

struct mcp_exchange;

/* Where, and as whom. */
struct mcp_endpoint {
    const char *url;
    const char *token;   /* "": none */
    const char *header;  /* "Name: value", "": none */
    const char *session; /* "": none */
    const char *version; /* negotiated; "": not yet */
};

struct mcp_exchange_end {
    enum http_end end;
    long status; /* 0: none came */
    bool sent;   /* the server may have the message */
    bool enough; /* the message callback wanted no more */
    int64_t retry_after_ms;
    char session[MCP_SESSION_BYTES]; /* Mcp-Session-Id of the reply, or "" */
    /* Of the last event of a stream, if it can be asked for again; or "". */
    char event_id[SSE_ID_BYTES];
    char detail[MCP_LINE_BYTES]; /* what was wrong; "" if nothing was */
};

typedef void mcp_exchange_end_fn(void *ctx, const struct mcp_exchange_end *);

struct mcp_exchange_options {
    enum { MCP_POST = 0, MCP_STREAM, MCP_RESUME, MCP_DELETE } kind;
    const struct buf *body; /* of MCP_POST */
    const char *event_id;   /* of MCP_RESUME: what follows this event */
    int64_t timeout_ms;     /* of all of it; MCP_STREAM has none */
    mcp_message_fn *message;
    mcp_exchange_end_fn *end;
    void *ctx;
};

/* No callback fires from within. RC_INVALID: a URL, token or header that cannot
 * be sent. RC_NOMEM. */
enum rc mcp_exchange_start(struct http *, const struct mcp_endpoint *,
                           const struct mcp_exchange_options *,
                           struct mcp_exchange **out) RC_MUST_CHECK;
/* Closes the connection. NULL is allowed. */
void mcp_exchange_cancel(struct mcp_exchange *);

#endif
