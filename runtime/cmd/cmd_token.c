#include "runtime/cmd/cmd_token.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd.h"
#include "sql/base/id.h"
#include "sql/base/secret.h"
#include "sql/base/utf8.h"
#include "sql/store_access.h"

#define USAGE                                                                  \
    "add|list|revoke [-c file] [-a account] [-s read|write|admin] [-d days] "  \
    "[--json] [name|id]"
#define MAX_NAME_BYTES 100

struct work {
    struct cmd *cmd;
    struct store_call call;
    struct token_new in;
    char secret[SECRET_TEXT_BYTES];
    int64_t id;
    struct token out;
    struct token *list;
    size_t n;
};

static bool choose_account(struct work *w)
{
    int64_t id = 0;

    if (w->cmd->account == NULL) {
        (void)cmd_fail("token", "say whose it is: -a account");
        return false;
    }
    return cmd_account(w->cmd, &id) == RC_OK;
}

/* --- add ------------------------------------------------------------------- */

static enum rc create(struct store *st, void *arg)
{
    struct work *w = arg;

    return store_token_create(st, &w->call, &w->in, &w->out);
}

static enum rc put_made(struct json_out *json, void *arg)
{
    const struct work *w = arg;

    json_key(json, "token");
    store_token_put(json, &w->out);
    json_kstr(json, "secret", w->secret);
    return RC_OK;
}

/* The secret alone on stdout, so that it can be piped; the rest is for eyes. */
static void print_made(const struct work *w)
{
    char at[CMD_TIME_BYTES];
    char id[ID_TEXT_BYTES];

    (void)fprintf(stderr,
                  "%s, scope %s, until %s. It is shown this once; paste it at "
                  "the login page,\nor send it as \"Authorization: Bearer "
                  "...\":\n",
                  id_text(ID_TOKEN, w->out.id, id),
                  states_text(LIST_ACCESS_SCOPE, (int)w->out.scope),
                  cmd_time(w->out.expires_ms, at));
    (void)printf("%s\n", w->secret);
}

/* Nobody will see it again. */
static int shown_or_lost(const struct work *w, int status)
{
    char id[ID_TEXT_BYTES];

    if (status == CMD_DONE && fflush(stdout) == 0) {
        return CMD_DONE;
    }
    return cmd_fail(id_text(ID_TOKEN, w->out.id, id),
                    "its secret could not be shown and is lost; revoke it");
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) {
            return false;
        }
    }
    return len > 0 && len <= MAX_NAME_BYTES && utf8_valid(name, len);
}

static bool read_options(struct work *w)
{
    const struct cmd *cmd = w->cmd;
    int scope = SCOPE_READ;

    if (!is_name(cmd->words[1])) {
        (void)cmd_fail("token add", "a name has 1 to 100 bytes, one line of "
                                    "UTF-8");
        return false;
    }
    if (cmd->scope != NULL &&
        states_value(LIST_ACCESS_SCOPE, cmd->scope, &scope) != RC_OK) {
        (void)cmd_fail(cmd->scope, "a scope is read, write or admin");
        return false;
    }
    if (cmd->days > ACCESS_MAX_TOKEN_DAYS) {
        (void)cmd_fail("token add", "a token lasts 3650 days at most");
        return false;
    }
    w->in.name = cmd->words[1];
    w->in.scope = (enum access_scope)scope;
    w->in.days = cmd->days == 0 ? ACCESS_TOKEN_DAYS : cmd->days;
    return true;
}

static int add(struct work *w)
{
    int status = CMD_DONE;
    enum rc rc;

    if (!read_options(w) || !choose_account(w)) {
        return CMD_FAILED;
    }
    secret_make(w->secret, w->in.hash);
    rc = store_tx(w->cmd->store, create, w);
    if (rc != RC_OK) {
        status = rc == RC_NOT_ELIGIBLE
                     ? cmd_fail(w->cmd->account,
                                "it has 100 tokens already; revoke one")
                     : cmd_fail_rc("the token cannot be made", rc);
    } else if (w->cmd->json) {
        status = shown_or_lost(w, cmd_print_json(put_made, w));
    } else {
        print_made(w);
        status = shown_or_lost(w, CMD_DONE);
    }
    secret_forget(w->secret, sizeof(w->secret));
    return status;
}

/* --- list ------------------------------------------------------------------ */

