#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/view.h"
#include "sql/store_run.h"

enum mode { MODE_AUTO = 0, MODE_BACKGROUND, MODE__MAX };

static const char *const MODE[MODE__MAX] = {
    [MODE_AUTO] = "auto",
    [MODE_BACKGROUND] = "background",
};
static const char *const DEPTH[RUN_DEPTH__MAX] = {
    [DEPTH_NORMAL] = "normal",
    [DEPTH_DEEP] = "deep",
};
static const char *const MISSING[MISSING_INFO__MAX] = {
    [MISSING_ASK] = "ask",
    [MISSING_ASSUME] = "assume",
    [MISSING_FAIL] = "fail",
};

struct send {
    struct store_call call;
    struct message_new in;
    struct message message;
    struct run run;
};

static enum rc do_send(struct store *st, void *arg)
{
    struct send *s = arg;

    return store_message_send(st, &s->call, &s->in, &s->message, &s->run);
}

static bool parse_or_reply(const struct ask *ask, struct send *s)
{
    static const char *const KNOWN[] = {"body", "mode", "depth", "missing_info",
                                        NULL};
    static const struct form_text BODY = {.name = "body",
                                          .max_bytes = ASK_MAX_MESSAGE_BYTES,
                                          .required = true,
                                          .too_large_is_413 = true};
    int mode;
    int depth;
    int missing;

    if (!form_known_or_reply(ask, KNOWN) ||
        !form_text_or_reply(ask, &BODY, &s->in.body) ||
        !form_word_or_reply(ask, "mode", MODE, MODE__MAX, MODE_AUTO, &mode) ||
        !form_word_or_reply(ask, "depth", DEPTH, RUN_DEPTH__MAX, DEPTH_NORMAL,
                            &depth) ||
        !form_word_or_reply(ask, "missing_info", MISSING, MISSING_INFO__MAX,
                            MISSING_ASK, &missing)) {
        return false;
    }
    s->in.conversation_id = ask->id;
    s->in.background = mode == MODE_BACKGROUND || depth == DEPTH_DEEP;
    s->in.depth = (enum run_depth)depth;
    s->in.missing_info = (enum missing_info)missing;
    return call_open_or_reply(
        ask, CALL_KEY_REQUIRED,
        (const struct call_field[]){{"body", s->in.body},
                                    {"mode", MODE[mode]},
                                    {"depth", DEPTH[depth]},
                                    {"missing_info", MISSING[missing]},
                                    {NULL, NULL}},
        &s->call);
}

static enum serve_then sent(const struct ask *ask, void *arg, enum rc rc,
                            const char *feed)
{
    const struct send *s = arg;
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &s->call, rc, REPLY_CONFLICT);
    }
    reply_open(&reply);
    json_key(&reply.json, "message");
    view_message(&reply.json, &s->message);
    json_key(&reply.json, "run");
    view_run(&reply.json, &s->run);
    call_put_end(&reply.json, &s->call, feed);
    return reply_send(&reply, ask->req, 202);
}

enum serve_then h_message_send(struct ask *ask)
{
    struct send *s = arena_alloc(ask->arena, sizeof(*s));

    if (s == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    return parse_or_reply(ask, s) ? call_hand_over(ask, do_send, s, sent)
                                  : SERVE_FINISH;
}
