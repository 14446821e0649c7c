/* cmd_check.h - "aside check": look through everything that is kept. */
#ifndef ASIDE_RUNTIME_CMD_CHECK_H
#define ASIDE_RUNTIME_CMD_CHECK_H

int cmd_check(int argc, char **argv);

#endif
