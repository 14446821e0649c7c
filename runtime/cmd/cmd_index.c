#include "runtime/cmd/cmd_index.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/cmd/cmd.h"
#include "runtime/document/library_index.h"
#include "sql/store_audit.h"

#define NUMBER_BYTES 32
#define USAGE        "[-c file] [-w] [--json]"
/* With -w: for another run, which may have many files to read. */
#define WAIT_MS 600000

/* 12345 as "12,345". n >= 0. */
static const char *grouped(int64_t n, char out[NUMBER_BYTES])
{
    char digits[NUMBER_BYTES];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, n);
    size_t to = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            out[to++] = ',';
        }
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

static void print_counts(const struct library_index_counts *c)
{
    char documents[NUMBER_BYTES];
    char passages[NUMBER_BYTES];

    (void)printf("indexed %s documents (%" PRId64 " new, %" PRId64
                 " changed, %" PRId64 " removed",
                 grouped(c->documents, documents), c->added, c->changed,
                 c->removed);
    if (c->failed > 0) {
        (void)printf(", %" PRId64 " unreadable", c->failed);
    }
    (void)printf("), %s passages in %.1f s\n", grouped(c->passages, passages),
                 (double)c->ms / 1000);
}

static enum rc put_counts(struct json_out *json, void *arg)
{
    const struct library_index_counts *c = arg;

    json_kbool(json, "ok", c->folders_failed == 0);
    json_ki64(json, "documents", c->documents);
    json_ki64(json, "added", c->added);
    json_ki64(json, "changed", c->changed);
    json_ki64(json, "removed", c->removed);
    json_ki64(json, "unreadable", c->failed);
    json_ki64(json, "folders_failed", c->folders_failed);
    json_ki64(json, "passages", c->passages);
    json_ki64(json, "ms", c->ms);
    return RC_OK;
}

static enum rc put_at_work(struct json_out *json, void *arg)
{
    (void)arg;
    json_kbool(json, "ok", true);
    json_kbool(json, "at_work", true);
    return RC_OK;
}

static int tell_at_work(const struct cmd *cmd)
{
    if (cmd->json) {
        return cmd_print_json(put_at_work, NULL);
    }
    (void)puts("another run is at work");
    return CMD_DONE;
}

/* By hand and without a configuration it may be another one than the runtime's,
 * to which no folder is shared: that must not empty the library. */
static bool folders_are_known(const struct cmd *cmd)
{
    return cmd->wait || cmd->conf.library[0] != '\0';
}

static enum rc add_line(struct store *st, void *arg)
{
    const struct store_call call = cmd_call(arg, NULL);

    return store_audit_call(st, &call, 0, AUDIT_LIBRARY_INDEX, ID_RUN, 0);
}

/* Who did it by hand, in the audit log; where there is no database yet, there is
 * none. */
static int log_it(struct cmd *cmd)
{
    enum rc rc =
        cmd->store == NULL ? RC_OK : store_tx(cmd->store, add_line, cmd);

    return rc == RC_OK ? CMD_DONE
                       : cmd_fail_rc("the library was indexed, but that is not "
                                     "in the audit log",
                                     rc);
}

static int run(struct cmd *cmd)
{
    struct library_index_counts counts;
    bool known = folders_are_known(cmd);
    struct library_index_options options = {
        .dir = cmd->conf.data,
        .folders = known ? cmd->conf.library : NULL,
        .busy_ms = cmd->conf.busy_timeout_ms,
        .wait_ms = cmd->wait ? WAIT_MS : 0};
    enum rc rc = library_index_run(&options, &counts);
    int logged;
    int status = CMD_DONE;

    if (rc == RC_CONFLICT && !cmd->wait) {
        return tell_at_work(cmd);
    }
    if (rc != RC_OK) {
        (void)cmd_fail_rc("the library was not indexed", rc);
        /* With -w it is the runtime that asks, and wants to know why. */
        return !cmd->wait ? CMD_FAILED
                          : LIBRARY_INDEX_EXIT_FAILED +
                                (int)(rc == RC_CONFLICT ? RC_BUSY : rc);
    }
    logged = log_it(cmd);
    if (cmd->json) {
        status = cmd_print_json(put_counts, &counts);
    } else {
        print_counts(&counts);
    }
    if (!known) {
        (void)fprintf(stderr, "aside: the key library is empty here: shared "
                              "documents were left as they are\n");
    }
    return status == CMD_DONE && counts.folders_failed > 0 ? CMD_FAILED
           : status == CMD_DONE                            ? logged
                                                           : status;
}

/* Nothing is brought up to date below the programs of an older Aside. The runtime,
 * which says -w, does that and logs nothing: it was asked by an action that is
 * logged, or by nobody. */
static int refuse_older(struct cmd *cmd)
{
    enum rc rc = cmd_try_store(cmd, CMD_CHANGE);

    return rc == RC_OK || rc == RC_NOT_FOUND
               ? CMD_DONE
               : cmd_fail(cmd->conf.data, cmd_why_no_store(rc));
}

int cmd_index(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);

    if (status == CMD_DONE && cmd.n_words > 0) {
        status = cmd_misuse(argv[0], USAGE);
    }
    if (status == CMD_DONE && !cmd.wait) {
        status = refuse_older(&cmd);
    }
    if (status == CMD_DONE) {
        status = run(&cmd);
    }
    cmd_close(&cmd);
    return status;
}
