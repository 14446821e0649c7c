/* tool_library.c - library_search and library_read. Both only read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "sql/library_files.h"

#define SEARCH_DEFAULT 5
#define SEARCH_MAX     10
#define READ_BYTES     6000
#define SHOWN_BYTES    80

bool tool_library_offered(const struct runtime *rt)
{
    return indexer_has_documents(rt->indexer);
}

static void close_library(struct runtime *rt)
{
    library_close(rt->library);
    rt->library = NULL;
}

/* The library may have been indexed for the first time meanwhile, or anew. */
static bool open_library(struct runtime *rt)
{
    if (rt->library != NULL && library_is_lost(rt->library)) {
        close_library(rt);
    }
    return rt->library != NULL ||
           library_open_read(rt->conf.data, rt->conf.busy_timeout_ms,
                             &rt->library) == RC_OK;
}

/* Whose own documents the Run may see. */
static enum rc find_owner(const struct tool_work *w,
                          char owner[LIBRARY_FILES_OWNER_BYTES])
{
    const char *account = NULL;
    struct run run;
    enum rc rc = store_run_get(w->rt->store, 0, w->run_id, false, w->mem, &run);

    if (rc == RC_OK) {
        rc = store_account_name(w->rt->store, run.account_id, w->mem, &account);
    }
    if (rc == RC_OK) {
        library_files_owner(account, owner);
    }
    return rc;
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

/* An index that is damaged is made anew; whoever asks again waits for it. */
static void fail(struct tool_work *w, enum rc rc, const char *why)
{
    if (rc != RC_DB) {
        tool_fail(w, why);
        return;
    }
    close_library(w->rt);
    library_discard(w->rt->conf.data);
    indexer_keep(w->rt->indexer);
    tool_fail(w, "the index of the library was damaged and is being made "
                 "anew: ask once more");
}

static void search(struct tool_work *w, const cJSON *args)
{
    struct tool_result *r = &w->result;
    struct library_passage found[SEARCH_MAX];
    const char *query = json_str(args, "query", "");
    int64_t limit = SEARCH_DEFAULT;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    size_t n = 0;
    enum rc rc;

    if (utf8_is_blank(query)) {
        tool_fail(w, "query: expected a text");
        return;
    }
    if (json_i64(args, "limit", &limit) == RC_INVALID || limit < 1 ||
        limit > SEARCH_MAX) {
        limit = SEARCH_DEFAULT;
    }
    rc = find_owner(w, owner);
    if (rc == RC_OK) {
        rc = library_search(w->rt->library, owner, query, (size_t)limit, w->mem,
                            found, &n);
    }
    if (rc != RC_OK) {
        fail(w, rc, "the library could not be searched");
        return;
    }
    r->passages = copy_passages(w->mem, found, n);
    r->n_passages = r->passages != NULL ? n : 0;
    r->summary = summary_of(w->mem, r->n_passages, query);
}

/* Text, as it is given, or the number that it looks like; 0: none. */
static int64_t passage_id(const cJSON *args)
{
    int64_t id = 0;

    if (json_i64(args, "id", &id) != RC_OK) {
        id = strtoll(json_str(args, "id", ""), NULL, 10);
    }
    return id;
}

static void read_pages(struct tool_work *w, const cJSON *args)
{
    struct tool_result *r = &w->result;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    struct library_place place = {.owner = owner,
                                  .passage_id = passage_id(args),
                                  .path = json_str(args, "location", ""),
                                  .from = -1,
                                  .max_bytes = READ_BYTES};
    struct library_pages pages;
    enum rc rc;

    if (place.passage_id == 0 && place.path[0] == '\0') {
        tool_fail(w, "location or id: expected one of them");
        return;
    }
    if (json_i64(args, "from", &place.from) == RC_INVALID) {
        tool_fail(w, "from: expected a whole number");
        return;
    }
    rc = find_owner(w, owner);
    if (rc == RC_OK) {
        rc = library_read(w->rt->library, &place, w->mem, &pages);
    }
    if (rc != RC_OK) {
        fail(w, rc,
             rc == RC_NOT_FOUND ? "no such document or passage"
                                : "the library could not be read");
        return;
    }
    r->title = pages.title;
    r->location = pages.path;
    r->has_more = pages.has_more;
    r->passages = copy_passages(w->mem, pages.passages, pages.n);
    r->n_passages = r->passages != NULL ? pages.n : 0;
    r->summary = summary_of(w->mem, r->n_passages, pages.title);
}

static void with_arguments(struct tool_work *w,
                           void (*fn)(struct tool_work *, const cJSON *))
{
    cJSON *args = NULL;

    if (json_parse(w->arguments, strlen(w->arguments), &args, NULL) != RC_OK ||
        !cJSON_IsObject(args)) {
        tool_fail(w, "the arguments are not a JSON object");
    } else if (!open_library(w->rt)) {
        tool_fail(w, "the library is not indexed yet");
    } else {
        fn(w, args);
    }
    json_free(args);
    tool_done(w);
}

void tool_library_search(struct tool_work *w)
{
    with_arguments(w, search);
}

void tool_library_read(struct tool_work *w)
{
    with_arguments(w, read_pages);
}
