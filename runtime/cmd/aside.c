/* aside.c - the command line: a table of verbs, each in its cmd_<verb>.c. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/cmd_account.h"
#include "runtime/cmd/cmd_approval.h"
#include "runtime/cmd/cmd_audit.h"
#include "runtime/cmd/cmd_backup.h"
#include "runtime/cmd/cmd_check.h"
#include "runtime/cmd/cmd_config.h"
#include "runtime/cmd/cmd_doctor.h"
#include "runtime/cmd/cmd_index.h"
#include "runtime/cmd/cmd_library.h"
#include "runtime/cmd/cmd_read.h"
#include "runtime/cmd/cmd_restore.h"
#include "runtime/cmd/cmd_run.h"
#include "runtime/cmd/cmd_runs.h"
#include "runtime/cmd/cmd_status.h"
#include "runtime/cmd/cmd_token.h"
#include "runtime/cmd/cmd_watch.h"
#include "sql/base/standard.h"
#include "sql/base/version.h"

struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
    const char *usage;
    const char *help;
};

static const struct verb VERBS[] = {
    {"account", cmd_account_verb,
     "add|delete|list [-c file] [--force] [--json] [name]",
     "who may have conversations here, with auth = token"},
    {"approve", cmd_approve,
     "[-c file] [-a account] [--run] [--json] <approval>",
     "let a call be made that waits for you; see aside runs"},
    {"audit", cmd_audit, "[-c file] [-a account] [-n lines] [--json]",
     "what was done, by whom, when and from where; newest first"},
    {"backup", cmd_backup, "[-c file] [--force] [--json] <file>",
     "a whole copy into one file, while everything runs"},
    {"check", cmd_check, "[-c file] [--json]",
     "look through everything that is kept, and say what to do"},
    {"config", cmd_config, "check [-c file] [--json]",
     "whether a start would take the configuration"},
    {"deny", cmd_deny, "[-c file] [-a account] [--json] <approval> [note]",
     "do not let it be made; the model is told the note"},
    {"doctor", cmd_doctor,
     "[-c file] [-u address] [-s socket] [-w seconds] [--json]",
     "look for the usual faults of a set-up, and say what to do"},
    {"index", cmd_index, "[-c file] [-w] [--json]",
     "bring the library up to date, once"},
    {"library", cmd_library,
     "add|list|remove [-c file] [-a account] [--json] "
     "[<file|folder|name>...]",
     "documents of an account, beside the shared folders"},
    {"read", cmd_read, "type charset < document",
     "turn a document into passages; the runtime calls it"},
    {"restore", cmd_restore, "[-c file] [--json] <file>",
     "put a backup in the place of what is there, which is kept"},
    {"token", cmd_token,
     "add|list|revoke [-c file] [-a account] [-s read|write|admin] "
     "[-d days] [--json] [name|id]",
     "what browsers and programs of an account log in with"},
    {"run", cmd_run, "[-c file] [-p port] [-d dir] [-w seconds]",
     "start everything in the foreground, behind an nginx of its own"},
    {"runs", cmd_runs,
     "[-c file] [-a account] [-n number] [--json] [active|<state>]",
     "the Runs of an account, newest first"},
    {"status", cmd_status, "[-c file] [--json]",
     "whether all is well; exit status 1 if not"},
    {"watch", cmd_watch, "[-c file] [-a account] [--json] [<run>]",
     "what happens, as it happens; with a Run, until it ends"},
};

#define N_VERBS (sizeof(VERBS) / sizeof(VERBS[0]))

static void usage(FILE *to)
{
    (void)fprintf(to, "usage: aside <verb> [options]\n\n");
    for (size_t i = 0; i < N_VERBS; i++) {
        (void)fprintf(to, "  aside %s %s\n      %s\n", VERBS[i].name,
                      VERBS[i].usage, VERBS[i].help);
    }
}

static bool reader_has_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* What was printed may still lie in memory, and be lost on a full disk. Whoever
 * reads no more needs no explanation. */
static int finish(int status)
{
    bool good = fflush(stdout) == 0;

    if (good && ferror(stdout) == 0) {
        return status;
    }
    if (!reader_has_left()) {
        (void)fprintf(stderr, "aside: standard output: %s\n",
                      good ? "not all could be written" : strerror(errno));
    }
    return status == 0 ? 1 : status;
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        if (strcmp(name, VERBS[i].name) == 0) {
            return &VERBS[i];
        }
    }
    return NULL;
}

/* "aside help", "aside help runs", "aside runs --help" */
static bool wants_help(const char *name, const char *next)
{
    return strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
           strcmp(name, "-h") == 0 || strcmp(next, "--help") == 0;
}

static int misuse(const char *name)
{
    (void)cmd_fail(name, "there is no such verb; see aside help");
    return CMD_MISUSE;
}

static int help(const char *name, const char *next)
{
    const struct verb *verb = find_verb(name);

    verb = verb == NULL ? find_verb(next) : verb;
    if (verb == NULL && next[0] != '\0') {
        return misuse(next);
    }
    if (verb == NULL) {
        usage(stdout);
    } else {
        (void)printf("usage: aside %s %s\n    %s\n", verb->name, verb->usage,
                     verb->help);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const char *next = argc > 2 ? argv[2] : "";
    const struct verb *verb = find_verb(name);

    /* A reader that leaves ends the printing, not what is being done. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (standard_files() != RC_OK) {
        return 1;
    }
    if (wants_help(name, next)) {
        return finish(help(name, next));
    }
    if (verb != NULL) {
        return finish(verb->run(argc - 1, argv + 1));
    }
    if (strcmp(name, "--version") == 0) {
        (void)printf("aside %s\n", ASIDE_VERSION);
        return finish(0);
    }
    if (name[0] != '\0') {
        return misuse(name);
    }
    usage(stderr);
    return CMD_MISUSE;
}
