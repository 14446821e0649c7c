#include "runtime/cmd/cmd_restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "sql/base/clock.h"
#include "sql/store_backup.h"

#define USAGE "[-c file] [--json] <file>"

static enum rc put(struct json_out *json, void *arg)
{
    const struct store_backup *b = arg;

    cmd_kstr(json, "restored", b->file);
    cmd_kstr(json, "kept", b->kept);
    json_ki64(json, "library_files", b->files);
    json_ki64(json, "active_runs", b->active_runs);
    if (b->tokens_kept_out < 0) {
        json_kstr(json, "tokens_kept_out", NULL);
    } else {
        json_ki64(json, "tokens_kept_out", b->tokens_kept_out);
    }
    cmd_kstr(json, "accounts_back", b->back);
    json_ki64(json, "as_of", b->view.as_of);
    json_kstr(json, "feed", b->view.feed);
    return RC_OK;
}

static void tell_of_access(struct cmd *cmd, const struct store_backup *b)
{
    if (b->tokens_kept_out < 0) {
        (void)printf("all are logged out; what was there does not tell which "
                     "tokens were revoked since the backup, and they are good "
                     "again: see aside token list\n");
    } else {
        (void)printf("all are logged out; tokens revoked since the backup stay "
                     "so: %" PRId64 "\n",
                     b->tokens_kept_out);
    }
    if (b->back != NULL) {
        (void)printf("deleted since the backup, and there again: %s (aside "
                     "account delete)\n",
                     cmd_shown(cmd->arena, b->back));
    }
}

static int restore(struct cmd *cmd)
{
    struct store_backup b = {
        .dir = cmd->conf.data,
        .file = cmd->words[0],
        .actor = {.kind = ACTOR_COMMAND, .id = (int64_t)getuid()},
        .busy_ms = cmd->conf.busy_timeout_ms,
        .now_ms = clock_unix_ms(),
        .arena = cmd->arena};
    enum rc rc = store_backup_restore(&b);

    if (rc != RC_OK && b.kept != NULL) {
        (void)cmd_fail(b.kept,
                       "what was there is here; Aside does not start until "
                       "a restore is through: restore once more");
    }
    if (rc != RC_OK) {
        return cmd_fail("not restored", b.why);
    }
    if (cmd->json) {
        return cmd_print_json(put, &b);
    }
    (void)printf("restored from %s, up to change %" PRId64 ", %" PRId64
                 " library files, %" PRId64 " Runs to go on with\n"
                 "what was there is kept in %s\n",
                 cmd_shown(cmd->arena, b.file), b.view.as_of, b.files,
                 b.active_runs, b.kept);
    tell_of_access(cmd, &b);
    return CMD_DONE;
}

int cmd_restore(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);

    if (status == CMD_DONE && cmd.n_words != 1) {
        status = cmd_misuse(argv[0], USAGE);
    }
    if (status == CMD_DONE) {
        status = restore(&cmd);
    }
    cmd_close(&cmd);
    return status;
}
