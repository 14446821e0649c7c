#include "runtime/cmd/cmd_check.h"

#include <stdio.h>

#include "runtime/cmd/cmd.h"
#include "sql/base/clock.h"
#include "sql/store_check.h"

#define USAGE "[-c file] [--json]"

struct findings {
    struct store_finding *list;
    size_t n;
};

static enum rc put(struct json_out *json, void *arg)
{
    const struct findings *f = arg;

    json_kbool(json, "ok", f->n == 0);
    json_key(json, "findings");
    json_open_array(json);
    for (size_t i = 0; i < f->n; i++) {
        json_open_object(json);
        cmd_kstr(json, "where", f->list[i].where);
        cmd_kstr(json, "what", f->list[i].what);
        cmd_kstr(json, "todo", f->list[i].todo);
        json_close_object(json);
    }
    json_close_array(json);
    return RC_OK;
}

static int check(struct cmd *cmd)
{
    struct findings f = {.list = NULL};
    int status = CMD_DONE;
    enum rc rc = store_check(cmd->conf.data, cmd->conf.busy_timeout_ms,
                             clock_unix_ms(), cmd->arena, &f.list, &f.n);

    if (rc != RC_OK) {
        return cmd_fail_rc("not everything could be looked through", rc);
    }
    if (cmd->json) {
        status = cmd_print_json(put, &f);
    } else {
        for (size_t i = 0; i < f.n; i++) {
            (void)printf("%s: %s\n    %s\n",
                         cmd_shown(cmd->arena, f.list[i].where),
                         cmd_shown(cmd->arena, f.list[i].what),
                         cmd_shown(cmd->arena, f.list[i].todo));
        }
        if (f.n == 0) {
            (void)printf("%s: nothing is wrong\n", cmd->conf.data);
        }
    }
    return status == CMD_DONE && f.n > 0 ? CMD_FAILED : status;
}

int cmd_check(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);

    if (status == CMD_DONE && cmd.n_words != 0) {
        status = cmd_misuse(argv[0], USAGE);
    }
    if (status == CMD_DONE) {
        status = check(&cmd);
    }
    cmd_close(&cmd);
    return status;
}
