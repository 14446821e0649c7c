/* tool_work.c - tool calls under way.
 *
 * A Run's calls are a short list, ascending by their rows, so that what came is
 * put into rows in the order of the model's calls. A call that is done stays in
 * it until the commit that has its outcome: a transaction that is lost takes
 * nothing with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fault.h"
#include "runtime/mcp/mcp.h"
#include "runtime/runtime.h"
#include "sql/base/clock.h"
#include "sql/base/utf8.h"
#include "sql/store_lease.h"

#define WORK_BYTES (32u << 20)
/* What a tool says meanwhile goes into rows, and to everyone who watches. */
#define SAY_EVERY_MS 1000

/* --- the list ------------------------------------------------------------ */

static struct tool_work *find(const struct live *live, int64_t call_id)
{
    struct tool_work *w = live->works;

    while (w != NULL && w->call_id != call_id) {
        w = w->next;
    }
    return w;
}

static void insert(struct live *live, struct tool_work *w)
{
    struct tool_work **at = &live->works;

    while (*at != NULL && (*at)->call_id < w->call_id) {
        at = &(*at)->next;
    }
    w->next = *at;
    *at = w;
}

static void free_work(struct tool_work *w)
{
    if (w != NULL) {
        arena_free(w->mem);
        free(w);
    }
}

static void cancel(struct tool_work *w)
{
    if (w->state == WORK_RUNS && w->tool->cancel != NULL) {
        w->tool->cancel(w);
    }
}

static struct tool_work *new_work(struct runtime *rt, struct live *live,
                                  const struct tool_job *job)
{
    const struct tool *tool = tool_find(rt, job->name);
    struct tool_work *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        return NULL;
    }
    if (tool == NULL) {
        tool = mcp_unlisted(rt->mcp, job->name);
    }
    if (tool != NULL) {
        w->kind = *tool;
        w->kind.name = w->kind.schema = w->kind.description = NULL;
        w->kind.digest = NULL;
        w->tool = &w->kind;
    }
    w->rt = rt;
    w->live = live;
    w->run_id = live->id;
    w->call_id = job->call_id;
    w->safe = job->safe;
    w->result.summary = "";
    w->mem = arena_new(WORK_BYTES);
    if (w->mem != NULL) {
        w->name = arena_strdup(w->mem, job->name);
        w->arguments = arena_strdup(w->mem, job->arguments);
        w->digest =
            job->digest != NULL ? arena_strdup(w->mem, job->digest) : NULL;
    }
    if (w->name == NULL || w->arguments == NULL ||
        (job->digest != NULL && w->digest == NULL)) {
        free_work(w);
        return NULL;
    }
    return w;
}

/* --- for the tools --------------------------------------------------------- */

/* Parts of it may be a stranger's words, in whatever bytes. */
static const char *readable(struct arena *a, const char *text)
{
    size_t len = strlen(text);
    char *out = arena_alloc(a, 3 * len + 1);

    if (out == NULL) {
        return "no memory";
    }
    (void)utf8_repair(text, len, out);
    utf8_one_line(out);
    return out;
}

void tool_fail(struct tool_work *w, const char *why)
{
    why = readable(w->mem, why);
    w->result.failed = true;
    w->result.error = why;
    w->result.summary = why;
}

void tool_say(struct tool_work *w, const char *line)
{
    int64_t now = clock_boot_ms();

    if (w->said_ms != 0 && now - w->said_ms < SAY_EVERY_MS) {
        return;
    }
    (void)snprintf(w->said, sizeof(w->said), "%.*s",
                   (int)utf8_clip(line, strlen(line), sizeof(w->said) - 1),
                   line);
    w->said_ms = now;
    w->said_new = true;
    w->live->dirty = true;
}

void tool_done(struct tool_work *w)
{
    fault_after_send(w->effect_n);
    w->state = WORK_DONE;
    w->live->dirty = true;
}

void tool_enter(struct tool_work *w)
{
    store_lease_mark(w->rt->lock, w->run_id);
}

void tool_leave(struct tool_work *w)
{
    store_lease_mark(w->rt->lock, 0);
}

