#include "runtime/cmd/cmd_runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/cmd_approval.h"
#include "sql/base/clock.h"
#include "sql/base/id.h"
#include "sql/store_run.h"

#define LIMIT_DEFAULT 20

struct list {
    struct run *runs;
    size_t n;
};

static const char *state_word(const struct run *r)
{
    return states_text(LIST_RUN_STATE, (int)r->state);
}

/* What it does, or why it ended. */
static const char *why_word(const struct run *r)
{
    const char *why = r->state == RUN_RUNNING
                          ? states_text(LIST_RUN_PHASE, (int)r->phase)
                          : states_text(LIST_RUN_REASON, (int)r->reason);

    return why == NULL ? "-" : why;
}

static void put_run(struct json_out *json, const struct run *r)
{
    char id[ID_TEXT_BYTES];

    json_open_object(json);
    json_kstr(json, "id", id_text(ID_RUN, r->id, id));
    json_kstr(json, "conversation_id",
              id_text(ID_CONVERSATION, r->conversation_id, id));
    json_kstr(json, "kind", states_text(LIST_RUN_KIND, (int)r->kind));
    json_kstr(json, "state", state_word(r));
    json_kstr(json, "phase",
              r->state == RUN_RUNNING
                  ? states_text(LIST_RUN_PHASE, (int)r->phase)
                  : NULL);
    json_kstr(json, "reason", states_text(LIST_RUN_REASON, (int)r->reason));
    json_kstr(json, "title", r->title);
    cmd_approval_put_waits(json, r);
    json_ki64(json, "created_at", r->created_ms);
    json_ki64_or_null(json, "ended_at", r->ended_ms);
    json_ki64(json, "requests_used", r->requests.used);
    json_ki64(json, "tokens_used", r->tokens.used);
    json_close_object(json);
}

static enum rc put(struct json_out *json, void *arg)
{
    const struct list *list = arg;

    json_key(json, "runs");
    json_open_array(json);
    for (size_t i = 0; i < list->n; i++) {
        put_run(json, &list->runs[i]);
    }
    json_close_array(json);
    return RC_OK;
}

/* A second line tells what it waits for: it may be long. */
static void print_run(struct arena *arena, const struct run *r, int64_t now_ms)
{
    const char *waits = cmd_approval_waits(arena, r);
    char id[ID_TEXT_BYTES];
    char at[CMD_TIME_BYTES];
    int64_t end = r->ended_ms != 0 ? r->ended_ms : now_ms;

    (void)printf("%s\t%s\t%s\t%s\t%s\t%" PRId64 " s\t%s\n",
                 id_text(ID_RUN, r->id, id), cmd_time(r->created_ms, at),
                 states_text(LIST_RUN_KIND, (int)r->kind), state_word(r),
                 why_word(r), (end - r->created_ms) / 1000,
                 cmd_shown(arena, r->title));
    if (waits != NULL) {
        (void)printf("    %s\n", waits);
    }
}

/* One word: a state, or "active". */
static bool take_state(const struct cmd *cmd, struct run_filter *f)
{
    if (cmd->n_words == 0) {
        return true;
    }
    f->active_only = strcmp(cmd->words[0], "active") == 0;
    return f->active_only ||
           states_value(LIST_RUN_STATE, cmd->words[0], &f->state) == RC_OK;
}

static int show(struct cmd *cmd)
{
    struct run_filter f = {.state = -1, .kind = -1};
    struct list list = {.runs = NULL};
    enum rc rc;

    f.limit = cmd->limit == 0 ? LIMIT_DEFAULT : cmd->limit;
    if (!take_state(cmd, &f)) {
        return cmd_fail(cmd->words[0],
                        "expected active, running, awaiting_input, completed, "
                        "incomplete, failed or stopped");
    }
    rc = cmd_account_or_only(cmd, &f.account_id);
    if (rc == RC_NOT_FOUND) {
        return CMD_FAILED;
    }
    if (rc == RC_OK) {
        rc = store_run_list(cmd->store, &f, cmd->arena, &list.runs, &list.n);
    }
    if (rc != RC_OK) {
        return cmd_fail_rc("the Runs cannot be read", rc);
    }
    if (cmd->json) {
        return cmd_print_json(put, &list);
    }
    for (size_t i = 0; i < list.n; i++) {
        print_run(cmd->arena, &list.runs[i], clock_unix_ms());
    }
    return CMD_DONE;
}

int cmd_runs(int argc, char **argv)
{
    return cmd_on_store(argc, argv,
                        "[-c file] [-a account] [-n number] [--json] "
                        "[active|<state>]",
                        &(struct cmd_needs){0, 1, CMD_LOOK}, show);
}
