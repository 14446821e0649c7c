/* conf_inside.h - a configuration that is being read. For conf.c, conf_set.c and
 * conf_environment.c alone. */
#ifndef ASIDE_CONF_INSIDE_H
#define ASIDE_CONF_INSIDE_H

#include <stddef.h>

#include "sql/base/conf_key.h"

/* Of a faulty value, an error line shows this much. */
#define CONF_SHOWN_BYTES 60

/* Where an error is told, and what is being read. */
struct conf_reading {
    struct conf *conf;
    char *err;
    size_t err_len;
    char place[256];            /* "aside.conf:3" or the variable's name */
    int line_of[CONF_KEY_MOST]; /* where the file has set each key already */
    int mcp_line_of[CONF_MCP_MAX][CONF_KEY_FEW]; /* in order of appearance */
    int policy_line_of[CONF_POLICY_MAX][CONF_KEY_FEW]; /* likewise */
};

/* What a key names: its row, and where its value goes. */
struct conf_slot {
    const struct conf_row *row;
    void *base; /* struct conf, conf_mcp or conf_policy */
    int *line;
};

/* --- conf_set.c ------------------------------------------------------------ */

/* The line that says what is wrong, with the place before it. RC_INVALID. */
enum rc conf_complain(const struct conf_reading *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Where the row's value is in struct conf, conf_mcp or conf_policy. */
void *conf_field(void *base, const struct conf_row *);
/* RC_INVALID: the value does not fit. RC_NOMEM. */
enum rc conf_set(const struct conf_reading *, void *base,
                 const struct conf_row *, const char *value) RC_MUST_CHECK;

/* A key by its name; what it is a key of is added, if it is new. RC_NOT_FOUND,
 * RC_INVALID (too many, and complained of), RC_NOMEM. */
enum rc conf_find(struct conf_reading *, const char *key,
                  struct conf_slot *out) RC_MUST_CHECK;
/* "mcp.<name>.url" and the like. RC_NOT_FOUND: no key of a server. */
enum rc conf_find_server(struct conf_reading *, const char *key,
                         struct conf_slot *out) RC_MUST_CHECK;
/* "policy.<name>" and its limits. RC_NOT_FOUND: no key of a policy. */
enum rc conf_find_policy(struct conf_reading *, const char *key,
                         struct conf_slot *out) RC_MUST_CHECK;

/* --- conf_environment.c ---------------------------------------------------- */

/* All variables that begin with ASIDE_. RC_INVALID, RC_NOMEM. */
enum rc conf_read_environment(struct conf_reading *) RC_MUST_CHECK;

#endif
