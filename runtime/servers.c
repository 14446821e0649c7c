/* servers.c - how the servers are that tools depend on, for people to see.
 *
 * A row is written when something changes, so that a busy server costs no
 * write. Only states, numbers and codes of our own go into it, which the page puts
 * into words: what a server says, where it stands and what it is sent is for the
 * log at most. */
#include <stdio.h>
#include <string.h>

#include "runtime/mcp/mcp.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"

/* The i-th of all: servers of tools as configured, then the search. */
static bool server_at(const struct runtime *rt, size_t i, struct server *out)
{
    if (mcp_server_at(rt->mcp, i, out)) {
        return true;
    }
    if (i != rt->conf.n_mcp || rt->conf.web_search_url[0] == '\0') {
        return false;
    }
    *out = (struct server){.kind = "search",
                           .name = "web_search",
                           .state = rt->search,
                           .detail = rt->search_brief,
                           .tools = 1};
    return true;
}

static bool differs(const struct server_told *t, const struct server *s)
{
    return !t->told || t->state != s->state || t->tools != s->tools ||
           strcmp(t->detail, s->detail) != 0;
}

bool servers_news(const struct runtime *rt)
{
    struct server s;

    for (size_t i = 0; server_at(rt, i, &s); i++) {
        if (differs(&rt->servers_told[i], &s)) {
            return true;
        }
    }
    return false;
}

enum rc servers_tell(struct store *st, void *runtime)
{
    const struct runtime *rt = runtime;
    struct server s;
    enum rc rc = RC_OK;

    for (size_t i = 0; rc == RC_OK && server_at(rt, i, &s); i++) {
        if (differs(&rt->servers_told[i], &s)) {
            rc = store_server_set(st, &s, clock_unix_ms());
        }
    }
    return rc;
}

/* Nothing comes in between the two. */
void servers_told(struct runtime *rt)
{
    struct server s;

    for (size_t i = 0; server_at(rt, i, &s); i++) {
        struct server_told *t = &rt->servers_told[i];

        t->told = true;
        t->state = s.state;
        t->tools = s.tools;
        (void)snprintf(t->detail, sizeof(t->detail), "%s", s.detail);
    }
}

void servers_search(struct runtime *rt, const struct http_result *res,
                    bool usable)
{
    char *brief = rt->search_brief;

    brief[0] = '\0';
    rt->search = usable ? ENDPOINT_OK
                 : res->status == 401 || res->status == 403
                     ? ENDPOINT_UNAUTHORIZED
                     : ENDPOINT_UNREACHABLE;
    if (usable) {
        return;
    }
    if (res->end != HTTP_END_DONE) {
        (void)snprintf(brief, STORE_SERVER_DETAIL, "%s",
                       res->sent ? "no_answer" : "no_connection");
    } else if (res->status != 200) {
        (void)snprintf(brief, STORE_SERVER_DETAIL, "http_%ld", res->status);
    } else {
        (void)snprintf(brief, STORE_SERVER_DETAIL, "no_usable_answer");
    }
}
