#include "runtime/cmd/cmd_approval.h"

#include <stdio.h>
#include <string.h>

#include "sql/base/id.h"
#include "sql/base/utf8.h"

#define USAGE_APPROVE "[-c file] [-a account] [--run] [--json] <approval>"
#define USAGE_DENY    "[-c file] [-a account] [--json] <approval> [note]"

/* --- what waits -------------------------------------------------------------- */

const char *cmd_approval_waits(struct arena *arena, const struct run *r)
{
    const struct approval *a = r->approval;
    char id[ID_TEXT_BYTES];

    if (r->state != RUN_AWAITING_INPUT) {
        return NULL;
    }
    if (a != NULL) {
        return arena_printf(
            arena, "waits for %s%s: %s %s", id_text(ID_APPROVAL, a->id, id),
            a->changed ? " (its server has changed the tool since it was "
                         "allowed)"
                       : "",
            cmd_exact(arena, a->tool), cmd_exact(arena, a->arguments));
    }
    return r->question == NULL
               ? NULL
               : arena_printf(arena, "asks: %s", cmd_shown(arena, r->question));
}

static void put_approval(struct json_out *json, const struct approval *a)
{
    char id[ID_TEXT_BYTES];

    json_open_object(json);
    json_kstr(json, "id", id_text(ID_APPROVAL, a->id, id));
    json_kstr(json, "run_id", id_text(ID_RUN, a->run_id, id));
    json_kstr(json, "tool_call_id", id_text(ID_TOOL_CALL, a->tool_call_id, id));
    json_kstr(json, "tool", a->tool);
    json_kstr(json, "arguments", a->arguments);
    json_kstr(json, "reason",
              states_text(LIST_APPROVAL_REASON, (int)a->reason));
    json_kbool(json, "changed", a->changed);
    json_kstr(json, "state", states_text(LIST_APPROVAL_STATE, (int)a->state));
    json_kstr(json, "note", a->note);
    json_ki64(json, "created_at", a->created_ms);
    json_ki64_or_null(json, "decided_at", a->decided_ms);
    json_close_object(json);
}

void cmd_approval_put_waits(struct json_out *json, const struct run *r)
{
    json_kstr(json, "question", r->question);
    json_key(json, "approval");
    if (r->approval != NULL) {
        put_approval(json, r->approval);
    } else {
        json_put_null(json);
    }
}

/* --- deciding ---------------------------------------------------------------- */

struct work {
    struct cmd *cmd;
    struct store_call call;
    int64_t id;
    struct approval_decision decision;
    struct approval approval;
    struct run run;
};

static enum rc decide(struct store *st, void *arg)
{
    struct work *w = arg;

    return store_approval_decide(st, &w->call, w->id, &w->decision,
                                 &w->approval, &w->run);
}

static enum rc put(struct json_out *json, void *arg)
{
    const struct work *w = arg;

    json_key(json, "approval");
    put_approval(json, &w->approval);
    json_kstr(json, "run_state",
              states_text(LIST_RUN_STATE, (int)w->run.state));
    json_kbool(json, "replayed", w->call.replayed);
    return RC_OK;
}

static int tell(struct work *w)
{
    char id[ID_TEXT_BYTES];
    char run[ID_TEXT_BYTES];

    if (w->cmd->json) {
        return cmd_print_json(put, w);
    }
    (void)printf("%s\t%s\t%s\t%s\n", id_text(ID_APPROVAL, w->id, id),
                 states_text(LIST_APPROVAL_STATE, (int)w->approval.state),
                 id_text(ID_RUN, w->run.id, run),
                 states_text(LIST_RUN_STATE, (int)w->run.state));
    return CMD_DONE;
}

static int refuse(const struct work *w, enum rc rc)
{
    const char *what = w->cmd->words[0];

    if (rc == RC_NOT_FOUND) {
        return cmd_fail(what, "no such approval of this account");
    }
    if (rc == RC_CONFLICT) {
        return cmd_fail(what, "it was decided otherwise, or its Run has ended");
    }
    return cmd_fail_rc(what, rc);
}

/* By the same function as a click in the page. */
static int carry_out(struct cmd *cmd, const struct approval_decision *decision)
{
    struct work w = {.cmd = cmd, .decision = *decision};
    int64_t account = 0;
    enum rc rc;

    if (id_parse(ID_APPROVAL, cmd->words[0], &w.id) != RC_OK) {
        return cmd_fail(cmd->words[0],
                        "an approval's id is like appr_7; see aside runs");
    }
    if (cmd_account_or_only(cmd, &account) != RC_OK) {
        return CMD_FAILED;
    }
    w.call = cmd_call(cmd, cmd->account);
    rc = store_tx(cmd->store, decide, &w);
    if (rc != RC_OK) {
        return refuse(&w, rc);
    }
    cmd_ring(cmd);
    return tell(&w);
}

static int approve(struct cmd *cmd)
{
    return carry_out(cmd,
                     &(struct approval_decision){
                         .state = cmd->for_run ? APPROVAL_RUN : APPROVAL_ONCE});
}

static int deny(struct cmd *cmd)
{
    const char *note = cmd->n_words > 1 ? cmd->words[1] : NULL;

    if (note != NULL &&
        (utf8_is_blank(note) || strlen(note) > APPROVAL_NOTE_BYTES ||
         !utf8_valid(note, strlen(note)))) {
        return cmd_fail("deny", "a note has 1 to 4000 bytes of UTF-8");
    }
    return carry_out(cmd, &(struct approval_decision){.state = APPROVAL_DENIED,
                                                      .note = note});
}

int cmd_approve(int argc, char **argv)
{
    return cmd_on_store(argc, argv, USAGE_APPROVE,
                        &(struct cmd_needs){1, 1, CMD_CHANGE}, approve);
}

int cmd_deny(int argc, char **argv)
{
    return cmd_on_store(argc, argv, USAGE_DENY,
                        &(struct cmd_needs){1, 2, CMD_CHANGE}, deny);
}
