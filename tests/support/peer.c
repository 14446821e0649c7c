#include "tests/support/peer.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS_MAX   128
#define REQUEST_MAX ((size_t)4 * 1024 * 1024)
#define BACKLOG     128

struct peer_conn {
    struct peer *peer;
    pthread_t thread;
    size_t number;
    int fd;
    char *request; /* and what was read beyond it */
    size_t len;
    size_t head_len; /* of the request read last */
    size_t body_len;
};

struct peer {
    pthread_t thread; /* accepts */
    int fd;
    int stop_fd;
    int notes_fd;
    char url[64];
    peer_script_fn *script;
    void *ctx;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t moved;
    bool stopping;
    int gate;
    size_t requests;
    struct peer_conn conns[CONNS_MAX];
    size_t n_conns;
};

static void *play(void *arg)
{
    struct peer_conn *c = arg;

    c->peer->script(c, c->peer->ctx);
    /* The descriptor's number stays taken until peer_stop, which may shut it
     * down meanwhile. */
    (void)shutdown(c->fd, SHUT_RDWR);
    return NULL;
}

static void add_conn(struct peer *p, int fd)
{
    struct peer_conn *c;

    pthread_mutex_lock(&p->lock);
    ck_assert_uint_lt(p->n_conns, CONNS_MAX);
    c = &p->conns[p->n_conns];
    c->peer = p;
    c->number = p->n_conns++;
    c->fd = fd;
    ck_assert_int_eq(pthread_create(&c->thread, NULL, play, c), 0);
    pthread_mutex_unlock(&p->lock);
}

static void *accept_all(void *arg)
{
    struct peer *p = arg;

    for (;;) {
        struct pollfd fds[2] = {{.fd = p->fd, .events = POLLIN},
                                {.fd = p->stop_fd, .events = POLLIN}};
        int fd;

        (void)poll(fds, 2, -1);
        if (fds[1].revents != 0) {
            return NULL;
        }
        fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            add_conn(p, fd);
        }
    }
}

static void listen_on(struct peer *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(p->fd, 0);
    ck_assert_int_eq(bind(p->fd, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(p->fd, BACKLOG), 0);
    ck_assert_int_eq(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%d",
                   ntohs(at.sin_port));
}

struct peer *peer_start(peer_script_fn *script, void *ctx)
{
    struct peer *p = calloc(1, sizeof(*p));
    pthread_condattr_t attr;

    ck_assert_ptr_nonnull(p);
    p->script = script;
    p->ctx = ctx;
    listen_on(p);
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    p->notes_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert(p->stop_fd >= 0 && p->notes_fd >= 0);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->moved, &attr);
    pthread_condattr_destroy(&attr);
    ck_assert_int_eq(pthread_create(&p->thread, NULL, accept_all, p), 0);
    return p;
}

void peer_stop(struct peer *p)
{
    uint64_t one = 1;

    if (p == NULL) {
        return;
    }
    ck_assert_int_eq(write(p->stop_fd, &one, sizeof(one)), sizeof(one));
    pthread_join(p->thread, NULL);
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_conns; i++) {
        (void)shutdown(p->conns[i].fd, SHUT_RDWR);
        pthread_join(p->conns[i].thread, NULL);
        close(p->conns[i].fd);
        free(p->conns[i].request);
    }
    close(p->fd);
    close(p->stop_fd);
    close(p->notes_fd);
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

const char *peer_url(const struct peer *p)
{
    return p->url;
}

int peer_notes_fd(const struct peer *p)
{
    return p->notes_fd;
}

size_t peer_take_notes(struct peer *p)
{
    uint64_t n;

    return read(p->notes_fd, &n, sizeof(n)) == sizeof(n) ? (size_t)n : 0;
}

void peer_open_gate(struct peer *p, int n)
{
    pthread_mutex_lock(&p->lock);
    p->gate = n;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

size_t peer_requests(struct peer *p)
{
    size_t n;

    pthread_mutex_lock(&p->lock);
    n = p->requests;
    pthread_mutex_unlock(&p->lock);
    return n;
}

size_t peer_number(const struct peer_conn *c)
{
    return c->number;
}

/* More bytes behind those there are; false at the end or after patience. */
static bool read_more(struct peer_conn *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    ssize_t n;

    if (c->request == NULL) {
        c->request = malloc(REQUEST_MAX + 1);
        ck_assert_ptr_nonnull(c->request);
    }
    if (c->len == REQUEST_MAX || poll(&fd, 1, PEER_PATIENCE_MS) <= 0) {
        return false;
    }
    n = read(c->fd, c->request + c->len, REQUEST_MAX - c->len);
    if (n <= 0) {
        return false;
    }
    c->len += (size_t)n;
    c->request[c->len] = '\0';
    return true;
}

static size_t content_length(const char *head)
{
    const char *at = strcasestr(head, "\r\nContent-Length:");

    return at == NULL ? 0
                      : strtoul(at + strlen("\r\nContent-Length:"), NULL, 10);
}

const char *peer_read(struct peer_conn *c)
{
    size_t gone = c->head_len + c->body_len;
    const char *end = NULL;

    if (gone > 0) {
        memmove(c->request, c->request + gone, c->len - gone + 1);
        c->len -= gone;
        c->head_len = 0;
        c->body_len = 0;
    }
    while (end == NULL) {
        end = c->len == 0 ? NULL : strstr(c->request, "\r\n\r\n");
        if (end == NULL && !read_more(c)) {
            return NULL;
        }
    }
    c->head_len = (size_t)(end + 4 - c->request);
    c->body_len = content_length(c->request);
    while (c->len < c->head_len + c->body_len) {
        if (!read_more(c)) {
            return NULL;
        }
    }
    pthread_mutex_lock(&c->peer->lock);
    c->peer->requests++;
    pthread_mutex_unlock(&c->peer->lock);
    return c->request;
}

const char *peer_body(const struct peer_conn *c, size_t *len)
{
    *len = c->body_len;
    return c->request + c->head_len;
}

static bool send_bytes(struct peer_conn *c, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

bool peer_send(struct peer_conn *c, const char *text)
{
    return send_bytes(c, text, strlen(text));
}

bool peer_wait_gate(struct peer_conn *c, int n)
{
    struct peer *p = c->peer;
    struct timespec until;
    bool open;
    int waited = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PEER_PATIENCE_MS / 1000;
    pthread_mutex_lock(&p->lock);
    while (p->gate < n && !p->stopping && waited == 0) {
        waited = pthread_cond_timedwait(&p->moved, &p->lock, &until);
    }
    open = p->gate >= n && !p->stopping;
    pthread_mutex_unlock(&p->lock);
    return open;
}

bool peer_wait_hangup(struct peer_conn *c)
{
    struct pollfd fd = {.fd = c->fd, .events = POLLIN};
    char bytes[4096];

    while (poll(&fd, 1, PEER_PATIENCE_MS) > 0) {
        if (read(c->fd, bytes, sizeof(bytes)) <= 0) {
            return true;
        }
    }
    return false;
}

void peer_note(struct peer_conn *c)
{
    uint64_t one = 1;

    ck_assert_int_eq(write(c->peer->notes_fd, &one, sizeof(one)), sizeof(one));
}
