/* limit.h - how often: writes of an account, writes from an address, and
 * refused logins from an address.
 *
 * Each has a bucket that holds what it may do in a minute and fills up evenly,
 * so that a person's hour of work in ten seconds passes and a program that
 * never stops does not. The core is pure: who and when in, how long to wait
 * out; the clock is the caller's.
 *
 * Memory is bounded: a table of LIMIT_ENTRIES buckets. Where there is no room
 * the one that would be full again soonest makes place, which loses the little
 * that it was short of: whoever comes under thousands of names presses out his
 * own, not those that are empty. Everything is lost when the process dies, and
 * each responder counts for itself: N of them let through up to N times as
 * much. That is meant: this is to bound a flood, and a count that survives
 * would cost a write for each request that is refused.
 *
 * An address is what the web server says (REMOTE_ADDR). An IPv6 address counts
 * by its first 64 bits, since whoever has one has them all; an IPv4 address
 * written as IPv6 is the IPv4 address. Writes from this machine itself are not
 * counted by address: they come from its person or from a proxy, behind which
 * everybody would share one bucket.
 */
#ifndef ASIDE_FCGI_LIMIT_H
#define ASIDE_FCGI_LIMIT_H

#include <stdint.h>

#include "sql/base/rc.h"

#define LIMIT_ENTRIES 4096 /* of 24 bytes */

enum limit_kind {
    LIMIT_ACCOUNT = 0, /* writes */
    LIMIT_ADDRESS,     /* writes */
    LIMIT_LOGIN,       /* refused logins, by address */
    LIMIT__MAX
};

struct limit;

/* per_minute of each kind, at most LIMIT_MOST; 0: any number. The seed keeps
 * anybody from choosing names that press out others. */
#define LIMIT_MOST 1000000
enum rc limit_new(const int64_t per_minute[LIMIT__MAX], uint64_t seed,
                  struct limit **out) RC_MUST_CHECK;
/* NULL is allowed. */
void limit_free(struct limit *);

/* One write. 0: it may be, and is counted for both; else milliseconds until
 * it may, and nothing is counted. address NULL: unknown, one bucket for all.
 * Any thread; never blocks for long. limit NULL: it may. */
int64_t limit_write(struct limit *, const char *account, const char *address,
                    int64_t now_us);

/* A login was refused: the same for its address alone. */
int64_t limit_login(struct limit *, const char *address, int64_t now_us);

#endif
