/* torn.h - arguments of a call that break off, as a reply does that reaches its
 * length limit. */
#ifndef ASIDE_RUNTIME_TORN_H
#define ASIDE_RUNTIME_TORN_H

#include <stdbool.h>

#include "sql/base/buf.h"

/* Whether it begins as JSON, and ends within a text, a list or an object. */
bool torn_is(const char *json);

/* What there is of it, closed where it breaks off: append to out what may be
 * whole JSON; whoever parses it finds out. What stands last and is not whole
 * (a name, a number, a word) goes. */
void torn_close(const char *json, struct buf *out);

#endif
