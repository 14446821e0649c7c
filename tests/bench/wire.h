/* wire.h - HTTP on loopback for the measuring programs: small requests sent in
 * one piece, replies with Content-Length, the time of a reply's first byte.
 *
 * These programs measure; what cannot happen to a healthy server ends them
 * with a message.
 */
#ifndef ASIDE_TESTS_BENCH_WIRE_H
#define ASIDE_TESTS_BENCH_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/buf.h"

struct wire {
    int fd; /* not blocking; -1: closed */
    struct buf in;
    int64_t first_us; /* of the reply in hand; 0: none yet */
    size_t body_at;   /* once whole */
};

enum wire_got { WIRE_MORE, WIRE_WHOLE, WIRE_CLOSED };

int64_t wire_now_us(void); /* CLOCK_MONOTONIC */

/* Say why and end the program. */
__attribute__((noreturn)) void wire_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* A socket that listens on a free port of 127.0.0.1. */
int wire_listen(int *port);

void wire_open(struct wire *, int port);
/* Take a connected socket over. */
void wire_take(struct wire *, int fd);
void wire_close(struct wire *); /* a closed one is allowed */

/* Send all of it; a peer that does not read it is waited for. */
void wire_send(struct wire *, const char *text, size_t len);
void wire_get(struct wire *, const char *user, const char *path);
void wire_post(struct wire *, const char *user, const char *path,
               const char *body);

/* Read what is there. WIRE_WHOLE: a reply with all of its body stands in in,
 * NUL-terminated; wire_next forgets it. */
enum wire_got wire_read(struct wire *);
const char *wire_body(const struct wire *);
int wire_status(const struct wire *);
void wire_next(struct wire *);

/* Read until the reply is whole; dies after 30 s. */
void wire_wait(struct wire *);

/* The number behind "name": in the body, the first of that name. */
int64_t wire_number(const struct wire *, const char *name);

#endif
