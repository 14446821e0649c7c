/* child.h - programs that the runtime starts. */
#ifndef ASIDE_RUNTIME_CHILD_H
#define ASIDE_RUNTIME_CHILD_H

#include <limits.h>
#include <stdbool.h>

/* The path of the program aside in the folder of this one; false: there is none.
 */
bool child_program(char out[PATH_MAX]);

#endif
