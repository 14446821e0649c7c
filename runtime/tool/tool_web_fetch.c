/* tool_web_fetch.c - web_fetch: a page of the web, as passages.
 *
 *   arguments -> the Run has read the page already: read on in it
 *             -> hop: one GET, at its host's turn; a redirect is another hop, its
 *                address looked at as the first was; where the account has a
 *                copy, the server is asked whether it still holds
 *             -> the body goes into a file without a name, and a child makes
 *                passages of it, see reader.h
 *             -> what was asked for of it is the result, all of it is kept
 *
 * Who may be reached is asked of each address that is connected to, after names
 * were resolved: what a name, a redirect or a spelling hides comes to light
 * there. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/document/reader.h"
#include "runtime/runtime.h"
#include "runtime/tool/web_part.h"
#include "runtime/tool/web_turns.h"
#include "sql/base/clock.h"
#include "sql/base/json.h"
#include "sql/store_page.h"

#define HOPS_MAX   5 /* redirects */
#define HEAD_BYTES 1024
#define HOST_BYTES 256
/* Until a name may be looked up that has to wait. */
#define LOOK_UP_MS 200

/* What is asked of a reply's headers, and where it stands in HEADERS. */
enum { LOCATION = 0, CONTENT_TYPE, ETAG, LAST_MODIFIED };
static const char *const HEADERS[] = {"Location", "Content-Type", "ETag",
                                      "Last-Modified", NULL};

struct fetch {
    struct tool_work *w;
    struct web_turn turn; /* at the host of this hop */
    struct http_call *call;
    struct reading *reading;
    int file; /* the body; -1: none */
    bool file_failed;
    char head[HEAD_BYTES]; /* its first bytes */
    size_t head_len;
    char url[HTTP_URL_BYTES]; /* as it was asked for */
    char at[HTTP_URL_BYTES];  /* of this hop */
    bool host_allowed;        /* by name */
    bool port_refused;        /* of an address that may be reached else */
    int hops;
    int64_t end_ms; /* boot time */
    int64_t from;
    bool has_copy; /* of what stands at this hop */
    struct page copy;
    struct page page; /* memory of the work, as the next */
    const char *why;  /* it failed */
};

bool tool_web_fetch_offered(const struct runtime *rt)
{
    return rt->reader != NULL;
}

/* --- ends --------------------------------------------------------------------- */

static void free_fetch(struct fetch *f)
{
    http_cancel(f->call);
    web_turn_leave(&f->turn);
    reading_cancel(f->reading);
    if (f->file >= 0) {
        (void)close(f->file);
    }
    f->w->own = NULL;
    free(f);
}

void tool_web_fetch_cancel(struct tool_work *w)
{
    free_fetch(w->own);
}

static void fail(struct fetch *f, const char *why)
{
    f->why = why != NULL ? why : "no memory";
}

/* The last thing that a fetch does. */
static void finish(struct fetch *f)
{
    struct tool_work *w = f->w;

    if (f->why != NULL) {
        tool_fail(w, f->why);
    }
    free_fetch(f);
    tool_leave(w);
    tool_done(w);
}

/* --- the result ----------------------------------------------------------------- */

static void take_page(struct fetch *f)
{
    const char *why =
        web_part_take(f->w->mem, &f->page, f->from, &f->w->result);

    if (why != NULL) {
        fail(f, why);
    }
}

/* Keep it with the Run, too. */
static void keep_page(struct fetch *f)
{
    struct page *kept = arena_alloc(f->w->mem, sizeof(*kept));

    take_page(f);
    if (f->why == NULL && kept != NULL) {
        *kept = f->page;
        kept->fetched_ms = clock_unix_ms();
        f->w->result.page = kept;
    }
}

/* --- reading ----------------------------------------------------------------------- */

static void on_read(void *ctx, const char *json, size_t len, const char *why)
{
    struct fetch *f = ctx;

    f->reading = NULL;
    tool_enter(f->w);
    if (why != NULL) {
        fail(f, why);
    } else {
        f->page.body = arena_strndup(f->w->mem, json, len);
        if (f->page.body == NULL) {
            fail(f, NULL);
        } else {
            keep_page(f);
        }
    }
    finish(f);
}

