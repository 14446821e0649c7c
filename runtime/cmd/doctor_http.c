/* doctor_http.c - whether the model endpoint and the web server in front do what
 * they are there for. */
#include <inttypes.h>
#include <string.h>

#include "runtime/cmd/doctor.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/store_lease.h"

#define ASK_MS      10000
#define REPLY_BYTES ((size_t)256 << 10)
#define BODY_BYTES  ((size_t)200 << 10)
#define LATE_MS     15000 /* that a held poll may come back later */

/* --- what is asked over HTTP --------------------------------------------------- */

struct asking {
    struct buf body;
    struct http_result result; /* without the texts of its pointers */
    bool done;
    int64_t took_ms;
};

static void take(void *ctx, long status, const char *data, size_t len)
{
    struct asking *a = ctx;

    (void)status;
    buf_add(&a->body, data, len);
}

static void took(void *ctx, const struct http_result *result)
{
    struct asking *a = ctx;

    a->result = *result;
    a->done = true;
}

/* Ask and wait. RC_INVALID: the address cannot be asked. */
static enum rc ask(struct doctor *d, struct http_options *o, int64_t limit_ms,
                   struct asking *a)
{
    struct http_call *call = NULL;
    int64_t start_ms = clock_boot_ms();
    enum rc rc;

    *a = (struct asking){.done = false};
    buf_init(&a->body, REPLY_BYTES);
    o->connect_timeout_ms = ASK_MS;
    o->first_byte_timeout_ms = limit_ms;
    o->silence_timeout_ms = limit_ms;
    o->total_timeout_ms = limit_ms + ASK_MS;
    o->max_reply_bytes = REPLY_BYTES;
    rc = http_start(d->http, o, take, took, a, &call);
    while (rc == RC_OK && !a->done) {
        rc = http_wait(d->http, NULL, 0, ASK_MS);
    }
    a->took_ms = clock_boot_ms() - start_ms;
    return rc;
}

/* --- the model --------------------------------------------------------------- */

/* The whole scheme and host of an address: up to its path. */
static const char *origin_of(struct arena *arena, const char *url)
{
    const char *host = strstr(url, "://");
    size_t len = host == NULL
                     ? strlen(url)
                     : (size_t)(host + 3 - url) + strcspn(host + 3, "/");

    return arena_strndup(arena, url, len);
}

/* The offline model is behind the web server, wherever that is. */
static const char *model_url(const struct doctor *d)
{
    const struct cmd *cmd = d->cmd;

    if (!cmd_is_fallback("model.url", cmd->conf.model_url) ||
        cmd->url == NULL) {
        return cmd->conf.model_url;
    }
    return arena_printf(cmd->arena, "%s/offline/v1",
                        origin_of(cmd->arena, cmd->url));
}

/* Without a web server named, the runtime alone knows where that is. */
static bool is_known_to_runtime(const struct doctor *d)
{
    enum endpoint_state state = ENDPOINT_UNKNOWN;

    return d->cmd->url == NULL && d->cmd->store != NULL &&
           cmd_is_fallback("model.url", d->cmd->conf.model_url) &&
           store_endpoint_get(d->cmd->store, &state) == RC_OK &&
           state == ENDPOINT_OK;
}

static const char *status_fault(struct doctor *d, long status)
{
    if (status == 401 || status == 403) {
        return "does not take model.key (HTTP 401 or 403)";
    }
    if (status == 429) {
        return "refuses requests for now (HTTP 429): too many, or no quota is "
               "left";
    }
    if (status == 404 || status == 405) {
        return "has no chat/completions: model.url goes up to that, and mostly "
               "ends in /v1";
    }
    if (status >= 300 && status < 400) {
        return "leads elsewhere, and is not followed: name the address itself "
               "in model.url";
    }
    if (status >= 500) {
        return arena_printf(d->cmd->arena,
                            "fails by itself, or what stands before it (HTTP "
                            "%ld)",
                            status);
    }
    return NULL;
}

static const char *ask_model(struct doctor *d, struct http_options *o,
                             struct asking *a)
{
    enum rc rc = ask(d, o, ASK_MS, a);

