/* conf_set.c - which key a name is, and setting it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/conf_inside.h"
#include "sql/base/utf8.h"

#define NAME_MOST 16 /* bytes of a server's name */
#define TOOL_MOST 64 /* bytes of a tool's name, as endpoints take it */
#define NO_LIMIT  (-1)

enum rc conf_complain(const struct conf_reading *r, const char *fmt, ...)
{
    va_list args;
    int n = snprintf(r->err, r->err_len, "%s: ", r->place);

    if (n >= 0 && (size_t)n < r->err_len) {
        va_start(args, fmt);
        (void)vsnprintf(r->err + n, r->err_len - (size_t)n, fmt, args);
        va_end(args);
    }
    return RC_INVALID;
}

void *conf_field(void *base, const struct conf_row *row)
{
    return (char *)base + row->at;
}

enum rc conf_set(const struct conf_reading *r, void *base,
                 const struct conf_row *row, const char *value)
{
    const char **text = conf_field(base, row);
    char expected[128];
    char *copy;

    if (!conf_value_take(row->type, value, row->min, row->max, text)) {
        conf_value_expected(row->type, row->min, row->max, expected,
                            sizeof(expected));
        if (conf_value_is_secret(row->type, value) ||
            !conf_value_is_plain(value)) {
            return conf_complain(r, "%s: expected %s", row->key.name, expected);
        }
        return conf_complain(
            r, "%s: expected %s, found \"%.*s\"", row->key.name, expected,
            (int)utf8_clip(value, strlen(value), CONF_SHOWN_BYTES), value);
    }
    if (!conf_value_is_text(row->type)) {
        return RC_OK;
    }
    copy = strdup(value);
    if (copy == NULL) {
        return RC_NOMEM;
    }
    free((char *)*text);
    *text = copy;
    return RC_OK;
}

/* --- which key --------------------------------------------------------- */

static bool is_name(const char *s, size_t len)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");

    return len > 0 && len <= NAME_MOST && n >= len && !isdigit((int)s[0]);
}

/* Find the server of this name or add it; RC_INVALID: there are too many. */
static enum rc server_named(struct conf_reading *r, const char *name,
                            size_t len, size_t *out)
{
    struct conf *c = r->conf;
    struct conf_mcp *m = c->mcp;
    enum rc rc = RC_OK;

    for (*out = 0; *out < c->n_mcp; ++*out) {
        if (strlen(m[*out].name) == len &&
            memcmp(m[*out].name, name, len) == 0) {
            return RC_OK;
        }
    }
    if (c->n_mcp == CONF_MCP_MAX) {
        return conf_complain(r, "more than %d servers", CONF_MCP_MAX);
    }
    m += c->n_mcp;
    m->name = strndup(name, len);
    if (m->name == NULL) {
        return RC_NOMEM;
    }
    c->n_mcp++;
    for (size_t i = 0; i < conf_key_server.n && rc == RC_OK; i++) {
        if (conf_key_server.row[i].type == TYPE_PLACE) {
            m->url = strdup(""); /* what must be given, and is looked for */
            rc = m->url == NULL ? RC_NOMEM : RC_OK;
        } else {
            rc = conf_set(r, m, &conf_key_server.row[i],
                          conf_key_server.row[i].key.fallback);
        }
    }
    return rc;
}

enum rc conf_find_server(struct conf_reading *r, const char *key,
                         struct conf_slot *out)
{
    const char *name = key + strlen(CONF_KEY_MCP);
    const char *dot = strncmp(key, CONF_KEY_MCP, strlen(CONF_KEY_MCP)) == 0
                          ? strchr(name, '.')
                          : NULL;
    size_t at = 0;
    enum rc rc;

    if (dot == NULL || !is_name(name, (size_t)(dot - name))) {
        return RC_NOT_FOUND;
    }
    for (size_t i = 0; i < conf_key_server.n; i++) {
        if (strcmp(conf_key_server.row[i].key.name + strlen(CONF_KEY_ANY_NAME),
                   dot + 1) != 0) {
            continue;
        }
        rc = server_named(r, name, (size_t)(dot - name), &at);
        if (rc == RC_OK) {
            *out =
                (struct conf_slot){&conf_key_server.row[i], &r->conf->mcp[at],
                                   &r->mcp_line_of[at][i]};
        }
        return rc;
    }
    return RC_NOT_FOUND;
}

/* Find what is configured under this name or add it. */
static enum rc policy_named(struct conf_reading *r, const char *name,
                            size_t len, size_t *out)
{
    struct conf *c = r->conf;
    struct conf_policy *p = c->policy;

    for (*out = 0; *out < c->n_policy; ++*out) {
        if (strlen(p[*out].name) == len &&
            memcmp(p[*out].name, name, len) == 0) {
            return RC_OK;
        }
    }
    if (c->n_policy == CONF_POLICY_MAX) {
        return conf_complain(r, "more than %d policies", CONF_POLICY_MAX);
    }
    p[c->n_policy] = (struct conf_policy){.name = strndup(name, len),
                                          .verdict = CONF_UNSET,
                                          .per_run = NO_LIMIT,
                                          .per_day = NO_LIMIT};
    if (p[c->n_policy].name == NULL) {
        return RC_NOMEM;
    }
    c->n_policy++;
    return RC_OK;
}

enum rc conf_find_policy(struct conf_reading *r, const char *key,
                         struct conf_slot *out)
{
    const char *name = key + strlen(CONF_KEY_POLICY);
    size_t len = strncmp(key, CONF_KEY_POLICY, strlen(CONF_KEY_POLICY)) == 0
                     ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                     : 0;
    size_t at = 0;
    enum rc rc;

    if (len == 0 || len > TOOL_MOST) {
        return RC_NOT_FOUND;
    }
    for (size_t i = 0; i < conf_key_policy.n; i++) {
        if (strcmp(conf_key_policy.row[i].key.name + strlen(CONF_KEY_ANY_TOOL),
                   name + len) != 0) {
            continue;
        }
        rc = policy_named(r, name, len, &at);
        if (rc == RC_OK) {
            *out = (struct conf_slot){&conf_key_policy.row[i],
                                      &r->conf->policy[at],
                                      &r->policy_line_of[at][i]};
        }
        return rc;
    }
    return RC_NOT_FOUND;
}

enum rc conf_find(struct conf_reading *r, const char *key,
                  struct conf_slot *out)
{
    enum rc rc;

    for (size_t i = 0; i < conf_key_own.n; i++) {
        if (strcmp(conf_key_own.row[i].key.name, key) == 0) {
            *out = (struct conf_slot){&conf_key_own.row[i], r->conf,
                                      &r->line_of[i]};
            return RC_OK;
        }
    }
    rc = conf_find_server(r, key, out);
    return rc == RC_NOT_FOUND ? conf_find_policy(r, key, out) : rc;
}
