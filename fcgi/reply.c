#include "fcgi/reply.h"

#include <assert.h>
#include <string.h>

#include "sql/base/log.h"
#include "sql/store_storage.h"

/* A Run with its message. */
#define USUAL_BYTES 1800

#define COMMON_HEADERS                                                         \
    "Cache-Control: no-store\r\n"                                              \
    "X-Content-Type-Options: nosniff\r\n"                                      \
    "Referrer-Policy: no-referrer\r\n"                                         \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* No reply is a page: should one be shown as such, it runs and loads nothing. A
 * reply that says what it may itself keeps that. */
#define POLICY "Content-Security-Policy"
#define POLICY_HEADER                                                          \
    POLICY ": default-src 'none'; base-uri 'none'; form-action 'none'; "       \
           "frame-ancestors 'none'\r\n"

static const struct {
    int status;
    const char *code;
    const char *title;
} PROBLEM[REPLY__MAX] = {
    [REPLY_MALFORMED_TARGET] = {400, "malformed_target",
                                "The address is not well-formed"},
    [REPLY_MALFORMED_BODY] = {400, "malformed_body",
                              "The body did not arrive as it was announced"},
    [REPLY_INVALID_JSON] = {400, "invalid_json", "The body is not JSON"},
    [REPLY_NOT_AN_OBJECT] = {400, "not_an_object",
                             "The body is not a JSON object"},
    [REPLY_DUPLICATE_MEMBER] = {400, "duplicate_member",
                                "The body names a member twice"},
    [REPLY_UNAUTHORIZED] = {401, "unauthorized", "Not logged in"},
    [REPLY_LOGIN_REQUIRED] = {401, "login_required", "Not logged in"},
    [REPLY_WRONG_TOKEN] = {401, "wrong_token", "There is no such token"},
    [REPLY_FORBIDDEN] = {403, "forbidden", "Not allowed from there"},
    [REPLY_SCOPE] = {403, "scope", "The token does not reach that far"},
    [REPLY_FOREIGN_ORIGIN] = {403, "foreign_origin",
                              "Another site may not write here"},
    [REPLY_NOT_FOUND] = {404, "not_found", "Not found"},
    [REPLY_METHOD_NOT_ALLOWED] = {405, "method_not_allowed",
                                  "This address does not take that method"},
    [REPLY_KEY_REUSED] = {409, "key_reused",
                          "The Idempotency-Key stands for another request"},
    [REPLY_RUN_ACTIVE] = {409, "run_active", "A Run is still active"},
    [REPLY_ALREADY_DECIDED] = {409, "already_decided",
                               "This call was decided on already, or is no "
                               "longer to be made"},
    [REPLY_NOT_AWAITING_INPUT] = {409, "not_awaiting_input",
                                  "The Run does not wait for an answer"},
    [REPLY_NOT_ELIGIBLE] = {409, "not_eligible",
                            "That cannot be done to this Run"},
    [REPLY_CONFLICT] = {409, "conflict", "It is in another state by now"},
    [REPLY_NAME_TAKEN] = {409, "name_taken",
                          "The library has something of nearly that name"},
    [REPLY_TOO_MANY_TOKENS] = {409, "too_many_tokens",
                               "The account has as many tokens as it may"},
    [REPLY_BODY_TOO_LARGE] = {413, "body_too_large",
                              "The body is larger than is accepted here"},
    [REPLY_MESSAGE_TOO_LARGE] = {413, "message_too_large",
                                 "The message is too long"},
    [REPLY_REQUIREMENTS_TOO_LARGE] =
        {413, "requirements_too_large",
         "The research could not hold all that it is asked"},
    [REPLY_FILE_TOO_LARGE] = {413, "file_too_large",
                              "The file is larger than 5 MB"},
    [REPLY_MEDIA_TYPE] = {415, "media_type",
                          "The body must be application/json"},
    [REPLY_FILE_KIND] = {415, "file_kind", "Files of this kind cannot be read"},
    [REPLY_INVALID_FIELD] = {422, "invalid_field", "A field is not valid"},
    [REPLY_INVALID_NAME] = {422, "invalid_name",
                            "A file cannot have that name"},
    [REPLY_INVALID_KEY] = {422, "invalid_key",
                           "The Idempotency-Key is not valid"},
    [REPLY_KEY_MISSING] = {428, "key_missing",
                           "An Idempotency-Key is required"},
    [REPLY_SHORT_FULL] = {429, "short_capacity_full",
                          "All places for answers are taken"},
    [REPLY_BACKGROUND_FULL] = {429, "background_capacity_full",
                               "All places for background research are taken"},
    [REPLY_RATE_LIMITED] = {429, "rate_limited", "That was too often"},
    [REPLY_INTERNAL] = {500, "internal", "Something went wrong here"},
    [REPLY_BUSY] = {503, "busy", "The database is busy"},
    [REPLY_STORAGE] = {503, "storage", "Nothing can be stored at the moment"},
    [REPLY_LIBRARY_FULL] = {507, "library_full", "The library is full"},
    [REPLY_DISK_FULL] = {507, "disk_full", "The disk is full"},
};

