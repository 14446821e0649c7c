/* model_stream.c - where providers leave the reference, and what is done:
 *
 *   finish_reason "stop" beside tool calls   the calls count, not the reason
 *   no finish_reason before [DONE]           complete, but unconfirmed
 *   neither                                  cut, whatever came before
 *   usage in a chunk without choices, in     the last one that came counts
 *     each chunk, or within the choice
 *   an error object in a chunk, a chunk that  the reply failed; such a chunk
 *     is one, an event or field "error",     does not count as a choice
 *     finish_reason "error"
 *   reasoning_content, or reasoning          the first of them in a delta
 *   content as a list of parts               the text of its parts
 *   refusal instead of content               it is the text
 *   success without text and calls           empty, which is a failure
 *   more than is taken                       read no further; what came is kept
 *   comments, pings, lines that are no JSON   skipped
 *   a torn last event                        read if it is whole JSON
 *
 * How pieces of tool calls find each other stands in model_calls.c.
 */
#include "runtime/model/model_stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/model/model_calls.h"
#include "runtime/model/model_error.h"
#include "runtime/model/model_text.h"
#include "runtime/model/sse.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

enum form { FORM_UNKNOWN = 0, FORM_EVENTS, FORM_WHOLE };

struct model_stream {
    enum form form;
    size_t left; /* bytes that may still come */
    struct sse sse;
    struct buf whole;

    struct model_text text;
    size_t taken; /* bytes of text that were handed out */
    struct model_text reasoning;
    const char *reasoning_field; /* NULL: none came */
    struct model_calls calls;
    char finish[64];
    char generation_id[128];
    struct model_usage usage;
    struct model_error error;

    bool choice_seen;
    bool done_seen;
    bool over; /* more came than is taken */
    bool ended;
    char call_id_prefix[41];
};

static bool on_event(void *ctx, const struct sse_event *event);

enum rc model_stream_new(const struct model_stream_options *o,
                         struct model_stream **out)
{
    struct model_stream *s = calloc(1, sizeof(*s));
    size_t max_text =
        o->max_text_bytes > 0 ? o->max_text_bytes : o->max_reply_bytes;

    if (s == NULL) {
        return RC_NOMEM;
    }
    assert(strlen(o->call_id_prefix) < sizeof(s->call_id_prefix));
    s->left = o->max_reply_bytes;
    sse_init(&s->sse, MODEL_STREAM_LINE_MAX, on_event, s);
    buf_init(&s->whole, MODEL_STREAM_WHOLE_MAX);
    model_text_init(&s->text, max_text);
    model_text_init(&s->reasoning, MODEL_STREAM_REASONING_MAX);
    model_calls_init(&s->calls,
                     &(struct model_calls_limits){
                         .calls = MODEL_STREAM_CALLS_MAX,
                         .arguments_bytes = max_text,
                         .all_arguments_bytes = MODEL_STREAM_ARGUMENTS_MAX});
    (void)snprintf(s->call_id_prefix, sizeof(s->call_id_prefix), "%s",
                   o->call_id_prefix);
    *out = s;
    return RC_OK;
}

void model_stream_free(struct model_stream *s)
{
    if (s == NULL) {
        return;
    }
    sse_free(&s->sse);
    buf_free(&s->whole);
    model_text_free(&s->text);
    model_text_free(&s->reasoning);
    model_calls_free(&s->calls);
    free(s);
}

static bool has_failed(const struct model_stream *s)
{
    return s->error.kind != MODEL_ERROR_NONE;
}

static bool has_content(const struct model_stream *s)
{
    return s->calls.n > 0 || !utf8_is_blank(buf_str(&s->text.out));
}

/* The first failure stays. */
static void fail(struct model_stream *s, const char *code, const char *message)
{
    if (!has_failed(s)) {
        model_error_set(&s->error, code, message);
    }
}

