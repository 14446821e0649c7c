#include "fcgi/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/form.h"
#include "fcgi/view.h"
#include "sql/base/clock.h"
#include "sql/base/hash.h"

/* Hash over hashes: every part has a fixed length, so that no two different
 * lists of parts are one text. */
static void add_part(uint8_t sum[HASH_BYTES], const char *part)
{
    uint8_t pair[2 * HASH_BYTES + 1];

    memcpy(pair, sum, HASH_BYTES);
    pair[HASH_BYTES] = part != NULL;
    hash_sha256(part == NULL ? "" : part, part == NULL ? 0 : strlen(part),
                pair + HASH_BYTES + 1);
    hash_sha256(pair, sizeof(pair), sum);
}

void call_fingerprint(const char *method, const char *path,
                      const struct call_field fields[], uint8_t out[HASH_BYTES])
{
    uint8_t sum[HASH_BYTES] = {0};

    add_part(sum, method);
    add_part(sum, path);
    for (const struct call_field *f = fields; f->name != NULL; f++) {
        add_part(sum, f->name);
        add_part(sum, f->value);
    }
    memcpy(out, sum, HASH_BYTES);
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
                                .key = key,
                                .now_ms = clock_unix_ms(),
                                .conf = ask->app->conf,
                                .arena = ask->arena};
    call_fingerprint(req_method_name(ask->req), req_path(ask->req), fields,
                     call->fingerprint);
    return true;
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

enum serve_then call_reply_rc(const struct ask *ask,
                              const struct store_call *call, enum rc rc,
                              enum reply_code conflict)
{
    if (rc == RC_FULL) {
        return reply_full(ask, call);
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
