/* store_watch.h - whose changes are there: for a process in which clients of
 * many accounts wait. */
#ifndef ASIDE_SQL_STORE_WATCH_H
#define ASIDE_SQL_STORE_WATCH_H

#include "sql/store.h"

/* The names of the accounts with changes after this seq, each once; *newest is
 * the seq read up to. The cost is that of the changes since, not of the
 * accounts there are. RC_TOO_LARGE: the arena is full. */
enum rc store_watch_accounts(struct store *, int64_t after, struct arena *,
                             const char ***names, size_t *n,
                             int64_t *newest) RC_MUST_CHECK;

#endif
