/* cmd_watch.c - the feed of an account as lines, from now on.
 *
 * With a Run it tells of that Run alone, how it is now and what becomes of it,
 * and ends as the Run does: so that a script can wait for a research. It sleeps on the doorbell. */
#include "runtime/cmd/cmd_watch.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/cmd_approval.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/id.h"
#include "sql/store_change.h"
#include "sql/store_run.h"
#include "sql/store_storage.h"

#define PAGE_CHANGES 200
#define PAGE_BYTES   ((size_t)1 << 20)
/* A ring may be lost; see doorbell.h. */
#define LOOK_MS 5000

struct watch {
    struct cmd *cmd;
    struct doorbell *bell;
    int64_t account_id;
    int64_t run_id; /* 0: all */
    int64_t after;
    bool found; /* the Run is this account's */
    bool ended; /* it has */
    enum run_state state;
};

struct line {
    const struct change *change;
    const struct run *run; /* NULL: none, or gone */
};

static enum rc put(struct json_out *json, void *arg)
{
    const struct line *line = arg;
    const struct change *c = line->change;
    char id[ID_TEXT_BYTES];

    json_ki64(json, "seq", c->seq);
    json_kstr(json, "kind", states_text(LIST_CHANGE_KIND, (int)c->kind));
    json_kstr(json, "conversation_id",
              c->conversation_id == 0
                  ? NULL
                  : id_text(ID_CONVERSATION, c->conversation_id, id));
    json_kstr(json, "run_id",
              c->run_id == 0 ? NULL : id_text(ID_RUN, c->run_id, id));
    if (line->run != NULL) {
        json_kstr(json, "state",
                  states_text(LIST_RUN_STATE, (int)line->run->state));
        json_kstr(json, "progress", line->run->progress);
        cmd_approval_put_waits(json, line->run);
    }
    return RC_OK;
}

static int print(const struct watch *w, struct line *line)
{
    const struct change *c = line->change;
    char run[ID_TEXT_BYTES] = "-";
    char at[CMD_TIME_BYTES];
    const char *last = "";

    if (w->cmd->json) {
        return cmd_print_json(put, line);
    }
    if (line->run != NULL) {
        last = cmd_approval_waits(w->cmd->arena, line->run);
        last =
            last != NULL ? last : cmd_shown(w->cmd->arena, line->run->progress);
    }
    if (c->run_id != 0) {
        (void)id_text(ID_RUN, c->run_id, run);
    }
    (void)printf("%s\t%s\t%s\t%s\t%s\n", cmd_time(clock_unix_ms(), at),
                 states_text(LIST_CHANGE_KIND, (int)c->kind), run,
                 line->run == NULL
                     ? "-"
                     : states_text(LIST_RUN_STATE, (int)line->run->state),
                 last);
    return fflush(stdout) == 0 ? CMD_DONE : CMD_FAILED;
}

/* Answers are long and read elsewhere: their parts are not told. */
static int tell(struct watch *w, const struct change *c)
{
    struct run run = {.id = 0};
    struct line line = {.change = c};
    enum rc rc = RC_OK;

    if (c->kind == CHANGE_ANSWER_PART ||
        (w->run_id != 0 && c->run_id != w->run_id)) {
        return CMD_DONE;
    }
    if (c->kind == CHANGE_RUN_CREATED || c->kind == CHANGE_RUN_UPDATED) {
        rc = store_run_get(w->cmd->store, w->account_id, c->run_id, false,
                           w->cmd->arena, &run);
        line.run = rc == RC_OK ? &run : NULL;
    }
    if (line.run != NULL && w->run_id != 0) {
        w->found = true;
        w->ended = states_run_ended(run.state);
        w->state = run.state;
    }
    if (rc == RC_NOT_FOUND && w->run_id != 0) {
        return CMD_DONE; /* deleted, or never there */
    }
    return rc == RC_OK || rc == RC_NOT_FOUND ? print(w, &line)
                                             : cmd_fail_rc("reading", rc);
}

/* How the Run is, whatever the feed has told. */
static int tell_now(struct watch *w, int64_t as_of)
{
    return tell(w, &(struct change){.seq = as_of,
                                    .kind = CHANGE_RUN_UPDATED,
                                    .run_id = w->run_id});
}

/* The only account is there from its first write on. */
static enum rc find_account(struct watch *w)
{
    enum rc rc = RC_OK;

