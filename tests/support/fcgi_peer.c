#include "tests/support/fcgi_peer.h"

#include <check.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sql/base/buf.h"
#include "sql/base/clock.h"

/* FastCGI 1.0, section 8. */
#define VERSION       1
#define BEGIN_REQUEST 1
#define END_REQUEST   3
#define PARAMS        4
#define STDIN         5
#define STDOUT        6
#define RESPONDER     1

#define REQUEST_ID   1
#define HEADER_BYTES 8
#define RECORD_BYTES 65535
#define LIMIT_BYTES  ((size_t)64 * 1024 * 1024)

int fcgi_peer_connect(const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = FCGI_PEER_PATIENCE_MS / 1000};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_uint_lt(strlen(socket_path), sizeof(address.sun_path));
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ck_assert_msg(
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0,
        "cannot connect to %s", socket_path);
    return fd;
}

bool fcgi_peer_bytes(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        at += n;
        len -= (size_t)n;
    }
    return true;
}

bool fcgi_peer_record(int fd, int type, const void *content, size_t len)
{
    static const char PADDING[8] = {0};
    size_t padding = (8 - len % 8) % 8;
    uint8_t header[HEADER_BYTES] = {
        VERSION,      (uint8_t)type,    0, REQUEST_ID, (uint8_t)(len >> 8),
        (uint8_t)len, (uint8_t)padding, 0};

    ck_assert_uint_le(len, RECORD_BYTES);
    return fcgi_peer_bytes(fd, header, sizeof(header)) &&
           fcgi_peer_bytes(fd, content, len) &&
           fcgi_peer_bytes(fd, PADDING, padding);
}

static void put_len(struct buf *b, size_t len)
{
    if (len < 128) {
        buf_putc(b, (char)len);
        return;
    }
    buf_putc(b, (char)(0x80 | (len >> 24)));
    buf_putc(b, (char)(len >> 16));
    buf_putc(b, (char)(len >> 8));
    buf_putc(b, (char)len);
}

static void put_param(struct buf *b, const char *name, const char *value)
{
    put_len(b, strlen(name));
    put_len(b, strlen(value));
    buf_puts(b, name);
    buf_puts(b, value);
}

