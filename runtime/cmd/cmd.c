#include "runtime/cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define JSON_BYTES  ((size_t)256 << 20)

#define LINES_MAX        1000000
#define DAYS_MAX         1000000
#define WAIT_MAX_SECONDS 55 /* that the responder holds a poll */
#define SAID_BYTES       4096

static const char BUSY[] =
    "the database is locked by another program; try again";

/* A line stays one, with its columns. */
static void keep_in_line(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\t' || *text == '\n' || *text == '\r') {
            *text = ' ';
        }
    }
}

int cmd_fail(const char *what, const char *why)
{
    char line[SAID_BYTES];
    char shown[6 * SAID_BYTES + 1];

    (void)snprintf(line, sizeof(line), "aside: %s: %s", what, why);
    keep_in_line(line);
    (void)utf8_show(line, utf8_complete_len(line, strlen(line)), shown);
    (void)fprintf(stderr, "%s\n", shown);
    return CMD_FAILED;
}

const char *cmd_exact(struct arena *arena, const char *text)
{
    size_t len = strlen(text);
    char *shown = arena_alloc(arena, 6 * len + 1);

    if (shown == NULL) {
        return "?";
    }
    (void)utf8_show(text, len, shown);
    return shown;
}

const char *cmd_shown(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);

    if (copy == NULL) {
        return "?";
    }
    keep_in_line(copy);
    return cmd_exact(arena, copy);
}

void cmd_kstr(struct json_out *json, const char *name, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    char *repaired = NULL;

    if (text == NULL || utf8_valid(text, len)) {
        json_kstr(json, name, text);
        return;
    }
    repaired = malloc(3 * len + 1);
    if (repaired != NULL) {
        (void)utf8_repair(text, len, repaired);
    }
    json_kstr(json, name, repaired);
    free(repaired);
}

int cmd_fail_rc(const char *what, enum rc rc)
{
    return cmd_fail(what, rc == RC_BUSY ? BUSY : rc_name(rc));
}

int cmd_misuse(const char *verb, const char *usage)
{
    (void)fprintf(stderr, "usage: aside %s %s\n", verb, usage);
    return CMD_MISUSE;
}

static bool take_number(const char *text, int64_t most, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out > 0 &&
           *out <= most;
}

/* An address is given as a browser shows it; paths follow. */
static void drop_slashes(char *url)
{
    size_t len = strlen(url);

    while (len > 0 && url[len - 1] == '/') {
        url[--len] = '\0';
    }
}

static bool take_option(struct cmd *cmd, int option, const char **file)
{
    switch (option) {
    case 'c':
        *file = optarg;
        return true;
    case 'a':
        cmd->account = optarg;
        return true;
    case 'u':
        cmd->url = optarg;
        drop_slashes(optarg);
        return true;
    case 's': /* whichever the verb takes */
        cmd->socket = optarg;
        cmd->scope = optarg;
        return true;
    case 'f':
        cmd->force = true;
        return true;
    case 'r':
        cmd->for_run = true;
        return true;
    case 'j':
        cmd->json = true;
        return true;
    case 'n':
        return take_number(optarg, LINES_MAX, &cmd->limit);
    case 'd':
        return take_number(optarg, DAYS_MAX, &cmd->days);
    case 'w': /* with a number or without, as the verb takes it */
        cmd->wait = true;
        return optarg == NULL ||
               take_number(optarg, WAIT_MAX_SECONDS, &cmd->wait_seconds);
    default:
        return false;
    }
}

/* getopt's letters of the verb: those that its usage names, as "[-c file]" or
 * "[-w]". */
static void letters_of(const char *usage, char out[32])
{
    size_t n = 0;

    for (const char *p = strchr(usage, '['); p != NULL && n + 2 < 32;
         p = strchr(p + 1, '[')) {
        if (p[1] == '-' && p[2] != '-') {
            out[n++] = p[2];
            if (p[3] == ' ') {
                out[n++] = ':';
            }
        }
    }
    out[n] = '\0';
}

