#include "fcgi/call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/form.h"
#include "fcgi/view.h"
#include "sql/base/clock.h"
#include "sql/base/hash.h"
#include "sql/base/log.h"
#include "sql/store_access.h"

/* Method, path, and name and value of each field; no call has more of them. */
#define MAX_FIELDS 8
#define MAX_PARTS  (2 + 2 * MAX_FIELDS)

static struct hash_part part_of(const char *text)
{
    return (struct hash_part){.bytes = text,
                              .len = text == NULL ? 0 : strlen(text)};
}

/* A hash over method, path and fields, each with its length. Pure. */
static void fingerprint(const char *method, const char *path,
                        const struct call_field fields[],
                        uint8_t out[HASH_BYTES])
{
    struct hash_part parts[MAX_PARTS] = {part_of(method), part_of(path)};
    size_t n = 2;

    for (const struct call_field *f = fields; f->name != NULL; f++) {
        assert(n + 2 <= MAX_PARTS);
        parts[n++] = part_of(f->name);
        parts[n++] = part_of(f->value);
    }
    hash_parts(parts, n, out);
}

enum rc call_find_key(const struct ask *ask, struct store_call *call)
{
    struct store_view view;
    enum rc rc = store_read_begin(ask->store, &view);

    if (rc == RC_OK) {
        rc = store_call_replayed(ask->store, call);
        store_read_end(ask->store);
    }
    return rc;
}

enum serve_then call_reply_too_often(const struct ask *ask, int64_t wait_ms)
{
    struct reply reply;
    char header[64];

    (void)snprintf(header, sizeof(header), "Retry-After: %lld\r\n",
                   (long long)((wait_ms + 999) / 1000));
    reply_open_problem(&reply, REPLY_RATE_LIMITED,
                       "Nothing was stored and nothing is queued.");
    json_kbool(&reply.json, "accepted", false);
    json_kbool(&reply.json, "queued", false);
    return reply_send_problem(&reply, ask->req, REPLY_RATE_LIMITED, header);
}

/* What was carried out before is answered whatever the rate (R02); to look the
 * key up costs a read, so that is done for what would be refused alone. */
static bool in_time_or_reply(const struct ask *ask, struct store_call *call)
{
    int64_t wait_ms = limit_write(ask->app->limit, ask->account,
                                  ask->actor.address, clock_boot_us());
    enum rc rc;

    if (wait_ms == 0) {
        return true;
    }
    rc = call->key == NULL ? RC_OK : call_find_key(ask, call);
    if (rc == RC_OK && call->replayed) {
        return true;
    }
    if (rc != RC_OK) {
        (void)reply_rc(ask->req, rc);
        return false;
    }
    log_debug(NULL, "refused: account %s writes too often", ask->account);
    (void)call_reply_too_often(ask, wait_ms);
    return false;
}

bool call_open_or_reply(const struct ask *ask, enum call_key need,
                        const struct call_field fields[],
                        struct store_call *call)
{
    const char *key;

    if (!form_key_or_reply(ask, need == CALL_KEY_REQUIRED, &key)) {
        return false;
    }
    *call = (struct store_call){.account = ask->account,
                                .actor = ask->actor,
                                .key = key,
                                .now_ms = clock_unix_ms(),
                                .conf = ask->app->conf,
                                .arena = ask->arena};
    fingerprint(req_method_name(ask->req), req_path(ask->req), fields,
                call->fingerprint);
    return need == CALL_ENDS || in_time_or_reply(ask, call);
}

/* A write on its way through the writer. */
struct passage {
    struct writer_job job;
    struct ask *ask;
    store_fn *fn;
    void *arg;
    call_answer_fn *answer;
};

/* In the write's own transaction: what was revoked before it does nothing any
 * more, however long the write has waited for its turn. */
static enum rc carry_out(struct store *st, void *arg)
{
    struct passage *p = arg;
    enum rc rc = store_access_stands(st, &p->ask->actor, clock_unix_ms());

    if (rc == RC_NOT_FOUND) {
        return RC_DENIED;
    }
    return rc == RC_OK ? p->fn(st, p->arg) : rc;
}

static void arrive(struct writer_job *job)
{
    struct passage *p = job->arg;
    struct req *req = p->ask->req;

    (void)p->answer(p->ask, p->arg, job->rc, job->feed);
    ask_end(p->ask);
    req_finish(req);
}

enum serve_then call_hand_over(struct ask *ask, store_fn *fn, void *arg,
                               call_answer_fn *answer)
{
    struct passage *p = arena_alloc(ask->arena, sizeof(*p));

    if (p == NULL) {
        return reply_rc(ask->req, RC_NOMEM);
    }
    p->ask = ask;
    p->answer = answer;
    p->fn = fn;
    p->arg = arg;
    p->job.fn = carry_out;
    p->job.arg = p;
    p->job.settled = arrive;
    writer_hand_over(ask->app->writer, &p->job);
    return SERVE_KEPT;
}

static enum serve_then reply_full(const struct ask *ask,
                                  const struct store_call *call)
{
    enum reply_code code = call->full == SLOT_BACKGROUND ? REPLY_BACKGROUND_FULL
                                                         : REPLY_SHORT_FULL;
    struct reply reply;

    reply_open_problem(&reply, code,
                       "Nothing was stored and nothing is queued.");
    json_kbool(&reply.json, "accepted", false);
    json_kbool(&reply.json, "queued", false);
    json_key(&reply.json, "occupancy");
    view_occupancy(&reply.json, &call->occupancy, ask->app->conf);
    return reply_send_problem(&reply, ask->req, code, NULL);
}

static enum serve_then reply_too_long(const struct ask *ask)
{
    return reply_problem(
        ask->req, REPLY_REQUIREMENTS_TOO_LARGE,
        arena_printf(ask->arena,
                     "A research's request and all that is added to it may "
                     "take up half of what the model may hold (%lld of %lld "
                     "tokens, as estimated here). Nothing was stored. Say it "
                     "in fewer words, or begin another research.",
                     (long long)(conf_context_tokens(ask->app->conf) / 2),
                     (long long)conf_context_tokens(ask->app->conf)));
}

enum serve_then call_reply_rc(const struct ask *ask,
                              const struct store_call *call, enum rc rc,
                              enum reply_code conflict)
{
    if (rc == RC_FULL) {
        return reply_full(ask, call);
    }
    if (rc == RC_TOO_LONG) {
        return reply_too_long(ask);
    }
    if (rc == RC_CONFLICT) {
        return reply_problem(ask->req, conflict, NULL);
    }
    return reply_rc(ask->req, rc);
}

void call_put_end(struct json_out *json, const struct store_call *call,
                  const char *feed)
{
    json_kbool(json, "replayed", call->replayed);
    json_ki64(json, "as_of", call->as_of);
    json_kstr(json, "feed", feed);
}