/* --- starting -------------------------------------------------------------- */

static void run(struct tool_work *w)
{
    struct runtime *rt = w->rt;

    w->state = WORK_RUNS;
    w->deadline_ms = clock_boot_ms() + w->tool->timeout_ms;
    tool_enter(w);
    w->effect_n = fault_before_send();
    w->tool->run(w);
    store_lease_mark(rt->lock, 0);
}

void tool_start(struct runtime *rt, struct live *live,
                const struct tool_job *job)
{
    struct tool_work *w = new_work(rt, live, job);

    if (w == NULL) {
        live->dirty = true; /* the row says sent; it is tried again */
        return;
    }
    insert(live, w);
    if (w->tool == NULL || w->tool->run == NULL) {
        /* It was there when the model called it. */
        tool_fail(w, "no such tool any more");
        tool_done(w);
    } else if (!w->tool->needs_index || rt->indexer == NULL ||
               indexer_ready(rt->indexer)) {
        run(w);
    }
}

void tool_resume(struct runtime *rt)
{
    for (size_t i = 0; i < rt->n_lives; i++) {
        struct tool_work *w = rt->lives[i]->works;

        for (; w != NULL; w = w->next) {
            if (w->state == WORK_WAITS) {
                run(w);
            }
        }
    }
}

bool tool_under_way(const struct live *live, int64_t call_id)
{
    return find(live, call_id) != NULL;
}

/* --- what came --------------------------------------------------------------- */

struct tool_work *tool_next_done(const struct live *live,
                                 const struct tool_work *after)
{
    struct tool_work *w = after == NULL ? live->works : after->next;

    while (w != NULL && w->state != WORK_DONE) {
        w = w->next;
    }
    return w;
}

struct tool_work *tool_next_said(const struct live *live,
                                 const struct tool_work *after)
{
    struct tool_work *w = after == NULL ? live->works : after->next;

    while (w != NULL && (w->state != WORK_RUNS || !w->said_new)) {
        w = w->next;
    }
    return w;
}

/* Take those out of the list that are done, or that have this row. */
static void remove_works(struct live *live, bool done, int64_t call_id)
{
    struct tool_work **at = &live->works;

    while (*at != NULL) {
        struct tool_work *w = *at;

        if ((done && w->state == WORK_DONE) || w->call_id == call_id) {
            *at = w->next;
            free_work(w);
        } else {
            at = &w->next;
        }
    }
}

void tool_forget_done(struct live *live)
{
    remove_works(live, true, 0);
    for (struct tool_work *w = live->works; w != NULL; w = w->next) {
        w->said_new = false;
    }
}

/* --- ending ------------------------------------------------------------------ */

void tool_cancel(struct live *live, int64_t call_id)
{
    struct tool_work *w = find(live, call_id);

    if (w != NULL) {
        cancel(w);
        remove_works(live, false, call_id);
    }
}

void tool_cancel_all(struct live *live)
{
    struct tool_work **at = &live->works;

    while (*at != NULL) {
        struct tool_work *w = *at;

        if (w->state == WORK_DONE) {
            at = &w->next;
            continue;
        }
        cancel(w);
        *at = w->next;
        free_work(w);
    }
}

void tool_free_all(struct live *live)
{
    tool_cancel_all(live);
    tool_forget_done(live);
}

int64_t tool_deadline_ms(const struct live *live)
{
    int64_t at = 0;

    for (const struct tool_work *w = live->works; w != NULL; w = w->next) {
        if (w->state == WORK_RUNS && (at == 0 || w->deadline_ms < at)) {
            at = w->deadline_ms;
        }
    }
    return at;
}

void tool_expire(struct live *live, int64_t boot_ms)
{
    for (struct tool_work *w = live->works; w != NULL; w = w->next) {
        if (w->state != WORK_RUNS || w->deadline_ms > boot_ms) {
            continue;
        }
        cancel(w);
        tool_fail(w, w->safe ? "no result in the time allowed"
                             : "no result in the time allowed: the outcome is "
                               "unknown, it may have been carried out");
        w->result.unknown = !w->safe;
        tool_done(w);
    }
}
