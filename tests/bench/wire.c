#include "tests/bench/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REPLY_LIMIT_BYTES ((size_t)8 * 1024 * 1024)
#define PATIENCE_MS       30000
#define BACKLOG           1024

int64_t wire_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void wire_die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int wire_listen(int *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        wire_die("cannot listen: %s", strerror(errno));
    }
    *port = ntohs(address.sin_port);
    return fd;
}

void wire_take(struct wire *w, int fd)
{
    int on = 1;

    w->fd = fd;
    w->first_us = 0;
    w->body_at = 0;
    buf_init(&w->in, REPLY_LIMIT_BYTES);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        wire_die("fcntl: %s", strerror(errno));
    }
}

void wire_open(struct wire *w, int port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        wire_die("cannot connect to port %d: %s", port, strerror(errno));
    }
    wire_take(w, fd);
}

void wire_close(struct wire *w)
{
    if (w->fd >= 0) {
        (void)close(w->fd);
        w->fd = -1;
        buf_free(&w->in);
    }
}

static bool wait_for(int fd, short events, int ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;

    do {
        n = poll(&p, 1, ms);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

void wire_send(struct wire *w, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(w->fd, text, len, MSG_NOSIGNAL);

        if (n >= 0) {
            text += n;
            len -= (size_t)n;
        } else if (errno != EAGAIN || !wait_for(w->fd, POLLOUT, PATIENCE_MS)) {
            wire_die("cannot send: %s", strerror(errno));
        }
    }
}

void wire_get(struct wire *w, const char *user, const char *path)
{
    char text[512];
    int len = snprintf(text, sizeof(text),
                       "GET %s HTTP/1.1\r\nHost: localhost\r\n"
                       "X-Bench-User: %s\r\n\r\n",
                       path, user);

    if (len < 0 || (size_t)len >= sizeof(text)) {
        wire_die("the path is too long");
    }
    wire_send(w, text, (size_t)len);
}

void wire_post(struct wire *w, const char *user, const char *path,
               const char *body)
{
    static int64_t key;
    char text[2048];
    int len;

    key++;
    len = snprintf(text, sizeof(text),
                   "POST %s HTTP/1.1\r\nHost: localhost\r\n"
                   "X-Bench-User: %s\r\nContent-Type: application/json\r\n"
                   "Idempotency-Key: wire-%ld-%" PRId64 "\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   path, user, (long)getpid(), key, strlen(body), body);
    if (len < 0 || (size_t)len >= sizeof(text)) {
        wire_die("the request is too long");
    }
    wire_send(w, text, (size_t)len);
}

/* The head is over: where the body begins and how long it is. */
static bool is_whole(struct wire *w)
{
    const char *text = buf_str(&w->in);
    const char *end = strstr(text, "\r\n\r\n");
    const char *length;

    if (end == NULL) {
        return false;
    }
    length = strcasestr(text, "\r\nContent-Length:");
    w->body_at = (size_t)(end - text) + 4;
    if (length == NULL || length > end) {
        /* A request without a body; every reply here carries its length. */
        return true;
    }
    return w->in.len >=
           w->body_at +
               strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
}

enum wire_got wire_read(struct wire *w)
{
    char piece[65536];

    for (;;) {
        ssize_t n = recv(w->fd, piece, sizeof(piece), 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return WIRE_MORE;
        }
        if (n <= 0) {
            return WIRE_CLOSED;
        }
        if (w->first_us == 0) {
            w->first_us = wire_now_us();
        }
        buf_add(&w->in, piece, (size_t)n);
        if (buf_rc(&w->in) != RC_OK) {
            wire_die("a reply is too long");
        }
        if (is_whole(w)) {
            return WIRE_WHOLE;
        }
    }
}

const char *wire_body(const struct wire *w)
{
    return buf_str(&w->in) + w->body_at;
}

int wire_status(const struct wire *w)
{
    const char *space = strchr(buf_str(&w->in), ' ');

    return space == NULL ? 0 : (int)strtol(space, NULL, 10);
}

void wire_next(struct wire *w)
{
    buf_free(&w->in); /* thousands wait; none keeps the peak of its replies */
    buf_init(&w->in, REPLY_LIMIT_BYTES);
    w->first_us = 0;
    w->body_at = 0;
}

void wire_wait(struct wire *w)
{
    int64_t until_us = wire_now_us() + (int64_t)PATIENCE_MS * 1000;
    enum wire_got got;

    do {
        if (!wait_for(w->fd, POLLIN, PATIENCE_MS) || wire_now_us() > until_us) {
            wire_die("no reply in %d ms", PATIENCE_MS);
        }
        got = wire_read(w);
    } while (got == WIRE_MORE);
    if (got == WIRE_CLOSED) {
        wire_die("the server hung up");
    }
}

int64_t wire_number(const struct wire *w, const char *name)
{
    char member[64];
    const char *found;

    (void)snprintf(member, sizeof(member), "\"%s\":", name);
    found = strstr(wire_body(w), member);
    if (found == NULL) {
        wire_die("no %s in: %s", name, buf_str(&w->in));
    }
    return strtoll(found + strlen(member), NULL, 10);
}
