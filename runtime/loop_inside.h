/* loop_inside.h - what the parts of the loop share: loop.c, changes.c,
 * commit.c. No other file includes it. All times are boot time. */
#ifndef ASIDE_RUNTIME_LOOP_INSIDE_H
#define ASIDE_RUNTIME_LOOP_INSIDE_H

#include "runtime/runtime.h"

#define LOOP_RETRY_MS 100  /* the write lock was not had */
#define LOOP_PAUSE_MS 1000 /* the store failed */

/* --- loop.c ------------------------------------------------------------- */

/* Bring *at forward to other, if that is earlier. 0 of either: never. */
void loop_earlier(int64_t *at, int64_t other);

/* --- changes.c ---------------------------------------------------------- */

/* Mark the Runs that were changed, and hand on what is to be indexed. What could
 * not be read is read soon: no other ring may come. */
void changes_read(struct runtime *, int64_t now_ms);
/* Time of the next read without a ring; 0: none. Nobody looks while nothing is
 * at work, unless the doorbell is broken: the next message must not wait for
 * it. */
int64_t changes_due_ms(const struct runtime *);
bool changes_are_due(const struct runtime *, int64_t now_ms);
/* Files that accounts have put into their libraries, or taken out. */
enum rc changes_find_wants(struct runtime *) RC_MUST_CHECK;

/* --- commit.c ----------------------------------------------------------- */

/* Time of the next commit; 0: nothing waits for one. */
int64_t commit_due_ms(const struct runtime *, int64_t now_ms);
/* Commit what is due, and carry it out. RC_FENCED; what fails otherwise is
 * tried again after a rest. */
enum rc commit_turn(struct runtime *, int64_t now_ms) RC_MUST_CHECK;
/* Requests under way are interrupted and say so; the Runs go on when a runtime
 * is there again. */
void commit_shutdown(struct runtime *);

#endif