/* The map: which problem an outcome is. Never called for RC_OK. */
static enum reply_code code_of(enum rc rc)
{
    switch (rc) {
    case RC_NOT_FOUND:
        return REPLY_NOT_FOUND;
    case RC_CONFLICT:
        return REPLY_CONFLICT;
    case RC_BUSY:
    case RC_FENCED: /* this process ends, and another begins */
        return REPLY_BUSY;
    case RC_INVALID:
        return REPLY_INVALID_FIELD;
    case RC_KEY_REUSED:
        return REPLY_KEY_REUSED;
    case RC_NOT_ELIGIBLE:
        return REPLY_NOT_ELIGIBLE;
    case RC_DENIED:
        return REPLY_LOGIN_REQUIRED;
    case RC_TOO_LONG:
        return REPLY_REQUIREMENTS_TOO_LARGE;
    case RC_FULL:      /* of which class, only the call knows */
    case RC_TOO_LARGE: /* a limit of ours, not of what was sent */
    case RC_NEWER:
    case RC_NOMEM:
    case RC_IO:
    case RC_DB:
    case RC_OK:
    case RC__MAX:
        break;
    }
    return REPLY_INTERNAL;
}

static void put_common(struct buf *lines, const char *headers)
{
    buf_puts(lines, COMMON_HEADERS);
    if (headers == NULL || strstr(headers, POLICY) == NULL) {
        buf_puts(lines, POLICY_HEADER);
    }
}

/* --- JSON ------------------------------------------------------------------
 */

void reply_open(struct reply *reply)
{
    buf_init(&reply->buf, REPLY_LIMIT_BYTES);
    buf_reserve(&reply->buf, USUAL_BYTES);
    json_begin(&reply->json, &reply->buf);
    json_open_object(&reply->json);
}

/* Free a reply that is not sent, whatever scopes are open. */
static void drop(struct reply *reply)
{
    buf_free(&reply->buf);
}

static void send_buf(struct req *r, int status, const char *type,
                     const char *headers, const struct buf *buf)
{
    struct req_reply out = {.status = status,
                            .type = type,
                            .headers = headers,
                            .body = buf_str(buf),
                            .body_len = buf->len};

    if (req_reply(r, &out) != RC_OK) {
        log_debug(NULL, "the peer left before its reply of %d", status);
    }
}

enum serve_then reply_send_with(struct reply *reply, struct req *r, int status,
                                const char *headers)
{
    struct buf lines;
    enum rc rc;

    buf_init(&lines, 4096);
    put_common(&lines, headers);
    buf_puts(&lines, headers);
    json_close_object(&reply->json);
    rc = json_end(&reply->json);
    if (rc == RC_OK) {
        send_buf(r, status, "application/json", buf_str(&lines), &reply->buf);
    }
    buf_free(&lines);
    drop(reply);
    if (rc != RC_OK) {
        log_error(NULL, "a reply could not be built: %s", rc_name(rc));
        return reply_problem(r, REPLY_INTERNAL, NULL);
    }
    return SERVE_FINISH;
}

enum serve_then reply_send(struct reply *reply, struct req *r, int status)
{
    return reply_send_with(reply, r, status, "");
}

enum serve_then reply_bytes(struct req *r, const char *type,
                            const char *headers, const char *body, size_t len)
{
    struct buf lines;
    struct req_reply out = {
        .status = 200, .type = type, .body = body, .body_len = len};

    buf_init(&lines, 4096);
    put_common(&lines, headers);
    if (headers != NULL) {
        buf_puts(&lines, headers);
    }
    out.headers = buf_str(&lines);
    if (req_reply(r, &out) != RC_OK) {
        log_debug(NULL, "the peer left before its reply");
    }
    buf_free(&lines);
    return SERVE_FINISH;
}

/* --- problems --------------------------------------------------------------
 */

void reply_open_problem(struct reply *reply, enum reply_code code,
                        const char *detail)
{
    assert(code < REPLY__MAX);
    reply_open(reply);
    json_ki64(&reply->json, "status", PROBLEM[code].status);
    json_kstr(&reply->json, "title", PROBLEM[code].title);
    json_kstr(&reply->json, "detail",
              detail == NULL ? PROBLEM[code].title : detail);
    json_kstr(&reply->json, "code", PROBLEM[code].code);
}

enum serve_then reply_send_problem(struct reply *reply, struct req *r,
                                   enum reply_code code, const char *header)
{
    static const char TYPE[] = "application/problem+json";
    static const char LAST_RESORT[] = "{\"status\":500,\"code\":\"internal\"}";
    struct buf lines;

    json_close_object(&reply->json);
    if (json_end(&reply->json) != RC_OK) {
        buf_clear(&reply->buf);
        buf_puts(&reply->buf, LAST_RESORT);
        code = REPLY_INTERNAL;
    }
    buf_init(&lines, 4096);
    put_common(&lines, NULL);
    if (code == REPLY_BUSY) {
        buf_puts(&lines, "Retry-After: 1\r\n");
    }
    if (header != NULL) {
        buf_puts(&lines, header);
    } else if (code == REPLY_LOGIN_REQUIRED || code == REPLY_WRONG_TOKEN) {
        buf_puts(&lines, "WWW-Authenticate: Bearer realm=\"Aside\"\r\n");
    }
    send_buf(r, PROBLEM[code].status, TYPE, buf_str(&lines), &reply->buf);
    buf_free(&lines);
    drop(reply);
    return SERVE_FINISH;
}

enum serve_then reply_problem_with(struct req *r, enum reply_code code,
                                   const char *detail, const char *header)
{
    struct reply reply;

    reply_open_problem(&reply, code, detail);
    return reply_send_problem(&reply, r, code, header);
}

enum serve_then reply_problem(struct req *r, enum reply_code code,
                              const char *detail)
{
    return reply_problem_with(r, code, detail, NULL);
}

enum serve_then reply_rc(struct req *r, enum rc rc)
{
    enum reply_code code = code_of(rc);

    assert(rc != RC_OK);
    if (code == REPLY_INTERNAL && store_storage() != STORAGE_OK) {
        code =
            store_storage() == STORAGE_FULL ? REPLY_DISK_FULL : REPLY_STORAGE;
    }
    return reply_problem(r, code, NULL);
}