    if (rc != RC_OK) {
        return "model.url is no address that can be asked";
    }
    if (a->result.end != HTTP_END_DONE) {
        return arena_printf(d->cmd->arena,
                            "is not reached (%s); look at "
                            "model.url",
                            a->result.detail);
    }
    return status_fault(d, a->result.status);
}

/* Endpoints need not list their models. An empty request costs nothing, and is
 * refused for what it is if there is somebody to read it. */
static const char *model_fault(struct doctor *d, const char *url)
{
    struct http_options o = {.method = "GET", .bearer = d->cmd->conf.model_key};
    struct asking a;
    const char *fault;

    o.url = arena_printf(d->cmd->arena, "%s/models", url);
    fault = ask_model(d, &o, &a);
    buf_free(&a.body);
    if (fault != NULL && a.result.end == HTTP_END_DONE &&
        (a.result.status == 404 || a.result.status == 405)) {
        static const char *const JSON[] = {"Content-Type: application/json",
                                           NULL};

        o.method = "POST";
        o.headers = JSON;
        o.body = "{}";
        o.body_len = 2;
        o.url = arena_printf(d->cmd->arena, "%s/chat/completions", url);
        fault = ask_model(d, &o, &a);
        buf_free(&a.body);
    }
    return fault;
}

void doctor_look_at_model(struct doctor *d)
{
    const char *fault;

    if (is_known_to_runtime(d)) {
        doctor_say(d, DOCTOR_FINE, "model", "answers the runtime");
        return;
    }
    fault = model_fault(d, model_url(d));
    doctor_say(d, fault == NULL ? DOCTOR_FINE : DOCTOR_FAULT, "model",
               fault == NULL ? "answers" : fault);
}

/* --- the web server ---------------------------------------------------------- */

/* Is it the JSON that Aside's own health is? */
static bool is_health(const struct asking *a, const char **feed,
                      struct arena *arena)
{
    cJSON *json = NULL;
    bool is = false;

    if (a->result.end == HTTP_END_DONE && a->result.status == 200 &&
        json_parse(buf_str(&a->body), a->body.len, &json, NULL) == RC_OK) {
        is = json_str(json, "version", NULL) != NULL;
        *feed = arena_strdup(arena, json_str(json, "feed", ""));
    }
    json_free(json);
    return is;
}

static const char *why_no_health(struct doctor *d, const struct asking *a)
{
    if (a->result.end != HTTP_END_DONE) {
        return arena_printf(d->cmd->arena, "cannot be reached: %s",
                            a->result.detail);
    }
    if (a->result.status == 502 || a->result.status == 503) {
        return "does not reach the responder: is aside.fcgi running, is the "
               "path of its socket the one in fastcgi_pass, and may the web "
               "server's account write to it?";
    }
    if (a->result.status == 404) {
        return "knows no such path: the location must be the key prefix and "
               "/api/, and -u must name the prefix too";
    }
    return arena_printf(d->cmd->arena,
                        "answers HTTP %ld, and not with Aside's health: is "
                        "another program at this address, or a login in front "
                        "of api/v1/health?",
                        a->result.status);
}

static bool leads_here(struct doctor *d)
{
    struct http_options o = {.method = "GET"};
    struct store_view view = {.as_of = 0};
    const char *feed = "";
    struct asking a;
    bool fine = false;
    enum rc rc;

    o.url = arena_printf(d->cmd->arena, "%s/api/v1/health", d->cmd->url);
    rc = ask(d, &o, ASK_MS, &a);
    if (rc != RC_OK) {
        doctor_say(d, DOCTOR_FAULT, "web server",
                   "-u is no address that can be asked");
    } else if (!is_health(&a, &feed, d->cmd->arena)) {
        doctor_say(d, DOCTOR_FAULT, "web server", why_no_health(d, &a));
    } else if (d->cmd->store == NULL ||
               store_read_begin(d->cmd->store, &view) != RC_OK) {
        doctor_say(d, DOCTOR_FAULT, "web server",
                   "the database here cannot be read");
    } else {
        store_read_end(d->cmd->store);
        fine = strcmp(feed, view.feed) == 0;
        doctor_say(
            d, fine ? DOCTOR_FINE : DOCTOR_FAULT, "web server",
            fine ? "passes requests on"
                 : "leads to an Aside with another database: its responder has "
                   "another configuration than this command");
    }
    buf_free(&a.body);
    return fine;
}