static const struct option LONG[] = {{"json", no_argument, NULL, 'j'},
                                     {"force", no_argument, NULL, 'f'},
                                     {"run", no_argument, NULL, 'r'},
                                     {NULL, 0, NULL, 0}};

/* Does the verb's usage name the long option of this letter, if it is one? */
static bool is_named(const char *usage, int option)
{
    char name[16];

    for (const struct option *o = LONG; o->name != NULL; o++) {
        if (o->val == option) {
            (void)snprintf(name, sizeof(name), "[--%s]", o->name);
            return strstr(usage, name) != NULL;
        }
    }
    return true;
}

int cmd_open(struct cmd *cmd, int argc, char **argv, const char *usage)
{
    const char *file = NULL;
    char letters[32];
    int option;

    *cmd = (struct cmd){.account = NULL};
    /* A limit on file sizes is a full disk, not an end. */
    (void)signal(SIGXFSZ, SIG_IGN);
    letters_of(usage, letters);
    optind = 1;
    while ((option = getopt_long(argc, argv, letters, LONG, NULL)) != -1) {
        if (!is_named(usage, option) || !take_option(cmd, option, &file)) {
            return cmd_misuse(argv[0], usage);
        }
    }
    cmd->words = argv + optind;
    cmd->n_words = argc - optind;
    if (conf_load(file, &cmd->conf, cmd->error, sizeof(cmd->error)) != RC_OK) {
        return cmd_fail("configuration", cmd->error);
    }
    log_open("aside", (enum log_level)cmd->conf.log_level);
    cmd->arena = arena_new(ARENA_BYTES);
    return cmd->arena == NULL ? cmd_fail_rc(argv[0], RC_NOMEM) : CMD_DONE;
}

enum rc cmd_try_store(struct cmd *cmd, enum cmd_use use)
{
    const char *path = arena_printf(cmd->arena, "%s/aside.db", cmd->conf.data);
    enum rc rc;

    if (path == NULL) {
        return RC_NOMEM;
    }
    /* Looking must not create what it looks for. */
    if (access(path, F_OK) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? RC_NOT_FOUND : RC_DENIED;
    }
    if (access(path, R_OK) != 0 || access(cmd->conf.data, R_OK | X_OK) != 0 ||
        ((access(path, W_OK) != 0 || access(cmd->conf.data, W_OK) != 0) &&
         !(use == CMD_LOOK && errno == EROFS))) {
        return errno == EROFS ? RC_IO : RC_DENIED;
    }
    /* Nor must it change the tables below the programs of an older Aside, which
     * may be at work: only their own successors do that. */
    rc =
        store_open_read(cmd->conf.data, cmd->conf.busy_timeout_ms, &cmd->store);
    if (rc != RC_OK || use == CMD_LOOK) {
        return rc == RC_NOT_FOUND ? RC_FENCED : rc;
    }
    store_close(cmd->store);
    cmd->store = NULL;
    return store_open(cmd->conf.data, cmd->conf.busy_timeout_ms, &cmd->store);
}

const char *cmd_why_no_store(enum rc rc)
{
    if (rc == RC_NOT_FOUND) {
        return "there is no database; start Aside once, or name its "
               "configuration with -c, or its folder in ASIDE_DATA";
    }
    if (rc == RC_DENIED) {
        return "this account may not read and write the database: run it as "
               "the one that Aside runs as";
    }
    if (rc == RC_NEWER) {
        return "the database is newer than this program: install the newer "
               "Aside again, or restore an older backup";
    }
    if (rc == RC_FENCED) {
        return "the database is of an older Aside: start the new responder or "
               "runtime first, which brings it up to date";
    }
    if (rc == RC_BUSY) {
        return BUSY;
    }
    if (rc == RC_CONFLICT) {
        return "a restore was cut short: do it again, with aside restore";
    }
    if (rc == RC_IO) {
        return "the disk takes no writes, or fails";
    }
    return rc_name(rc);
}

