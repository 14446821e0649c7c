/* cmd_library.h - "aside library add|list|remove": an account's documents from
 * the command line, whether or not Aside runs. */
#ifndef ASIDE_RUNTIME_CMD_LIBRARY_H
#define ASIDE_RUNTIME_CMD_LIBRARY_H

/* Exit status: 0 done; 1 something was not taken, found or read; 2 usage. */
int cmd_library(int argc, char **argv);

#endif
