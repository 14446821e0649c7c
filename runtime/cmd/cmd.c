#include "runtime/cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sql/base/buf.h"
#include "sql/base/decimal.h"
#include "sql/base/log.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define JSON_BYTES  ((size_t)256 << 20)

int cmd_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "aside: %s: %s\n", what, why);
    return CMD_FAILED;
}

int cmd_fail_rc(const char *what, enum rc rc)
{
    return cmd_fail(what, rc_name(rc));
}

static int misuse(const char *verb, const char *usage)
{
    (void)fprintf(stderr, "usage: aside %s %s\n", verb, usage);
    return CMD_MISUSE;
}

static bool take_limit(struct cmd *cmd, const char *text)
{
    char *end = NULL;

    cmd->limit = strtoll(text, &end, 10);
    return end != text && *end == '\0' && cmd->limit > 0 &&
           cmd->limit <= 1000000;
}

int cmd_open(struct cmd *cmd, int argc, char **argv, const char *usage)
{
    static const struct option LONG[] = {{"json", no_argument, NULL, 'j'},
                                         {NULL, 0, NULL, 0}};
    const char *file = NULL;
    char err[512];
    int option;

    *cmd = (struct cmd){.account = NULL};
    optind = 1;
    while ((option = getopt_long(argc, argv, "c:a:n:", LONG, NULL)) != -1) {
        if (option == 'c') {
            file = optarg;
        } else if (option == 'a') {
            cmd->account = optarg;
        } else if (option == 'j') {
            cmd->json = true;
        } else if (option != 'n' || !take_limit(cmd, optarg)) {
            return misuse(argv[0], usage);
        }
    }
    cmd->words = argv + optind;
    cmd->n_words = argc - optind;
    if (conf_load(file, &cmd->conf, err, sizeof(err)) != RC_OK) {
        return cmd_fail("configuration", err);
    }
    log_open("aside", (enum log_level)cmd->conf.log_level);
    cmd->arena = arena_new(ARENA_BYTES);
    return cmd->arena == NULL ? cmd_fail_rc(argv[0], RC_NOMEM) : CMD_DONE;
}

int cmd_open_store(struct cmd *cmd)
{
    const char *path = arena_printf(cmd->arena, "%s/aside.db", cmd->conf.data);
    enum rc rc;

    /* Looking must not create what it looks for. */
    if (path == NULL || access(path, F_OK) != 0) {
        return cmd_fail(cmd->conf.data,
                        "there is no database; start Aside once, or name its "
                        "configuration with -c");
    }
    rc = store_open(cmd->conf.data, cmd->conf.busy_timeout_ms, &cmd->store);
    return rc == RC_OK ? CMD_DONE : cmd_fail_rc(path, rc);
}

void cmd_close(struct cmd *cmd)
{
    store_close(cmd->store);
    cmd->store = NULL;
    arena_free(cmd->arena);
    cmd->arena = NULL;
    conf_free(&cmd->conf);
}

enum rc cmd_account(struct cmd *cmd, int64_t *id)
{
    enum rc rc = RC_OK;

    *id = 0;
    if (cmd->account != NULL) {
        rc = store_account_find(cmd->store, cmd->account, id);
        if (rc == RC_NOT_FOUND) {
            (void)cmd_fail(cmd->account, "there is no such account");
        }
    }
    return rc;
}

const char *cmd_time(int64_t unix_ms, char out[CMD_TIME_BYTES])
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(out, CMD_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        (void)snprintf(out, CMD_TIME_BYTES, "-");
    }
    return out;
}

int cmd_print_json(cmd_json_fn *fn, void *arg)
{
    struct json_out json;
    struct buf text;
    enum rc rc;
    enum rc built;

    buf_init(&text, JSON_BYTES);
    json_begin(&json, &text);
    json_open_object(&json);
    rc = fn(&json, arg);
    json_close_object(&json);
    built = json_end(&json);
    rc = rc == RC_OK ? built : rc;
    if (rc == RC_OK && (puts(buf_str(&text)) == EOF || fflush(stdout) != 0)) {
        rc = RC_IO;
    }
    buf_free(&text);
    return rc == RC_OK ? CMD_DONE : cmd_fail_rc("printing", rc);
}