int cmd_open_store(struct cmd *cmd, enum cmd_use use)
{
    enum rc rc = cmd_try_store(cmd, use);

    return rc == RC_OK ? CMD_DONE
                       : cmd_fail(cmd->conf.data, cmd_why_no_store(rc));
}

bool cmd_is_fallback(const char *name, const char *value)
{
    const struct conf_key *key;

    for (size_t i = 0; (key = conf_key_at(i)) != NULL; i++) {
        if (strcmp(key->name, name) == 0) {
            return strcmp(key->fallback, value) == 0;
        }
    }
    return false;
}

int cmd_make_store(struct cmd *cmd)
{
    enum rc rc;

    if (mkdir(cmd->conf.data, 0700) != 0 && errno != EEXIST) {
        return cmd_fail(cmd->conf.data, strerror(errno));
    }
    rc = cmd_try_store(cmd, CMD_CHANGE);
    if (rc == RC_NOT_FOUND) {
        rc = store_open(cmd->conf.data, cmd->conf.busy_timeout_ms, &cmd->store);
    }
    return rc == RC_OK ? CMD_DONE
                       : cmd_fail(cmd->conf.data, cmd_why_no_store(rc));
}

void cmd_ring(const struct cmd *cmd)
{
    struct doorbell *bell = NULL;

    if (doorbell_open(cmd->conf.data, &bell) == RC_OK) {
        doorbell_ring(bell);
    }
    doorbell_close(bell);
}

struct store_call cmd_call(const struct cmd *cmd, const char *account)
{
    return (struct store_call){
        .account = account,
        .actor = {.kind = ACTOR_COMMAND, .id = (int64_t)getuid()},
        .now_ms = clock_unix_ms(),
        .conf = &cmd->conf,
        .arena = cmd->arena};
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

enum rc cmd_account_or_only(struct cmd *cmd, int64_t *id)
{
    enum rc rc;

    if (cmd->account != NULL) {
        return cmd_account(cmd, id);
    }
    if (cmd->conf.auth != CONF_AUTH_NONE) {
        (void)cmd_fail("there are several accounts", "say which with -a");
        return RC_NOT_FOUND;
    }
    /* It is there from its first write on, and reads as empty until then. */
    cmd->account = "me";
    *id = CMD_NO_ACCOUNT;
    rc = store_account_find(cmd->store, cmd->account, id);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

int cmd_on_store(int argc, char **argv, const char *usage,
                 const struct cmd_needs *needs, cmd_fn *fn)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, usage);

    if (status == CMD_DONE &&
        (cmd.n_words < needs->least || cmd.n_words > needs->most)) {
        status = cmd_misuse(argv[0], usage);
    }
    if (status == CMD_DONE) {
        status = cmd_open_store(&cmd, needs->use);
    }
    if (status == CMD_DONE) {
        status = fn(&cmd);
    }
    cmd_close(&cmd);
    return status;
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

/* Outside of strings JSON holds nothing that is unseen but the last line end; in
 * them an escape means the same, and does no harm on a terminal. */
static enum rc print_tame(const struct buf *text)
{
    char shown[6 * sizeof("\xf0\x9f\x98\x80")];
    const char *s = buf_str(text);
    size_t n;

    for (size_t i = 0; i < text->len; i += n) {
        if (utf8_unseen(s + i, text->len - i, &n) != 0) {
            (void)utf8_show(s + i, n, shown);
            (void)fputs(shown, stdout);
        } else {
            (void)fwrite(s + i, 1, n, stdout);
        }
    }
    (void)putchar('\n');
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? RC_OK : RC_IO;
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
    if (rc != RC_OK) {
        buf_free(&text);
        return cmd_fail_rc("printing", rc);
    }
    /* Whoever reads no more, or has no space, is told so once, at the end. */
    rc = print_tame(&text);
    buf_free(&text);
    return rc == RC_OK ? CMD_DONE : CMD_FAILED;
}
