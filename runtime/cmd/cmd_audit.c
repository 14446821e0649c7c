#include "runtime/cmd/cmd_audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/cmd/cmd.h"
#include "sql/store_audit.h"

#define LIMIT_DEFAULT 100

struct log {
    struct audit *list;
    size_t n;
};

static enum rc put(struct json_out *json, void *arg)
{
    const struct log *log = arg;

    json_key(json, "audit");
    json_open_array(json);
    for (size_t i = 0; i < log->n; i++) {
        store_audit_put(json, &log->list[i]);
    }
    json_close_array(json);
    return RC_OK;
}

static const char *or_dash(const char *text)
{
    return text[0] == '\0' ? "-" : text;
}

static void print_line(struct arena *arena, const struct audit *a)
{
    char at[CMD_TIME_BYTES];
    char who[64];

    (void)snprintf(
        who, sizeof(who),
        a->actor_id == 0 && a->actor != ACTOR_COMMAND ? "%s" : "%s:%" PRId64,
        states_text(LIST_ACTOR_KIND, (int)a->actor), a->actor_id);
    (void)printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cmd_time(a->at_ms, at), who,
                 cmd_shown(arena, or_dash(a->address)),
                 states_text(LIST_AUDIT_ACTION, (int)a->action),
                 or_dash(a->subject), or_dash(a->outcome),
                 cmd_shown(arena, or_dash(a->detail)));
}

static int show(struct cmd *cmd)
{
    struct log log = {.list = NULL};
    int64_t account = 0;
    enum rc rc = cmd_account(cmd, &account);

    if (rc == RC_NOT_FOUND) {
        return CMD_FAILED;
    }
    if (rc == RC_OK) {
        rc = store_audit_page(cmd->store, account, INT64_MAX,
                              cmd->limit == 0 ? LIMIT_DEFAULT : cmd->limit,
                              cmd->arena, &log.list, &log.n);
    }
    if (rc != RC_OK) {
        return cmd_fail_rc("the audit log cannot be read", rc);
    }
    if (cmd->json) {
        return cmd_print_json(put, &log);
    }
    for (size_t i = 0; i < log.n; i++) {
        print_line(cmd->arena, &log.list[i]);
    }
    return CMD_DONE;
}

int cmd_audit(int argc, char **argv)
{
    return cmd_on_store(argc, argv,
                        "[-c file] [-a account] [-n lines] [--json]",
                        &(struct cmd_needs){0, 0, CMD_LOOK}, show);
}
