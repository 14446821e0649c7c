/* conf_key.h - the tables of keys; everything else of the configuration walks
 * them. For conf*.c alone. */
#ifndef ASIDE_CONF_KEY_H
#define ASIDE_CONF_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/conf.h"
#include "sql/base/conf_value.h"

struct conf_row {
    struct conf_key key;
    enum conf_type type;
    size_t at;   /* offset in struct conf, conf_mcp or conf_policy */
    int64_t min; /* of a number */
    int64_t max; /* of a number */
};

/* In the order of the documentation. */
struct conf_table {
    const struct conf_row *row;
    size_t n;
};

/* What Aside itself has. */
extern const struct conf_table conf_key_own;
/* What each server has; the key begins with "mcp." and the server's name. */
extern const struct conf_table conf_key_server;
/* What each tool may have, and each server. */
extern const struct conf_table conf_key_policy;

#define CONF_KEY_MOST 96 /* of the first table */
#define CONF_KEY_FEW  8  /* of the others */

/* How these keys begin, for people and in fact. */
#define CONF_KEY_MCP      "mcp."
#define CONF_KEY_ANY_NAME CONF_KEY_MCP "<name>."
#define CONF_KEY_POLICY   "policy."
#define CONF_KEY_ANY_TOOL CONF_KEY_POLICY "<name>"

#endif
