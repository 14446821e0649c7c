/* mcp.h - servers of the Model Context Protocol, over Streamable HTTP.
 *
 * Revision 2025-06-18, or an older one that the server names. Each configured
 * server has a session that is begun at the start, kept, and begun again with
 * growing pauses when it fails; its tools are offered while it stands. What a
 * server does wrong, or does not do at all, is noted and bounded, and touches
 * neither the other servers nor the loop: nothing here blocks, but mcp_close.
 *
 * Of what a server may ask a client, pings are answered, and all else is
 * refused as a method that does not exist.
 *
 *   mcp.c           the table of servers, and time
 *   mcp_session.c   one server: greeting, list of tools, stream of news
 *   mcp_call.c      one call of a tool
 *   mcp_exchange.c  one HTTP exchange
 *   mcp_message.c   messages; mcp_tool.c, mcp_result.c: what is in them
 *   tool_mcp.c      the tools as the model has them
 *
 * One thread, one loop. All times are boot times in milliseconds. NULL is
 * allowed for a struct mcp: no server is configured.
 */
#ifndef ASIDE_RUNTIME_MCP_H
#define ASIDE_RUNTIME_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sql/base/conf.h"
#include "sql/base/rc.h"

struct http;
struct mcp;
struct mcp_call;
struct server;
struct tool;

/* Begins a session with each server. The configuration and http stay the
 * caller's, and outlive it. RC_NOT_FOUND: none is configured. RC_NOMEM. */
enum rc mcp_new(const struct conf *, struct http *,
                struct mcp **out) RC_MUST_CHECK;
/* Not while calls are under way. */
void mcp_free(struct mcp *);
/* End the sessions: each server is told, and is waited for so long at most. */
void mcp_close(struct mcp *, int64_t within_ms);

/* When mcp_tick wants to be called next; 0: not before something comes. */
int64_t mcp_deadline_ms(const struct mcp *);
void mcp_tick(struct mcp *, int64_t now_ms);

/* The tool of this name, whether or not its server is reached just now; NULL:
 * none. Tools are valid until the next http_wait or mcp_tick. */
const struct tool *mcp_find(const struct mcp *, const char *name);
/* Stands for the tool of this name while its server has told of none yet, for a
 * call that a runtime before this one has made; NULL: it has, or the name is of
 * no server. */
const struct tool *mcp_unlisted(const struct mcp *, const char *name);
/* The i-th that can be offered now; NULL after the last. */
const struct tool *mcp_at(const struct mcp *, size_t i);

/* How the i-th server is, for people; changed_ms is not set. What is pointed to
 * is valid until the next http_wait or mcp_tick. false: after the last. */
bool mcp_server_at(const struct mcp *, size_t i, struct server *);

/* --- calls -------------------------------------------------------------- */

struct mcp_outcome {
    const char *server;
    const char *title;   /* of the tool, for people */
    const char *remote;  /* its name at the server */
    const cJSON *result; /* NULL: failed */
    const char *detail;  /* why; else "" */
    bool unknown;        /* failed, but it may have been carried out */
};

struct mcp_call_options {
    const char *name;      /* as offered to the model */
    const char *arguments; /* JSON text of an object */
    const char *digest; /* the tool as it may be called; NULL: however it is */
    bool safe;          /* may be sent once more if its connection breaks */
    int64_t timeout_ms;
    /* One line, while it runs. */
    void (*progress)(void *ctx, const char *line);
    /* Valid during the callback. */
    void (*done)(void *ctx, const struct mcp_outcome *);
    void *ctx;
};

/* A call of a server that is just not reached waits for it a little. It ends in
 * one of two ways, never both: done fires once, or it is cancelled; with either
 * the struct is gone. No callback fires from within. RC_NOT_FOUND: the name is
 * of no server. RC_NOMEM. */
enum rc mcp_call_start(struct mcp *, const struct mcp_call_options *,
                       struct mcp_call **out) RC_MUST_CHECK;
/* The server is told. NULL is allowed. */
void mcp_call_cancel(struct mcp_call *, const char *reason);

#endif