/* "" for what could not be sent back to the server as it is. */
static char *validator(struct arena *a, const char *value)
{
    for (const char *p = value; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f) {
            return arena_strdup(a, "");
        }
    }
    return arena_strdup(a, value);
}

static bool set_page(struct fetch *f, const struct http_result *res)
{
    struct arena *a = f->w->mem;

    f->page.url = arena_strdup(a, f->url);
    f->page.location = arena_strdup(a, f->at);
    f->page.etag = validator(a, res->header[ETAG]);
    f->page.last_modified = validator(a, res->header[LAST_MODIFIED]);
    return f->page.url != NULL && f->page.location != NULL &&
           f->page.etag != NULL && f->page.last_modified != NULL;
}

static void read_body(struct fetch *f, const struct http_result *res)
{
    const char *type = res->header[CONTENT_TYPE];
    enum page_type page_type;
    char charset[40];
    int file = f->file;

    if (!set_page(f, res) || file < 0 || f->file_failed) {
        fail(f, file < 0 ? "the page is empty" : NULL);
        return;
    }
    if (page_type_of(type, f->at, f->head, f->head_len, &page_type, charset,
                     sizeof(charset)) != RC_OK) {
        fail(f, arena_printf(f->w->mem,
                             "only HTML, PDF, Markdown and text can be read; "
                             "this is %.80s",
                             type[0] != '\0' ? type : "something else"));
        return;
    }
    f->file = -1; /* the reading's now */
    if (reading_start(f->w->rt->reader, file, page_type, charset, on_read, f,
                      &f->reading) != RC_OK) {
        fail(f, "it could not be read");
    }
}

/* --- hops ---------------------------------------------------------------------------- */

static bool may_connect(void *ctx, const struct sockaddr *at)
{
    struct fetch *f = ctx;
    const struct runtime *rt = f->w->rt;

    if (f->host_allowed || address_is_in(&rt->web_allowed, at)) {
        return true;
    }
    if (!address_is_public(at)) {
        return false;
    }
    f->port_refused = !address_ports_has(&rt->web_ports, at);
    return !f->port_refused;
}

static void on_data(void *ctx, long status, const char *data, size_t len)
{
    struct fetch *f = ctx;

    if (status < 200 || status >= 300 || f->file_failed) {
        return;
    }
    if (f->file < 0) {
        f->file = reader_file();
        f->head_len = len < sizeof(f->head) ? len : sizeof(f->head);
        memcpy(f->head, data, f->head_len);
    }
    /* Memory, not a disk: it takes all or there is none left. */
    f->file_failed = f->file < 0 || write(f->file, data, len) != (ssize_t)len;
}

static void on_done(void *ctx, const struct http_result *res);

/* Where the account has a copy, with what the server called it. */
static void add_conditions(struct fetch *f, const char *lines[3])
{
    struct arena *a = f->w->mem;
    size_t n = 0;

    f->has_copy = store_page_newest(f->w->rt->store, f->w->run_id, f->at, a,
                                    &f->copy) == RC_OK &&
                  (f->copy.etag[0] != '\0' || f->copy.last_modified[0] != '\0');
    if (!f->has_copy) {
        return;
    }
    if (f->copy.etag[0] != '\0') {
        lines[n] = arena_printf(a, "If-None-Match: %s", f->copy.etag);
        n += lines[n] != NULL ? 1 : 0;
    }
    if (f->copy.last_modified[0] != '\0') {
        lines[n] =
            arena_printf(a, "If-Modified-Since: %s", f->copy.last_modified);
    }
}

