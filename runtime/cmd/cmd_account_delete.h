/* cmd_account_delete.h - "aside account delete": an account goes, and nothing
 * that was said in it stays in the data folder's files. */
#ifndef ASIDE_RUNTIME_CMD_ACCOUNT_DELETE_H
#define ASIDE_RUNTIME_CMD_ACCOUNT_DELETE_H

struct cmd;

/* Opens the store of the command; its exit status. */
int cmd_account_delete(struct cmd *, const char *name);

#endif
