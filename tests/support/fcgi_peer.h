/* fcgi_peer.h - the web server's side of FastCGI for tests: records to a Unix
 * socket, and a responder as a process.
 *
 * What cannot be sent or is not answered within PATIENCE fails the test.
 */
#ifndef ASIDE_TESTS_FCGI_PEER_H
#define ASIDE_TESTS_FCGI_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FCGI_PEER_PATIENCE_MS 60000

/* One request; members left NULL are left out. */
struct fcgi_peer_ask {
    const char *method;        /* NULL: GET */
    const char *uri;           /* "/api/v1/changes?after=1" */
    const char *const *params; /* name, value, ..., NULL: further variables */
    const char *body;
    size_t body_len; /* 0: strlen(body) */
    bool keep_open;  /* do not send the end of the input yet */
};

struct fcgi_peer_reply {
    int status;    /* 0: no reply */
    char *headers; /* as sent, up to the empty line; the caller frees both */
    char *body;
    size_t body_len;
    bool ended; /* an end record came */
};

/* Connect, and send a request. Loopback addresses and Host localhost stand in
 * it unless params say otherwise. The caller closes the descriptor. */
int fcgi_peer_connect(const char *socket);
int fcgi_peer_start(const char *socket, const struct fcgi_peer_ask *);
void fcgi_peer_send(int fd, const struct fcgi_peer_ask *);
/* Pieces for broken requests. A record of this type, padding included. */
bool fcgi_peer_record(int fd, int type, const void *, size_t len);
bool fcgi_peer_bytes(int fd, const void *, size_t len);

/* Is there something to read, or the end, within this time? */
bool fcgi_peer_ready(int fd, int within_ms);
/* Read until the end record or the end of the connection, and close. */
void fcgi_peer_finish(int fd, struct fcgi_peer_reply *);
/* Read what comes until at least len bytes of output are there; returns them,
 * NUL-terminated; the caller frees. */
char *fcgi_peer_read_output(int fd, size_t len);
void fcgi_peer_free(struct fcgi_peer_reply *);

/* start and finish in one. */
void fcgi_peer_call(const char *socket, const struct fcgi_peer_ask *,
                    struct fcgi_peer_reply *);

#endif
