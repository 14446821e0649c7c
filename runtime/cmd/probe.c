#include "runtime/cmd/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sql/base/json.h"

static void probe_fail(struct probe *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void probe_fail(struct probe *p, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(p->why, sizeof(p->why), fmt, args);
    va_end(args);
    probe_close(p);
    p->state = PROBE_FAILED;
}

void probe_init(struct probe *p)
{
    memset(p, 0, sizeof(*p));
    p->fd = -1;
    (void)snprintf(p->why, sizeof(p->why), "nothing has answered yet");
}

void probe_close(struct probe *p)
{
    if (p->fd >= 0) {
        (void)close(p->fd);
        p->fd = -1;
    }
    p->state = PROBE_IDLE;
}

void probe_start(struct probe *p, int port, const char *path, int64_t now_ms,
                 int64_t limit_ms)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    int n;

    probe_close(p);
    n = snprintf(p->text, sizeof(p->text),
                 "GET %s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n\r\n", path, port);
    if (n < 0 || (size_t)n >= sizeof(p->text)) {
        probe_fail(p, "the path is too long");
        return;
    }
    p->len = (size_t)n;
    p->give_up_ms = now_ms + limit_ms;
    p->state = PROBE_SENDING;
    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->fd < 0 || (connect(p->fd, (struct sockaddr *)&to, sizeof(to)) != 0 &&
                      errno != EINPROGRESS)) {
        probe_fail(p, "nginx: %s", strerror(errno));
    }
}

short probe_events(const struct probe *p)
{
    return p->state == PROBE_SENDING ? POLLOUT : POLLIN;
}

/* The reply is complete: is it the health of an Aside that works? */
static void probe_judge(struct probe *p)
{
    const char *body;
    cJSON *json = NULL;
    long status;

    p->text[p->len] = '\0';
    body = strstr(p->text, "\r\n\r\n");
    if (strncmp(p->text, "HTTP/1.", 7) != 0 || body == NULL) {
        probe_fail(p, "nginx: no HTTP reply");
        return;
    }
    status = strtol(p->text + strcspn(p->text, " "), NULL, 10);
    body += 4;
    if (status != 200) {
        probe_fail(p, "the responders: HTTP status %ld", status);
    } else if (json_parse(body, strlen(body), &json, NULL) != RC_OK) {
        probe_fail(p, "the responders: health is not JSON");
    } else if (strcmp(json_str(json, "runtime", ""), "ok") != 0) {
        probe_fail(p, "asided: health says that the runtime is \"%.32s\"",
                   json_str(json, "runtime", ""));
    } else {
        probe_close(p);
        p->state = PROBE_DONE;
    }
    json_free(json);
}

/* The request is tiny and fits any socket buffer. */
static void probe_send(struct probe *p)
{
    ssize_t n = send(p->fd, p->text, p->len, MSG_NOSIGNAL);

    if (n == (ssize_t)p->len) {
        p->len = 0;
        p->state = PROBE_READING;
    } else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        probe_fail(p, "nginx: %s", n >= 0 ? "short write" : strerror(errno));
    }
}

static void probe_read(struct probe *p)
{
    for (;;) {
        ssize_t n =
            recv(p->fd, p->text + p->len, PROBE_REPLY_BYTES - p->len, 0);

        if (n > 0) {
            p->len += (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else if (n < 0) {
            probe_fail(p, "nginx: %s", strerror(errno));
            return;
        } else {
            probe_judge(p); /* the end, or a reply too long to be health */
            return;
        }
    }
}

void probe_step(struct probe *p, int64_t now_ms)
{
    if (p->state == PROBE_SENDING) {
        probe_send(p);
    }
    if (p->state == PROBE_READING) {
        probe_read(p);
    }
    if ((p->state == PROBE_SENDING || p->state == PROBE_READING) &&
        now_ms >= p->give_up_ms) {
        probe_fail(p, "no answer from the responders");
    }
}
