/* cmd_account.h - "aside account": who may have conversations here. */
#ifndef ASIDE_RUNTIME_CMD_ACCOUNT_H
#define ASIDE_RUNTIME_CMD_ACCOUNT_H

int cmd_account_verb(int argc, char **argv);

#endif
