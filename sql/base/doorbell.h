/* doorbell.h - "something was committed".
 *
 * A small file in the data directory that carries no data. Whoever commits
 * changes rings after the commit; every process watches it with inotify. A
 * ring may be lost (the file replaced, the queue overrun): waiters therefore
 * read again every 5 s while they wait, see DESIGN 1.
 */
#ifndef ASIDE_BASE_DOORBELL_H
#define ASIDE_BASE_DOORBELL_H

#include <stdbool.h>

#include "sql/base/rc.h"

struct doorbell;

/* Watch dir/doorbell, creating it if needed. The caller closes it. */
enum rc doorbell_open(const char *dir, struct doorbell **out) RC_MUST_CHECK;
void doorbell_close(struct doorbell *); /* NULL is allowed */

/* Ring. Never blocks; a failure is logged, not returned, since the fallback
 * covers it. Any thread. */
void doorbell_ring(struct doorbell *);

/* A descriptor that becomes readable after a ring, for poll(2). It may change
 * when the file was replaced: ask again after each doorbell_drain. */
int doorbell_fd(const struct doorbell *);

/* Take the pending rings; re-opens the watch if the file was replaced or
 * removed. Returns non-zero if there was a ring. One thread only. */
int doorbell_drain(struct doorbell *);

/* The file cannot be watched now, so that no ring will come. Whoever would
 * otherwise sleep without a bound must look by themselves every few seconds,
 * and drain, which tries to watch again. The thread that drains only. */
bool doorbell_is_deaf(const struct doorbell *);

#endif
