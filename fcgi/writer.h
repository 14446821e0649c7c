/* writer.h - the one writer of a responder: group commit.
 *
 * Handlers hand over a store call and wait. The writer takes what is waiting
 * together, runs each call in its savepoint, commits once (synchronous=FULL)
 * and only then lets the callers go: a result means that it is on disk (R01).
 * A failure that ends the transaction is every member's failure.
 *
 * A call waits for the database's lock at most busy_ms (R17), counted from the
 * moment it was handed over; then it is RC_BUSY. Between two batches the lock
 * is left free for a moment, so that another process can have it.
 */
#ifndef ASIDE_FCGI_WRITER_H
#define ASIDE_FCGI_WRITER_H

#include "sql/store.h"

#define WRITER_MAX_BATCH 128

struct writer;

struct writer_options {
    const char *dir; /* of the database */
    int64_t busy_ms;
    /* Called by the writer's thread after each commit. */
    void (*committed)(void *arg);
    void *arg;
};

/* Open a connection and start the thread. */
enum rc writer_start(const struct writer_options *,
                     struct writer **out) RC_MUST_CHECK;

/* Run fn(store, arg) inside the next batch; returns its outcome after the
 * commit. feed (may be NULL) is the feed's id as of that commit. arg must be
 * repeatable as for store_tx, and belongs to the writer meanwhile. Any
 * thread. Blocks for the lock (busy_ms) and one batch. */
enum rc writer_do(struct writer *, store_fn *fn, void *arg,
                  char feed[STORE_FEED_BYTES]) RC_MUST_CHECK;

/* Finish what was handed over, then end. No call may come after this. NULL is
 * allowed. */
void writer_end(struct writer *);

#endif
