/* fuzz_request.c - a whole request through the responder: it gets one answer,
 * well-formed, of its method, never "the server failed"; and a write that
 * succeeded is answered the same when it is said again under its key.
 *
 * The input looks like HTTP: a line "POST /api/v1/conversations?a=b", header
 * lines "Name: value" and, with a "!" before the name, variables of the web
 * server; after an empty line the body.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/responder.h"

#define INPUT_BYTES ((size_t)64 << 10) /* fits into a socket's buffer */
#define OUT_BYTES   ((size_t)32 << 20)

struct answer {
    int status;
    char *text;   /* headers and body */
    char *header; /* the same place */
    char *body;
};

/* --- asking -------------------------------------------------------------- */

/* "Idempotency-Key" is HTTP_IDEMPOTENCY_KEY (RFC 3875 4.1.18). */
static void put_header(struct buf *params, char *name, const char *value)
{
    char variable[128];

    for (char *p = name; *p != '\0'; p++) {
        if (*p >= 'a' && *p <= 'z') {
            *p = (char)(*p - 'a' + 'A');
        } else if (*p == '-') {
            *p = '_';
        }
    }
    (void)snprintf(variable, sizeof(variable), "%s%.100s",
                   strcmp(name, "CONTENT_TYPE") == 0 ? "" : "HTTP_", name);
    records_pair(params, variable, value);
}

static void put_line(struct buf *params, char *line)
{
    char *value = strchr(line, ':');

    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    value += *value == ' ' ? 1 : 0;
    if (line[0] == '!') {
        records_pair(params, line + 1, value);
    } else {
        put_header(params, line, value);
    }
}

static void put_target(struct buf *params, char *line)
{
    char *target = strchr(line, ' ');
    const char *query;

    if (target != NULL) {
        *target++ = '\0';
    }
    records_pair(params, "REQUEST_METHOD", line);
    if (target == NULL) {
        return;
    }
    query = strchr(target, '?');
    records_pair(params, "REQUEST_URI", target);
    records_pair(params, "QUERY_STRING", query == NULL ? "" : query + 1);
}

/* *method is kept for the caller, who frees it. */
static void put_request(struct fuzz_input in, struct buf *out, char **method)
{
    char *first = fuzz_line(&in);
    char *line = NULL;
    char length[32];
    struct buf params;

    buf_init(&params, INPUT_BYTES * 2);
    put_target(&params, first);
    for (line = fuzz_line(&in); line[0] != '\0'; line = fuzz_line(&in)) {
        put_line(&params, line);
        free(line);
    }
    free(line);
    /* What comes first counts. */
    (void)snprintf(length, sizeof(length), "%zu", in.len);
    records_pair(&params, "CONTENT_LENGTH", length);
    records_pair(&params, "REMOTE_ADDR", "127.0.0.1");
    records_pair(&params, "SERVER_ADDR", "127.0.0.1");
    if (buf_rc(&params) == RC_OK &&
        memmem(params.data, params.len, "HTTP_HOST", 9) == NULL) {
        records_pair(&params, "HTTP_HOST", "localhost");
    }
    records_begin(out);
    records_put(out, RECORDS_PARAMS, buf_str(&params), params.len);
    records_end(out, RECORDS_PARAMS);
    records_put(out, RECORDS_STDIN, in.bytes, in.len);
    records_end(out, RECORDS_STDIN);
    buf_free(&params);
    *method = first;
}

/* --- what came ------------------------------------------------------------ */

static void split(struct buf *out, struct answer *a)
{
    char *end;

    buf_putc(out, '\0');
    a->text = out->data;
    a->header = out->data;
    end = strstr(a->text, "\r\n\r\n");
    FUZZ_CHECK(strncmp(a->text, "Status: ", 8) == 0);
    FUZZ_CHECK(end != NULL);
    *end = '\0';
    a->body = end + 4;
    a->status = (int)strtol(a->text + 8, NULL, 10);
}

/* Nothing of the request has become a header of its own. */
static void check_headers(const struct answer *a)
{
    for (const char *p = a->header; *p != '\0'; p++) {
        FUZZ_CHECK(*p != '\n' || p[-1] == '\r');
        FUZZ_CHECK(*p != '\r' || p[1] == '\n');
        FUZZ_CHECK((unsigned char)*p >= 0x20 || *p == '\r' || *p == '\n');
    }
    FUZZ_CHECK(strcasestr(a->header, "\r\nset-cookie:") == NULL);
}

static void check_body(const struct answer *a, const char *method)
{
    bool problem = strstr(a->header, "application/problem+json") != NULL;
    size_t len = strlen(a->body);

    FUZZ_CHECK((a->status >= 400) == problem);
    if (strcmp(method, "HEAD") == 0) {
        FUZZ_CHECK(len == 0);
    } else if (problem || strstr(a->header, "application/json") != NULL) {
        FUZZ_CHECK(fuzz_is_json(a->body, len));
    }
}

/* False: it is a poll that waits, or what the web server would call no answer.
 */
static bool ask(const struct buf *request, const char *method, struct answer *a)
{
    int fd = responder_connect();
    char *bytes;
    size_t len = 0;
    struct buf out;

    FUZZ_CHECK(write(fd, request->data, request->len) == (ssize_t)request->len);
    responder_serve();
    bytes = responder_output(fd, &len);
    (void)close(fd);
    if (bytes == NULL) {
        return false;
    }
    buf_init(&out, OUT_BYTES);
    FUZZ_CHECK(records_read(bytes, len, &out));
    free(bytes);
    split(&out, a);
    FUZZ_CHECK(a->status >= 200 && a->status < 600 && a->status != 500);
    check_headers(a);
    check_body(a, method);
    return true;
}

static void check_replay(const struct buf *request, const char *method)
{
    struct answer a;

    FUZZ_CHECK(ask(request, method, &a));
    FUZZ_CHECK(a.status >= 200 && a.status < 300);
    FUZZ_CHECK(strstr(a.body, "\"replayed\":true") != NULL);
    free(a.text);
}

/* A key was given, and the call is one that it binds. */
static bool has_key(const struct buf *request)
{
    static const char name[] = "HTTP_IDEMPOTENCY_KEY";
    const size_t len = sizeof(name) - 1;
    const char *at = memmem(request->data, request->len, name, len);

    /* The name's length stands before it, and the value's of 1 or 4 bytes. */
    return at != NULL && (at[-2] == (char)len || at[-5] == (char)len) &&
           memmem(request->data, request->len, "/library/", 9) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *method = NULL;
    struct buf request;
    struct answer a;

    if (len > INPUT_BYTES / 2) {
        return 0;
    }
    responder_start();
    buf_init(&request, INPUT_BYTES * 4);
    put_request(in, &request, &method);
    FUZZ_CHECK(buf_rc(&request) == RC_OK);
    if (ask(&request, method, &a)) {
        if (a.status < 300 && has_key(&request) &&
            strstr(a.body, "\"replayed\":false") != NULL) {
            check_replay(&request, method);
        }
        free(a.text);
    }
    buf_free(&request);
    free(method);
    return 0;
}
