/* supervise.h - keeps a table of programs running until it is told to stop.
 *
 * Each part runs in a process group of its own, so that Ctrl-C in a terminal
 * reaches the supervisor alone and a part's own children go with it. A part
 * that ends is started again after a pause of 250 ms that doubles up to 10 s,
 * and begins anew once it has lived for 30 s. SIGINT, SIGTERM and SIGHUP end
 * everything, stage by stage, each stage within 10 s. A part whose supervisor
 * was killed gets its orphan signal from the kernel.
 *
 * One thread; it sleeps in poll(2), and at rest without a time-out.
 */
#ifndef ASIDE_RUNTIME_SUPERVISE_H
#define ASIDE_RUNTIME_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUPERVISE_MAX_PARTS 8

struct supervise_part {
    const char *name;
    const char *argv[12]; /* argv[0] is the program's path; NULL ends it */
    const char *appears;  /* file that the part makes once it serves; or NULL */
    int stage;            /* parts of a lower stage are ended first */
    int stop_signal;      /* asks it to end in an orderly way */
    int orphan_signal;    /* sent by the kernel when the supervisor dies */
};

struct supervise_options {
    const struct supervise_part *parts;
    size_t n_parts; /* <= SUPERVISE_MAX_PARTS */
    int port;       /* where health_path is asked for until all answers */
    const char *health_path;
    int64_t ready_ms;         /* how long that may take */
    void (*ready)(void *arg); /* called once when it does */
    /* Asked before a part is started again, once all was ready: false, having
     * said why, ends everything. */
    bool (*may_go_on)(void *arg);
    void *arg;
};

/* Start the parts and keep them running. Blocks. Returns the exit status: 0
 * after an orderly stop, 1 if the start failed (what was missing is logged) or
 * it may not go on.
 * No part is left running in either case. */
int supervise_run(const struct supervise_options *);

#endif
