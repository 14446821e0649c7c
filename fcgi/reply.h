/* reply.h - JSON replies, and problems (RFC 9457).
 *
 * Every reply is complete, with Cache-Control: no-store and nosniff. What a
 * person or program did wrong has a stable code, listed once in reply.c; the
 * one map from an rc to a problem stands there too.
 */
#ifndef ASIDE_FCGI_REPLY_H
#define ASIDE_FCGI_REPLY_H

#include "fcgi/req.h"
#include "fcgi/serve.h"
#include "sql/base/json.h"
#include "sql/base/rc.h"

#define REPLY_LIMIT_BYTES (64 * 1024 * 1024)

enum reply_code {
    REPLY_MALFORMED_TARGET = 0,
    REPLY_MALFORMED_BODY,
    REPLY_INVALID_JSON,
    REPLY_NOT_AN_OBJECT,
    REPLY_DUPLICATE_MEMBER,
    REPLY_UNAUTHORIZED,
    REPLY_LOGIN_REQUIRED,
    REPLY_WRONG_TOKEN,
    REPLY_FORBIDDEN,
    REPLY_SCOPE,
    REPLY_FOREIGN_ORIGIN,
    REPLY_NOT_FOUND,
    REPLY_METHOD_NOT_ALLOWED,
    REPLY_KEY_REUSED,
    REPLY_RUN_ACTIVE,
    REPLY_NOT_AWAITING_INPUT,
    REPLY_ALREADY_DECIDED,
    REPLY_NOT_ELIGIBLE,
    REPLY_CONFLICT,
    REPLY_NAME_TAKEN,
    REPLY_TOO_MANY_TOKENS,
    REPLY_BODY_TOO_LARGE,
    REPLY_MESSAGE_TOO_LARGE,
    REPLY_REQUIREMENTS_TOO_LARGE,
    REPLY_FILE_TOO_LARGE,
    REPLY_MEDIA_TYPE,
    REPLY_FILE_KIND,
    REPLY_INVALID_FIELD,
    REPLY_INVALID_NAME,
    REPLY_INVALID_KEY,
    REPLY_KEY_MISSING,
    REPLY_SHORT_FULL,
    REPLY_BACKGROUND_FULL,
    REPLY_RATE_LIMITED,
    REPLY_INTERNAL,
    REPLY_BUSY,
    REPLY_STORAGE,
    REPLY_LIBRARY_FULL,
    REPLY_DISK_FULL,
    REPLY__MAX
};

/* --- a reply that is one JSON object ---------------------------------------
 *
 *     struct reply reply;
 *     reply_open(&reply);
 *     json_kstr(&reply.json, "name", value);
 *     return reply_send(&reply, req, 200);
 */
struct reply {
    struct buf buf;
    struct json_out json;
};

void reply_open(struct reply *);
/* Close the object, send it, free. What could not be built is told as a
 * problem. */
enum serve_then reply_send(struct reply *, struct req *, int status);
/* The same with further header lines. */
enum serve_then reply_send_with(struct reply *, struct req *, int status,
                                const char *headers);

/* Finished bytes of another type; headers as in req_reply, or NULL. */
enum serve_then reply_bytes(struct req *, const char *type, const char *headers,
                            const char *body, size_t len);

/* --- problems ---------------------------------------------------------------
 */

/* detail: one sentence for a person; NULL: the title says it all. It may quote
 * input, which is valid UTF-8 then. */
enum serve_then reply_problem(struct req *, enum reply_code,
                              const char *detail);
/* The same with one header line ("Allow: GET\r\n"). */
enum serve_then reply_problem_with(struct req *, enum reply_code,
                                   const char *detail, const char *header);
/* The same with further members, which the caller writes between: the object
 * is open and holds the standard members. */
void reply_open_problem(struct reply *, enum reply_code, const char *detail);
enum serve_then reply_send_problem(struct reply *, struct req *,
                                   enum reply_code, const char *header);

/* The problem that an outcome is; never RC_OK. */
enum serve_then reply_rc(struct req *, enum rc);

#endif
