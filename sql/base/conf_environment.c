/* conf_environment.c - every key as a variable of the environment. */
#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sql/base/conf_inside.h"
#include "sql/base/utf8.h"

extern char **environ;

#define NAME_BYTES 96

/* Variables of the tests and of the crash hook, which are no keys. */
static const char *const NOT_KEYS[] = {"ASIDE_FAULT_", "ASIDE_TEST_",
                                       "ASIDE_BIN=", "ASIDE_STATIC="};

/* "model.url" to "ASIDE_MODEL_URL". */
static void variable_name(const char *key, char out[NAME_BYTES])
{
    size_t n = (size_t)snprintf(out, NAME_BYTES, "ASIDE_%s", key);

    assert(n < NAME_BYTES);
    for (size_t i = 0; i < n; i++) {
        int c = toupper((unsigned char)out[i]);
        out[i] = (char)(c == '.' ? '_' : c);
    }
}

/* "ASIDE_MCP_FILES_TIMEOUT_MS" to "mcp.files.timeout_ms": a server's name holds
 * no underscore. */
static void server_key(const char *variable, char out[NAME_BYTES])
{
    const char *rest = variable + strlen("ASIDE_");
    size_t len = 0;
    int dots = 0;

    for (; len < NAME_BYTES - 1 && rest[len] != '\0'; len++) {
        bool dot = rest[len] == '_' && dots < 2;

        dots += dot ? 1 : 0;
        out[len] = (char)(dot ? '.' : tolower((unsigned char)rest[len]));
    }
    out[len] = '\0';
}

/* "ASIDE_POLICY_FILES__REMOVE_PER_DAY" to "policy.files__remove.per_day". */
static void policy_key(const char *variable, char out[NAME_BYTES])
{
    static const char *const limit[] = {"_per_run", "_per_day"};
    const char *rest = variable + strlen("ASIDE_POLICY_");
    size_t start = strlen(CONF_KEY_POLICY);
    size_t len = start;

    memcpy(out, CONF_KEY_POLICY, start);
    for (; len < NAME_BYTES - 1 && rest[len - start] != '\0'; len++) {
        out[len] = (char)tolower((unsigned char)rest[len - start]);
    }
    out[len] = '\0';
    for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
        size_t tail = strlen(limit[i]);

        if (len > start + tail && strcmp(out + len - tail, limit[i]) == 0) {
            out[len - tail] = '.';
        }
    }
}

static enum rc find_variable(struct conf_reading *r, const char *variable,
                             struct conf_slot *out)
{
    char name[NAME_BYTES];

    for (size_t i = 0; i < conf_key_own.n; i++) {
        variable_name(conf_key_own.row[i].key.name, name);
        if (strcmp(name, variable) == 0) {
            *out = (struct conf_slot){&conf_key_own.row[i], r->conf, NULL};
            return RC_OK;
        }
    }
    if (strpbrk(variable, "abcdefghijklmnopqrstuvwxyz") != NULL) {
        return RC_NOT_FOUND;
    }
    if (strncmp(variable, "ASIDE_POLICY_", strlen("ASIDE_POLICY_")) == 0) {
        policy_key(variable, name);
        return conf_find_policy(r, name, out);
    }
    server_key(variable, name);
    return conf_find_server(r, name, out);
}

static bool is_not_key(const char *variable)
{
    for (size_t i = 0; i < sizeof(NOT_KEYS) / sizeof(NOT_KEYS[0]); i++) {
        if (strncmp(variable, NOT_KEYS[i], strlen(NOT_KEYS[i])) == 0) {
            return true;
        }
    }
    return false;
}

static enum rc read_variable(struct conf_reading *r, const char *assignment)
{
    const char *value = strchr(assignment, '=');
    enum rc rc = RC_NOT_FOUND;
    struct conf_slot slot;
    size_t len;

    if (value == NULL || is_not_key(assignment)) {
        return RC_OK;
    }
    len = utf8_clip(assignment, (size_t)(value - assignment), NAME_BYTES - 1);
    (void)snprintf(r->place, sizeof(r->place), "%.*s", (int)len, assignment);
    if (assignment[len] == '=') {
        rc = find_variable(r, r->place, &slot);
    }
    if (rc == RC_NOT_FOUND) {
        return conf_complain(r, "no key has this variable");
    }
    return rc == RC_OK ? conf_set(r, slot.base, slot.row, value + 1) : rc;
}

enum rc conf_read_environment(struct conf_reading *r)
{
    enum rc rc = RC_OK;

    for (char **e = environ; rc == RC_OK && e != NULL && *e != NULL; e++) {
        if (strncmp(*e, "ASIDE_", 6) == 0) {
            rc = read_variable(r, *e);
        }
    }
    return rc;
}
