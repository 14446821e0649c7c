/* fault.c - see fault.h. */
#include "runtime/fault.h"

#include <stddef.h>

#ifdef ASIDE_FAULTS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "sql/base/json.h"

static int64_t sent;

static void die_if(const char *kind, int64_t n)
{
    const char *plan = getenv("ASIDE_FAULT_SEND");
    char wanted[8] = "";
    long long at = 0;

    if (plan != NULL && sscanf(plan, "%7[a-z]:%lld", wanted, &at) == 2 &&
        at == n && strcmp(wanted, kind) == 0) {
        abort();
    }
}

int64_t fault_before_send(void)
{
    sent++;
    die_if("before", sent);
    return sent;
}

void fault_after_send(int64_t n)
{
    die_if("after", n);
}

static int64_t ms_or(const char *name, int64_t usual_ms)
{
    const char *text = getenv(name);
    long ms = text == NULL ? 0 : strtol(text, NULL, 10);

    return ms > 0 ? ms : usual_ms;
}

int64_t fault_look_ms(int64_t usual_ms)
{
    return ms_or("ASIDE_FAULT_LOOK", usual_ms);
}

int64_t fault_steady_ms(int64_t usual_ms)
{
    return ms_or("ASIDE_FAULT_STEADY", usual_ms);
}

static void run_abort(struct tool_work *w)
{
    (void)w;
    abort();
}

static void run_hang(struct tool_work *w)
{
    while (getenv("ASIDE_FAULT_HANG") != NULL) {
        (void)pause();
    }
    w->result.summary = "done";
    tool_done(w);
}

static void run_once(struct tool_work *w)
{
    const char *path = getenv("ASIDE_FAULT_FILE");
    FILE *f = path == NULL ? NULL : fopen(path, "a");

    if (f == NULL || fputs("done\n", f) == EOF || fclose(f) != 0) {
        abort();
    }
    w->result.summary = "done";
    tool_done(w);
}

static void on_got(void *ctx, const struct http_result *res)
{
    struct tool_work *w = ctx;

    w->own = NULL;
    tool_enter(w);
    if (res->end != HTTP_END_DONE) {
        tool_fail(w, http_end_name(res->end));
    } else {
        w->result.text = arena_printf(w->mem, "{\"status\":%ld}", res->status);
        w->result.summary = "got";
    }
    tool_leave(w);
    tool_done(w);
}

static void run_get(struct tool_work *w)
{
    cJSON *args = NULL;
    struct http_call *call = NULL;
    struct http_options o = {.method = "GET",
                             .connect_timeout_ms = 60000,
                             .first_byte_timeout_ms = 60000,
                             .silence_timeout_ms = 60000,
                             .total_timeout_ms = 60000,
                             .max_reply_bytes = 1000};
    enum rc rc = json_parse(w->arguments, strlen(w->arguments), &args, NULL);

    if (rc == RC_OK) {
        o.url = json_str(args, "url", "");
        rc = http_start(w->rt->http, &o, NULL, on_got, w, &call);
    }
    json_free(args);
    w->own = call;
    if (rc != RC_OK) {
        tool_fail(w, "no such place");
        tool_done(w);
    }
}

static void cancel_get(struct tool_work *w)
{
    if (getenv("ASIDE_FAULT_CANCEL") != NULL) {
        abort();
    }
    http_cancel(w->own);
}

void fault_at_settling(void)
{
    if (getenv("ASIDE_FAULT_SETTLING") != NULL) {
        abort();
    }
}

#define PASSAGES    20
#define LARGE_BYTES 10000
#define SMALL_BYTES 100

/* Passages of so many bytes that begin with the arguments. */
static void give_passages(struct tool_work *w, size_t bytes)
{
    struct arena *a = w->mem;
    struct passage *p = arena_alloc(a, PASSAGES * sizeof(*p));

    for (int i = 0; p != NULL && i < PASSAGES; i++) {
        char *text = arena_alloc(a, bytes + 1);

        if (text == NULL) {
            abort();
        }
        memset(text, 'x', bytes);
        for (size_t k = 9; k < bytes; k += 10) {
            text[k] = ' ';
        }
        (void)memcpy(text, w->arguments, strlen(w->arguments));
        p[i] = (struct passage){.id = arena_printf(a, "%s %d", w->arguments, i),
                                .title =
                                    arena_printf(a, "Page of %s", w->arguments),
                                .heading = arena_printf(a, "Part %d", i),
                                .location = "large.md",
                                .text = text};
    }
    w->result.passages = p;
    w->result.n_passages = PASSAGES;
    w->result.summary = "done";
    tool_done(w);
}

/* 200 KB. */
static void run_large(struct tool_work *w)
{
    give_passages(w, LARGE_BYTES);
}

static void run_small(struct tool_work *w)
{
    give_passages(w, SMALL_BYTES);
}

static const struct tool TOOLS[] = {
    {.name = "fault_abort", .safe = true, .run = run_abort},
    {.name = "fault_hang", .safe = true, .run = run_hang},
    {.name = "fault_large", .safe = true, .run = run_large},
    {.name = "fault_once", .safe = false, .run = run_once},
    {.name = "fault_small", .safe = true, .run = run_small},
    {.name = "fault_get",
     .safe = true,
     .timeout_ms = 60000,
     .run = run_get,
     .cancel = cancel_get},
    {.name = "fault_get_once",
     .safe = false,
     .timeout_ms = 60000,
     .run = run_get,
     .cancel = cancel_get},
    {.name = "fault_get_soon",
     .safe = true,
     .timeout_ms = 300,
     .run = run_get,
     .cancel = cancel_get},
    {.name = "fault_get_once_soon",
     .safe = false,
     .timeout_ms = 3000,
     .run = run_get,
     .cancel = cancel_get},
};

const struct tool *fault_tool(const char *name)
{
    for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++) {
        if (strcmp(TOOLS[i].name, name) == 0) {
            return &TOOLS[i];
        }
    }
    return NULL;
}

#else

int64_t fault_before_send(void)
{
    return 0;
}

void fault_after_send(int64_t n)
{
    (void)n;
}

void fault_at_settling(void)
{
}

int64_t fault_look_ms(int64_t usual_ms)
{
    return usual_ms;
}

int64_t fault_steady_ms(int64_t usual_ms)
{
    return usual_ms;
}

const struct tool *fault_tool(const char *name)
{
    (void)name;
    return NULL;
}

#endif
