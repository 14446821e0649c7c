#include <string.h>

#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "sql/store_effect.h"

#define INPUT_LIMIT_BYTES ((size_t)64 * 1024 * 1024)

static enum rc read_input(const struct ask *ask, struct buf *out)
{
    struct request request;
    struct read read;
    enum rc rc = read_begin(ask, &read);

    if (rc != RC_OK) {
        return rc;
    }
    rc = RC_NOT_FOUND;
    if (read.account_id != 0) {
        rc = store_request_get(ask->store, read.account_id, ask->id, ask->arena,
                               &request);
    }
    if (rc == RC_OK) {
        rc = store_request_input(ask->store, ask->id, out);
    }
    read_end(ask);
    return rc;
}

/* The exact bytes that were sent to the model (R13). */
enum serve_then h_request_input(struct ask *ask)
{
    enum serve_then then;
    struct buf input;
    enum rc rc;

    buf_init(&input, INPUT_LIMIT_BYTES);
    rc = read_input(ask, &input);
    if (rc == RC_OK) {
        then = reply_bytes(ask->req, "application/json", NULL, buf_str(&input),
                           input.len);
    } else {
        then = reply_rc(ask->req, rc);
    }
    buf_free(&input);
    return then;
}

/* --- texts whole, whatever is shown of them elsewhere ---------------------- */

static enum rc find_arguments(const struct ask *ask, int64_t account_id,
                              const char **text)
{
    struct tool_call call = {.arguments = ""};
    enum rc rc =
        store_tool_call_get(ask->store, account_id, ask->id, ask->arena, &call);

    *text = call.arguments;
    return rc;
}

static enum rc find_passage(const struct ask *ask, int64_t account_id,
                            const char **text)
{
    struct source source = {.body = ""};
    enum rc rc = store_source_get(ask->store, account_id, ask->id, SOURCE_WHOLE,
                                  ask->arena, &source);

    *text = source.body;
    return rc;
}

static enum serve_then reply_text(struct ask *ask,
                                  enum rc (*find)(const struct ask *,
                                                  int64_t account_id,
                                                  const char **text))
{
    const char *text = "";
    struct read read;
    enum rc rc = read_begin(ask, &read);

    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc =
        read.account_id != 0 ? find(ask, read.account_id, &text) : RC_NOT_FOUND;
    read_end(ask);
    return rc == RC_OK ? reply_bytes(ask->req, "text/plain; charset=utf-8",
                                     NULL, text, strlen(text))
                       : reply_rc(ask->req, rc);
}

/* As the model sent them, JSON or not. */
enum serve_then h_call_arguments(struct ask *ask)
{
    return reply_text(ask, find_arguments);
}

enum serve_then h_source_text(struct ask *ask)
{
    return reply_text(ask, find_passage);
}
