/* standard.h - descriptors 0 to 2 are what they are called. */
#ifndef ASIDE_BASE_STANDARD_H
#define ASIDE_BASE_STANDARD_H

#include "sql/base/rc.h"

/* Whatever a program opens gets the lowest number that is free: where one of
 * standard input, output and error was closed, a connection or a file would take
 * its place, and be sent what is printed. So a closed one becomes /dev/null, for
 * reading alone: what is printed there fails, and is seen to. Call it first of
 * all. RC_IO: there is no /dev/null. */
enum rc standard_files(void) RC_MUST_CHECK;

#endif
