/* cmd_status.h - "aside status": whether all is well, in a few lines. */
#ifndef ASIDE_RUNTIME_CMD_STATUS_H
#define ASIDE_RUNTIME_CMD_STATUS_H

int cmd_status(int argc, char **argv);

#endif
