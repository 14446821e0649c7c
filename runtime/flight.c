/* flight.c - one model request under way: bytes in, facts out.
 *
 * A flight lives from the commit that says "sent" to the outcome, and nowhere
 * else: if the process dies, the row says "sent" and recovery settles it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fault.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/id.h"
#include "sql/base/log.h"
#include "sql/base/mask.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"
#include "sql/store_lease.h"

/* What frames the pieces of a reply is a multiple of the pieces. */
#define REPLY_BYTES (64u << 20)
/* Answers and reports stay small enough for a page of them to be read. */
#define TEXT_BYTES       (256u << 10)
#define MODELS_BYTES     (8u << 20) /* the list of an endpoint's models */
#define ERROR_BODY_BYTES (64u << 10)
#define SAYING_BYTES     200
#define ERROR_TOLD_BYTES 150 /* of what the endpoint says of an error */
#define SAYING_EVERY_MS  500

struct flight {
    struct runtime *rt;
    struct live *live;
    int64_t request_id;
    int64_t effect_n; /* for the crash tests */
    enum request_purpose purpose;
    struct http_call *call;
    struct model_stream *stream;
    struct buf error_body; /* of a reply that is not 2xx */
    struct buf said;       /* research: its prose so far, for the progress */
    int64_t said_ms;       /* boot time when progress was last taken from it */
    size_t said_len;       /* bytes of it that progress has shown */
    bool first_told;
    bool text_shown;
    long status;
};

static bool answers_live(enum request_purpose p)
{
    return p == PURPOSE_ENTRY || p == PURPOSE_ANSWER;
}

/* --- outcomes ---------------------------------------------------------- */

static const struct model_call *copy_calls(struct arena *a,
                                           const struct model_reply *r)
{
    struct model_call *calls =
        arena_alloc(a, (r->n_calls + 1) * sizeof(calls[0]));

    if (calls == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < r->n_calls; i++) {
        calls[i] = r->calls[i];
        calls[i].id = arena_strdup(a, r->calls[i].id);
        calls[i].name = arena_strdup(a, r->calls[i].name);
        calls[i].arguments = arena_strdup(a, r->calls[i].arguments);
        if (calls[i].id == NULL || calls[i].name == NULL ||
            calls[i].arguments == NULL) {
            return NULL;
        }
    }
    return calls;
}

static const char *copy_or_null(struct arena *a, const char *text)
{
    return text == NULL ? NULL : arena_strdup(a, text);
}

/* The reply outlives its stream. False: no memory for it. */
static bool copy_reply(struct arena *a, const struct model_reply *r,
                       struct model_reply *out)
{
    *out = *r;
    out->text = arena_strdup(a, r->text);
    out->reasoning = copy_or_null(a, r->reasoning);
    out->reasoning_field = copy_or_null(a, r->reasoning_field);
    out->finish = arena_strdup(a, r->finish);
    out->generation_id = arena_strdup(a, r->generation_id);
    out->calls = copy_calls(a, r);
    return out->text != NULL && out->finish != NULL &&
           out->generation_id != NULL && out->calls != NULL;
}

static void take_text(struct flight *f)
{
    size_t len = 0;
    const char *text = model_stream_take_text(f->stream, &len);

    if (len == 0) {
        return;
    }
    if (answers_live(f->purpose)) {
        buf_add(&f->live->facts.text, text, len);
        f->text_shown = true;
    } else {
        buf_add(&f->said, text, len);
    }
}

static void note_first(struct flight *f)
{
    if (!f->first_told && model_stream_choice_seen(f->stream)) {
        f->first_told = true;
        f->live->facts.first = true;
        f->live->dirty = true;
    }
}

static void read_stream_end(struct flight *f, struct outcome *o)
{
    struct model_reply reply;

    model_stream_end(f->stream);
    take_text(f);
    /* A whole JSON reply, or a torn last event, is read only now. */
    note_first(f);
    o->verdict = model_stream_verdict(f->stream);
    o->error = *model_stream_error(f->stream);
    model_stream_reply(f->stream, &reply);
    if (!copy_reply(f->live->facts.mem, &reply, &o->reply)) {
        o->verdict = MODEL_ERROR;
        o->error =
            (struct model_error){.kind = MODEL_ERROR_OTHER, .ours = true};
        (void)snprintf(o->error.message, sizeof(o->error.message),
                       "No memory is left for it.");
        memset(&o->reply, 0, sizeof(o->reply));
    }
}

/* One line for the person: what went wrong, without secrets. */
static void describe(const struct outcome *o, char *out, size_t len)
{
    if (o->end != HTTP_END_DONE) {
        (void)snprintf(out, len, "The model endpoint failed: %s",
                       http_end_name(o->end));
    } else if (o->error.ours) {
        (void)snprintf(out, len, "The model's reply was not usable: %s",
                       o->error.message);
    } else if (o->error.kind != MODEL_ERROR_NONE) {
        (void)snprintf(out, len,
                       "The model endpoint reported an error (status %ld): "
                       "%.*s",
                       o->status,
                       (int)utf8_clip(o->error.message,
                                      strlen(o->error.message),
                                      ERROR_TOLD_BYTES),
                       o->error.message);
    } else {
        (void)snprintf(out, len, "The model's reply was not usable: %s",
                       model_verdict_name(o->verdict));
    }
}

