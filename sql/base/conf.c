/* conf.c - the configuration: its defaults, its file, and what must hold
 * together. */
#include "sql/base/conf.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/conf_inside.h"
#include "sql/base/mask.h"
#include "sql/base/utf8.h"

#define FILE_BYTES 65536 /* the longest file */
#define BETWEEN    "__"  /* a server's name and its tool's */
/* The database holds to it too (0018_audit_kept.sql). */
#define AUDIT_DAYS_LEAST 30

const struct conf_policy *conf_policy_of(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->n_policy; i++) {
        if (strcmp(c->policy[i].name, name) == 0) {
            return &c->policy[i];
        }
    }
    return NULL;
}

int64_t conf_context_tokens(const struct conf *c)
{
    int64_t wanted = c->model_prompt_tokens + c->model_max_output_tokens;

    return wanted < c->model_context_tokens ? wanted : c->model_context_tokens;
}

/* --- the file -------------------------------------------------------------- */

/* Without the white space around it. */
static char *trim(char *s)
{
    size_t len;

    s += strspn(s, " \t\r\n");
    len = strlen(s);
    while (len > 0 && strchr(" \t\r\n", s[len - 1]) != NULL) {
        s[--len] = '\0';
    }
    return s;
}

/* One line of the file. */
static enum rc read_line(struct conf_reading *r, char *line, int number)
{
    struct conf_slot slot;
    char *name = trim(line);
    char *value;
    enum rc rc;

    if (name[0] == '\0' || name[0] == '#') {
        return RC_OK;
    }
    value = strchr(name, '=');
    if (value == NULL) {
        return conf_complain(r, "expected \"key = value\"");
    }
    *value = '\0';
    name = trim(name);
    rc = conf_find(r, name, &slot);
    if (rc == RC_NOT_FOUND) {
        return conf_value_is_plain(name)
                   ? conf_complain(
                         r, "unknown key \"%.*s\"",
                         (int)utf8_clip(name, strlen(name), CONF_SHOWN_BYTES),
                         name)
                   : conf_complain(r, "unknown key");
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (*slot.line != 0) {
        return conf_complain(r, "%s stands already in line %d", name,
                             *slot.line);
    }
    *slot.line = number;
    return conf_set(r, slot.base, slot.row, trim(value + 1));
}

static void set_place(struct conf_reading *r, const char *file, int line)
{
    if (line > 0) {
        (void)snprintf(r->place, sizeof(r->place), "%.200s:%d", file, line);
    } else {
        (void)snprintf(r->place, sizeof(r->place), "%.200s", file);
    }
}

static enum rc read_lines(struct conf_reading *r, const char *file, char *text,
                          size_t len)
{
    enum rc rc = RC_OK;
    char *end = text + len;
    char *next;

    for (int number = 1; rc == RC_OK && text < end; number++, text = next) {
        next = memchr(text, '\n', (size_t)(end - text));
        next = next == NULL ? end : next;
        *next++ = '\0';
        set_place(r, file, number);
        /* A NUL would hide what follows it. */
        if (strlen(text) != (size_t)(next - text) - 1) {
            return conf_complain(r, "a NUL character");
        }
        rc = read_line(r, text, number);
    }
    return rc;
}

static enum rc read_file(struct conf_reading *r, const char *file)
{
    char *text = malloc(FILE_BYTES + 1);
    FILE *f = fopen(file, "re");
    enum rc rc = RC_NOMEM;
    size_t len;

