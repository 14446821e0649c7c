/* store_lease.h - which runtime owns the database, and how its model endpoint
 * is. */
#ifndef ASIDE_SQL_STORE_LEASE_H
#define ASIDE_SQL_STORE_LEASE_H

#include "sql/store.h"

struct lease_lock; /* the lock on dir/asided.lock, held by one process */

/* Try to become the active runtime. RC_BUSY: another is; *fd_out (if given) is
 * not touched. */
enum rc store_lease_try(const char *dir, struct lease_lock **) RC_MUST_CHECK;
/* Wait until the other is gone; returns at once when the process gets a
 * signal, with RC_CONFLICT. Blocks: for a stand-by that has nothing else to
 * do. */
enum rc store_lease_wait(const char *dir, struct lease_lock **) RC_MUST_CHECK;
void store_lease_release(struct lease_lock *); /* NULL is allowed */

/* Take a new epoch; from then on store_tx of this store is fenced by it. */
enum rc store_lease_take(struct store *) RC_MUST_CHECK;

/* Whether some process holds the lock: "is a runtime there?". Takes nothing,
 * blocks never. */
bool store_lease_held(const char *dir);

enum rc store_endpoint_get(struct store *, enum endpoint_state *) RC_MUST_CHECK;
enum rc store_endpoint_set(struct store *, enum endpoint_state,
                           int64_t now_ms) RC_MUST_CHECK;

#endif
