/* web_turns.h - whose turn it is to ask a host of the web.
 *
 * A model asks for as many pages of a site as it likes, and so may many Runs at
 * once: no host has more than WEB_TURNS_AT_ONCE requests of this process under
 * way, and who comes later waits, in order, within its own time. A host that
 * asks to be left alone (429 or 503 with Retry-After) is not asked before then.
 *
 * All of it is memory. When the process dies, its requests are over as well;
 * what is lost is which hosts asked for rest: each is asked once more, and says
 * so again.
 *
 * A turn is taken, waited for or neither; web_turn_leave ends whichever it is.
 * Its callback fires from web_turns_tick alone, and may take and leave turns.
 * All times are boot times in milliseconds. One thread.
 */
#ifndef ASIDE_RUNTIME_WEB_TURNS_H
#define ASIDE_RUNTIME_WEB_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sql/base/rc.h"

#define WEB_TURNS_AT_ONCE 2
/* Hosts at rest that are remembered; of more, those whose rest ends first go.
 */
#define WEB_TURNS_RESTS_MAX 256
/* However long a host asks for. */
#define WEB_TURNS_REST_MS ((int64_t)24 * 3600 * 1000)

struct web_turns;
struct web_host;

enum web_turn_answer {
    WEB_TURN_YOURS = 0, /* ask, and leave when that has ended */
    WEB_TURN_WAIT,      /* the callback will tell one of the others */
    WEB_TURN_RESTS,     /* the host is not to be asked: web_turns_rest_ms */
    WEB_TURN_LATE,      /* the time has passed */
    WEB_TURN__MAX
};

typedef void web_turn_fn(void *ctx, enum web_turn_answer);

/* Part of who asks, zeroed at first; its members are web_turns.c's. */
struct web_turn {
    TAILQ_ENTRY(web_turn) entry;
    struct web_turns *turns;
    struct web_host *host; /* NULL: neither taken nor waited for */
    bool waits;
    int64_t end_ms;
    int64_t not_before_ms;
    web_turn_fn *fn;
    void *ctx;
};

enum rc web_turns_new(struct web_turns **) RC_MUST_CHECK;
/* All turns have been left. NULL is allowed. */
void web_turns_free(struct web_turns *);

/* A turn at this host, by end_ms at the latest. RC_NOMEM. */
enum rc web_turn_take(struct web_turns *, struct web_turn *, const char *host,
                      int64_t now_ms, int64_t end_ms, web_turn_fn *, void *ctx,
                      enum web_turn_answer *) RC_MUST_CHECK;
/* A turn that was taken could not be used just now: wait for it again, at least
 * for so long. */
void web_turn_put_off(struct web_turn *, int64_t not_before_ms);
void web_turn_leave(struct web_turn *);

/* The host has asked for so many milliseconds of rest. */
void web_turns_rest(struct web_turns *, const char *host, int64_t now_ms,
                    int64_t for_ms);
/* How much of it is left; 0: none. */
int64_t web_turns_rest_ms(const struct web_turns *, const char *host,
                          int64_t now_ms);

/* When web_turns_tick wants to be called next; 0: not before something comes.
 * NULL is allowed, as below. */
int64_t web_turns_deadline_ms(const struct web_turns *);
void web_turns_tick(struct web_turns *, int64_t now_ms);

#endif
