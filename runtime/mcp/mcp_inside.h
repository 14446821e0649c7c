/* mcp_inside.h - what the files of mcp share: a server, its session, its calls.
 * For them alone. */
#ifndef ASIDE_RUNTIME_MCP_INSIDE_H
#define ASIDE_RUNTIME_MCP_INSIDE_H

#include <sys/queue.h>

#include "runtime/mcp/mcp.h"
#include "runtime/mcp/mcp_exchange.h"
#include "runtime/mcp/mcp_message.h"
#include "runtime/mcp/mcp_tool.h"
#include "runtime/runtime.h"
#include "sql/store_server.h"

#define MCP_ABOUT_BYTES 32
#define MCP_POSTS_MAX   16

enum mcp_phase {
    MCP_IDLE = 0, /* no session; the next is begun at retry_ms */
    MCP_GREETING, /* initialize is under way */
    MCP_READYING, /* greeted; says so, and asks for the tools */
    MCP_READY,    /* its tools may be called */
    MCP_PHASE__MAX
};

/* The tools of one list, and as the model has them. */
struct mcp_set {
    struct mcp_tools tools;
    struct tool *faces; /* one for each */
};

/* A message of ours that no one waits for. */
struct mcp_post {
    TAILQ_ENTRY(mcp_post) all;
    struct mcp_server *server;
    struct mcp_exchange *x;
};

TAILQ_HEAD(mcp_calls, mcp_call);
TAILQ_HEAD(mcp_posts, mcp_post);

struct mcp_server {
    struct mcp *mcp;
    const struct conf_mcp *conf;
    char about[MCP_ABOUT_BYTES]; /* in logs */
    struct tool unlisted;        /* stands for its tools before it told them */
    int64_t budget; /* tokens that its tools may take in a prompt */

    enum mcp_phase phase;
    char session[MCP_SESSION_BYTES];
    char version[MCP_VERSION_BYTES]; /* negotiated; "": not yet */
    int64_t epoch;                   /* of sessions, from 1 */
    int64_t last_id;                 /* of our requests, over all sessions */
    struct mcp_exchange *x;          /* of greeting or listing */
    int64_t x_id;                    /* the request's */
    int64_t retry_ms;                /* of MCP_IDLE */
    int failures;                    /* in a row */
    char error[MCP_LINE_BYTES];      /* the newest failure */
    enum endpoint_state state;       /* as it was found last */
    char brief[STORE_SERVER_DETAIL]; /* of the newest failure, none of its
                                      * words */
    bool misnamed; /* a policy names a tool that it does not offer */

    struct mcp_hello hello; /* while greeting */
    bool greeted;
    bool is_older; /* it was greeted with a revision that it has offered */
    const char *version_offered;

    struct mcp_tools fresh; /* the list that is coming */
    char *cursor;           /* of its next page, or NULL */
    char *last_cursor;
    int pages;
    bool is_listing;
    bool page_came;
    int64_t listed_ms;       /* when the last list was asked for */
    int64_t relist_ms;       /* when the list is asked for anew; 0: not */
    int64_t relist_pause_ms; /* from the last list, at least */

    struct mcp_exchange *stream;
    int64_t stream_ms;       /* when it was opened */
    int64_t stream_retry_ms; /* 0: it is open, or the server has none */
    int stream_failures;

    struct mcp_set *set; /* NULL: none told yet */
    struct mcp_calls calls;
    struct mcp_posts posts;
    size_t n_posts;
};

struct mcp {
    struct http *http;
    const struct conf *conf;
    struct mcp_server *servers; /* as configured */
    size_t n;
};

/* --- mcp_session.c ----------------------------------------------------- */

struct mcp_endpoint mcp_session_endpoint(const struct mcp_server *);
void mcp_session_begin(struct mcp_server *);
/* The server cannot be reached or used: its session is given up, and begun
 * again later. */
void mcp_session_fail_end(struct mcp_server *, const struct mcp_exchange_end *);
/* How a call went, for the state that is shown: a key that is refused in it (401)
 * shows until a call is answered. The session goes on; others may do without. */
void mcp_session_call_ended(struct mcp_server *, bool answered, long status);
/* It has forgotten the session: a new one is begun at once. */
void mcp_session_lost(struct mcp_server *);
/* What may come beside the reply to any request. */
void mcp_session_take(struct mcp_server *, const struct mcp_message *);
/* Send a message that no one waits for; dropped if too many are under way. */
void mcp_session_post(struct mcp_server *, const struct buf *);
void mcp_session_close(struct mcp_server *);
int64_t mcp_session_deadline_ms(const struct mcp_server *);
void mcp_session_tick(struct mcp_server *, int64_t now_ms);
void mcp_session_free(struct mcp_server *);

/* --- mcp_call.c -------------------------------------------------------- */

/* The session stands: send what waits for it. */
void mcp_call_flush(struct mcp_server *);
int64_t mcp_call_deadline_ms(const struct mcp_server *);
void mcp_call_tick(struct mcp_server *, int64_t now_ms);

/* --- mcp.c ------------------------------------------------------------- */

/* Take the fresh list as the server's tools; changed: it is another than the
 * one before. RC_NOMEM. */
enum rc mcp_take_tools(struct mcp_server *, bool *changed) RC_MUST_CHECK;
/* The tool of this name in its newest list; NULL: none. */
const struct mcp_tool *mcp_tool_of(const struct mcp_server *, const char *name);
/* The server whose tool has this name; NULL: none. */
struct mcp_server *mcp_server_of(const struct mcp *, const char *name);
void mcp_earlier(int64_t *at, int64_t other);

#endif
