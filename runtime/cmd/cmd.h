/* cmd.h - what the verbs of the command line that read or change the database
 * have in common: options, configuration, the store, and how they print.
 *
 *   -c file      configuration
 *   -a account   of this account alone
 *   -n number    at most so many lines
 *   --force      over what is there, where the verb says so
 *   --run        for the whole Run, where the verb says so
 *   --json       one JSON object instead of lines for a person
 *   -u address   of the web server in front, prefix and all
 *   -s socket    of a responder
 *   -w seconds   to hold a poll
 *   -w           wait for one that is at work
 *   -s scope     of a token
 *   -d days      that a token lasts
 *
 * Exit status: 0 done, 1 failed with a line on stderr, 2 misused.
 */
#ifndef ASIDE_RUNTIME_CMD_H
#define ASIDE_RUNTIME_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/base/conf.h"
#include "sql/base/json.h"
#include "sql/store.h"

#define CMD_DONE   0
#define CMD_FAILED 1
#define CMD_MISUSE 2

struct cmd {
    struct conf conf;
    struct store *store;
    struct arena *arena;
    const char *account; /* NULL: not named */
    int64_t limit;       /* 0: not named */
    const char *url;     /* NULL: not named */
    const char *socket;  /* NULL: not named */
    int64_t wait_seconds;
    bool wait;
    bool force;
    bool for_run;
    const char *scope; /* NULL: not named */
    int64_t days;      /* 0: not named */
    bool json;
    char error[512]; /* of the configuration; "": none */
    char **words;    /* what stands behind the options */
    int n_words;
};

/* Options and configuration. CMD_DONE, or the exit status; what is wrong has
 * been said. In any case end with cmd_close. usage: the verb's, behind its name.
 */
int cmd_open(struct cmd *, int argc, char **argv, const char *usage);
/* The database, which must exist, and be of this Aside: it is made and brought
 * up to date by those who work on it. The same. */
enum cmd_use { CMD_LOOK, CMD_CHANGE };
int cmd_open_store(struct cmd *, enum cmd_use);
void cmd_close(struct cmd *);
/* The same without a word: RC_NOT_FOUND, RC_DENIED (by the system), RC_FENCED (of
 * an older Aside), or what store_open answers; and what to say about that. */
enum rc cmd_try_store(struct cmd *, enum cmd_use) RC_MUST_CHECK;
const char *cmd_why_no_store(enum rc);

/* Nobody chose this value: it is what the key has without a configuration. */
bool cmd_is_fallback(const char *name, const char *value);

/* A whole verb: open, the database, fn, close. */
struct cmd_needs {
    int least; /* words that stand behind the options */
    int most;
    enum cmd_use use;
};
typedef int cmd_fn(struct cmd *);
int cmd_on_store(int argc, char **argv, const char *usage,
                 const struct cmd_needs *, cmd_fn *);

/* cmd_open_store to change it, the database being made if it is not there yet. */
int cmd_make_store(struct cmd *);
/* The frame of a write by whoever started the command. */
struct store_call cmd_call(const struct cmd *, const char *account);

/* The id of the named account; 0 if none is named. RC_NOT_FOUND, having said
 * so: there is no such account. */
enum rc cmd_account(struct cmd *, int64_t *id) RC_MUST_CHECK;

/* The same, but without a login there is only one account, and it need not be
 * named: CMD_NO_ACCOUNT while nothing is its. RC_NOT_FOUND also where it should
 * have been named. */
#define CMD_NO_ACCOUNT (-1)
enum rc cmd_account_or_only(struct cmd *, int64_t *id) RC_MUST_CHECK;

/* What waits for changes looks at once: after a write that others wait for. */
void cmd_ring(const struct cmd *);

/* Text of whoever it is as it may stand in a line on a terminal: tabs and line
 * ends as spaces, all else that nobody sees as its code (utf8_show); a copy in
 * the arena, "?" if there is no memory. For all that is not Aside's own: titles,
 * names, what models, servers and files say. */
const char *cmd_shown(struct arena *, const char *text);
/* The same, with tabs and line ends as their codes too: for what somebody is to
 * decide on. */
const char *cmd_exact(struct arena *, const char *text);
/* json_kstr for what the system says, which need not be UTF-8: paths, and the
 * words of the command line. */
void cmd_kstr(struct json_out *, const char *name, const char *text);

/* How the verb is used, on stderr; CMD_MISUSE. */
int cmd_misuse(const char *verb, const char *usage);
/* "aside: what: why" on stderr, both as by cmd_shown; CMD_FAILED. */
int cmd_fail(const char *what, const char *why);
int cmd_fail_rc(const char *what, enum rc);

/* A time as people and programs read it: 2026-11-30T12:00:00Z. */
#define CMD_TIME_BYTES 32
const char *cmd_time(int64_t unix_ms, char out[CMD_TIME_BYTES]);

/* Print what fn writes between the braces of one object, and a line end. What
 * nobody sees is escaped. CMD_FAILED without a word if it
 * cannot be printed: main tells that. */
typedef enum rc cmd_json_fn(struct json_out *, void *arg);
int cmd_print_json(cmd_json_fn *, void *arg);

#endif