static bool is_given(const struct fcgi_peer_ask *ask, const char *name)
{
    for (size_t i = 0; ask->params != NULL && ask->params[i] != NULL; i += 2) {
        if (strcmp(ask->params[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_default(struct buf *b, const struct fcgi_peer_ask *ask,
                        const char *name, const char *value)
{
    if (!is_given(ask, name)) {
        put_param(b, name, value);
    }
}

/* A given value "" leaves the variable out. */
static void put_params(struct buf *b, const struct fcgi_peer_ask *ask,
                       size_t body_len)
{
    const char *query = strchr(ask->uri, '?');
    char len[32];

    (void)snprintf(len, sizeof(len), "%zu", body_len);
    put_param(b, "REQUEST_METHOD", ask->method == NULL ? "GET" : ask->method);
    put_param(b, "REQUEST_URI", ask->uri);
    put_param(b, "QUERY_STRING", query == NULL ? "" : query + 1);
    put_default(b, ask, "CONTENT_LENGTH", ask->body == NULL ? "" : len);
    put_default(b, ask, "CONTENT_TYPE",
                ask->body == NULL ? "" : "application/json");
    put_default(b, ask, "REMOTE_ADDR", "127.0.0.1");
    put_default(b, ask, "SERVER_ADDR", "127.0.0.1");
    put_default(b, ask, "HTTP_HOST", "localhost");
    for (size_t i = 0; ask->params != NULL && ask->params[i] != NULL; i += 2) {
        if (*ask->params[i + 1] != '\0') {
            put_param(b, ask->params[i], ask->params[i + 1]);
        }
    }
}

static void send_body(int fd, const struct fcgi_peer_ask *ask, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        size_t n = len - sent > 8000 ? 8000 : len - sent;

        if (!fcgi_peer_record(fd, STDIN, ask->body + sent, n)) {
            return; /* the reply will tell */
        }
        sent += n;
    }
    if (!ask->keep_open) {
        (void)fcgi_peer_record(fd, STDIN, "", 0);
    }
}

void fcgi_peer_send(int fd, const struct fcgi_peer_ask *ask)
{
    static const uint8_t BEGIN[8] = {0, RESPONDER};
    size_t len = ask->body_len;
    struct buf params;

    if (len == 0 && ask->body != NULL) {
        len = strlen(ask->body);
    }
    buf_init(&params, RECORD_BYTES);
    put_params(&params, ask, len);
    ck_assert_int_eq(buf_rc(&params), RC_OK);
    ck_assert(fcgi_peer_record(fd, BEGIN_REQUEST, BEGIN, sizeof(BEGIN)));
    ck_assert(fcgi_peer_record(fd, PARAMS, params.data, params.len));
    ck_assert(fcgi_peer_record(fd, PARAMS, "", 0));
    buf_free(&params);
    send_body(fd, ask, len);
}

int fcgi_peer_start(const char *socket_path, const struct fcgi_peer_ask *ask)
{
    int fd = fcgi_peer_connect(socket_path);

    fcgi_peer_send(fd, ask);
    return fd;
}

bool fcgi_peer_ready(int fd, int within_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, within_ms) == 1;
}

/* Exactly len bytes; false at the end of the connection. */
static bool read_bytes(int fd, void *to, size_t len)
{
    char *at = to;

    while (len > 0) {
        ssize_t n = recv(fd, at, len, 0);

        if (n <= 0) {
            return false;
        }
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Read one record; what it says on standard output is appended. Its type, or
 * 0 at the end of the connection. */
static int read_record(int fd, struct buf *output)
{
    uint8_t header[HEADER_BYTES];
    char content[RECORD_BYTES + 256];
    size_t len;

    if (!read_bytes(fd, header, sizeof(header))) {
        return 0;
    }
    ck_assert_int_eq(header[0], VERSION);
    ck_assert_int_eq(header[3], REQUEST_ID);
    len = (size_t)header[4] << 8 | header[5];
    if (!read_bytes(fd, content, len + header[6])) {
        return 0;
    }
    if (header[1] == STDOUT) {
        buf_add(output, content, len);
    }
    return header[1];
}

char *fcgi_peer_read_output(int fd, size_t len)
{
    struct buf output;
    char *text;

    buf_init(&output, LIMIT_BYTES);
    while (output.len < len && read_record(fd, &output) != 0) {
    }
    ck_assert_int_eq(buf_rc(&output), RC_OK);
    text = strdup(buf_str(&output));
    buf_free(&output);
    return text;
}

static void split(const struct buf *output, struct fcgi_peer_reply *reply)
{
    const char *text = buf_str(output);
    const char *blank = strstr(text, "\r\n\r\n");
    const char *status = strstr(text, "Status: ");

    if (blank == NULL || status == NULL) {
        return;
    }
    reply->status = atoi(status + strlen("Status: "));
    reply->headers = strndup(text, (size_t)(blank + 2 - text));
    reply->body_len = output->len - (size_t)(blank + 4 - text);
    reply->body = malloc(reply->body_len + 1);
    ck_assert_ptr_nonnull(reply->body);
    memcpy(reply->body, blank + 4, reply->body_len);
    reply->body[reply->body_len] = '\0';
}

void fcgi_peer_finish(int fd, struct fcgi_peer_reply *reply)
{
    struct buf output;
    int type;

    memset(reply, 0, sizeof(*reply));
    buf_init(&output, LIMIT_BYTES);
    do {
        type = read_record(fd, &output);
    } while (type != 0 && type != END_REQUEST);
    (void)close(fd);
    reply->ended = type == END_REQUEST;
    ck_assert_int_eq(buf_rc(&output), RC_OK);
    split(&output, reply);
    buf_free(&output);
}

void fcgi_peer_free(struct fcgi_peer_reply *reply)
{
    free(reply->headers);
    free(reply->body);
    memset(reply, 0, sizeof(*reply));
}

void fcgi_peer_call(const char *socket_path, const struct fcgi_peer_ask *ask,
                    struct fcgi_peer_reply *reply)
{
    fcgi_peer_finish(fcgi_peer_start(socket_path, ask), reply);
}
