#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/view.h"
#include "sql/store_approval.h"

/* As the API has them. */
static const char *const DECISION[] = {"once", "run", "deny"};
static const enum approval_state STATE[] = {APPROVAL_ONCE, APPROVAL_RUN,
                                            APPROVAL_DENIED};
#define N_DECISIONS ((int)(sizeof(DECISION) / sizeof(DECISION[0])))

struct deciding {
    struct store_call call;
    int64_t id;
    struct approval_decision decision;
    struct approval approval;
    struct run run;
};

static enum rc decide(struct store *st, void *arg)
{
    struct deciding *d = arg;

    return store_approval_decide(st, &d->call, d->id, &d->decision,
                                 &d->approval, &d->run);
}

static enum serve_then decided(const struct ask *ask, void *arg, enum rc rc,
                               const char *feed)
{
    const struct deciding *d = arg;
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &d->call, rc, REPLY_ALREADY_DECIDED);
    }
    reply_open(&reply);
    json_key(&reply.json, "run");
    view_run(&reply.json, &d->run);
    json_key(&reply.json, "approval");
    view_approval(&reply.json, &d->approval);
    call_put_end(&reply.json, &d->call, feed);
    return reply_send(&reply, ask->req, 202);
}

/* What is told to the model goes with a denial alone. */
static bool parse_or_reply(const struct ask *ask, struct deciding *d, int *word)
{
    static const char *const KNOWN[] = {"decision", "note", NULL};
    static const struct form_text NOTE = {.name = "note",
                                          .max_bytes = APPROVAL_NOTE_BYTES};

    if (!form_known_or_reply(ask, KNOWN) ||
        !form_word_or_reply(ask, "decision", DECISION, N_DECISIONS, N_DECISIONS,
                            word) ||
        !form_text_or_reply(ask, &NOTE, &d->decision.note)) {
        return false;
    }
    if (*word == N_DECISIONS) {
        (void)reply_problem(ask->req, REPLY_INVALID_FIELD,
                            "decision: expected once, run or deny");
        return false;
    }
    d->decision.state = STATE[*word];
    if (d->decision.note != NULL && d->decision.state != APPROVAL_DENIED) {
        (void)reply_problem(ask->req, REPLY_INVALID_FIELD,
                            "note: goes with deny alone");
        return false;
    }
    return true;
}

/* Deciding creates nothing and may be said twice, so it needs no key. */
enum serve_then h_approval_decide(struct ask *ask)
{
    struct deciding *d = arena_alloc(ask->arena, sizeof(*d));
    int word = 0;

    if (d == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    d->id = ask->id;
    if (!parse_or_reply(ask, d, &word) ||
        !call_open_or_reply(
            ask, CALL_KEY_OPTIONAL,
            (const struct call_field[]){{"decision", DECISION[word]},
                                        {"note", d->decision.note},
                                        {NULL, NULL}},
            &d->call)) {
        return SERVE_FINISH;
    }
    return call_hand_over(ask, decide, d, decided);
}