static enum rc put_list(struct json_out *json, void *arg)
{
    const struct work *w = arg;

    json_key(json, "tokens");
    json_open_array(json);
    for (size_t i = 0; i < w->n; i++) {
        store_token_put(json, &w->list[i]);
    }
    json_close_array(json);
    return RC_OK;
}

static void print_token(struct arena *arena, const struct token *t)
{
    char id[ID_TEXT_BYTES];
    char until[CMD_TIME_BYTES];
    char used[CMD_TIME_BYTES] = "-";

    if (t->last_used_ms != 0) {
        (void)cmd_time(t->last_used_ms, used);
    }
    (void)printf("%s\t%s\t%s\t%s\t%s\n", id_text(ID_TOKEN, t->id, id),
                 states_text(LIST_ACCESS_SCOPE, (int)t->scope),
                 cmd_time(t->expires_ms, until), used,
                 cmd_shown(arena, t->name));
}

static int list(struct work *w)
{
    int64_t account = 0;
    enum rc rc;

    if (w->cmd->account == NULL) {
        (void)cmd_fail("token", "say whose they are: -a account");
        return CMD_FAILED;
    }
    rc = cmd_account(w->cmd, &account);
    if (rc == RC_NOT_FOUND) {
        return CMD_FAILED;
    }
    if (rc == RC_OK) {
        rc = store_token_list(w->cmd->store, account, w->cmd->arena, &w->list,
                              &w->n);
    }
    if (rc != RC_OK) {
        return cmd_fail_rc("the tokens cannot be read", rc);
    }
    if (w->cmd->json) {
        return cmd_print_json(put_list, w);
    }
    for (size_t i = 0; i < w->n; i++) {
        print_token(w->cmd->arena, &w->list[i]);
    }
    return CMD_DONE;
}

/* --- revoke ---------------------------------------------------------------- */

static enum rc revoke(struct store *st, void *arg)
{
    struct work *w = arg;

    return store_token_revoke(st, &w->call, w->id, &w->out);
}

static enum rc put_one(struct json_out *json, void *arg)
{
    const struct work *w = arg;

    json_key(json, "token");
    store_token_put(json, &w->out);
    return RC_OK;
}

static int drop(struct work *w)
{
    enum rc rc;

    if (id_parse(ID_TOKEN, w->cmd->words[1], &w->id) != RC_OK) {
        return cmd_fail(w->cmd->words[1], "a token's id is like tok_7; see "
                                          "aside token list");
    }
    rc = store_token_owner(w->cmd->store, w->id, w->cmd->arena,
                           &w->call.account);
    if (rc == RC_OK) {
        rc = store_tx(w->cmd->store, revoke, w);
    }
    if (rc != RC_OK) {
        return rc == RC_NOT_FOUND
                   ? cmd_fail(w->cmd->words[1], "there is no such token")
                   : cmd_fail_rc(w->cmd->words[1], rc);
    }
    cmd_ring(w->cmd); /* polls that wait may have lost their right */
    return w->cmd->json ? cmd_print_json(put_one, w) : CMD_DONE;
}

/* --- the verb -------------------------------------------------------------- */

static const struct deed {
    const char *name;
    int (*run)(struct work *);
    int n_words;
    enum cmd_use use;
} DEEDS[] = {{"add", add, 2, CMD_CHANGE},
             {"list", list, 1, CMD_LOOK},
             {"revoke", drop, 2, CMD_CHANGE}};

static const struct deed *find_deed(const struct cmd *cmd)
{
    for (size_t i = 0; i < sizeof(DEEDS) / sizeof(DEEDS[0]); i++) {
        if (cmd->n_words == DEEDS[i].n_words &&
            strcmp(cmd->words[0], DEEDS[i].name) == 0) {
            return &DEEDS[i];
        }
    }
    return NULL;
}

int cmd_token(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);
    struct work work = {.cmd = &cmd};

    if (status == CMD_DONE) {
        const struct deed *deed = find_deed(&cmd);

        status = deed == NULL ? cmd_misuse(argv[0], USAGE)
                              : cmd_open_store(&cmd, deed->use);
        if (status == CMD_DONE) {
            work.call = cmd_call(&cmd, cmd.account);
            status = deed->run(&work);
        }
    }
    cmd_close(&cmd);
    return status;
}
