#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/view.h"
#include "sql/store_handoff.h"

typedef enum rc handoff_fn(struct store *, struct store_call *, int64_t run_id,
                           const char *body, struct message *,
                           struct handoff *);

struct hand_over {
    struct store_call call;
    handoff_fn *fn;
    enum reply_code conflict;
    int64_t run_id;
    const char *body;
    struct message message;
    struct handoff handoff;
};

static enum rc do_hand_over(struct store *st, void *arg)
{
    struct hand_over *h = arg;

    return h->fn(st, &h->call, h->run_id, h->body, &h->message, &h->handoff);
}

static enum serve_then handed_over(const struct ask *ask, void *arg, enum rc rc,
                                   const char *feed)
{
    const struct hand_over *h = arg;
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &h->call, rc, h->conflict);
    }
    reply_open(&reply);
    json_key(&reply.json, "message");
    view_message(&reply.json, &h->message);
    json_key(&reply.json, "handoff");
    view_handoff(&reply.json, &h->handoff);
    call_put_end(&reply.json, &h->call, feed);
    return reply_send(&reply, ask->req, 202);
}

/* Adjustments and replies differ in the store's function alone. */
static enum serve_then hand_over(struct ask *ask, handoff_fn *fn,
                                 enum reply_code conflict)
{
    static const char *const KNOWN[] = {"body", NULL};
    static const struct form_text BODY = {.name = "body",
                                          .max_bytes = ASK_MAX_MESSAGE_BYTES,
                                          .required = true,
                                          .too_large_is_413 = true};
    struct hand_over *h = arena_alloc(ask->arena, sizeof(*h));

    if (h == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    h->fn = fn;
    h->conflict = conflict;
    h->run_id = ask->id;
    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &BODY, &h->body) ||
        !call_open_or_reply(
            ask, CALL_KEY_REQUIRED,
            (const struct call_field[]){{"body", h->body}, {NULL, NULL}},
            &h->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, do_hand_over, h, handed_over);
}

enum serve_then h_handoff_adjust(struct ask *ask)
{
    return hand_over(ask, store_run_adjust, REPLY_CONFLICT);
}

enum serve_then h_handoff_reply(struct ask *ask)
{
    return hand_over(ask, store_run_reply, REPLY_NOT_AWAITING_INPUT);
}