    set_place(r, file, 0);
    if (f == NULL) {
        rc = conf_complain(r, "cannot be opened: %s", strerror(errno));
    } else if (text != NULL) {
        len = fread(text, 1, FILE_BYTES + 1, f);
        if (ferror(f)) {
            rc = conf_complain(r, "cannot be read: %s", strerror(errno));
        } else if (len > FILE_BYTES) {
            rc = conf_complain(r, "longer than %d bytes", FILE_BYTES);
        } else {
            rc = read_lines(r, file, text, len);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    free(text);
    return rc;
}

static enum rc read_defaults(struct conf_reading *r)
{
    enum rc rc = RC_OK;

    set_place(r, "default", 0);
    for (size_t i = 0; rc == RC_OK && i < conf_key_own.n; i++) {
        rc = conf_set(r, r->conf, &conf_key_own.row[i],
                      conf_key_own.row[i].key.fallback);
    }
    assert(rc != RC_INVALID);
    return rc;
}

/* --- what no single key shows ---------------------------------------------- */

static bool is_own_tool(const char *name)
{
    for (size_t i = 0; conf_tool_at(i) != NULL; i++) {
        if (strcmp(name, conf_tool_at(i)) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the name, or what stands before its tool's, that of a server? */
static bool is_of_server(const struct conf *c, const char *name)
{
    const char *end = strstr(name, BETWEEN);
    size_t len = end != NULL ? (size_t)(end - name) : strlen(name);

    for (size_t i = 0; i < c->n_mcp; i++) {
        if (strlen(c->mcp[i].name) == len &&
            memcmp(c->mcp[i].name, name, len) == 0) {
            return end == NULL || end[strlen(BETWEEN)] != '\0';
        }
    }
    return false;
}

/* A name that nothing has would forbid nothing, and nobody would see it. */
static enum rc check_policies(struct conf_reading *r)
{
    const struct conf *c = r->conf;

    for (size_t i = 0; i < c->n_policy; i++) {
        const char *name = c->policy[i].name;
        bool own = is_own_tool(name);
        bool server = is_of_server(c, name);

        if (!own && !server) {
            return conf_complain(
                r, CONF_KEY_POLICY "%s: no tool and no server of this name",
                name);
        }
        if (own && server) {
            return conf_complain(
                r, CONF_KEY_POLICY "%s: both a tool and a server", name);
        }
    }
    return RC_OK;
}

/* What no single key shows. */
static enum rc check_together(struct conf_reading *r)
{
    const struct conf *c = r->conf;

    set_place(r, "configuration", 0);
    if (c->data[0] == '\0') {
        return conf_complain(r, "data: expected a directory");
    }
    if (c->model_max_output_tokens >= c->model_context_tokens) {
        return conf_complain(
            r,
            "model.max_output_tokens (%lld): expected less than "
            "model.context_tokens (%lld)",
            (long long)c->model_max_output_tokens,
            (long long)c->model_context_tokens);
    }
    if (c->audit_days > 0 && c->audit_days < AUDIT_DAYS_LEAST) {
        return conf_complain(r, "audit.days (%lld): expected 0, or %d or more",
                             (long long)c->audit_days, AUDIT_DAYS_LEAST);
    }
    for (size_t i = 0; i < c->n_mcp; i++) {
        if (c->mcp[i].url[0] == '\0') {
            return conf_complain(r,
                                 "mcp.%s.url: expected, beside its other keys",
                                 c->mcp[i].name);
        }
    }
    return check_policies(r);
}

/* --- the whole ------------------------------------------------------------- */

/* Wherever they were set: what is offered to the model keeps its order. */
static int by_name(const void *a, const void *b)
{
    const struct conf_mcp *left = a;
    const struct conf_mcp *right = b;

    return strcmp(left->name, right->name);
}

static int by_policy_name(const void *a, const void *b)
{
    const struct conf_policy *left = a;
    const struct conf_policy *right = b;

    return strcmp(left->name, right->name);
}

static void hide_rows(void *base, const struct conf_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct conf_row *row = &table->row[i];

        if (conf_value_is_text(row->type)) {
            const char **text = conf_field(base, row);

            conf_value_hide(row->type, *text);
        }
    }
}

/* One configuration is a process's own: what it keeps secret is known to all. */
static void hide_secrets(struct conf *c)
{
    mask_clear();
    hide_rows(c, &conf_key_own);
    for (size_t i = 0; i < c->n_mcp; i++) {
        hide_rows(&c->mcp[i], &conf_key_server);
    }
}

enum rc conf_load(const char *file, struct conf *out, char *err, size_t err_len)
{
    struct conf c = {.data = NULL};
    struct conf_reading r = {.conf = &c, .err = err, .err_len = err_len};
    enum rc rc = read_defaults(&r);

    if (rc == RC_OK && file != NULL) {
        rc = read_file(&r, file);
    }
    if (rc == RC_OK) {
        rc = conf_read_environment(&r);
    }
    if (rc == RC_OK) {
        rc = check_together(&r);
    }
    if (rc != RC_OK) {
        if (rc == RC_NOMEM) {
            (void)snprintf(err, err_len, "out of memory");
        }
        conf_free(&c);
        return rc;
    }
    qsort(c.mcp, c.n_mcp, sizeof(c.mcp[0]), by_name);
    qsort(c.policy, c.n_policy, sizeof(c.policy[0]), by_policy_name);
    *out = c;
    hide_secrets(out);
    return RC_OK;
}

static void free_server(struct conf_mcp *m)
{
    for (size_t i = 0; i < conf_key_server.n; i++) {
        if (conf_value_is_text(conf_key_server.row[i].type)) {
            const char **text = conf_field(m, &conf_key_server.row[i]);
            free((char *)*text);
        }
    }
    free((char *)m->name);
    *m = (struct conf_mcp){.name = NULL};
}

void conf_free(struct conf *c)
{
    mask_clear();
    for (size_t i = 0; i < c->n_mcp; i++) {
        free_server(&c->mcp[i]);
    }
    c->n_mcp = 0;
    for (size_t i = 0; i < c->n_policy; i++) {
        free((char *)c->policy[i].name);
        c->policy[i] = (struct conf_policy){.name = NULL};
    }
    c->n_policy = 0;
    for (size_t i = 0; i < conf_key_own.n; i++) {
        if (conf_value_is_text(conf_key_own.row[i].type)) {
            const char **text = conf_field(c, &conf_key_own.row[i]);
            free((char *)*text);
            *text = NULL;
        }
    }
}
