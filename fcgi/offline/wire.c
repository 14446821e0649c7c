#include "fcgi/offline/wire.h"

#include <assert.h>
#include <string.h>

#include "sql/base/json.h"

/* A run without spaces this long counts as a word. */
#define WORD_BYTES 24

enum part {
    PART_ROLE = 0,
    PART_TEXT,
    PART_CALL,      /* id and name */
    PART_ARGUMENTS, /* of that call */
    PART_FINISH,
    PART_USAGE,
    PART_DONE,
    PART_ENDED
};

static const char *finish_reason(const struct plan *p)
{
    if (p->n_calls > 0) {
        return "tool_calls";
    }
    return p->cut ? "length" : "stop";
}

static void put_usage(struct json_out *j, const struct chat *c,
                      const struct plan *p)
{
    size_t bytes = strlen(p->text);
    int64_t in = chat_tokens(c->body_len), out;

    for (size_t i = 0; i < p->n_calls; i++) {
        bytes += strlen(p->calls[i].name) + strlen(p->calls[i].arguments);
    }
    out = chat_tokens(bytes);
    json_key(j, "usage");
    json_open_object(j);
    json_ki64(j, "prompt_tokens", in);
    json_ki64(j, "completion_tokens", out);
    json_ki64(j, "total_tokens", in + out);
    json_close_object(j);
}

static void put_head(struct json_out *j, const struct chat *c,
                     const char *object, int64_t created_s)
{
    char id[48] = "chatcmpl-";

    memcpy(id + strlen(id), c->hash, 24);
    json_open_object(j);
    json_kstr(j, "id", id);
    json_kstr(j, "object", object);
    json_ki64(j, "created", created_s);
    json_kstr(j, "model", c->model);
}

static void put_calls(struct json_out *j, const struct plan *p)
{
    json_key(j, "tool_calls");
    json_open_array(j);
    for (size_t i = 0; i < p->n_calls; i++) {
        json_open_object(j);
        json_kstr(j, "id", p->calls[i].id);
        json_kstr(j, "type", "function");
        json_key(j, "function");
        json_open_object(j);
        json_kstr(j, "name", p->calls[i].name);
        json_kstr(j, "arguments", p->calls[i].arguments);
        json_close_object(j);
        json_close_object(j);
    }
    json_close_array(j);
}

enum rc wire_reply(const struct chat *c, const struct plan *p,
                   int64_t created_s, struct buf *out)
{
    struct json_out j;

    json_begin(&j, out);
    put_head(&j, c, "chat.completion", created_s);
    json_key(&j, "choices");
    json_open_array(&j);
    json_open_object(&j);
    json_ki64(&j, "index", 0);
    json_key(&j, "message");
    json_open_object(&j);
    json_kstr(&j, "role", "assistant");
    json_kstr(&j, "content", p->text[0] == '\0' ? NULL : p->text);
    if (p->n_calls > 0) {
        put_calls(&j, p);
    }
    json_close_object(&j);
    json_kstr(&j, "finish_reason", finish_reason(p));
    json_knull(&j, "logprobs");
    json_close_object(&j);
    json_close_array(&j);
    put_usage(&j, c, p);
    json_close_object(&j);
    return json_end(&j);
}

/* --- streaming ------------------------------------------------------------ */

void wire_stream_begin(struct wire_stream *s, const struct chat *c,
                       const struct plan *p, int64_t created_s,
                       size_t words_a_piece)
{
    assert(words_a_piece > 0);
    *s = (struct wire_stream){.chat = c,
                              .plan = p,
                              .created_s = created_s,
                              .words_a_piece = words_a_piece,
                              .part = PART_ROLE};
}

/* Length of the next piece of text; *words gets its words. */
static size_t piece_len(const char *text, size_t words_a_piece, size_t *words)
{
    size_t len = strlen(text), i = 0, run = 0;

    *words = 0;
    while (i < len && *words < words_a_piece) {
        run++;
        if (text[i] == ' ' || text[i] == '\n' || run == WORD_BYTES) {
            (*words)++;
            run = 0;
        }
        i++;
    }
    while (i < len && ((unsigned char)text[i] & 0xC0) == 0x80) {
        i++;
    }
    *words += run > 0 && i == len ? 1 : 0;
    return i;
}

static void open_delta(struct json_out *j, const struct wire_stream *s,
                       struct buf *out)
{
    buf_puts(out, "data: ");
    json_begin(j, out);
    put_head(j, s->chat, "chat.completion.chunk", s->created_s);
    json_key(j, "choices");
    json_open_array(j);
    json_open_object(j);
    json_ki64(j, "index", 0);
    json_key(j, "delta");
    json_open_object(j);
}

static enum rc close_delta(struct json_out *j, const struct wire_stream *s,
                           const char *finish, struct buf *out)
{
    enum rc rc;

    json_close_object(j);
    json_kstr(j, "finish_reason", finish);
    json_close_object(j);
    json_close_array(j);
    if (s->chat->include_usage) {
        json_knull(j, "usage");
    }
    json_close_object(j);
    rc = json_end(j);
    buf_puts(out, "\n\n");
    return rc == RC_OK ? buf_rc(out) : rc;
}