/* More came than is taken: nothing more is read. */
static void cut(struct model_stream *s)
{
    if (has_content(s)) {
        s->over = true;
        (void)snprintf(s->finish, sizeof(s->finish), MODEL_FINISH_LIMIT);
    } else {
        fail(s, "reply_too_large", "It grew too large without text or a call.");
    }
}

static void note_rc(struct model_stream *s, enum rc rc)
{
    if (rc == RC_TOO_LARGE) {
        cut(s);
    } else if (rc != RC_OK) {
        fail(s, "no_memory", "No memory is left for it.");
    }
}

/* How the pieces stand after something was added. */
static void note_pieces(struct model_stream *s)
{
    note_rc(s, buf_rc(&s->text.out));
    note_rc(s, buf_rc(&s->reasoning.out));
    note_rc(s, s->calls.rc);
    if (s->text.full || s->calls.full) {
        cut(s);
    }
}

/* --- one chunk --------------------------------------------------------- */

static void add_string(struct model_text *t, const cJSON *s)
{
    model_text_add(t, s->valuestring, strlen(s->valuestring));
}

static void read_content(struct model_stream *s, const cJSON *delta)
{
    const cJSON *content = json_get(delta, "content");
    const cJSON *refusal = json_get(delta, "refusal");
    const cJSON *part;

    if (cJSON_IsString(content)) {
        add_string(&s->text, content);
    } else if (cJSON_IsArray(content)) {
        cJSON_ArrayForEach(part, content)
        {
            if (cJSON_IsString(json_get(part, "text"))) {
                add_string(&s->text, json_get(part, "text"));
            }
        }
    }
    if (cJSON_IsString(refusal)) {
        add_string(&s->text, refusal);
    }
}

static void read_reasoning(struct model_stream *s, const cJSON *delta)
{
    static const char *const field[] = {"reasoning_content", "reasoning"};

    for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
        const cJSON *reasoning = json_get(delta, field[i]);

        if (cJSON_IsString(reasoning)) {
            if (s->reasoning_field == NULL) {
                s->reasoning_field = field[i];
            }
            add_string(&s->reasoning, reasoning);
            return;
        }
    }
}

/* What of the input came from the provider's cache; -1: it does not say. Some
 * count it beside the input instead of in it. */
static int64_t read_cached(const cJSON *usage, int64_t input)
{
    static const char *const PLACE[][2] = {
        {"prompt_tokens_details", "cached_tokens"},
        {"input_tokens_details", "cached_tokens"},
        {NULL, "prompt_cache_hit_tokens"},
        {NULL, "cached_tokens"},
        {NULL, "cache_read_input_tokens"},
    };

    for (size_t i = 0; i < sizeof(PLACE) / sizeof(PLACE[0]); i++) {
        const cJSON *in =
            PLACE[i][0] != NULL ? json_get(usage, PLACE[i][0]) : usage;
        int64_t cached;

        if (json_i64(in, PLACE[i][1], &cached) == RC_OK && cached >= 0) {
            return cached < input ? cached : input;
        }
    }
    return -1;
}

static void read_usage(struct model_stream *s, const cJSON *usage)
{
    struct model_usage u = {.known = true};

    if (json_i64(usage, "prompt_tokens", &u.input_tokens) != RC_OK ||
        json_i64(usage, "completion_tokens", &u.output_tokens) != RC_OK ||
        u.input_tokens < 0 || u.output_tokens < 0) {
        return;
    }
    u.cached_tokens = read_cached(usage, u.input_tokens);
    s->usage = u;
}

/* A word of the provider; what is too long or no text is left out. */
static void copy_word(char *out, size_t out_len, const char *word)
{
    size_t len = strlen(word);

    if (len < out_len && utf8_valid(word, len)) {
        memcpy(out, word, len + 1);
    }
}