    if (w->account_id == CMD_NO_ACCOUNT) {
        rc = store_account_find(w->cmd->store, w->cmd->account, &w->account_id);
    }
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static int tell_page(struct watch *w, bool *more)
{
    struct change_page page = {.changes = NULL};
    struct store_view view;
    int status = CMD_DONE;
    enum rc rc = store_read_begin(w->cmd->store, &view);

    if (rc == RC_OK) {
        rc = find_account(w);
        if (rc == RC_OK) {
            rc = store_change_page(w->cmd->store, w->account_id, w->after,
                                   view.as_of, PAGE_CHANGES, PAGE_BYTES,
                                   w->cmd->arena, &page);
        }
        for (size_t i = 0; rc == RC_OK && status == CMD_DONE && i < page.n;
             i++) {
            status = tell(w, &page.changes[i]);
        }
        if (rc == RC_OK && status == CMD_DONE && page.reset && w->run_id != 0) {
            status = tell_now(w, view.as_of);
        }
        store_read_end(w->cmd->store);
    }
    w->after = page.reset ? view.as_of : page.next;
    *more = page.more;
    arena_reset(w->cmd->arena);
    return rc == RC_OK ? status : cmd_fail_rc("the feed cannot be read", rc);
}

/* What the feed need not tell: the Run was deleted with its conversation, or the
 * database is no longer the one that was opened. */
static int still_there(struct watch *w)
{
    struct run run;
    enum rc rc;

    if (store_storage_look(w->cmd->store) == STORAGE_REPLACED) {
        return cmd_fail(w->cmd->conf.data,
                        "the database was replaced or removed; watch anew");
    }
    if (w->run_id == 0 || w->ended) {
        return CMD_DONE;
    }
    rc = store_run_get(w->cmd->store, w->account_id, w->run_id, false,
                       w->cmd->arena, &run);
    if (rc == RC_NOT_FOUND) {
        return cmd_fail(w->cmd->words[0], "the Run was deleted");
    }
    return rc == RC_OK ? CMD_DONE : cmd_fail_rc("reading", rc);
}

/* Until something may have changed. CMD_FAILED: nobody reads any more. */
static int sleep_or_leave(const struct watch *w)
{
    struct pollfd fd[] = {{.fd = doorbell_fd(w->bell), .events = POLLIN},
                          {.fd = STDOUT_FILENO}};

    (void)poll(fd, 2, LOOK_MS);
    (void)doorbell_drain(w->bell);
    return (fd[1].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0 ? CMD_DONE
                                                                 : CMD_FAILED;
}

static int follow(struct watch *w)
{
    int status = CMD_DONE;

    while (status == CMD_DONE && !w->ended) {
        bool more = true;

        while (status == CMD_DONE && more && !w->ended) {
            status = tell_page(w, &more);
        }
        if (status == CMD_DONE) {
            status = still_there(w);
        }
        if (status == CMD_DONE && !w->ended) {
            status = sleep_or_leave(w);
        }
    }
    return status == CMD_DONE && w->state != RUN_COMPLETED ? CMD_FAILED
                                                           : status;
}

/* Where to begin: with how the Run is now, or with what comes. */
static enum rc begin(struct watch *w)
{
    struct cmd *cmd = w->cmd;
    struct store_view view;
    enum rc rc;

    if (cmd->n_words > 0 &&
        id_parse(ID_RUN, cmd->words[0], &w->run_id) != RC_OK) {
        return RC_NOT_FOUND;
    }
    rc = store_read_begin(cmd->store, &view);
    if (rc != RC_OK) {
        return rc;
    }
    w->after = view.as_of;
    if (w->run_id != 0) {
        rc = tell_now(w, view.as_of) == CMD_DONE ? RC_OK : RC_IO;
        rc = rc == RC_OK && !w->found ? RC_NOT_FOUND : rc;
    }
    store_read_end(cmd->store);
    return rc;
}

static int watch(struct cmd *cmd)
{
    struct watch w = {.cmd = cmd};
    int status;
    enum rc rc = cmd_account_or_only(cmd, &w.account_id);

    if (rc == RC_NOT_FOUND) {
        return CMD_FAILED;
    }
    /* The bell first: what comes after it was hung up rings it. */
    if (rc == RC_OK) {
        rc = doorbell_open(cmd->conf.data, &w.bell);
    }
    if (rc == RC_OK) {
        rc = begin(&w);
    }
    if (rc == RC_OK) {
        status = follow(&w);
    } else if (rc == RC_NOT_FOUND) {
        status = cmd_fail(cmd->words[0], "no such Run of this account");
    } else {
        status = cmd_fail_rc("the feed cannot be read", rc);
    }
    doorbell_close(w.bell);
    return status;
}

int cmd_watch(int argc, char **argv)
{
    return cmd_on_store(argc, argv, "[-c file] [-a account] [--json] [<run>]",
                        &(struct cmd_needs){0, 1, CMD_LOOK}, watch);
}
