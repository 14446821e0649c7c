/* park.h - long polls that wait without a thread.
 *
 * A handler that finds nothing to tell parks its request here. One thread, the
 * waker, owns all parked requests; it sleeps in epoll until the doorbell rings,
 * a peer hangs up, or the next time is due, and answers from its own read
 * connection. With nothing parked, nothing wakes it but the doorbell.
 *
 * No wake-up is lost:
 *   - A handler takes park_generation before it reads, and gives it with the
 *     request. The waker counts the generation up before it reads, so a parked
 *     request whose generation is old may have missed a commit, and is read
 *     again when it arrives.
 *   - The waker knows up to which change it has looked (seen). A request whose
 *     own cursor is older is read again when it arrives; every newer change
 *     has a ring to come.
 *   - Should a ring be lost, each waiter is read again from its own cursor
 *     every PARK_FALLBACK_MS.
 *
 * A ring costs one read that names the accounts with changes; only their
 * waiters are read, and waiters of one account at one cursor share one reply.
 */
#ifndef ASIDE_FCGI_PARK_H
#define ASIDE_FCGI_PARK_H

#include "fcgi/req.h"
#include "sql/base/buf.h"
#include "sql/base/doorbell.h"
#include "sql/store.h"

#define PARK_FALLBACK_MS 5000

struct park;

struct park_options {
    const char *dir; /* of the database */
    int64_t busy_ms;
    struct doorbell *bell; /* rung by others; drained by the waker alone */
    size_t max;            /* waiting requests */
    size_t max_each;       /* of one account; 0: max. One more is answered at
                            * once, as at its deadline */
    /* Append the complete reply about account's changes after *cursor to out.
     * RC_NOT_FOUND: there are none and even_if_none is false; *cursor is then
     * moved up to what was read. The store is the waker's. */
    enum rc (*read)(struct store *, const char *account, int64_t *cursor,
                    bool even_if_none, struct buf *out);
    /* Whether who waits may still be told (RC_OK), asked before each reply;
     * RC_NOT_FOUND ends the wait as RC_DENIED. NULL: always. So a wait ends at
     * its next wake, and at the latest PARK_FALLBACK_MS after it lost its
     * right. */
    enum rc (*stands)(struct store *, const struct store_actor *);
    /* Send what read has made (or a failure, text NULL). Must not finish the
     * request. */
    void (*reply)(struct req *, enum rc, const char *text, size_t len);
};

struct park_wait {
    const char *account;      /* copied */
    struct store_actor actor; /* kind and id alone are kept */
    int64_t cursor;
    int64_t deadline_ms; /* boot time */
    uint64_t generation; /* from before the read that found nothing */
};

enum rc park_start(const struct park_options *,
                   struct park **out) RC_MUST_CHECK;

/* Any thread; take it before reading. */
uint64_t park_generation(const struct park *);

/* Give a request over. RC_FULL: as many as allowed are waiting, RC_IO: its
 * input could not be drained, RC_NOMEM: it is still the caller's, to answer at
 * once. RC_OK: it is not to be touched any more. Any thread; does not block on
 * the database. */
enum rc park_add(struct park *, struct req *,
                 const struct park_wait *) RC_MUST_CHECK;

/* How many are waiting now. Any thread. */
size_t park_count(const struct park *);

/* Answer all that wait, end the thread, free. Nothing may be added any more.
 * NULL is allowed. */
void park_end(struct park *);

#endif
