/* serve.h - a team of threads that accept requests.
 *
 * Both FastCGI programs are this loop: accept, handle, finish. Each thread has
 * a context of its own (a database connection, say), made before it starts and
 * closed after it ended.
 */
#ifndef ASIDE_FCGI_SERVE_H
#define ASIDE_FCGI_SERVE_H

#include <stddef.h>

#include "fcgi/req.h"
#include "sql/base/rc.h"

enum serve_then {
    SERVE_FINISH = 0, /* finish the request */
    SERVE_KEPT        /* it has a new owner: do not touch it again */
};

struct serve_options {
    struct req_listener *listener;
    size_t n_threads; /* 0: as serve_threads says */
    /* Make a context, in the thread that calls serve_start; NULL: none. */
    enum rc (*open)(void *shared, void **context);
    void (*close)(void *context);
    enum serve_then (*handle)(struct req *, void *shared, void *context);
    void *shared;
};

struct serve;

/* How many threads are meant: wanted, or for 0 twice the processors, at least
 * four. */
size_t serve_threads(size_t wanted);

/* Start the threads. All signals are blocked in them. RC_IO or open's failure:
 * none is running. */
enum rc serve_start(const struct serve_options *,
                    struct serve **out) RC_MUST_CHECK;

/* Stop accepting, let each thread finish the request in its hands, join them
 * all, free. Blocks as long as the longest of these requests. NULL is
 * allowed. */
void serve_end(struct serve *);

/* Block SIGTERM, SIGINT and SIGUSR1 in the calling thread and all that it
 * starts; then wait for one of them: the orderly end of a program. */
void serve_block_signals(void);
void serve_wait_signal(void);

#endif
