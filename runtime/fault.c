/* fault.c - see fault.h. */
#include "runtime/fault.h"

#include <stddef.h>

#ifdef ASIDE_FAULTS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"

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

int64_t fault_look_ms(int64_t usual_ms)
{
    const char *text = getenv("ASIDE_FAULT_LOOK");
    long ms = text == NULL ? 0 : strtol(text, NULL, 10);

    return ms > 0 ? ms : usual_ms;
}

static void run_abort(struct runtime *rt, struct live *live,
                      const struct tool_job *job)
{
    (void)rt;
    (void)live;
    (void)job;
    abort();
}

static void leave_result(struct live *live, const struct tool_job *job)
{
    struct tool_result *r = arena_alloc(live->facts.mem, sizeof(*r));

    if (r == NULL) {
        abort();
    }
    r->call_id = job->call_id;
    r->summary = "done";
    r->next = live->facts.results;
    live->facts.results = r;
}

static void run_hang(struct runtime *rt, struct live *live,
                     const struct tool_job *job)
{
    (void)rt;
    while (getenv("ASIDE_FAULT_HANG") != NULL) {
        (void)pause();
    }
    leave_result(live, job);
}

static void run_once(struct runtime *rt, struct live *live,
                     const struct tool_job *job)
{
    const char *path = getenv("ASIDE_FAULT_FILE");
    FILE *f = path == NULL ? NULL : fopen(path, "a");

    (void)rt;
    if (f == NULL || fputs("done\n", f) == EOF || fclose(f) != 0) {
        abort();
    }
    leave_result(live, job);
}

static const struct tool TOOLS[] = {
    {.name = "fault_abort", .safe = true, .run = run_abort},
    {.name = "fault_hang", .safe = true, .run = run_hang},
    {.name = "fault_once", .safe = false, .run = run_once},
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

int64_t fault_look_ms(int64_t usual_ms)
{
    return usual_ms;
}

const struct tool *fault_tool(const char *name)
{
    (void)name;
    return NULL;
}

#endif
