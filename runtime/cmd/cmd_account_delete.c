#include "runtime/cmd/cmd_account_delete.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd.h"
#include "runtime/document/library_index.h"
#include "sql/base/folder.h"
#include "sql/store_backup.h"
#include "sql/store_forget.h"

/* Writing the databases anew may have to wait for a run of the indexer. */
#define WAIT_MS 60000

static enum rc forget(struct store *st, void *arg)
{
    return store_account_delete(st, arg);
}

/* The index follows the files; what is shared is none of the account's. */
static enum rc index_now(const struct cmd *cmd)
{
    struct library_index_counts counts;

    return library_index_run(
        &(struct library_index_options){.dir = cmd->conf.data,
                                        .busy_ms = cmd->conf.busy_timeout_ms,
                                        .wait_ms = WAIT_MS},
        &counts);
}

static enum rc leave_nothing(const struct cmd *cmd, const char *name)
{
    enum rc rc = store_account_delete_files(cmd->conf.data, name);

    store_backup_drop_left(cmd->conf.data);
    if (rc == RC_OK) {
        rc = index_now(cmd);
    }
    return rc == RC_OK
               ? store_forget_compact(cmd->store, cmd->conf.data, WAIT_MS)
               : rc;
}

static enum rc put(struct json_out *json, void *arg)
{
    cmd_kstr(json, "deleted", arg);
    return RC_OK;
}

/* Old copies are beyond its reach. */
static void tell_of_copies(const struct cmd *cmd)
{
    DIR *dir = opendir(cmd->conf.data);
    const char *name;
    int error = 0;

    if (dir == NULL) {
        return;
    }
    while ((name = folder_next(dir, &error)) != NULL) {
        if (strncmp(name, "before-", 7) == 0) {
            (void)fprintf(stderr,
                          "aside: %s/%s: a restore has kept this; what was "
                          "said is still in it\n",
                          cmd->conf.data, name);
        }
    }
    (void)closedir(dir);
}

int cmd_account_delete(struct cmd *cmd, const char *name)
{
    struct store_call call;
    int status = cmd_open_store(cmd, CMD_CHANGE);
    enum rc rc;

    if (status != CMD_DONE) {
        return status;
    }
    call = cmd_call(cmd, name);
    rc = store_tx(cmd->store, forget, &call);
    if (rc == RC_CONFLICT) {
        return cmd_fail(name, "a Run is active: stop it first");
    }
    /* Gone, but perhaps not from the files: a second time makes it good. */
    if (rc != RC_OK && rc != RC_NOT_FOUND) {
        return cmd_fail_rc(name, rc);
    }
    if (rc == RC_NOT_FOUND && !cmd->force) {
        return cmd_fail(name, "there is no such account; --force removes what "
                              "is left of one");
    }
    cmd_ring(cmd);
    rc = leave_nothing(cmd, name);
    if (rc != RC_OK) {
        (void)fprintf(stderr,
                      "aside: the account is gone, but words of it may still "
                      "be in the files: %s; once more with --force\n",
                      rc_name(rc));
        return CMD_FAILED;
    }
    tell_of_copies(cmd);
    if (cmd->json) {
        return cmd_print_json(put, (void *)(uintptr_t)name);
    }
    (void)printf("the account %s is gone, and nothing of it is left in %s\n",
                 cmd_shown(cmd->arena, name), cmd->conf.data);
    return CMD_DONE;
}
