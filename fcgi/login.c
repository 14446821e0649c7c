#include "fcgi/login.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/reply.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/base/secret.h"
#include "sql/store_access.h"

/* --- that it was used ------------------------------------------------------ */

struct use {
    struct writer_job job;
    struct store_actor actor;
    int64_t now_ms;
};

static enum rc write_use(struct store *st, void *arg)
{
    const struct use *use = arg;

    return store_access_used(st, &use->actor, use->now_ms);
}

/* Uses on their way to the writer, which holds up who hands over too many: a
 * read must not wait for a lock because of them. */
#define USES_MOST 16
static atomic_int uses;

/* Nobody waits for it, and the next request tries again. */
static void end_use(struct writer_job *job)
{
    (void)atomic_fetch_sub(&uses, 1);
    if (job->rc != RC_OK) {
        log_debug(NULL, "a use is not written down: %s", rc_name(job->rc));
    }
    free(job->arg);
}

static void note_use(const struct ask *ask, const struct access_holder *who,
                     int64_t now_ms)
{
    struct use *use;

    if (now_ms - who->used_ms <= ACCESS_USED_EVERY_MS) {
        return;
    }
    if (atomic_fetch_add(&uses, 1) >= USES_MOST) {
        (void)atomic_fetch_sub(&uses, 1);
        return;
    }
    use = calloc(1, sizeof(*use));
    if (use == NULL) {
        (void)atomic_fetch_sub(&uses, 1);
        return;
    }
    use->actor = (struct store_actor){.kind = who->kind, .id = who->id};
    use->now_ms = now_ms;
    use->job =
        (struct writer_job){.fn = write_use, .arg = use, .settled = end_use};
    writer_hand_over(ask->app->writer, &use->job);
}

/* --- who asks -------------------------------------------------------------- */

static enum rc look_up(struct ask *ask, const struct access_secret *secret,
                       int64_t now_ms, struct access_holder *who)
{
    enum actor_kind kind =
        secret->means == ACCESS_BY_BEARER ? ACTOR_TOKEN : ACTOR_SESSION;
    char text[SECRET_TEXT_BYTES];
    uint8_t hash[HASH_BYTES];

    if (secret->text == NULL || secret->len >= sizeof(text)) {
        return RC_NOT_FOUND;
    }
    memcpy(text, secret->text, secret->len);
    text[secret->len] = '\0';
    if (secret_hash(text, hash) != RC_OK) {
        return RC_NOT_FOUND;
    }
    return store_access_find(ask->store, kind, hash, now_ms, ask->arena, who);
}

/* As often as a refused login is: a stranger must not fill the log. */
static void note_stranger(const struct ask *ask,
                          const struct access_secret *secret)
{
    const char *address = ask->actor.address;

    if (limit_login(ask->app->limit, address, clock_boot_us()) == 0) {
        log_info(NULL, "refused: a %s from %s stands for nobody",
                 secret->means == ACCESS_BY_BEARER ? "token" : "session",
                 address == NULL ? "?" : address);
    }
}

enum rc login_find(struct ask *ask, const struct access_facts *facts,
                   enum access_verdict *verdict)
{
    int64_t now_ms = clock_unix_ms();
    struct access_holder who = {0};
    struct access_secret secret;
    enum rc rc;

    access_secret(facts, &secret);
    if (secret.means == ACCESS_BY_NOTHING) {
        *verdict = ACCESS_NO_TOKEN;
        return RC_OK;
    }
    rc = look_up(ask, &secret, now_ms, &who);
    if (rc == RC_NOT_FOUND) {
        note_stranger(ask, &secret);
        *verdict = ACCESS_BAD_TOKEN;
        return RC_OK;
    }
    if (rc != RC_OK) {
        return rc;
    }
    ask->account = who.account;
    ask->scope = who.scope;
    ask->actor.kind = who.kind;
    ask->actor.id = who.id;
    note_use(ask, &who, now_ms);
    *verdict = ACCESS_GRANTED;
    return RC_OK;
}

const char *login_challenge(const struct ask *ask, enum access_verdict verdict,
                            const struct access_facts *facts,
                            enum access_scope scope)
{
    struct access_secret secret;

    access_secret(facts, &secret);
    if (verdict == ACCESS_BAD_TOKEN && secret.means == ACCESS_BY_BEARER) {
        return "WWW-Authenticate: Bearer realm=\"Aside\", "
               "error=\"invalid_token\"\r\n";
    }
    if (verdict == ACCESS_SCOPE) {
        return arena_printf(ask->arena,
                            "WWW-Authenticate: Bearer realm=\"Aside\", "
                            "error=\"insufficient_scope\", scope=\"%s\"\r\n",
                            states_text(LIST_ACCESS_SCOPE, (int)scope));
    }
    return NULL;
}

bool login_is_used_or_reply(const struct ask *ask)
{
    if (ask->app->conf->auth == CONF_AUTH_TOKEN) {
        return true;
    }
    (void)reply_problem(ask->req, REPLY_NOT_FOUND,
                        "There are no tokens and sessions here: the "
                        "configuration has another auth.");
    return false;
}

/* --- the cookie ------------------------------------------------------------ */

/* Directly, or at a web server before the one that asks us. Its header can be
 * made up, but then the browser keeps the cookie only more strictly. */
static bool came_by_https(const struct req *r)
{
    const char *https = req_param(r, "HTTPS");
    const char *scheme = req_param(r, "REQUEST_SCHEME");
    const char *forwarded = req_header(r, "X-Forwarded-Proto");

    return (https != NULL && strcasecmp(https, "on") == 0) ||
           (scheme != NULL && strcasecmp(scheme, "https") == 0) ||
           (forwarded != NULL && strncasecmp(forwarded, "https", 5) == 0);
}

bool login_host_cookie(const struct req *r, const struct conf *conf)
{
    return conf->auth == CONF_AUTH_TOKEN && conf->prefix[0] == '\0' &&
           came_by_https(r);
}

const char *login_cookie(const struct ask *ask, const char *secret,
                         int64_t seconds)
{
    const struct conf *conf = ask->app->conf;

    return arena_printf(ask->arena,
                        "Set-Cookie: %s=%s; Max-Age=%lld; Path=%s; HttpOnly; "
                        "SameSite=Strict%s\r\n",
                        login_host_cookie(ask->req, conf) ? ACCESS_HOST_COOKIE
                                                          : ACCESS_COOKIE,
                        secret, (long long)seconds,
                        conf->prefix[0] == '\0' ? "/" : conf->prefix,
                        came_by_https(ask->req) ? "; Secure" : "");
}
