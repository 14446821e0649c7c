/* aside.c - the command line: a table of verbs, each in its cmd_<verb>.c. */
#include <stdio.h>
#include <string.h>

#include "runtime/cmd/cmd_account.h"
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
    {"audit", cmd_audit, "[-c file] [-a account] [-n lines] [--json]",
     "what was done, by whom, when and from where; newest first"},
    {"backup", cmd_backup, "[-c file] [--force] [--json] <file>",
     "a whole copy into one file, while everything runs"},
    {"check", cmd_check, "[-c file] [--json]",
     "look through everything that is kept, and say what to do"},
    {"config", cmd_config, "check [-c file] [--json]",
     "whether a start would take the configuration"},
    {"doctor", cmd_doctor,
     "[-c file] [-u address] [-s socket] [-w seconds] [--json]",
     "look for the usual faults of a set-up, and say what to do"},
    {"index", cmd_index, "[-c file]", "bring the library up to date, once"},
    {"read", cmd_read, "type charset < document",
     "turn a document into passages; the runtime calls it"},
    {"library", cmd_library,
     "add|list|remove [-c file] [-a account] [<file|folder|name>...]",
     "documents of an account, beside the shared folders"},
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

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    for (size_t i = 0; i < N_VERBS; i++) {
        if (strcmp(name, VERBS[i].name) == 0) {
            return VERBS[i].run(argc - 1, argv + 1);
        }
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
        usage(stdout);
        return 0;
    }
    usage(stderr);
    return 2;
}
