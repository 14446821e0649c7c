/* standby.h - waiting for the ownership of the database. */
#ifndef ASIDE_RUNTIME_STANDBY_H
#define ASIDE_RUNTIME_STANDBY_H

#include <stdbool.h>

#include "sql/base/rc.h"

struct conf;
struct lease_lock;

/* From now on SIGTERM and SIGINT end the wait of standby_wait. */
void standby_catch_signals(void);
/* One of them has come. */
bool standby_told_to_end(void);

/* Wait until the owner is gone, or hangs with work in hand and is displaced.
 * RC_CONFLICT: told to end. Blocks: a stand-by has nothing else to do. */
enum rc standby_wait(const struct conf *, struct lease_lock **) RC_MUST_CHECK;

#endif
