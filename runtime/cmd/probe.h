/* probe.h - ask http://127.0.0.1:port/path once, without blocking.
 *
 * For the supervisor, which wants to know whether all of Aside answers. The
 * caller waits for probe_fd with poll(2) for probe_events and then calls
 * probe_step; it closes the probe with probe_close in any case.
 */
#ifndef ASIDE_RUNTIME_PROBE_H
#define ASIDE_RUNTIME_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_REPLY_BYTES 8192

enum probe_state {
    PROBE_IDLE = 0, /* nothing asked */
    PROBE_SENDING,
    PROBE_READING,
    PROBE_DONE,   /* Aside is healthy and its runtime at work */
    PROBE_FAILED, /* why says what was missing */
    PROBE__MAX
};

struct probe {
    enum probe_state state;
    int fd;             /* -1 while there is none */
    int64_t give_up_ms; /* boot time */
    char why[160];      /* one phrase, while PROBE_FAILED */
    size_t len;
    char text[PROBE_REPLY_BYTES + 1]; /* the request, then the reply */
};

void probe_init(struct probe *);
/* Begin, with a bound of limit_ms from now_ms. */
void probe_start(struct probe *, int port, const char *path, int64_t now_ms,
                 int64_t limit_ms);
short probe_events(const struct probe *);
/* Go on as far as possible; fails when the time is up. */
void probe_step(struct probe *, int64_t now_ms);
void probe_close(struct probe *); /* back to PROBE_IDLE */

#endif