static void read_finish(struct model_stream *s, const char *finish)
{
    if (finish[0] == '\0') {
        return;
    }
    if (strcmp(finish, "error") == 0) {
        fail(s, "finish_error", "The provider ended it with an error.");
    }
    /* Whatever it says, it is an end. */
    (void)snprintf(s->finish, sizeof(s->finish), "other");
    copy_word(s->finish, sizeof(s->finish), finish);
}

/* Only the choice 0 is asked for. */
static void read_choice(struct model_stream *s, const cJSON *choice)
{
    const cJSON *delta = json_get(choice, "delta");
    int64_t index;

    if (json_i64(choice, "index", &index) == RC_OK && index != 0) {
        return;
    }
    if (s->form == FORM_WHOLE) {
        delta = json_get(choice, "message");
    }
    read_content(s, delta);
    read_reasoning(s, delta);
    model_calls_add(&s->calls, json_get(delta, "tool_calls"),
                    s->form == FORM_WHOLE);
    read_usage(s, json_get(choice, "usage"));
    read_finish(s, json_str(choice, "finish_reason", ""));
}

static bool is_error(const cJSON *chunk)
{
    const cJSON *error = json_get(chunk, "error");

    return cJSON_IsObject(error) || json_str(chunk, "error", "")[0] != '\0' ||
           strcmp(json_str(chunk, "object", ""), "error") == 0;
}

static void read_chunk(struct model_stream *s, const cJSON *chunk)
{
    const cJSON *choice;

    if (cJSON_IsArray(chunk)) {
        chunk = cJSON_GetArrayItem(chunk, 0);
    }
    if (is_error(chunk)) {
        model_error_read(chunk, 0, &s->error);
        return;
    }
    if (s->generation_id[0] == '\0') {
        copy_word(s->generation_id, sizeof(s->generation_id),
                  json_str(chunk, "id", ""));
    }
    cJSON_ArrayForEach(choice, json_get(chunk, "choices"))
    {
        if (cJSON_IsObject(choice)) {
            s->choice_seen = true;
            read_choice(s, choice);
        }
    }
    read_usage(s, json_get(chunk, "usage"));
    note_pieces(s);
}

/* --- the body ---------------------------------------------------------- */

/* No more content comes, for whatever reason. */
static void close_reply(struct model_stream *s)
{
    model_text_end(&s->text);
    model_text_end(&s->reasoning);
    model_calls_close(&s->calls, s->call_id_prefix);
    note_pieces(s);
}

static bool is_done_mark(const char *data, size_t len)
{
    static const char mark[] = "[DONE]";

    while (len > 0 && data[len - 1] == ' ') {
        len--;
    }
    return len == sizeof(mark) - 1 && memcmp(data, mark, len) == 0;
}

static bool on_event(void *ctx, const struct sse_event *event)
{
    struct model_stream *s = ctx;
    bool looks_like_json = event->data[0] == '{' || event->data[0] == '[';
    bool is_named_error = strcmp(event->name, "error") == 0;
    cJSON *chunk;

    if (is_done_mark(event->data, event->len)) {
        s->done_seen = true;
        close_reply(s);
        return false;
    }
    if (is_named_error) {
        model_error_from_body(event->data, event->len, 0, &s->error);
        return false;
    }
    if (!looks_like_json) {
        return true;
    }
    chunk = model_text_parse(event->data, event->len);
    if (chunk != NULL) {
        read_chunk(s, chunk);
        json_free(chunk);
    } else if (!event->torn) {
        fail(s, "bad_chunk", "A chunk of it is not JSON.");
    }
    return !s->over && !has_failed(s);
}

/* The first byte that is neither space nor part of a byte order mark tells the
 * form. Returns how many bytes come before it. */
static size_t find_form(struct model_stream *s, const char *bytes, size_t len)
{
    static const char skipped[] = " \t\r\n\xef\xbb\xbf";

    for (size_t i = 0; i < len; i++) {
        if (memchr(skipped, bytes[i], sizeof(skipped) - 1) == NULL) {
            s->form =
                bytes[i] == '{' || bytes[i] == '[' ? FORM_WHOLE : FORM_EVENTS;
            return i;
        }
    }
    return len;
}

