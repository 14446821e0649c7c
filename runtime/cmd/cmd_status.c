/* cmd_status.c - read from the rows and the lock, as health and overview are:
 * it works while nothing runs, and starts nothing. */
#include "runtime/cmd/cmd_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cmd/cmd.h"
#include "sql/base/version.h"
#include "sql/store_lease.h"
#include "sql/store_library.h"
#include "sql/store_run.h"
#include "sql/store_server.h"
#include "sql/store_storage.h"

struct status {
    const struct cmd *cmd;
    struct store_view view;
    bool runtime;
    enum endpoint_state model;
    struct library_run library;
    struct server *servers;
    size_t n_servers;
    int64_t n_active;
    int64_t n_background;
    int64_t n_awaiting;
    enum storage storage;
    int64_t database_bytes; /* with its log */
};

static int64_t size_of(struct arena *a, const char *dir, const char *name)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    struct stat st;

    return path != NULL && stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static enum rc count_active(struct cmd *cmd, struct status *s)
{
    int64_t *ids = NULL;
    size_t n = 0;
    enum rc rc = store_run_active_ids(cmd->store, cmd->arena, &ids, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct run run;

        rc = store_run_get(cmd->store, 0, ids[i], false, cmd->arena, &run);
        if (rc == RC_OK) {
            s->n_background += run.kind == RUN_RESEARCH ? 1 : 0;
            s->n_awaiting += run.state == RUN_AWAITING_INPUT ? 1 : 0;
        }
    }
    s->n_active = (int64_t)n;
    return rc;
}

static enum rc look(struct cmd *cmd, struct status *s)
{
    enum rc rc = store_read_begin(cmd->store, &s->view);

    if (rc != RC_OK) {
        return rc;
    }
    rc = store_endpoint_get(cmd->store, &s->model);
    if (rc == RC_OK) {
        rc = store_library_run_get(cmd->store, cmd->arena, &s->library);
    }
    if (rc == RC_OK) {
        rc = store_server_list(cmd->store, cmd->arena, &s->servers,
                               &s->n_servers);
    }
    if (rc == RC_OK) {
        rc = count_active(cmd, s);
    }
    store_read_end(cmd->store);
    s->cmd = cmd;
    s->storage = store_storage_look(cmd->store);
    s->runtime = store_lease_held(cmd->conf.data);
    s->database_bytes = size_of(cmd->arena, cmd->conf.data, "aside.db") +
                        size_of(cmd->arena, cmd->conf.data, "aside.db-wal");
    return rc;
}

static bool is_well(const struct status *s)
{
    bool well = s->runtime && s->library.failures == 0 &&
                s->model != ENDPOINT_UNAUTHORIZED &&
                s->model != ENDPOINT_UNREACHABLE;

    for (size_t i = 0; i < s->n_servers; i++) {
        well = well && s->servers[i].state != ENDPOINT_UNAUTHORIZED &&
               s->servers[i].state != ENDPOINT_UNREACHABLE;
    }
    return well;
}

static const char *state_word(enum endpoint_state state)
{
    return states_text(LIST_ENDPOINT_STATE, (int)state);
}

static enum rc put(struct json_out *json, void *arg)
{
    const struct status *s = arg;

    json_kbool(json, "ok", is_well(s));
    json_kstr(json, "version", ASIDE_VERSION);
    json_kstr(json, "data", s->cmd->conf.data);
    json_ki64(json, "database_bytes", s->database_bytes);
    json_kstr(json, "storage", store_storage_word(s->storage));
    json_kstr(json, "runtime", s->runtime ? "ok" : "absent");
    json_kstr(json, "model", state_word(s->model));
    json_kstr(json, "model_name", s->cmd->conf.model_name);
    json_kstr(json, "library", s->library.failures == 0 ? "ok" : "failing");
    json_ki64(json, "active_runs", s->n_active);
    json_ki64(json, "active_research", s->n_background);
    json_ki64(json, "awaiting", s->n_awaiting);
    json_key(json, "servers");
    json_open_array(json);
    for (size_t i = 0; i < s->n_servers; i++) {
        json_open_object(json);
        json_kstr(json, "kind", s->servers[i].kind);
        json_kstr(json, "name", s->servers[i].name);
        json_kstr(json, "state", state_word(s->servers[i].state));
        cmd_kstr(json, "detail", s->servers[i].detail);
        json_close_object(json);
    }
    json_close_array(json);
    json_ki64(json, "as_of", s->view.as_of);
    json_kstr(json, "feed", s->view.feed);
    return RC_OK;
}

/* "no_answer" as "no answer", "http_401" as "HTTP 401". */
static const char *in_words(const char *code, char out[STORE_SERVER_DETAIL])
{
    static const char HTTP[] = "http_";
    const bool http = strncmp(code, HTTP, strlen(HTTP)) == 0;

    (void)snprintf(out, STORE_SERVER_DETAIL, "%s%s", http ? "HTTP " : "",
                   http ? code + strlen(HTTP) : code);
    for (char *p = strchr(out, '_'); p != NULL; p = strchr(p, '_')) {
        *p = ' ';
    }
    return out;
}

static void print(const struct status *s)
{
    char why[STORE_SERVER_DETAIL];

    (void)printf("version   %s\n", ASIDE_VERSION);
    (void)printf("data      %s, %.1f MB, %s\n", s->cmd->conf.data,
                 (double)s->database_bytes / 1e6,
                 store_storage_word(s->storage));
    (void)printf("runtime   %s\n",
                 s->runtime ? "ok" : "absent: nothing is answered");
    (void)printf("model     %s (%s)\n", state_word(s->model),
                 cmd_shown(s->cmd->arena, s->cmd->conf.model_name));
    (void)printf("library   %s\n", s->library.failures == 0
                                       ? "ok"
                                       : "cannot be read; it is tried again");
    (void)printf("active    %" PRId64 ", of these %" PRId64
                 " research; %" PRId64 " wait for you\n",
                 s->n_active, s->n_background, s->n_awaiting);
    for (size_t i = 0; i < s->n_servers; i++) {
        (void)printf(
            "%-9s %s: %s%s%s\n", s->servers[i].kind, s->servers[i].name,
            state_word(s->servers[i].state),
            s->servers[i].detail[0] == '\0' ? "" : ", ",
            cmd_shown(s->cmd->arena, in_words(s->servers[i].detail, why)));
    }
}

static int show(struct cmd *cmd)
{
    struct status s = {.cmd = cmd};
    enum rc rc = look(cmd, &s);
    int status = CMD_DONE;

    if (rc != RC_OK) {
        return cmd_fail_rc("the database cannot be read", rc);
    }
    if (cmd->json) {
        status = cmd_print_json(put, &s);
    } else {
        print(&s);
    }
    return status == CMD_DONE && !is_well(&s) ? CMD_FAILED : status;
}

int cmd_status(int argc, char **argv)
{
    return cmd_on_store(argc, argv, "[-c file] [--json]",
                        &(struct cmd_needs){0, 0, CMD_LOOK}, show);
}
