/* cmd_config.h - "aside config check": whether a start would take it. */
#ifndef ASIDE_RUNTIME_CMD_CONFIG_H
#define ASIDE_RUNTIME_CMD_CONFIG_H

int cmd_config(int argc, char **argv);

#endif
