/* store_server.h - how the servers are that the tools depend on. */
#ifndef ASIDE_SQL_STORE_SERVER_H
#define ASIDE_SQL_STORE_SERVER_H

#include "sql/store.h"

#define STORE_SERVER_DETAIL 64

struct server {
    const char *kind; /* "mcp" or "search" */
    const char *name; /* of the configuration */
    enum endpoint_state state;
    const char *detail; /* why: no_connection, no_answer, no_usable_answer or
                         * http_<status>; of one that is well,
                         * policy_unknown_tool; "": nothing to say */
    int64_t tools;      /* that it offers */
    int64_t changed_ms;
};

/* As the owner of the database has found them, by kind and name. */
enum rc store_server_list(struct store *, struct arena *, struct server **,
                          size_t *n) RC_MUST_CHECK;
/* Inside a transaction; changed_ms is now. */
enum rc store_server_set(struct store *, const struct server *,
                         int64_t now_ms) RC_MUST_CHECK;
/* Inside a transaction: a new owner knows of none. */
enum rc store_server_forget(struct store *) RC_MUST_CHECK;

#endif