static bool is_closed(const struct model_stream *s)
{
    return s->ended || s->done_seen || s->over || has_failed(s);
}

static void feed(struct model_stream *s, const char *bytes, size_t len)
{
    s->left -= len;
    if (s->form == FORM_UNKNOWN) {
        size_t skip = find_form(s, bytes, len);
        bytes += skip;
        len -= skip;
    }
    if (s->form == FORM_EVENTS) {
        note_rc(s, sse_feed(&s->sse, bytes, len));
    } else if (s->form == FORM_WHOLE) {
        buf_add(&s->whole, bytes, len);
        note_rc(s, buf_rc(&s->whole));
    }
}

/* What comes of it does not depend on where the pieces are cut. */
void model_stream_feed(struct model_stream *s, const char *bytes, size_t len)
{
    bool too_much = len > s->left;

    if (!is_closed(s)) {
        feed(s, bytes, too_much ? s->left : len);
    }
    if (too_much && !is_closed(s)) {
        note_rc(s, RC_TOO_LARGE);
    }
}

/* A whole reply that does not parse was cut; one that does has ended, with or
 * without a finish_reason. */
static void read_whole(struct model_stream *s)
{
    cJSON *reply = model_text_parse(s->whole.data, s->whole.len);

    if (reply != NULL) {
        s->done_seen = true;
        read_chunk(s, reply);
        json_free(reply);
    }
    buf_free(&s->whole);
}

void model_stream_end(struct model_stream *s)
{
    if (s->ended) {
        return;
    }
    if (!is_closed(s) && s->form == FORM_EVENTS) {
        note_rc(s, sse_end(&s->sse));
    } else if (!is_closed(s) && s->form == FORM_WHOLE) {
        read_whole(s);
    }
    s->ended = true;
    close_reply(s);
}

/* --- what came of it --------------------------------------------------- */

static bool is_any(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcasecmp(word, *list) == 0) {
            return true;
        }
    }
    return false;
}

enum model_verdict model_stream_verdict(const struct model_stream *s)
{
    const struct model_reply end = {.finish = s->finish};
    static const char *const filtered[] = {"content_filter", "safety", NULL};

    if (has_failed(s)) {
        return MODEL_ERROR;
    }
    if (!is_closed(s)) {
        return MODEL_OPEN;
    }
    if (s->finish[0] == '\0' && !s->done_seen) {
        return MODEL_CUT;
    }
    if (model_reply_is_torn(&end)) {
        return MODEL_LENGTH;
    }
    if (is_any(s->finish, filtered)) {
        return MODEL_FILTERED;
    }
    return has_content(s) ? MODEL_COMPLETE : MODEL_EMPTY;
}

bool model_stream_choice_seen(const struct model_stream *s)
{
    return s->choice_seen;
}

bool model_stream_done_seen(const struct model_stream *s)
{
    return s->done_seen;
}

bool model_stream_confirmed(const struct model_stream *s)
{
    return s->finish[0] != '\0';
}

const struct model_error *model_stream_error(const struct model_stream *s)
{
    return &s->error;
}

const char *model_stream_take_text(struct model_stream *s, size_t *len)
{
    const char *text = buf_str(&s->text.out) + s->taken;

    *len = s->text.out.len - s->taken;
    s->taken = s->text.out.len;
    return text;
}

void model_stream_reply(struct model_stream *s, struct model_reply *out)
{
    bool reasoned = s->reasoning_field != NULL;

    *out = (struct model_reply){
        .text = buf_str(&s->text.out),
        .reasoning = reasoned ? buf_str(&s->reasoning.out) : NULL,
        .reasoning_field = s->reasoning_field,
        .calls = model_calls_view(&s->calls),
        .n_calls = s->calls.n,
        .finish = s->finish,
        .generation_id = s->generation_id,
        .usage = s->usage,
    };
}
