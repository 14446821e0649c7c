/* pool.h - read connections, shared by the threads of a responder.
 *
 * Threads mostly wait for the writer, for which they need no connection of
 * their own; so there can be many threads (and large group commits) over few
 * connections. The one given back last is taken first: its cache is warm.
 */
#ifndef ASIDE_FCGI_POOL_H
#define ASIDE_FCGI_POOL_H

#include "sql/store.h"

struct pool;

/* At most max connections to the database in dir, opened when they are first
 * needed. */
enum rc pool_new(const char *dir, int64_t busy_ms, size_t max,
                 struct pool **out) RC_MUST_CHECK;
/* All must have been given back. NULL is allowed. */
void pool_free(struct pool *);

/* Blocks while all are taken, which no reader does for long. Any thread. */
enum rc pool_take(struct pool *, struct store **out) RC_MUST_CHECK;
void pool_give(struct pool *, struct store *);

#endif