/* f->turn has come. */
static void ask(struct fetch *f)
{
    const struct conf *c = &f->w->rt->conf;
    int64_t left_ms = f->end_ms - clock_boot_ms();
    const char *lines[3] = {NULL, NULL, NULL};
    char host[HOST_BYTES];
    struct http_options o = {
        .method = "GET",
        .url = f->at,
        .accept = "text/html, application/xhtml+xml, application/pdf, "
                  "text/markdown, text/plain;q=0.9, */*;q=0.5",
        .user_agent = c->web_agent,
        .headers = lines,
        .want = HEADERS,
        .compressed = true,
        .may_connect = may_connect,
        .may_connect_ctx = f,
        .connect_timeout_ms = left_ms,
        .first_byte_timeout_ms = left_ms,
        .silence_timeout_ms = left_ms,
        .total_timeout_ms = left_ms,
        .max_reply_bytes = (size_t)c->web_max_bytes};
    enum rc rc;

    http_url_host(f->at, host, sizeof(host));
    f->host_allowed = address_names_has(c->web_allow, host);
    f->port_refused = false;
    add_conditions(f, lines);
    rc = http_start(f->w->rt->http, &o, on_data, on_done, f, &f->call);
    if (rc == RC_BUSY) {
        web_turn_put_off(&f->turn, clock_boot_ms() + LOOK_UP_MS);
    } else if (rc != RC_OK) {
        fail(f, "the page could not be asked for");
    }
}

static void go_on(struct fetch *f);

static void take_turn(struct fetch *f, enum web_turn_answer answer)
{
    char host[HOST_BYTES];
    int64_t rest_ms;

    http_url_host(f->at, host, sizeof(host));
    switch (answer) {
    case WEB_TURN_YOURS:
        ask(f);
        break;
    case WEB_TURN_RESTS:
        rest_ms = web_turns_rest_ms(f->w->rt->web_turns, host, clock_boot_ms());
        fail(f, arena_printf(
                    f->w->mem,
                    "%s has asked not to be read for another %lld seconds",
                    host, (long long)(rest_ms + 999) / 1000));
        break;
    case WEB_TURN_LATE:
        fail(f, "the page did not come in the time allowed: too many pages of "
                "this host are being read");
        break;
    case WEB_TURN_WAIT:
    case WEB_TURN__MAX:
        break;
    }
}

/* A turn that comes in the last tenth of the time comes too late: what the host
 * could still be asked would only fail for another reason. */
static void on_turn(void *ctx, enum web_turn_answer answer)
{
    struct fetch *f = ctx;
    int64_t least_ms = f->w->rt->conf.web_timeout_ms / 10;

    tool_enter(f->w);
    if (answer == WEB_TURN_YOURS && f->end_ms - clock_boot_ms() < least_ms) {
        answer = WEB_TURN_LATE;
    }
    take_turn(f, answer);
    go_on(f);
}

static void hop(struct fetch *f)
{
    enum web_turn_answer answer = WEB_TURN_WAIT;
    int64_t now = clock_boot_ms();
    char host[HOST_BYTES];

    if (f->end_ms <= now) {
        fail(f, "the page did not come in the time allowed");
        return;
    }
    http_url_host(f->at, host, sizeof(host));
    if (web_turn_take(f->w->rt->web_turns, &f->turn, host, now, f->end_ms,
                      on_turn, f, &answer) != RC_OK) {
        fail(f, NULL);
        return;
    }
    take_turn(f, answer);
}

static void redirect(struct fetch *f, const struct http_result *res)
{
    const char *to = res->header[LOCATION];
    char next[HTTP_URL_BYTES];
    const char *why;

    if (to[0] == '\0') {
        fail(f, "the server redirects to nowhere");
        return;
    }
    if (f->hops++ == HOPS_MAX) {
        fail(f, "the server redirects too often");
        return;
    }
    why = http_url_clean(f->at, to, next);
    if (why != NULL) {
        fail(f, arena_printf(f->w->mem, "the server redirects elsewhere: %s",
                             why));
        return;
    }
    memcpy(f->at, next, sizeof(f->at));
    hop(f);
}

