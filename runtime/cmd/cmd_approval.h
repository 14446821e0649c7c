/* cmd_approval.h - `aside approve` and `aside deny`: decide on a call that waits
 * for a person, as the page does. */
#ifndef ASIDE_RUNTIME_CMD_APPROVAL_H
#define ASIDE_RUNTIME_CMD_APPROVAL_H

#include "runtime/cmd/cmd.h"
#include "sql/store_approval.h"

/* Each returns the exit status. */
int cmd_approve(int argc, char **argv);
int cmd_deny(int argc, char **argv);

/* What a Run waits for, in one line for a terminal: the exact call that is to be
 * allowed, or its question; NULL if it waits for nobody. */
const char *cmd_approval_waits(struct arena *, const struct run *);
/* The same as members: approval (an object or null) and question. */
void cmd_approval_put_waits(struct json_out *, const struct run *);

#endif
