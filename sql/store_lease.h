/* store_lease.h - which runtime owns the database, and how its model endpoint
 * is. */
#ifndef ASIDE_SQL_STORE_LEASE_H
#define ASIDE_SQL_STORE_LEASE_H

#include "sql/store.h"

struct lease_lock; /* the lock on dir/asided.lock, held by one process */

/* How often a stand-by looks whether the owner lives. An owner at work renews
 * its lease at least every second look. */
#define LEASE_LOOK_MS 5000

/* Try to become the active runtime. RC_BUSY: another is; *fd_out (if given) is
 * not touched. */
enum rc store_lease_try(const char *dir, struct lease_lock **) RC_MUST_CHECK;
/* Wait until the other is gone; returns at once when the process gets a
 * signal, with RC_CONFLICT. Blocks: for a stand-by that has nothing else to
 * do. */
enum rc store_lease_wait(const char *dir, struct lease_lock **) RC_MUST_CHECK;
void store_lease_release(struct lease_lock *); /* NULL is allowed */

/* What the owner works at from now on (0: nothing), kept where it outlives the
 * process: if it dies, this Run is counted as having taken it down. Costs a
 * store to memory. NULL is allowed. */
void store_lease_mark(struct lease_lock *, int64_t run_id);

/* Take a new epoch; from then on store_tx of this store is fenced by it. The
 * Run that the owner before was working at when it died, as the lock's file
 * tells, counts a crash in the same transaction. lock may be NULL. */
enum rc store_lease_take(struct store *, struct lease_lock *) RC_MUST_CHECK;

/* The lease as a stand-by sees it. An owner is at work while a Run is running
 * or a request is under way; then a row that stays the same over several looks
 * means that it hangs. */
struct lease_seen {
    int64_t epoch;
    int64_t renewed_boot_ms;
    bool at_work;
};
enum rc store_lease_look(struct store *, struct lease_seen *) RC_MUST_CHECK;

/* Take the ownership from a process that holds the lock but hangs: it is
 * fenced, and a new lock file takes the place of its own. RC_CONFLICT: the row
 * is not as seen any more; nothing was changed. The store given is only used
 * for it; store_lease_take comes after. */
enum rc store_lease_displace(struct store *, const char *dir,
                             const struct lease_seen *,
                             struct lease_lock **) RC_MUST_CHECK;

/* Whether some process holds the lock: "is a runtime there?". Takes nothing,
 * blocks never. */
bool store_lease_held(const char *dir);

enum rc store_endpoint_get(struct store *, enum endpoint_state *) RC_MUST_CHECK;
enum rc store_endpoint_set(struct store *, enum endpoint_state,
                           int64_t now_ms) RC_MUST_CHECK;

#endif
