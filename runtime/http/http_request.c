/* http_request.c - what is asked: the options of a call as a libcurl handle. */
#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "runtime/http/http_inside.h"
#include "sql/base/version.h"

#define UPLOAD_BYTES     16384L /* the least that libcurl takes */
#define IDLE_MAX_SECONDS 30L    /* servers close idle connections, some soon */

/* The body is freed once it is handed over: a reply may take minutes. */
static size_t read_cb(char *to, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    size_t len = size * n;

    if (c->body == NULL) {
        return 0;
    }
    if (len > c->body_len - c->body_at) {
        len = c->body_len - c->body_at;
    }
    memcpy(to, c->body + c->body_at, len);
    c->body_at += len;
    if (c->body_at == c->body_len) {
        free(c->body);
        c->body = NULL;
    }
    return len;
}

static bool is_post(const struct http_options *o)
{
    return strcmp(o->method, "POST") == 0;
}

static void tell_host(const char *host, struct http_host *out)
{
    size_t len = strlen(host);
    struct in_addr ignored;

    out->is_loopback =
        strcasecmp(host, "localhost") == 0 ||
        (len > 10 && strcasecmp(host + len - 10, ".localhost") == 0) ||
        strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
    /* libcurl has brought any other spelling of an address into this one. */
    out->is_named = host[0] != '[' && inet_pton(AF_INET, host, &ignored) != 1;
}

static enum rc check_url(const char *url, struct http_host *out)
{
    CURLU *u = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    enum rc rc = RC_INVALID;

    if (u == NULL) {
        return RC_NOMEM;
    }
    if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)) {
        tell_host(host, out);
        rc = RC_OK;
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(u);
    return rc;
}

/* A header line that a server could take for two, or for the end. */
static bool is_line(const char *line)
{
    for (const char *p = line; *p != '\0'; p++) {
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool are_lines(const char *const *lines)
{
    for (; lines != NULL && *lines != NULL; lines++) {
        if (!is_line(*lines) || strchr(*lines, ':') == NULL) {
            return false;
        }
    }
    return true;
}

enum rc http_request_check(const struct http_options *o, struct http_host *host)
{
    if (!is_post(o) && strcmp(o->method, "GET") != 0 &&
        strcmp(o->method, "DELETE") != 0) {
        return RC_INVALID;
    }
    if (!are_lines(o->headers) || (o->accept != NULL && !is_line(o->accept)) ||
        (o->user_agent != NULL && !is_line(o->user_agent))) {
        return RC_INVALID;
    }
    for (const char *p = o->bearer; p != NULL && *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f) {
            return RC_INVALID;
        }
    }
    return check_url(o->url, host);
}

static bool add_header(struct http_call *c, const char *line)
{
    struct curl_slist *longer = curl_slist_append(c->headers, line);

    if (longer == NULL) {
        return false;
    }
    c->headers = longer;
    return true;
}

static bool add_named(struct http_call *c, const char *name, const char *value)
{
    struct buf line;
    bool ok;

    buf_init(&line, strlen(name) + strlen(value) + 1);
    buf_printf(&line, "%s%s", name, value);
    ok = buf_rc(&line) == RC_OK && add_header(c, buf_str(&line));
    buf_free(&line);
    return ok;
}

static bool set_headers(struct http_call *c, const struct http_options *o)
{
    bool ok =
        add_named(c, "Accept: ",
                  o->accept != NULL ? o->accept
                                    : "text/event-stream, application/json") &&
        add_header(c, "Expect:");

    if (ok && is_post(o)) {
        ok = add_header(c, "Content-Type: application/json");
    }
    if (ok && o->bearer != NULL && o->bearer[0] != '\0') {
        ok = add_named(c, "Authorization: Bearer ", o->bearer);
    }
    for (size_t i = 0; ok && o->headers != NULL && o->headers[i] != NULL; i++) {
        ok = add_header(c, o->headers[i]);
    }
    return ok && curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers) ==
                     CURLE_OK;
}

static bool set_body(struct http_call *c, const struct http_options *o)
{
    CURL *e = c->easy;

    if (!is_post(o)) {
        return strcmp(o->method, "GET") == 0 ||
               curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, o->method) ==
                   CURLE_OK;
    }
    if (o->body_len > 0) {
        c->body = malloc(o->body_len);
        if (c->body == NULL) {
            return false;
        }
        memcpy(c->body, o->body, o->body_len);
        c->body_len = o->body_len;
    }
    return curl_easy_setopt(e, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                            (curl_off_t)o->body_len) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READFUNCTION, read_cb) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BYTES) ==
               CURLE_OK;
}

static bool set_protocol(struct http_call *c, const struct http_options *o,
                         bool loopback)
{
    CURL *e = c->easy;
    int64_t connect_ms = o->connect_timeout_ms;

    if (loopback && curl_easy_setopt(e, CURLOPT_PROXY, "") != CURLE_OK) {
        return false;
    }
    /* Beside the deadline judged here: it makes libcurl divide the time among
     * the addresses of a name. */
    if (connect_ms > LONG_MAX / 2) {
        connect_ms = LONG_MAX / 2;
    }
    return curl_easy_setopt(e, CURLOPT_URL, o->url) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                            (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, IDLE_MAX_SECONDS) ==
               CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           /* Whoever owns a name decides how long it takes to look it up: the
            * thread that does is left to itself when the call ends. */
           curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT,
                            o->user_agent != NULL
                                ? o->user_agent
                                : "aside/" ASIDE_VERSION) == CURLE_OK &&
           (!o->compressed ||
            curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK);
}

/* --- connections ------------------------------------------------------- */

/* Asked before libcurl connects, so that not even a connection tells whether
 * something listens there; and of the address itself, whatever its name
 * resolved to before. No child gets the socket, which libcurl's own ones do:
 * it would keep open what is closed here. */
static curl_socket_t open_cb(void *ctx, curlsocktype purpose,
                             struct curl_sockaddr *at)
{
    struct http_call *c = ctx;

    (void)purpose;
    c->is_resolved = true;
    c->is_denied = c->may_connect != NULL &&
                   !c->may_connect(c->may_connect_ctx, &at->addr);
    if (c->is_denied) {
        return CURL_SOCKET_BAD;
    }
    return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

static bool set_sockets(struct http_call *c)
{
    return curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETFUNCTION, open_cb) ==
               CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_OPENSOCKETDATA, c) == CURLE_OK;
}

/* A kept connection was made without asking: none is taken, none is left. */
static bool set_guard(struct http_call *c)
{
    CURL *e = c->easy;

    return c->may_connect == NULL ||
           (curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
            curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
            curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK);
}

bool http_request_set(struct http_call *c, const struct http_options *o,
                      bool loopback)
{
    return set_protocol(c, o, loopback) && set_headers(c, o) &&
           set_body(c, o) && set_sockets(c) && set_guard(c);
}

void http_request_free(struct http_call *c)
{
    curl_slist_free_all(c->headers);
    free(c->body);
}
