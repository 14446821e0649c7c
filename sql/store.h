/* store.h - the door to the database for both programs.
 *
 * A store is one connection and belongs to one thread. The functions of
 * store_<thing>.h take it; those that write must stand inside store_tx or a
 * batch, those that read several things that belong together stand between
 * store_read_begin and store_read_end.
 *
 * Every function that changes something appends its change rows in the same
 * transaction. Whoever commits rings the doorbell afterwards.
 */
#ifndef ASIDE_SQL_STORE_H
#define ASIDE_SQL_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/conf.h"
#include "sql/base/hash.h"
#include "sql/base/rc.h"
#include "sql/states.h"

struct store;

#define STORE_FEED_BYTES 33

/* Open dir/aside.db, creating and migrating it if needed. busy_ms bounds each
 * wait for the write lock. RC_CONFLICT: a restore was cut short, and is to be
 * done again. RC_NEWER, RC_IO, RC_BUSY, RC_DB, as db_open. */
enum rc store_open(const char *dir, int64_t busy_ms,
                   struct store **out) RC_MUST_CHECK;
/* The same for reading alone: nothing is created or migrated. RC_NOT_FOUND:
 * there is no database, or one of an older Aside. */
enum rc store_open_read(const char *dir, int64_t busy_ms,
                        struct store **out) RC_MUST_CHECK;
void store_close(struct store *); /* NULL is allowed */
/* Another bound from now on: a loop comes back rather than wait. */
void store_set_busy(struct store *, int64_t busy_ms);

/* The newest change and the feed's id, as one read transaction sees them. */
struct store_view {
    int64_t as_of; /* 0 before the first change */
    char feed[STORE_FEED_BYTES];
};

/* One consistent view over all reads until store_read_end. */
enum rc store_read_begin(struct store *, struct store_view *) RC_MUST_CHECK;
void store_read_end(struct store *);

/* Write. fn runs inside BEGIN IMMEDIATE ... COMMIT and may be run again if the
 * lock was not had; RC_BUSY when the bound is over. A store that owns the
 * runtime's lease (store_lease.h) answers RC_FENCED if it lost it. */
typedef enum rc store_fn(struct store *, void *arg);
enum rc store_tx(struct store *, store_fn *, void *arg) RC_MUST_CHECK;

/* Group commit: each call in its savepoint, all in one transaction, fenced as
 * store_tx is. *result is the call's own outcome. Anything but RC_OK from
 * store_batch_call means that the transaction is gone and every member failed
 * with it. */
enum rc store_batch_begin(struct store *) RC_MUST_CHECK;
enum rc store_batch_call(struct store *, store_fn *, void *arg,
                         enum rc *result) RC_MUST_CHECK;
/* The same without a savepoint, which copies every page that the call touches.
 * RC_CONFLICT: the call failed when it had changed something already; the batch
 * is to be aborted, begun anew, and its members run by store_batch_call. */
enum rc store_batch_try(struct store *, store_fn *, void *arg,
                        enum rc *result) RC_MUST_CHECK;
enum rc store_batch_commit(struct store *) RC_MUST_CHECK;
void store_batch_abort(struct store *);

/* Whether this SQLite can index words, which library and search need. */
bool store_has_fts5(void);

/* The newest seq, inside a transaction or outside of one. */
enum rc store_newest(struct store *, int64_t *seq) RC_MUST_CHECK;

/* Places of an account's capacity. */
struct occupancy {
    int64_t used[SLOT_CLASS__MAX];
};

/* Who does something, for the audit log. */
struct store_actor {
    enum actor_kind kind;
    int64_t id;          /* of the session, token or Run; a command's uid */
    const char *address; /* network address of who asked; NULL: inside */
};

/* A write that a person or program asked for: who, under which key, and what
 * came of it. The same frame for every creating call, so that idempotency is
 * one mechanism (R02). */
struct store_call {
    /* in */
    const char *account; /* name; created by the first write */
    struct store_actor actor;
    const char *key; /* Idempotency-Key, or NULL where it is optional */
    uint8_t fingerprint[HASH_BYTES]; /* of method, path and fields */
    int64_t now_ms;
    const struct conf *conf; /* limits and budgets */
    struct arena *arena;     /* texts of the results */
    /* out */
    bool replayed;
    int64_t as_of;
    struct occupancy occupancy; /* with RC_FULL */
    enum slot_class full;       /* with RC_FULL: which class */
};

/* Has this call been carried out (call->replayed)? Inside a read. RC_KEY_REUSED
 * if its key stands for another one. */
enum rc store_call_replayed(struct store *, struct store_call *) RC_MUST_CHECK;

/* --- accounts ---------------------------------------------------------- */

/* RC_NOT_FOUND: no write has created it yet; it reads as empty. */
enum rc store_account_find(struct store *, const char *name,
                           int64_t *id) RC_MUST_CHECK;
enum rc store_account_name(struct store *, int64_t id, struct arena *,
                           const char **name) RC_MUST_CHECK;
/* Find or create; inside a transaction. */
enum rc store_account_ensure(struct store *, const char *name, int64_t now_ms,
                             int64_t *id) RC_MUST_CHECK;
enum rc store_occupancy(struct store *, int64_t account_id,
                        struct occupancy *) RC_MUST_CHECK;

#endif
