/* store_library.h - what is asked of the indexer, and that it is done.
 *
 * The files of a library lie in the data directory (library_files.h) and what
 * was read of them in library.db (library.h). Here stands only whose files
 * changed since they were last read: who changes them counts it up and rings
 * the doorbell, the runtime reads them and says so. Either appends a change of
 * kind library.updated, so that the account's pages look again.
 */
#ifndef ASIDE_SQL_STORE_LIBRARY_H
#define ASIDE_SQL_STORE_LIBRARY_H

#include "sql/store.h"

/* The call's account has other files, or wants them read again; inside a
 * transaction. Asking twice is no harm: no key is looked at. why is what the
 * audit log says: added, removed or index. */
enum rc store_library_want(struct store *, struct store_call *,
                           enum audit_action why) RC_MUST_CHECK;

/* As store_library_want, once for a key. found: the call has removed what it
 * was to remove; else RC_NOT_FOUND, if it has not been carried out before. */
enum rc store_library_remove(struct store *, struct store_call *,
                             bool found) RC_MUST_CHECK;

/* Whether something that the account asked for is not done yet. */
enum rc store_library_open(struct store *, int64_t account_id,
                           bool *open) RC_MUST_CHECK;

struct library_want {
    int64_t account_id;
    int64_t wanted; /* how often the account has asked */
};
/* All that is not done. A run of the indexer that begins after this has read
 * does it. */
enum rc store_library_wants(struct store *, struct arena *,
                            struct library_want **, size_t *n) RC_MUST_CHECK;
/* Such a run has ended; inside a transaction. */
enum rc store_library_done(struct store *, const struct library_want *,
                           size_t n) RC_MUST_CHECK;

/* How the indexer fares. */
struct library_run {
    int64_t failures;   /* of runs as a whole, one after another; 0: none */
    const char *reason; /* of the last: the name of an rc, or "died"; "" */
    int64_t retry_ms;   /* Unix milliseconds: the next run; 0: not failing */
};
enum rc store_library_run_get(struct store *, struct arena *,
                              struct library_run *) RC_MUST_CHECK;
/* Record it; inside a transaction. If it is other than before, the pages of all
 * accounts look again. */
enum rc store_library_run_set(struct store *, struct arena *,
                              const struct library_run *) RC_MUST_CHECK;

#endif
