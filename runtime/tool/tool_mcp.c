/* tool_mcp.c - the tools of servers of the Model Context Protocol, as calls of
 * a Run. What a server says is kept as sources of the Run, so that it can be
 * cited. */
#include <string.h>

#include "runtime/mcp/mcp.h"
#include "runtime/mcp/mcp_result.h"
#include "runtime/runtime.h"
#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define ID_DIGITS     32
#define SUMMARY_BYTES 160

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* --- what came --------------------------------------------------------- */

/* The same text of the same place is the same passage, whichever call brings
 * it. */
static const char *passage_id(struct arena *a, const struct passage *p)
{
    const struct hash_part parts[] = {
        {p->location, strlen(p->location)},
        {p->heading, strlen(p->heading)},
        {p->text, strlen(p->text)},
    };
    uint8_t hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];

    hash_parts(parts, sizeof(parts) / sizeof(parts[0]), hash);
    hash_hex(hash, hex);
    return arena_strndup(a, hex, ID_DIGITS);
}

static bool put_passages(struct tool_work *w, const struct mcp_outcome *o,
                         const struct mcp_result *r)
{
    struct passage *list = arena_alloc(w->mem, (r->n + 1) * sizeof(*list));
    const char *title = arena_printf(w->mem, "%s: %s", o->server, o->title);
    const char *location =
        arena_printf(w->mem, "mcp:%s/%s", o->server, o->remote);

    if (list == NULL || title == NULL || location == NULL) {
        return false;
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct mcp_piece *p = &r->pieces[i];

        list[i] =
            (struct passage){.title = title,
                             .location = p->uri[0] != '\0' ? p->uri : location,
                             .heading = p->heading,
                             .text = p->text};
        list[i].id = passage_id(w->mem, &list[i]);
        if (list[i].id == NULL) {
            return false;
        }
    }
    w->result.passages = list;
    w->result.n_passages = r->n;
    return true;
}

static void take_result(struct tool_work *w, const struct mcp_outcome *o)
{
    struct tool_result *out = &w->result;
    struct mcp_result r;
    enum rc rc = mcp_result_read(o->result, w->mem, &r);

    if (rc == RC_INVALID) {
        tool_fail(w, "what the server sent is no result of a tool");
        return;
    }
    if (rc == RC_OK && r.is_error) {
        tool_fail(w, r.error);
        out->summary = or_empty(
            arena_strndup(w->mem, r.error,
                          utf8_clip(r.error, strlen(r.error), SUMMARY_BYTES)));
        return;
    }
    if (rc != RC_OK || !put_passages(w, o, &r)) {
        tool_fail(w, "the result is too large");
        return;
    }
    out->note = r.note[0] != '\0' ? r.note : NULL;
    out->summary = or_empty(
        arena_printf(w->mem, "%.*s: %zu passage%s",
                     (int)utf8_clip(o->title, strlen(o->title), SUMMARY_BYTES),
                     o->title, r.n, r.n == 1 ? "" : "s"));
}

static void take_failure(struct tool_work *w, const struct mcp_outcome *o)
{
    const char *why = arena_printf(
        w->mem, "%s: %s%s", o->server, o->detail,
        o->unknown ? "; the outcome is unknown, it may have been carried out"
                   : "");

    tool_fail(w, why != NULL ? why : "the server failed");
    w->result.unknown = o->unknown;
}

static void take_outcome(void *ctx, const struct mcp_outcome *o)
{
    struct tool_work *w = ctx;

    w->own = NULL;
    tool_enter(w);
    if (o->result != NULL) {
        take_result(w, o);
    } else {
        take_failure(w, o);
    }
    tool_leave(w);
    tool_done(w);
}

static void take_progress(void *ctx, const char *line)
{
    tool_say(ctx, line);
}

/* --- the call ---------------------------------------------------------- */

/* Some models send nothing where a tool wants nothing. */
static const char *arguments_of(const struct tool_work *w)
{
    cJSON *args = NULL;
    bool object;

    if (w->arguments[strspn(w->arguments, " \t\r\n")] == '\0') {
        return "{}";
    }
    object =
        json_parse(w->arguments, strlen(w->arguments), &args, NULL) == RC_OK &&
        cJSON_IsObject(args);
    json_free(args);
    return object ? w->arguments : NULL;
}

void tool_mcp_run(struct tool_work *w)
{
    struct mcp_call *call = NULL;
    struct mcp_call_options o = {.name = w->name,
                                 .arguments = arguments_of(w),
                                 .digest = w->digest,
                                 .safe = w->safe,
                                 .timeout_ms = w->tool->timeout_ms,
                                 .progress = take_progress,
                                 .done = take_outcome,
                                 .ctx = w};

    if (o.arguments == NULL) {
        tool_fail(w, "the arguments are not a JSON object");
        tool_done(w);
    } else if (mcp_call_start(w->rt->mcp, &o, &call) != RC_OK) {
        tool_fail(w, "the call could not be made");
        tool_done(w);
    } else {
        w->own = call;
    }
}

void tool_mcp_cancel(struct tool_work *w)
{
    mcp_call_cancel(w->own, "no longer wanted");
    w->own = NULL;
}
