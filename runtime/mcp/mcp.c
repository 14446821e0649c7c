/* mcp.c - the table of servers: their tools as the model has them, and time. */
#include "runtime/mcp/mcp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/mcp/mcp_inside.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/tokens.h"

/* Of the room of a prompt, the tools of all servers together; but no more than
 * so many tokens, however large a model is. */
#define TOOLS_PART        4
#define TOOLS_MOST        32768
#define TOOL_FRAME_TOKENS 35

void mcp_earlier(int64_t *at, int64_t other)
{
    if (other != 0 && (*at == 0 || other < *at)) {
        *at = other;
    }
}

/* --- sets of tools ----------------------------------------------------- */

static void free_set(struct mcp_set *set)
{
    if (set != NULL) {
        mcp_tools_free(&set->tools);
        free(set->faces);
        free(set);
    }
}

static struct tool face_of(const struct mcp_server *s, const struct mcp_tool *t)
{
    return (struct tool){.name = t->name,
                         .safe = t->safe,
                         .acts = t->acts,
                         .for_research = true,
                         .timeout_ms = s->conf->timeout_ms,
                         .schema = t->schema,
                         .description = t->description,
                         .digest = t->digest,
                         .run = tool_mcp_run,
                         .cancel = tool_mcp_cancel};
}

static bool same_tool(const struct mcp_tool *a, const struct mcp_tool *b)
{
    return strcmp(a->digest, b->digest) == 0;
}

static bool same_tools(const struct mcp_tools *a, const struct mcp_tools *b)
{
    bool same = a->n == b->n && a->left_out == b->left_out;

    for (size_t i = 0; i < a->n && same; i++) {
        same = same_tool(&a->list[i], &b->list[i]);
    }
    return same;
}

/* Each character of a description may have to be escaped. */
static int64_t size_of(const struct mcp_tool *t)
{
    return TOOL_FRAME_TOKENS + tokens_estimate(t->name, strlen(t->name)) +
           2 * tokens_estimate(t->description, strlen(t->description)) +
           tokens_estimate(t->schema, strlen(t->schema));
}

/* What a server offers must leave the prompt room for the work itself. */
static void keep_to_budget(struct mcp_server *s)
{
    struct mcp_tools *ts = &s->fresh;
    struct mcp_tools kept = {.left_out = ts->left_out};
    int64_t tokens = 0;

    kept.list = ts->list;
    for (size_t i = 0; i < ts->n; i++) {
        struct mcp_tool *t = &ts->list[i];
        int64_t size = size_of(t);

        if (tokens + size > s->budget) {
            mcp_tool_free(t);
            kept.left_out++;
            continue;
        }
        tokens += size;
        kept.list[kept.n++] = *t;
    }
    *ts = kept;
}

/* A policy that names no tool forbids and limits nothing, and is misspelt most
 * likely. */
static void look_for_policies(struct mcp_server *s)
{
    const struct conf *conf = s->mcp->conf;

    s->misnamed = false;
    for (size_t i = 0; i < conf->n_policy; i++) {
        const char *name = conf->policy[i].name;

        if (mcp_server_of(s->mcp, name) == s && mcp_tool_of(s, name) == NULL) {
            s->misnamed = true;
            log_warn(s->about,
                     "policy.%s counts for nothing: no tool of this "
                     "name is offered",
                     name);
        }
    }
}

enum rc mcp_take_tools(struct mcp_server *s, bool *changed)
{
    struct mcp_set *set;

    *changed = false;
    keep_to_budget(s);
    if (s->set != NULL && same_tools(&s->set->tools, &s->fresh)) {
        mcp_tools_free(&s->fresh);
        return RC_OK;
    }
    *changed = true;
    if (s->fresh.left_out > 0) {
        log_warn(s->about, "%zu of its tools cannot be offered",
                 s->fresh.left_out);
    }
    set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return RC_NOMEM;
    }
    set->faces = calloc(s->fresh.n + 1, sizeof(set->faces[0]));
    if (set->faces == NULL) {
        free_set(set);
        return RC_NOMEM;
    }
    set->tools = s->fresh;
    s->fresh = (struct mcp_tools){.list = NULL};
    for (size_t i = 0; i < set->tools.n; i++) {
        set->faces[i] = face_of(s, &set->tools.list[i]);
    }
    free_set(s->set);
    s->set = set;
    look_for_policies(s);
    return RC_OK;
}

/* --- finding ----------------------------------------------------------- */

static size_t place_of(const struct mcp_server *s, const char *name)
{
    size_t i = 0;

    while (i < s->set->tools.n &&
           strcmp(s->set->tools.list[i].name, name) != 0) {
        i++;
    }
    return i;
}

const struct mcp_tool *mcp_tool_of(const struct mcp_server *s, const char *name)
{
    size_t i = s->set != NULL ? place_of(s, name) : 0;

    return s->set != NULL && i < s->set->tools.n ? &s->set->tools.list[i]
                                                 : NULL;
}

struct mcp_server *mcp_server_of(const struct mcp *mcp, const char *name)
{
    for (size_t i = 0; mcp != NULL && i < mcp->n; i++) {
        const char *own = mcp->servers[i].conf->name;
        size_t len = strlen(own);

        if (strncmp(name, own, len) == 0 && strncmp(name + len, "__", 2) == 0) {
            return &mcp->servers[i];
        }
    }
    return NULL;
}