static void open_call(struct json_out *j, size_t index)
{
    json_key(j, "tool_calls");
    json_open_array(j);
    json_open_object(j);
    json_ki64(j, "index", (int64_t)index);
}

static void close_call(struct json_out *j)
{
    json_close_object(j);
    json_close_array(j);
}

static enum rc put_role(struct wire_stream *s, struct buf *out)
{
    struct json_out j;

    open_delta(&j, s, out);
    json_kstr(&j, "role", "assistant");
    json_kstr(&j, "content", "");
    s->part = PART_TEXT;
    return close_delta(&j, s, NULL, out);
}

static enum rc put_text(struct wire_stream *s, struct buf *out, size_t *words)
{
    struct json_out j;
    const char *rest = s->plan->text + s->at;
    size_t len = piece_len(rest, s->words_a_piece, words);

    open_delta(&j, s, out);
    json_key(&j, "content");
    json_put_strn(&j, rest, len);
    s->at += len;
    return close_delta(&j, s, NULL, out);
}

static enum rc put_call(struct wire_stream *s, struct buf *out)
{
    const struct plan_call *call = &s->plan->calls[s->call];
    struct json_out j;

    open_delta(&j, s, out);
    open_call(&j, s->call);
    json_kstr(&j, "id", call->id);
    json_kstr(&j, "type", "function");
    json_key(&j, "function");
    json_open_object(&j);
    json_kstr(&j, "name", call->name);
    json_kstr(&j, "arguments", "");
    json_close_object(&j);
    close_call(&j);
    s->part = PART_ARGUMENTS;
    s->at = 0;
    return close_delta(&j, s, NULL, out);
}

static enum rc put_arguments(struct wire_stream *s, struct buf *out,
                             size_t *words)
{
    const char *rest = s->plan->calls[s->call].arguments + s->at;
    size_t len = piece_len(rest, s->words_a_piece, words);
    struct json_out j;

    open_delta(&j, s, out);
    open_call(&j, s->call);
    json_key(&j, "function");
    json_open_object(&j);
    json_key(&j, "arguments");
    json_put_strn(&j, rest, len);
    json_close_object(&j);
    close_call(&j);
    s->at += len;
    if (rest[len] == '\0') {
        s->part = PART_CALL;
        s->call++;
    }
    return close_delta(&j, s, NULL, out);
}

static enum rc put_finish(struct wire_stream *s, struct buf *out)
{
    struct json_out j;

    open_delta(&j, s, out);
    s->part = s->chat->include_usage ? PART_USAGE : PART_DONE;
    return close_delta(&j, s, finish_reason(s->plan), out);
}

static enum rc put_usage_event(struct wire_stream *s, struct buf *out)
{
    struct json_out j;
    enum rc rc;

    buf_puts(out, "data: ");
    json_begin(&j, out);
    put_head(&j, s->chat, "chat.completion.chunk", s->created_s);
    json_key(&j, "choices");
    json_open_array(&j);
    json_close_array(&j);
    put_usage(&j, s->chat, s->plan);
    json_close_object(&j);
    rc = json_end(&j);
    buf_puts(out, "\n\n");
    s->part = PART_DONE;
    return rc == RC_OK ? buf_rc(out) : rc;
}

enum rc wire_stream_next(struct wire_stream *s, struct buf *out, size_t *words)
{
    *words = 0;
    if (s->part == PART_TEXT && s->plan->text[s->at] == '\0') {
        s->part = PART_CALL;
    }
    if (s->part == PART_CALL && s->call == s->plan->n_calls) {
        s->part = PART_FINISH;
    }
    switch ((enum part)s->part) {
    case PART_ROLE:
        return put_role(s, out);
    case PART_TEXT:
        return put_text(s, out, words);
    case PART_CALL:
        return put_call(s, out);
    case PART_ARGUMENTS:
        return put_arguments(s, out, words);
    case PART_FINISH:
        return put_finish(s, out);
    case PART_USAGE:
        return put_usage_event(s, out);
    case PART_DONE:
        buf_puts(out, "data: [DONE]\n\n");
        s->part = PART_ENDED;
        return buf_rc(out);
    case PART_ENDED:
        break;
    }
    return RC_NOT_FOUND;
}

/* --- the rest ---------------------------------------------------------------
 */

enum rc wire_error(const struct wire_failure *f, struct buf *out)
{
    struct json_out j;

    json_begin(&j, out);
    json_open_object(&j);
    json_key(&j, "error");
    json_open_object(&j);
    json_kstr(&j, "message", f->message);
    json_kstr(&j, "type", f->type);
    json_kstr(&j, "param", f->param);
    json_kstr(&j, "code", f->code);
    json_close_object(&j);
    json_close_object(&j);
    return json_end(&j);
}

enum rc wire_models(struct buf *out)
{
    struct json_out j;

    json_begin(&j, out);
    json_open_object(&j);
    json_kstr(&j, "object", "list");
    json_key(&j, "data");
    json_open_array(&j);
    json_open_object(&j);
    json_kstr(&j, "id", "offline");
    json_kstr(&j, "object", "model");
    json_ki64(&j, "created", 0);
    json_kstr(&j, "owned_by", "aside");
    json_close_object(&j);
    json_close_array(&j);
    json_close_object(&j);
    return json_end(&j);
}