/* Sent without a key, so that nothing is stored whatever it says. */
static void look_at_body_limit(struct doctor *d)
{
    static const char *const JSON[] = {"Content-Type: application/json", NULL};
    struct http_options o = {.method = "POST", .headers = JSON};
    char *body = arena_alloc(d->cmd->arena, BODY_BYTES);
    struct asking a;
    enum rc rc;

    if (body == NULL) {
        doctor_say(d, DOCTOR_NOT_TRIED, "large bodies", "no memory");
        return;
    }
    (void)memset(body, ' ', BODY_BYTES);
    body[0] = '{';
    body[BODY_BYTES - 1] = '}';
    o.url = arena_printf(d->cmd->arena, "%s/api/v1/conversations", d->cmd->url);
    o.body = body;
    o.body_len = BODY_BYTES;
    rc = ask(d, &o, ASK_MS, &a);
    if (rc != RC_OK || a.result.end != HTTP_END_DONE ||
        a.result.status == 413) {
        doctor_say(d, DOCTOR_FAULT, "large bodies",
                   "the web server refuses 200 KB, and Aside takes 256: "
                   "client_max_body_size 256k, and 5m for library/files/");
    } else {
        doctor_say(d, DOCTOR_FINE, "large bodies", "are passed on");
    }
    buf_free(&a.body);
}

static const char *poll_fault(struct doctor *d, const struct asking *a,
                              int64_t wait_ms)
{
    if (a->result.end == HTTP_END_DONE && a->result.status == 504) {
        return arena_printf(d->cmd->arena,
                            "the web server gave up after %lld s: polls are "
                            "held for 55, so fastcgi_read_timeout (and that of "
                            "any proxy in front) must be 75s",
                            (long long)(a->took_ms / 1000));
    }
    if (a->result.end != HTTP_END_DONE) {
        return arena_printf(d->cmd->arena,
                            "the connection was ended after %lld s (%s): some "
                            "server in front has a time-out below 75 s",
                            (long long)(a->took_ms / 1000), a->result.detail);
    }
    if (a->took_ms > wait_ms + LATE_MS) {
        return "came much too late: something in front holds replies back";
    }
    if (a->result.status == 200 && a->took_ms < wait_ms / 2 &&
        strstr(buf_str(&a->body), "\"changes\":[]") != NULL) {
        return "came back at once, with nothing: something in front answers "
               "from a cache; nothing below api/ may be cached";
    }
    return NULL;
}

static void look_at_polls(struct doctor *d)
{
    struct http_options o = {.method = "GET"};
    int64_t newest = 0;
    const char *fault;
    struct asking a;
    enum rc rc;

    if (d->cmd->wait_seconds == 0) {
        doctor_say(d, DOCTOR_NOT_TRIED, "held polls",
                   "-w 55 holds one for 55 s");
        return;
    }
    rc = store_newest(d->cmd->store, &newest);
    o.url = arena_printf(d->cmd->arena,
                         "%s/api/v1/changes?after=%" PRId64 "&wait=%" PRId64,
                         d->cmd->url, newest, d->cmd->wait_seconds);
    if (rc == RC_OK) {
        rc = ask(d, &o, d->cmd->wait_seconds * 1000 + 2 * LATE_MS, &a);
    } else {
        a = (struct asking){.done = false};
    }
    fault = rc != RC_OK ? rc_name(rc)
                        : poll_fault(d, &a, d->cmd->wait_seconds * 1000);
    if (fault != NULL) {
        doctor_say(d, DOCTOR_FAULT, "held polls", fault);
    } else if (a.result.status != 200) {
        doctor_say(d, DOCTOR_NOT_TRIED, "held polls",
                   "a login is asked for; polls are only held for one");
    } else {
        doctor_say(d, DOCTOR_FINE, "held polls", "come back");
    }
    buf_free(&a.body);
}

void doctor_look_at_front(struct doctor *d)
{
    if (d->cmd->url == NULL) {
        doctor_say(d, DOCTOR_NOT_TRIED, "web server",
                   "name its address with -u");
    } else if (leads_here(d)) {
        look_at_body_limit(d);
        look_at_polls(d);
    }
}