static void finish(struct flight *f, const struct http_result *res)
{
    struct live *live = f->live;
    struct outcome *o = &live->facts.outcome;
    char id[ID_TEXT_BYTES];

    o->there = true;
    o->end = res->end;
    o->status = res->status != 0 ? res->status : f->status;
    o->retry_after_ms = res->retry_after_ms;
    if (f->status >= 200 && f->status < 300) {
        read_stream_end(f, o);
        /* What came whole counts, however the connection ended. */
        if (o->verdict != MODEL_CUT && o->verdict != MODEL_OPEN) {
            o->end = HTTP_END_DONE;
        }
    } else if (res->end == HTTP_END_DONE) {
        o->verdict = MODEL_ERROR;
        model_chat_error(buf_str(&f->error_body), f->error_body.len, o->status,
                         &o->error);
    } else {
        o->verdict = MODEL_CUT;
    }
    o->text_shown = f->text_shown;
    /* Some endpoints name the key that they refuse. */
    mask_text(o->error.message, strlen(o->error.message));
    describe(o, o->detail, sizeof(o->detail));
    log_info(id_text(ID_REQUEST, f->request_id, id),
             "ended: %s, %s, status %ld", http_end_name(o->end),
             model_verdict_name(o->verdict), o->status);
    live->dirty = true;
}

static void flight_free(struct flight *f)
{
    if (f != NULL) {
        http_cancel(f->call);
        model_stream_free(f->stream);
        buf_free(&f->error_body);
        buf_free(&f->said);
        free(f);
    }
}

/* --- callbacks --------------------------------------------------------- */

/* Length of the sentences of text that have come whole. */
static size_t whole_sentences(const char *text, size_t len)
{
    while (len > 0) {
        char c = text[len - 1];
        bool stop = c == '.' || c == '!' || c == '?' || c == ':';

        if (c == '\n' || (stop && (text[len] == ' ' || text[len] == '\n' ||
                                   text[len] == '\0'))) {
            break;
        }
        len--;
    }
    return len;
}

/* What a research says between its calls is its progress. */
static void note_saying(struct flight *f)
{
    int64_t now = clock_boot_ms();
    const char *said = buf_str(&f->said);
    size_t len;

    if (f->said.len == 0 || now - f->said_ms < SAYING_EVERY_MS) {
        return;
    }
    len = whole_sentences(said, utf8_clip(said, f->said.len, SAYING_BYTES));
    if (len == 0 || len == f->said_len) {
        return;
    }
    f->said_ms = now;
    f->said_len = len;
    f->live->facts.saying = arena_strndup(f->live->facts.mem, said, len);
    f->live->dirty = true;
}

static void take_data(struct flight *f, long status, const char *data,
                      size_t len)
{
    struct http_result whole = {.end = HTTP_END_DONE, .retry_after_ms = -1};

    fault_after_send(f->effect_n);
    f->status = status;
    if (status < 200 || status >= 300) {
        buf_add(&f->error_body, data, len);
        return;
    }
    model_stream_feed(f->stream, data, len);
    take_text(f);
    note_first(f);
    note_saying(f);
    if (model_stream_verdict(f->stream) != MODEL_OPEN) {
        /* Some endpoints leave the connection open after [DONE]. */
        http_cancel(f->call);
        f->call = NULL;
        whole.status = status;
        finish(f, &whole);
    }
}

static void on_data(void *ctx, long status, const char *data, size_t len)
{
    struct flight *f = ctx;

    store_lease_mark(f->rt->lock, f->live->id);
    take_data(f, status, data, len);
    store_lease_mark(f->rt->lock, 0);
}

static void on_done(void *ctx, const struct http_result *res)
{
    struct flight *f = ctx;

    store_lease_mark(f->rt->lock, f->live->id);
    f->call = NULL;
    f->status = res->status != 0 ? res->status : f->status;
    finish(f, res);
    store_lease_mark(f->rt->lock, 0);
}

/* --- doors ------------------------------------------------------------- */

static enum rc start(struct runtime *rt, struct live *live, struct flight *f)
{
    const struct conf *c = &rt->conf;
    char prefix[ID_TEXT_BYTES];
    const struct model_stream_options so = {
        .max_reply_bytes = REPLY_BYTES,
        .max_text_bytes = TEXT_BYTES,
        .call_id_prefix = id_text(ID_REQUEST, f->request_id, prefix)};
    const struct http_options ho = {
        .method = "POST",
        .url = rt->chat_url,
        .bearer = c->model_key,
        .body = buf_str(&live->effects.body),
        .body_len = live->effects.body.len,
        .connect_timeout_ms = c->model_connect_timeout_ms,
        /* A whole reply begins when it is done. */
        .first_byte_timeout_ms = rt->no_stream ? c->model_total_timeout_ms
                                               : c->model_first_byte_timeout_ms,
        .silence_timeout_ms = c->model_silence_timeout_ms,
        .total_timeout_ms = c->model_total_timeout_ms,
        .max_reply_bytes = REPLY_BYTES + 1}; /* the stream is to see it */
    enum rc rc = model_stream_new(&so, &f->stream);

