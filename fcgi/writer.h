/* writer.h - the one writer of a responder: group commit.
 *
 * Handlers hand over a store call and are free for the next request. The writer
 * takes what is waiting together, runs one call after the other, commits once
 * (synchronous=FULL) and only then has the calls settled: a result means that
 * it is on disk (R01). A call that fails leaves nothing and harms no other: if
 * it had changed something, all are run again, each in a savepoint. A failure
 * that ends the transaction is every member's failure.
 *
 * Two threads: one commits, the other tells, so that replies are made while the
 * next batch is being written. No other thread waits for the disk, so a batch
 * holds all that is asked at the moment, however few threads accept requests.
 *
 * A call waits for the database's lock at most busy_ms (R17), counted from the
 * moment it was handed over; then it is RC_BUSY. Between two batches the lock
 * is left free for a moment, so that another process can have it.
 */
#ifndef ASIDE_FCGI_WRITER_H
#define ASIDE_FCGI_WRITER_H

#include "sql/store.h"

#define WRITER_MAX_BATCH 128
/* Handed over and not settled yet: one batch under way, one to come. */
#define WRITER_MAX_PENDING 256

struct writer;

struct writer_options {
    const char *dir; /* of the database */
    int64_t busy_ms;
    /* Called by the committing thread after each commit. */
    void (*committed)(void *arg);
    /* Called by it when the database is not the one at its path any more, which
     * fails every call: the process had better end. May be NULL. */
    void (*lost)(void *arg);
    void *arg;
};

/* One call, in memory of the caller's that stays until settled is called. */
struct writer_job {
    store_fn
        *fn; /* repeatable as for store_tx; arg is the writer's meanwhile */
    void *arg;
    /* Called once, by the telling thread. The job is not touched after it. */
    void (*settled)(struct writer_job *);
    /* What came of it, for settled. */
    enum rc rc;
    char feed[STORE_FEED_BYTES]; /* the feed's id as of the commit; or "" */
    /* The writer's own. */
    int64_t until_ms; /* boot time */
    struct writer_job *next;
};

/* Open a connection and start the threads. */
enum rc writer_start(const struct writer_options *,
                     struct writer **out) RC_MUST_CHECK;

/* Run the call inside the next batch, then settle it. Any thread but the
 * writer's own. Blocks only while WRITER_MAX_PENDING are not settled. */
void writer_hand_over(struct writer *, struct writer_job *);

/* Storage is in trouble: find out every second whether it still is, until it is
 * not. Any thread. */
void writer_look(struct writer *);

/* Finish and settle what was handed over, then end. No call may come after
 * this. NULL is allowed. */
void writer_end(struct writer *);

#endif
