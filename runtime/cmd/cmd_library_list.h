/* cmd_library_list.h - `aside library list`: what an account's library holds. */
#ifndef ASIDE_RUNTIME_CMD_LIBRARY_LIST_H
#define ASIDE_RUNTIME_CMD_LIBRARY_LIST_H

#include "runtime/cmd/cmd.h"

/* owner: of library_files_owner. Returns the exit status. */
int cmd_library_list(struct cmd *, const char *owner);

#endif
