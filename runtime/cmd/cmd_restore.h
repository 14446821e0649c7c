/* cmd_restore.h - "aside restore": a backup takes the place of what is there. */
#ifndef ASIDE_RUNTIME_CMD_RESTORE_H
#define ASIDE_RUNTIME_CMD_RESTORE_H

int cmd_restore(int argc, char **argv);

#endif
