/* responder.h - the responder in this process: its router, handlers, writer and
 * waker, over a real socket and the database of a stage (stage.h). Requests are
 * accepted and handled by the thread that calls.
 */
#ifndef ASIDE_TESTS_FUZZ_RESPONDER_H
#define ASIDE_TESTS_FUZZ_RESPONDER_H

#include <stddef.h>

/* Unless it is there already; ended when the process ends. */
void responder_start(void);

/* A connection to it, not accepted yet; the caller closes. */
int responder_connect(void);

/* Accept one connection that holds a request (others are passed over) and
 * handle it. One must come. */
void responder_serve(void);

/* The whole output of a connection whose request was handled, NUL-terminated;
 * the caller frees. NULL: the request is a poll that waits. */
char *responder_output(int fd, size_t *len);

#endif
