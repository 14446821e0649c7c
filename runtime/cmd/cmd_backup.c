#include "runtime/cmd/cmd_backup.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "sql/base/clock.h"
#include "sql/store_backup.h"

#define USAGE "[-c file] [--force] [--json] <file>"

static enum rc put(struct json_out *json, void *arg)
{
    const struct store_backup *b = arg;

    cmd_kstr(json, "file", b->file);
    json_ki64(json, "bytes", b->bytes);
    json_ki64(json, "library_files", b->files);
    json_ki64(json, "active_runs", b->active_runs);
    json_ki64(json, "as_of", b->view.as_of);
    json_kstr(json, "feed", b->view.feed);
    return RC_OK;
}

static int make(struct cmd *cmd)
{
    struct store_backup b = {
        .dir = cmd->conf.data,
        .file = cmd->words[0],
        .replace = cmd->force,
        .actor = {.kind = ACTOR_COMMAND, .id = (int64_t)getuid()},
        .busy_ms = cmd->conf.busy_timeout_ms,
        .now_ms = clock_unix_ms(),
        .arena = cmd->arena};
    enum rc rc = store_backup_make(cmd->store, &b);

    if (rc == RC_CONFLICT) {
        return cmd_fail("no backup was made", "there is a file of that name; "
                                              "--force replaces it");
    }
    if (rc != RC_OK) {
        return cmd_fail("no backup was made", b.why);
    }
    if (cmd->json) {
        return cmd_print_json(put, &b);
    }
    (void)printf("%s: %" PRId64 " bytes, up to change %" PRId64 ", %" PRId64
                 " library files; looked through, nothing wrong\n",
                 cmd_shown(cmd->arena, b.file), b.bytes, b.view.as_of, b.files);
    return CMD_DONE;
}

int cmd_backup(int argc, char **argv)
{
    return cmd_on_store(argc, argv, USAGE, &(struct cmd_needs){1, 1, CMD_LOOK},
                        make);
}
