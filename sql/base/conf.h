/* conf.h - the configuration: one file of "key = value" lines, every key
 * overridable by an environment variable (ASIDE_ and the key in capitals, dots
 * as underscores: model.url is ASIDE_MODEL_URL).
 *
 * One table in conf_key.c lists each key with its type, default and range, and
 * docs/configuration.md is checked against it. An unknown or malformed key
 * stops the start, with file, line and what was expected.
 */
#ifndef ASIDE_BASE_CONF_H
#define ASIDE_BASE_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

enum conf_auth { CONF_AUTH_NONE = 0, CONF_AUTH_PROXY, CONF_AUTH_TOKEN };

/* What one depth of research may use. */
struct conf_budget {
    int64_t requests;   /* model requests, the closeout included */
    int64_t tool_calls; /* tool calls */
    int64_t seconds;    /* of work: waiting for the user does not count */
    int64_t tokens;     /* input and output together */
};

#define CONF_MCP_MAX 32

/* One server of the Model Context Protocol. */
struct conf_mcp {
    const char *name;   /* of small letters and digits, begins with a letter */
    const char *url;    /* mcp.<name>.url: its Streamable HTTP endpoint */
    const char *token;  /* mcp.<name>.token: bearer token, "": none */
    const char *header; /* mcp.<name>.header: "Name: value", "": none */
    int64_t timeout_ms; /* mcp.<name>.timeout_ms: of one call. 60000 */
};

#define CONF_POLICY_MAX 256

/* What the model may do with a tool. */
enum conf_verdict {
    CONF_UNSET = 0, /* nothing was configured */
    CONF_ALLOW,
    CONF_ASK,
    CONF_DENY
};

/* policy.<name>: of one tool, or of a server's tools all together. */
struct conf_policy {
    const char *name;
    int64_t verdict; /* enum conf_verdict */
    int64_t per_run; /* policy.<name>.per_run: calls in one Run; -1: no limit */
    int64_t per_day; /* policy.<name>.per_day: calls of an account in one day of
                      * UTC; -1: no limit */
};

struct conf {
    const char *data;   /* data: directory of the database. "./var/data" */
    const char *prefix; /* prefix: URL path before /api, "" or "/aside" */
    enum conf_auth auth;
    const char *hosts; /* hosts: extra Host names for auth = none, by spaces */
    int64_t log_level; /* log.level: debug, info, warn, error */

    const char *model_url; /* model.url: up to and without /chat/completions */
    const char *model_key; /* model.key: sent as bearer token if not empty */
    const char *model_name;
    int64_t model_max_concurrent;        /* requests at once. 4 */
    int64_t model_context_tokens;        /* 32768 */
    int64_t model_max_output_tokens;     /* 4096 */
    int64_t model_prompt_tokens;         /* 65536 */
    int64_t model_connect_timeout_ms;    /* 10000 */
    int64_t model_first_byte_timeout_ms; /* 60000 */
    int64_t model_silence_timeout_ms;    /* 60000, between two bytes */
    int64_t model_total_timeout_ms;      /* 600000, one whole request */

    int64_t short_limit;      /* short.limit: slots per account. 3 */
    int64_t background_limit; /* background.limit. 1 */

    struct conf_budget normal; /* budget.normal.requests ... */
    struct conf_budget deep;   /* budget.deep.requests ... */

    const char *library;       /* library: folders, separated by ':' */
    int64_t library_max_files; /* library.max_files: of one account. 1000 */
    int64_t library_max_bytes; /* library.max_bytes: of one account. 256 MiB */

    int64_t web_fetch;          /* web.fetch: on or off */
    const char *web_allow;      /* web.allow: names and address ranges */
    const char *web_ports;      /* web.ports: of the public internet. 80 443 */
    const char *web_agent;      /* web.agent: User-Agent */
    int64_t web_max_bytes;      /* web.max_bytes: of one page. 5 MiB */
    int64_t web_timeout_ms;     /* web.timeout_ms: redirects included. 20000 */
    const char *web_search_url; /* web.search_url: SearXNG; "": none */

    int64_t tools_parallel; /* tools.parallel: calls of a Run at once. 4 */
    struct conf_mcp mcp[CONF_MCP_MAX]; /* by name */
    size_t n_mcp;
    struct conf_policy policy[CONF_POLICY_MAX]; /* by name */
    size_t n_policy;

    int64_t busy_timeout_ms;  /* db.busy_timeout_ms: bounded lock wait. 2000 */
    int64_t max_wait_seconds; /* wait.max_seconds: awaiting_input. 86400 */
    /* What an account keeps; 0: all. */
    int64_t retention_days;          /* retention.days. 0 */
    int64_t retention_conversations; /* retention.conversations. 0 */
    int64_t audit_days;           /* audit.days: of the audit log; 0: all. 0 */
    int64_t poll_max_parked;      /* poll.max_parked: of one responder. 8000 */
    int64_t poll_max_per_account; /* poll.max_per_account: likewise; 0: all of
                                   * them. 256 */

    /* Limits of how often, of one responder; 0: none. */
    int64_t limit_account_per_minute; /* writes. 6000 */
    int64_t limit_address_per_minute; /* writes. 12000 */
    int64_t limit_login_per_minute;   /* refused logins of an address. 30 */

    int64_t offline_words_per_second; /* pace of the offline model. 40 */
};

/* Read defaults, then file (NULL: none), then the environment. The texts
 * belong to *out until conf_free. RC_INVALID: one line to err (err_len bytes)
 * that says where, what was found and what was expected. */
enum rc conf_load(const char *file, struct conf *out, char *err,
                  size_t err_len) RC_MUST_CHECK;
void conf_free(struct conf *);

/* Tokens that a request and its answer may hold together: as many as the model
 * can, and no more than the prompt may have beside the answer. */
int64_t conf_context_tokens(const struct conf *);

/* What is configured under this name, or NULL. */
const struct conf_policy *conf_policy_of(const struct conf *, const char *name);
/* The i-th of Aside's own tools that a policy may name; NULL after the last. */
const char *conf_tool_at(size_t i);

/* One configuration key as documentation and tests see it. */
struct conf_key {
    const char *name;
    const char *fallback; /* as it would stand in the file */
    const char *help;     /* one line */
};
/* The i-th key, or NULL after the last. A key of each server, and of each
 * policy, stands once, as "mcp.<name>.url". */
const struct conf_key *conf_key_at(size_t i);

#endif
