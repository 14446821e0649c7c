/* tool_library.c - library_search and library_read. Both only read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define SEARCH_DEFAULT 5
#define SEARCH_MAX     10
#define READ_BYTES     6000
#define SHOWN_BYTES    80

static struct tool_result *new_result(struct live *live,
                                      const struct tool_job *job)
{
    struct tool_result *r = arena_alloc(live->facts.mem, sizeof(*r));

    if (r == NULL) {
        return NULL; /* the row stays sent, and is tried again */
    }
    r->call_id = job->call_id;
    r->summary = "";
    r->next = live->facts.results;
    live->facts.results = r;
    return r;
}

static void fail(struct tool_result *r, const char *why)
{
    r->failed = true;
    r->error = why;
    r->summary = why;
}

/* The library may have been indexed for the first time meanwhile. */
static bool open_library(struct runtime *rt)
{
    return rt->library != NULL ||
           library_open_read(rt->conf.data, rt->conf.busy_timeout_ms,
                             &rt->library) == RC_OK;
}

static struct passage *copy_passages(struct arena *a,
                                     const struct library_passage *in, size_t n)
{
    struct passage *out = arena_alloc(a, (n + 1) * sizeof(*out));

    for (size_t i = 0; i < n && out != NULL; i++) {
        out[i] = (struct passage){.id = arena_printf(a, "%" PRId64, in[i].id),
                                  .title = in[i].title,
                                  .location = in[i].path,
                                  .heading = in[i].heading,
                                  .text = in[i].text};
        if (out[i].id == NULL) {
            return NULL;
        }
    }
    return out;
}

/* "3 passages for “wal checkpoint”" */
static const char *summary_of(struct arena *a, size_t n, const char *what)
{
    size_t keep = utf8_clip(what, strlen(what), SHOWN_BYTES);
    const char *text =
        arena_printf(a, "%zu passage%s for \xe2\x80\x9c%.*s%s\xe2\x80\x9d", n,
                     n == 1 ? "" : "s", (int)keep, what,
                     what[keep] != '\0' ? "\xe2\x80\xa6" : "");

    return text != NULL ? text : "";
}

static void search(struct runtime *rt, struct live *live, const cJSON *args,
                   struct tool_result *r)
{
    struct library_passage found[SEARCH_MAX];
    const char *query = json_str(args, "query", "");
    int64_t limit = SEARCH_DEFAULT;
    size_t n = 0;
    enum rc rc;

    if (query[0] == '\0') {
        fail(r, "query: expected a text");
        return;
    }
    if (json_i64(args, "limit", &limit) == RC_INVALID || limit < 1 ||
        limit > SEARCH_MAX) {
        limit = SEARCH_DEFAULT;
    }
    rc = library_search(rt->library, query, (size_t)limit, live->facts.mem,
                        found, &n);
    if (rc != RC_OK) {
        fail(r, "the library could not be searched");
        return;
    }
    r->passages = copy_passages(live->facts.mem, found, n);
    r->n_passages = r->passages != NULL ? n : 0;
    r->summary = summary_of(live->facts.mem, r->n_passages, query);
}

static void read_pages(struct runtime *rt, struct live *live, const cJSON *args,
                       struct tool_result *r)
{
    const char *id = json_str(args, "id", "");
    struct library_place place = {.passage_id = strtoll(id, NULL, 10),
                                  .path = json_str(args, "location", ""),
                                  .from = -1,
                                  .max_bytes = READ_BYTES};
    struct library_pages pages;
    enum rc rc;

    if (place.passage_id == 0 && place.path[0] == '\0') {
        fail(r, "location or id: expected one of them");
        return;
    }
    if (json_i64(args, "from", &place.from) == RC_INVALID) {
        fail(r, "from: expected a whole number");
        return;
    }
    rc = library_read(rt->library, &place, live->facts.mem, &pages);
    if (rc != RC_OK) {
        fail(r, rc == RC_NOT_FOUND ? "no such document or passage"
                                   : "the library could not be read");
        return;
    }
    r->title = pages.title;
    r->location = pages.path;
    r->has_more = pages.has_more;
    r->passages = copy_passages(live->facts.mem, pages.passages, pages.n);
    r->n_passages = r->passages != NULL ? pages.n : 0;
    r->summary = summary_of(live->facts.mem, r->n_passages, pages.title);
}

static void with_arguments(struct runtime *rt, struct live *live,
                           const struct tool_job *job,
                           void (*fn)(struct runtime *, struct live *,
                                      const cJSON *, struct tool_result *))
{
    struct tool_result *r = new_result(live, job);
    cJSON *args = NULL;

    if (r == NULL) {
        return;
    }
    if (json_parse(job->arguments, strlen(job->arguments), &args, NULL) !=
            RC_OK ||
        !cJSON_IsObject(args)) {
        fail(r, "the arguments are not a JSON object");
    } else if (!open_library(rt)) {
        fail(r, "the library is not indexed yet");
    } else {
        fn(rt, live, args, r);
    }
    json_free(args);
}

void tool_library_search(struct runtime *rt, struct live *live,
                         const struct tool_job *job)
{
    with_arguments(rt, live, job, search);
}

void tool_library_read(struct runtime *rt, struct live *live,
                       const struct tool_job *job)
{
    with_arguments(rt, live, job, read_pages);
}