static const char *why_not(struct fetch *f, const struct http_result *res)
{
    char host[HOST_BYTES];

    http_url_host(f->at, host, sizeof(host));
    if (f->port_refused && res->end != HTTP_END_DONE && !res->sent) {
        return arena_printf(f->w->mem,
                            "%s could not be read: its port is not among "
                            "those that may be reached",
                            host);
    }
    switch (res->end) {
    case HTTP_END_CONNECT_TIMEOUT:
    case HTTP_END_FIRST_BYTE_TIMEOUT:
    case HTTP_END_SILENCE_TIMEOUT:
    case HTTP_END_TOTAL_TIMEOUT:
        return "the page did not come in the time allowed";
    case HTTP_END_TOO_LARGE:
        return arena_printf(f->w->mem,
                            "the page is too large: more than %lld bytes",
                            (long long)f->w->rt->conf.web_max_bytes);
    case HTTP_END_DONE:
    case HTTP_END_CONNECT:
    case HTTP_END_CUT:
    case HTTP_END_OTHER:
    case HTTP_END__MAX:
        break;
    }
    return arena_printf(f->w->mem, "%s could not be read: %s", host,
                        res->detail);
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

static void use_copy(struct fetch *f)
{
    f->page = f->copy;
    f->page.url = arena_strdup(f->w->mem, f->url);
    if (f->page.url == NULL) {
        fail(f, NULL);
    } else {
        keep_page(f);
    }
}

/* Not OK, and nothing that can be read. */
static void refuse(struct fetch *f, const struct http_result *res)
{
    int64_t rest_ms = res->retry_after_ms;
    char host[HOST_BYTES];

    if ((res->status != 429 && res->status != 503) || rest_ms <= 0) {
        fail(f,
             arena_printf(f->w->mem, "the server answered %ld", res->status));
        return;
    }
    http_url_host(f->at, host, sizeof(host));
    web_turns_rest(f->w->rt->web_turns, host, clock_boot_ms(), rest_ms);
    fail(f, arena_printf(f->w->mem,
                         "the server answered %ld: %s asks not to be read for "
                         "%lld seconds",
                         res->status, host, (long long)(rest_ms + 999) / 1000));
}

static void take_reply(struct fetch *f, const struct http_result *res)
{
    if (res->end != HTTP_END_DONE) {
        fail(f, why_not(f, res));
    } else if (is_redirect(res->status)) {
        redirect(f, res);
    } else if (res->status == 304 && f->has_copy) {
        use_copy(f);
    } else if (res->status >= 200 && res->status < 300) {
        read_body(f, res);
    } else {
        refuse(f, res);
    }
}

/* It goes on by itself, or it ends. */
static void go_on(struct fetch *f)
{
    if (f->call == NULL && f->reading == NULL && !f->turn.waits) {
        finish(f);
    } else {
        tool_leave(f->w);
    }
}

static void on_done(void *ctx, const struct http_result *res)
{
    struct fetch *f = ctx;

    f->call = NULL;
    web_turn_leave(&f->turn);
    tool_enter(f->w);
    take_reply(f, res);
    go_on(f);
}

/* --- the call -------------------------------------------------------------------------- */

static void begin(struct fetch *f, const cJSON *args)
{
    const char *why = http_url_clean(NULL, json_str(args, "url", ""), f->url);

    if (!tool_web_fetch_offered(f->w->rt)) {
        /* A model may call what it was not offered. */
        fail(f, "pages of the web are not read here");
        return;
    }
    if (why != NULL) {
        fail(f, arena_printf(f->w->mem, "url: %s", why));
        return;
    }
    f->from = 0;
    if (json_i64(args, "from", &f->from) == RC_INVALID || f->from < 0) {
        fail(f, "from: expected a whole number");
        return;
    }
    if (store_page_of_run(f->w->rt->store, f->w->run_id, f->url, f->w->mem,
                          &f->page) == RC_OK) {
        take_page(f);
        return;
    }
    memcpy(f->at, f->url, sizeof(f->at));
    f->end_ms = clock_boot_ms() + f->w->rt->conf.web_timeout_ms;
    hop(f);
}

void tool_web_fetch(struct tool_work *w)
{
    struct fetch *f = calloc(1, sizeof(*f));
    cJSON *args = NULL;

    if (f == NULL) {
        tool_fail(w, "no memory");
        tool_done(w);
        return;
    }
    f->w = w;
    f->file = -1;
    w->own = f;
    if (json_parse(w->arguments, strlen(w->arguments), &args, NULL) == RC_OK) {
        begin(f, args);
    } else {
        fail(f, "the arguments are not a JSON object");
    }
    json_free(args);
    go_on(f);
}