const struct tool *mcp_find(const struct mcp *mcp, const char *name)
{
    const struct mcp_server *s = mcp_server_of(mcp, name);
    size_t i;

    if (s == NULL || s->set == NULL) {
        return NULL;
    }
    i = place_of(s, name);
    return i < s->set->tools.n ? &s->set->faces[i] : NULL;
}

const struct tool *mcp_unlisted(const struct mcp *mcp, const char *name)
{
    const struct mcp_server *s = mcp_server_of(mcp, name);

    return s != NULL && s->set == NULL ? &s->unlisted : NULL;
}

const struct tool *mcp_at(const struct mcp *mcp, size_t i)
{
    for (size_t k = 0; mcp != NULL && k < mcp->n; k++) {
        const struct mcp_server *s = &mcp->servers[k];
        size_t n = s->phase == MCP_READY ? s->set->tools.n : 0;

        if (i < n) {
            return &s->set->faces[i];
        }
        i -= n;
    }
    return NULL;
}

bool mcp_server_at(const struct mcp *mcp, size_t i, struct server *out)
{
    const struct mcp_server *s;

    if (mcp == NULL || i >= mcp->n) {
        return false;
    }
    s = &mcp->servers[i];
    *out = (struct server){.kind = "mcp",
                           .name = s->conf->name,
                           .state = s->state,
                           .detail = s->brief};
    if (s->set != NULL && s->state == ENDPOINT_OK) {
        out->tools = (int64_t)s->set->tools.n;
        out->detail = s->misnamed ? "policy_unknown_tool" : s->brief;
    }
    return true;
}

/* --- start and end ----------------------------------------------------- */

static void init_server(struct mcp_server *s, struct mcp *mcp,
                        const struct conf *conf, size_t i)
{
    int64_t room = conf_context_tokens(conf) - conf->model_max_output_tokens;
    int64_t all = room / TOOLS_PART;

    all = all < TOOLS_MOST ? all : TOOLS_MOST;
    s->mcp = mcp;
    s->conf = &conf->mcp[i];
    (void)snprintf(s->about, sizeof(s->about), "mcp.%s", s->conf->name);
    s->unlisted = (struct tool){.name = s->conf->name,
                                .acts = true,
                                .for_research = true,
                                .timeout_ms = s->conf->timeout_ms,
                                .schema = "{\"type\":\"object\"}",
                                .description = "",
                                .run = tool_mcp_run,
                                .cancel = tool_mcp_cancel};
    s->budget = all / (int64_t)conf->n_mcp;
    TAILQ_INIT(&s->calls);
    TAILQ_INIT(&s->posts);
}

enum rc mcp_new(const struct conf *conf, struct http *http, struct mcp **out)
{
    struct mcp *mcp;

    if (conf->n_mcp == 0) {
        return RC_NOT_FOUND;
    }
    mcp = calloc(1, sizeof(*mcp));
    if (mcp == NULL) {
        return RC_NOMEM;
    }
    mcp->servers = calloc(conf->n_mcp, sizeof(mcp->servers[0]));
    if (mcp->servers == NULL) {
        free(mcp);
        return RC_NOMEM;
    }
    mcp->http = http;
    mcp->conf = conf;
    mcp->n = conf->n_mcp;
    for (size_t i = 0; i < mcp->n; i++) {
        init_server(&mcp->servers[i], mcp, conf, i);
        mcp_session_begin(&mcp->servers[i]);
    }
    *out = mcp;
    return RC_OK;
}

void mcp_free(struct mcp *mcp)
{
    if (mcp == NULL) {
        return;
    }
    for (size_t i = 0; i < mcp->n; i++) {
        struct mcp_server *s = &mcp->servers[i];

        assert(TAILQ_EMPTY(&s->calls));
        mcp_session_free(s);
        free_set(s->set);
    }
    free(mcp->servers);
    free(mcp);
}

static size_t posts_of(const struct mcp *mcp)
{
    size_t n = 0;

    for (size_t i = 0; i < mcp->n; i++) {
        n += mcp->servers[i].n_posts;
    }
    return n;
}

void mcp_close(struct mcp *mcp, int64_t within_ms)
{
    int64_t until_ms = clock_boot_ms() + within_ms;
    int64_t left_ms = within_ms;

    if (mcp == NULL) {
        return;
    }
    for (size_t i = 0; i < mcp->n; i++) {
        mcp_session_close(&mcp->servers[i]);
    }
    while (posts_of(mcp) > 0 && left_ms > 0) {
        if (http_wait(mcp->http, NULL, 0, left_ms) != RC_OK) {
            return;
        }
        left_ms = until_ms - clock_boot_ms();
    }
}

/* --- time -------------------------------------------------------------- */

int64_t mcp_deadline_ms(const struct mcp *mcp)
{
    int64_t at = 0;

    for (size_t i = 0; mcp != NULL && i < mcp->n; i++) {
        mcp_earlier(&at, mcp_session_deadline_ms(&mcp->servers[i]));
        mcp_earlier(&at, mcp_call_deadline_ms(&mcp->servers[i]));
    }
    return at;
}

void mcp_tick(struct mcp *mcp, int64_t now_ms)
{
    for (size_t i = 0; mcp != NULL && i < mcp->n; i++) {
        struct mcp_server *s = &mcp->servers[i];

        mcp_session_tick(s, now_ms);
        mcp_call_tick(s, now_ms);
    }
}
