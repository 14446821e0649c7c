/* peer.h - a scripted HTTP server for tests, on a free port of loopback.
 *
 * Each connection is played by a function of the test on a thread of its own.
 * The two sides meet by events, never by time: the test opens gates that a
 * script waits at, and scripts leave notes that make a descriptor readable,
 * which the test's loop can watch. A script that waits longer than
 * PEER_PATIENCE_MS, for bytes or for a gate, goes on with false; so does
 * everything once peer_stop was called.
 */
#ifndef ASIDE_TESTS_PEER_H
#define ASIDE_TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#define PEER_PATIENCE_MS 60000

struct peer;
struct peer_conn;

typedef void peer_script_fn(struct peer_conn *, void *ctx);

/* Start listening. Each connection is closed as its script returns. */
struct peer *peer_start(peer_script_fn *script, void *ctx);
/* Ends all scripts, and waits for them. NULL is allowed. */
void peer_stop(struct peer *);

/* http://127.0.0.1:<port>; belongs to the peer. */
const char *peer_url(const struct peer *);
/* Readable while there are notes not yet taken. */
int peer_notes_fd(const struct peer *);
/* Take the notes left since this was last asked; their number. */
size_t peer_take_notes(struct peer *);
/* Let every script pass its gates up to n. */
void peer_open_gate(struct peer *, int n);
/* Requests read so far, over all connections. */
size_t peer_requests(struct peer *);

/* --- for scripts ------------------------------------------------------------
 */

/* Position of this connection in the order of their arrival, from 0. */
size_t peer_number(const struct peer_conn *);
/* Read one request, headers and body; NULL if the other side hung up. The
 * text belongs to the connection until the next one is read. */
const char *peer_read(struct peer_conn *);
/* The body of the request read last. */
const char *peer_body(const struct peer_conn *, size_t *len);
bool peer_send(struct peer_conn *, const char *text);
/* Wait until the gate n is open. */
bool peer_wait_gate(struct peer_conn *, int n);
/* Wait until the other side has closed the connection. */
bool peer_wait_hangup(struct peer_conn *);
void peer_note(struct peer_conn *);

#endif
