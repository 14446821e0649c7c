/* fuzz_tool.c - what a model calls, and with what arguments, in the place of
 * the real ones: every call is answered, what the model is told is text, and
 * the next request is one that it can be sent.
 *
 * The first line is the request that is answered (entry, research, closeout),
 * the second what the model says; each further line is a call: a tool's name
 * and, after a space, its arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/base/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/stage.h"

#define CALLS_MAX 8

/* The ids are as model_stream gives them. */
static const char *const IDS[CALLS_MAX] = {"1", "2", "3", "4",
                                           "5", "6", "7", "8"};

struct reply {
    struct model_reply reply;
    struct model_call calls[CALLS_MAX];
    char *lines[CALLS_MAX];
};

static char *valid_line(struct fuzz_input *in)
{
    char *line = fuzz_line(in);
    const struct fuzz_input whole = {line, strlen(line)};
    char *valid = fuzz_valid_text(&whole);

    free(line);
    return valid;
}

static void read_calls(struct fuzz_input *in, struct reply *r)
{
    size_t n = 0;

    for (; n < CALLS_MAX && in->len > 0; n++) {
        char *line = valid_line(in);
        char *space = strchr(line, ' ');
        const char *arguments = space == NULL ? "" : space + 1;

        if (space != NULL) {
            *space = '\0';
        }
        r->lines[n] = line;
        r->calls[n] = (struct model_call){
            .id = IDS[n],
            .name = line,
            .arguments = arguments,
            .arguments_valid = arguments[0] == '{' &&
                               fuzz_is_json(arguments, strlen(arguments))};
    }
    r->reply.calls = r->calls;
    r->reply.n_calls = n;
}

static void check_call(struct store *st, struct arena *mem, int64_t id)
{
    struct tool_call c;

    FUZZ_CHECK(store_tool_call_get(st, 0, id, mem, &c) == RC_OK);
    FUZZ_CHECK(c.state == EFFECT_PLANNED || c.state == EFFECT_SENT ||
               c.result != NULL);
    FUZZ_CHECK(c.result == NULL || utf8_valid(c.result, strlen(c.result)));
    FUZZ_CHECK(c.summary == NULL || utf8_valid(c.summary, strlen(c.summary)));
    FUZZ_CHECK(c.error == NULL || utf8_valid(c.error, strlen(c.error)));
}

/* What the model would be sent next. */
static void check_request(struct store *st, struct step *s)
{
    struct request q;
    struct buf body;

    buf_init(&body, (size_t)8 << 20);
    FUZZ_CHECK(store_request_last(st, s->run.id, s->mem, &q) == RC_OK);
    FUZZ_CHECK(store_request_input(st, q.id, &body) == RC_OK);
    FUZZ_CHECK(fuzz_is_json(buf_str(&body), body.len));
    buf_free(&body);
}

static void look(struct step *s, void *arg)
{
    const struct reply *r = arg;
    struct store *st = s->rt->store;
    struct tool_call *calls = NULL;
    struct run run;
    size_t n = 0;

    FUZZ_CHECK(store_run_get(st, 0, s->run.id, true, s->mem, &run) == RC_OK);
    FUZZ_CHECK(run.answer_body == NULL ||
               utf8_valid(run.answer_body, strlen(run.answer_body)));
    FUZZ_CHECK(utf8_valid(run.title, strlen(run.title)));
    FUZZ_CHECK(store_tool_call_of_run(st, s->run.id, s->mem, &calls, &n) ==
               RC_OK);
    /* All are rows, unless the Run has ended before them. */
    FUZZ_CHECK(states_run_ended(run.state) || n >= r->reply.n_calls);
    for (size_t i = 0; calls != NULL && i < n; i++) {
        check_call(st, s->mem, calls[i].id);
    }
    check_request(st, s);
}

static enum request_purpose purpose_of(const char *name)
{
    return strcmp(name, "entry") == 0      ? PURPOSE_ENTRY
           : strcmp(name, "closeout") == 0 ? PURPOSE_CLOSEOUT
                                           : PURPOSE_RESEARCH;
}

static struct stage *stage;

static void end_stage(void)
{
    stage_free(stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *purpose = fuzz_line(&in);
    char *text = valid_line(&in);
    struct reply r = {
        .reply = {.text = text, .finish = "stop", .generation_id = ""}};
    enum rc result = RC_OK;

    if (stage == NULL) {
        stage = stage_new(fuzz_dir());
        FUZZ_CHECK(atexit(end_stage) == 0);
    }
    read_calls(&in, &r);
    FUZZ_CHECK(stage_try(stage, purpose_of(purpose), &r.reply, look, &r,
                         &result) == RC_OK);
    FUZZ_CHECK(result == RC_OK);
    for (size_t i = 0; i < r.reply.n_calls; i++) {
        free(r.lines[i]);
    }
    free(text);
    free(purpose);
    return 0;
}
