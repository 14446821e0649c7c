/* fuzz_model_stream.c - a provider's reply: however its bytes are cut, the same
 * text, calls and verdict; all of it can be kept, and said back in a request
 * that every endpoint can read. */
#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_chat.h"
#include "runtime/model/model_stream.h"
#include "tests/fuzz/fuzz.h"

#define REPLY_BYTES ((size_t)1 << 16)
#define OUT_BYTES   ((size_t)1 << 22)

static const char *const ENDPOINTS[] = {
    "http://localhost:11434/v1",
    "https://api.mistral.ai/v1",
    "https://api.deepseek.com/v1",
};

/* One reply and what came of it, as text: verdict, error, streamed text. */
static void put_state(struct model_stream *s, const struct buf *streamed,
                      struct buf *out)
{
    const struct model_error *e = model_stream_error(s);

    FUZZ_CHECK(model_stream_verdict(s) > MODEL_OPEN);
    FUZZ_CHECK(model_stream_verdict(s) < MODEL_VERDICT__MAX);
    FUZZ_CHECK((model_stream_verdict(s) == MODEL_ERROR) ==
               (e->kind != MODEL_ERROR_NONE));
    FUZZ_CHECK(fuzz_is_line(e->message) && fuzz_is_line(e->code) &&
               fuzz_is_line(e->type));
    buf_printf(out, "%s %d %d %d %d %ld %s %s\n",
               model_verdict_name(model_stream_verdict(s)),
               (int)model_stream_choice_seen(s), (int)model_stream_done_seen(s),
               (int)model_stream_confirmed(s), (int)e->kind, e->status, e->code,
               e->message);
    buf_add(out, buf_str(streamed), streamed->len);
    buf_putc(out, '\n');
}

/* It can be said back, each call with its result. */
static void check_request(const struct model_reply *r)
{
    for (size_t i = 0; i < sizeof(ENDPOINTS) / sizeof(ENDPOINTS[0]); i++) {
        const struct model_chat_profile *p =
            model_chat_profile_for(ENDPOINTS[i], "any");
        const struct model_chat_head_options head = {.model = "any",
                                                     .system = "s"};
        struct buf body;

        buf_init(&body, OUT_BYTES);
        model_chat_head(&body, p, &head);
        model_chat_message(&body, MODEL_CHAT_USER, "q");
        model_chat_assistant(&body, p, r);
        for (size_t c = 0; c < r->n_calls; c++) {
            model_chat_tool_result(&body, p, r->calls[c].id, "{}");
        }
        buf_puts(&body, MODEL_CHAT_TAIL);
        FUZZ_CHECK(buf_rc(&body) == RC_OK);
        FUZZ_CHECK(fuzz_is_json(buf_str(&body), body.len));
        buf_free(&body);
    }
}

static void check_calls(const struct model_reply *r)
{
    FUZZ_CHECK(r->n_calls <= MODEL_STREAM_CALLS_MAX);
    for (size_t i = 0; i < r->n_calls; i++) {
        const struct model_call *c = &r->calls[i];

        FUZZ_CHECK(c->id[0] != '\0');
        FUZZ_CHECK(fuzz_is_text(c->id, strlen(c->id)));
        FUZZ_CHECK(fuzz_is_text(c->name, strlen(c->name)));
        FUZZ_CHECK(fuzz_is_text(c->arguments, strlen(c->arguments)));
        FUZZ_CHECK(!c->arguments_valid ||
                   fuzz_is_json(c->arguments, strlen(c->arguments)));
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(strcmp(r->calls[k].id, c->id) != 0);
        }
    }
}

/* Kept as a row and read again it is the same. */
static void check_kept(const struct model_reply *r, struct buf *out)
{
    struct arena *a = arena_new(OUT_BYTES);
    struct model_reply again;
    struct buf second;
    size_t from = out->len;

    FUZZ_CHECK(a != NULL);
    buf_init(&second, OUT_BYTES);
    FUZZ_CHECK(model_reply_print(r, out) == RC_OK);
    FUZZ_CHECK(model_reply_parse(buf_str(out) + from, out->len - from, a,
                                 &again) == RC_OK);
    FUZZ_CHECK(model_reply_print(&again, &second) == RC_OK);
    FUZZ_CHECK(strcmp(buf_str(out) + from, buf_str(&second)) == 0);
    buf_free(&second);
    arena_free(a);
}

static void take_text(struct model_stream *s, struct buf *streamed)
{
    size_t len = 0;
    const char *text = model_stream_take_text(s, &len);

    FUZZ_CHECK(len == 0 || fuzz_is_text(text, len));
    buf_add(streamed, len == 0 ? "" : text, len);
}

static void read_pieces(const char *bytes, size_t len, size_t piece,
                        struct buf *out)
{
    const struct model_stream_options options = {.max_reply_bytes = REPLY_BYTES,
                                                 .max_text_bytes = 1024,
                                                 .call_id_prefix = "call_7"};
    struct model_stream *s = NULL;
    struct model_reply r;
    struct buf streamed;

    buf_init(&streamed, OUT_BYTES);
    FUZZ_CHECK(model_stream_new(&options, &s) == RC_OK);
    for (size_t at = 0; at < len; at += piece) {
        model_stream_feed(s, bytes + at, len - at < piece ? len - at : piece);
        take_text(s, &streamed);
    }
    model_stream_end(s);
    take_text(s, &streamed);
    put_state(s, &streamed, out);
    model_stream_reply(s, &r);
    FUZZ_CHECK(strcmp(r.text, buf_str(&streamed)) == 0);
    check_calls(&r);
    check_kept(&r, out);
    check_request(&r);
    buf_free(&streamed);
    model_stream_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *bytes = fuzz_rest(&in);
    struct buf first, other;

    buf_init(&first, OUT_BYTES);
    buf_init(&other, OUT_BYTES);
    read_pieces(bytes, len, fuzz_piece(0, len), &first);
    FUZZ_CHECK(first.rc == RC_OK);
    for (int cut = 1; cut < FUZZ_CUTS; cut++) {
        buf_clear(&other);
        read_pieces(bytes, len, fuzz_piece(cut, len), &other);
        FUZZ_CHECK(fuzz_same(&first, &other));
    }
    buf_free(&first);
    buf_free(&other);
    free(bytes);
    return 0;
}