    return rc == RC_OK
               ? http_start(rt->http, &ho, on_data, on_done, f, &f->call)
               : rc;
}

void flight_start(struct runtime *rt, struct live *live)
{
    struct flight *f = calloc(1, sizeof(*f));
    struct http_result res = {.end = HTTP_END_OTHER, .retry_after_ms = -1};
    enum rc rc = RC_NOMEM;

    if (f == NULL) {
        /* The row says sent; the next step finds no flight and settles it. */
        live->dirty = true;
        return;
    }
    f->rt = rt;
    f->live = live;
    f->request_id = live->effects.send_request;
    f->purpose = live->effects.purpose;
    buf_init(&f->error_body, ERROR_BODY_BYTES);
    buf_init(&f->said, TEXT_BYTES);
    live->flight = f;
    f->effect_n = fault_before_send();
    rc = start(rt, live, f);
    if (rc != RC_OK) {
        (void)snprintf(res.detail, sizeof(res.detail), "%s", rc_name(rc));
        on_done(f, &res);
    }
}

void flight_hang_up(struct live *live)
{
    if (live->flight != NULL) {
        http_cancel(live->flight->call);
        live->flight->call = NULL;
    }
}

void flight_drop(struct live *live)
{
    flight_free(live->flight);
    live->flight = NULL;
}

bool flight_is(const struct live *live, int64_t request_id)
{
    return live->flight != NULL && live->flight->request_id == request_id;
}

bool flight_finished(const struct live *live)
{
    struct model_reply reply;

    if (live->facts.outcome.there) {
        return true;
    }
    if (live->flight == NULL || live->flight->stream == NULL) {
        return false;
    }
    model_stream_reply(live->flight->stream, &reply);
    return reply.finish[0] != '\0';
}

int64_t flight_estimate(const struct live *live, int64_t input_estimate)
{
    struct model_reply reply;
    int64_t tokens = input_estimate;

    if (live->flight == NULL || live->flight->stream == NULL) {
        return tokens;
    }
    model_stream_reply(live->flight->stream, &reply);
    tokens += tokens_estimate(reply.text, strlen(reply.text));
    if (reply.reasoning != NULL) {
        tokens += tokens_estimate(reply.reasoning, strlen(reply.reasoning));
    }
    for (size_t i = 0; i < reply.n_calls; i++) {
        tokens += tokens_estimate(reply.calls[i].arguments,
                                  strlen(reply.calls[i].arguments));
    }
    return tokens;
}

size_t flight_count(const struct runtime *rt)
{
    size_t n = 0;

    for (size_t i = 0; i < rt->n_lives; i++) {
        n += rt->lives[i]->flight != NULL ? 1 : 0;
    }
    return n;
}

/* --- the endpoint's health --------------------------------------------- */

static void on_probe(void *ctx, const struct http_result *res)
{
    struct runtime *rt = ctx;

    if (res->end != HTTP_END_DONE) {
        rt->endpoint = ENDPOINT_UNREACHABLE;
        log_warn(NULL, "model endpoint: %s", res->detail);
    } else if (res->status == 401 || res->status == 403) {
        rt->endpoint = ENDPOINT_UNAUTHORIZED;
        log_warn(NULL, "model endpoint: status %ld: check model.key",
                 res->status);
    } else if (res->status >= 200 && res->status < 300) {
        rt->endpoint = ENDPOINT_OK;
    } else {
        rt->endpoint = ENDPOINT_UNKNOWN;
    }
    rt->endpoint_told = false;
}

void flight_probe(struct runtime *rt)
{
    char url[2048];
    struct http_call *ignored;
    const struct http_options ho = {
        .method = "GET",
        .url = url,
        .bearer = rt->conf.model_key,
        .connect_timeout_ms = rt->conf.model_connect_timeout_ms,
        .first_byte_timeout_ms = rt->conf.model_first_byte_timeout_ms,
        .silence_timeout_ms = rt->conf.model_silence_timeout_ms,
        .total_timeout_ms = rt->conf.model_first_byte_timeout_ms,
        .max_reply_bytes = MODELS_BYTES};
    int len = snprintf(url, sizeof(url), "%s/models", rt->conf.model_url);

    if (len > 0 && (size_t)len < sizeof(url) &&
        http_start(rt->http, &ho, NULL, on_probe, rt, &ignored) != RC_OK) {
        log_warn(NULL, "model.url cannot be used: %s", rt->conf.model_url);
    }
}
