/* child.h - programs that the runtime starts. */
#ifndef ASIDE_RUNTIME_CHILD_H
#define ASIDE_RUNTIME_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The path of the program aside in the folder of this one; false: there is none.
 */
bool child_program(char out[PATH_MAX]);

/* For a process that is to read a stranger's document: it gives up, for itself
 * and what it starts, new rights, the network, time, open files, and to write
 * files of more than most_bytes; and it ends with the process that started it.
 */
bool child_give_up_rights(size_t most_bytes);
/* The same for memory. */
bool child_limit_memory(void);

#endif
