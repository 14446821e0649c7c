#include "runtime/cmd/cmd_account.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/cmd_account_delete.h"
#include "sql/base/utf8.h"
#include "sql/store_access.h"

#define USAGE         "add|delete|list [-c file] [--force] [--json] [name]"
#define LIMIT_DEFAULT 100000
#define MAX_NAME      255

struct accounts {
    struct account *list;
    size_t n;
};

static void put_account(struct json_out *json, const struct account *a)
{
    json_open_object(json);
    json_kstr(json, "name", a->name);
    json_ki64(json, "created_at", a->created_ms);
    json_close_object(json);
}

/* --- list ------------------------------------------------------------------ */

static enum rc put_list(struct json_out *json, void *arg)
{
    const struct accounts *accounts = arg;

    json_key(json, "accounts");
    json_open_array(json);
    for (size_t i = 0; i < accounts->n; i++) {
        put_account(json, &accounts->list[i]);
    }
    json_close_array(json);
    return RC_OK;
}

static int list(struct cmd *cmd)
{
    struct accounts accounts = {.list = NULL};
    char at[CMD_TIME_BYTES];
    int status = cmd_open_store(cmd, CMD_LOOK);
    enum rc rc;

    if (status != CMD_DONE) {
        return status;
    }
    rc = store_account_list(cmd->store,
                            cmd->limit == 0 ? LIMIT_DEFAULT : cmd->limit,
                            cmd->arena, &accounts.list, &accounts.n);
    if (rc != RC_OK) {
        return cmd_fail_rc("the accounts cannot be read", rc);
    }
    if (cmd->json) {
        return cmd_print_json(put_list, &accounts);
    }
    for (size_t i = 0; i < accounts.n; i++) {
        (void)printf("%s\t%s\n", cmd_time(accounts.list[i].created_ms, at),
                     cmd_shown(cmd->arena, accounts.list[i].name));
    }
    return CMD_DONE;
}

/* --- add ------------------------------------------------------------------- */

struct addition {
    struct store_call call;
    struct account out;
};

static enum rc create(struct store *st, void *arg)
{
    struct addition *a = arg;

    return store_account_create(st, &a->call, &a->out);
}

static enum rc put_one(struct json_out *json, void *arg)
{
    const struct addition *a = arg;

    json_key(json, "account");
    put_account(json, &a->out);
    return RC_OK;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) {
            return false;
        }
    }
    return len > 0 && len <= MAX_NAME && utf8_valid(name, len);
}

static int add(struct cmd *cmd, const char *name)
{
    struct addition a = {.call = cmd_call(cmd, name)};
    const char *shown;
    int status;
    enum rc rc;

    if (!is_name(name)) {
        return cmd_fail("account add",
                        "a name has 1 to 255 bytes, and is one line of UTF-8");
    }
    status = cmd_make_store(cmd);
    if (status != CMD_DONE) {
        return status;
    }
    rc = store_tx(cmd->store, create, &a);
    if (rc != RC_OK) {
        return rc == RC_CONFLICT
                   ? cmd_fail(name, "there is an account of that name")
                   : cmd_fail_rc(name, rc);
    }
    if (cmd->json) {
        return cmd_print_json(put_one, &a);
    }
    shown = cmd_shown(cmd->arena, name);
    (void)printf("The account %s is there. It needs a token to log in:\n"
                 "    aside token add -a %s -s admin laptop\n",
                 shown, shown);
    return CMD_DONE;
}

int cmd_account_verb(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);
    const char *deed = cmd.n_words > 0 ? cmd.words[0] : "";

    if (status == CMD_DONE) {
        if (strcmp(deed, "list") == 0 && cmd.n_words == 1) {
            status = list(&cmd);
        } else if (strcmp(deed, "add") == 0 && cmd.n_words == 2) {
            status = add(&cmd, cmd.words[1]);
        } else if (strcmp(deed, "delete") == 0 && cmd.n_words == 2) {
            status = cmd_account_delete(&cmd, cmd.words[1]);
        } else {
            status = cmd_misuse(argv[0], USAGE);
        }
    }
    cmd_close(&cmd);
    return status;
}
