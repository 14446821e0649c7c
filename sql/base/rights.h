/* rights.h - what a process may do, given up once it is no longer needed.
 */
#ifndef ASIDE_BASE_RIGHTS_H
#define ASIDE_BASE_RIGHTS_H

#include "sql/base/rc.h"

/* From now on this process and all that it starts gain no rights
 * (no_new_privs). With a user, who must be started as root, it becomes that
 * account and its groups, for good. For the start of a program: one thread, the
 * configuration read, nothing opened yet. RC_INVALID, having logged why: no such
 * account, or not root. RC_IO: the system refused. */
enum rc rights_drop(const char *user) RC_MUST_CHECK;

#endif
