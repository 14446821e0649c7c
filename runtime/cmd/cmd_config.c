#include "runtime/cmd/cmd_config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd.h"

static const char USAGE[] = "check [-c file] [--json]";

static enum rc put(struct json_out *json, void *arg)
{
    const struct cmd *cmd = arg;

    json_kbool(json, "ok", cmd->error[0] == '\0');
    cmd_kstr(json, "error", cmd->error[0] == '\0' ? NULL : cmd->error);
    return RC_OK;
}

int cmd_config(int argc, char **argv)
{
    struct cmd cmd;
    int status;

    if (argc < 2 || strcmp(argv[1], "check") != 0) {
        return cmd_misuse("config", USAGE);
    }
    argv[1] = argv[0];
    status = cmd_open(&cmd, argc - 1, argv + 1, USAGE);
    if (status != CMD_MISUSE && cmd.n_words > 0) {
        status = cmd_misuse("config", USAGE);
    }
    if (status != CMD_MISUSE && cmd.json) {
        int printed = cmd_print_json(put, &cmd);

        status = status == CMD_DONE ? printed : status;
    } else if (status == CMD_DONE) {
        (void)puts("the configuration is good");
    }
    cmd_close(&cmd);
    return status;
}
