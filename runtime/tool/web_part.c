#include "runtime/tool/web_part.h"

#include <string.h>

#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define READ_BYTES  6000
#define READ_MAX    40 /* passages */
#define LINKS_MAX   20
#define LINKS_TRIED 60 /* of the part: to read an address takes 20 us */
#define SHOWN_BYTES 80

struct part {
    struct arena *mem;
    const struct page *page;
    int64_t from;
    struct tool_result *out;
    const char *why; /* there is none */
};

static void fail(struct part *g, const char *why)
{
    g->why = why != NULL ? why : "no memory";
}

/* The same words of the same page are the same passage; others are not, even if
 * they stand in the same place. */
static const char *passage_id(struct arena *a, const char *location,
                              const char *text)
{
    const struct hash_part parts[] = {{location, strlen(location)},
                                      {text, strlen(text)}};
    uint8_t hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];

    hash_parts(parts, 2, hash);
    hash_hex(hash, hex);
    return arena_printf(a, "web:%.24s", hex);
}

static bool take_passage(struct part *g, const char *title, const cJSON *in,
                         struct passage *p)
{
    struct arena *a = g->mem;

    *p = (struct passage){.title = title,
                          .location = g->page->location,
                          .heading =
                              arena_strdup(a, json_str(in, "heading", "")),
                          .text = arena_strdup(a, json_str(in, "text", ""))};
    if (p->heading == NULL || p->text == NULL) {
        return false;
    }
    p->id = passage_id(a, p->location, p->text);
    return p->id != NULL;
}

/* Passages from g->from on, as many as are told at once. *next: the first that
 * is not. */
static bool take_passages(struct part *g, const char *title, const cJSON *list,
                          int64_t *next)
{
    struct tool_result *r = g->out;
    struct passage *out =
        arena_alloc(g->mem, READ_MAX * sizeof(struct passage));
    const cJSON *in = NULL;
    int64_t i = 0;
    size_t bytes = 0;

    if (out == NULL) {
        return false;
    }
    cJSON_ArrayForEach(in, list)
    {
        size_t len = strlen(json_str(in, "text", ""));

        if (i++ < g->from) {
            continue;
        }
        if (r->n_passages == READ_MAX ||
            (bytes > 0 && bytes + len > READ_BYTES)) {
            i--;
            break;
        }
        bytes += len;
        if (!take_passage(g, title, in, &out[r->n_passages])) {
            return false;
        }
        r->n_passages++;
    }
    r->passages = out;
    *next = i;
    return true;
}

static bool is_listed(const struct link *links, size_t n, const char *url)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(links[i].url, url) == 0) {
            return true;
        }
    }
    return false;
}

/* Of the passages from g->from to next. */
static void take_links(struct part *g, const cJSON *list, int64_t next)
{
    struct tool_result *r = g->out;
    struct arena *a = g->mem;
    struct link *out = arena_alloc(a, LINKS_MAX * sizeof(struct link));
    const cJSON *in = NULL;
    char url[HTTP_URL_BYTES];
    int tried = 0;

    if (out == NULL) {
        return;
    }
    cJSON_ArrayForEach(in, list)
    {
        struct link *l = &out[r->n_links];
        int64_t at = -1;

        if (json_i64(in, "at", &at) != RC_OK || at < g->from || at >= next) {
            continue;
        }
        if (r->n_links == LINKS_MAX || tried++ == LINKS_TRIED) {
            break;
        }
        if (http_url_clean(g->page->location, json_str(in, "href", ""), url) !=
                NULL ||
            strcmp(url, g->page->location) == 0 ||
            is_listed(out, r->n_links, url)) {
            continue;
        }
        l->url = arena_strdup(a, url);
        l->text = arena_strdup(a, json_str(in, "text", ""));
        r->n_links += l->url != NULL && l->text != NULL ? 1 : 0;
    }
    r->links = out;
}

/* "7 passages of “Tides”" */
static const char *summary_of(struct part *g, const char *title)
{
    size_t n = g->out->n_passages;
    size_t keep = utf8_clip(title, strlen(title), SHOWN_BYTES);
    const char *text =
        arena_printf(g->mem, "%zu passage%s of \xe2\x80\x9c%.*s%s\xe2\x80\x9d",
                     n, n == 1 ? "" : "s", (int)keep, title,
                     title[keep] != '\0' ? "\xe2\x80\xa6" : "");

    return text != NULL ? text : "";
}

static void take_part(struct part *g, const cJSON *tree)
{
    struct tool_result *r = g->out;
    const cJSON *list = json_get(tree, "passages");
    const char *title = json_str(tree, "title", "");
    int64_t next = 0;

    title = arena_strdup(g->mem, title[0] != '\0' ? title : g->page->location);
    if (title == NULL || !take_passages(g, title, list, &next)) {
        fail(g, NULL);
        return;
    }
    if (r->n_passages == 0) {
        fail(g, "from: the page ends before that");
        return;
    }
    take_links(g, json_get(tree, "links"), next);
    r->title = title;
    r->location = g->page->location;
    r->has_more = next < cJSON_GetArraySize(list);
    r->next_from = r->has_more ? next : 0;
    if (!r->has_more && cJSON_IsTrue(json_get(tree, "cut"))) {
        r->note = "The page is longer than what is read of it: this is not its "
                  "end.";
    }
    r->summary = summary_of(g, title);
}

static void read_page(struct part *g)
{
    cJSON *tree = NULL;
    const char *error;

    if (json_parse(g->page->body, strlen(g->page->body), &tree, NULL) !=
        RC_OK) {
        fail(g, "it could not be read");
        return;
    }
    error = json_str(tree, "error", "");
    if (error[0] != '\0') {
        fail(g, arena_strdup(g->mem, error));
    } else {
        take_part(g, tree);
    }
    json_free(tree);
}

const char *web_part_take(struct arena *mem, const struct page *page,
                          int64_t from, struct tool_result *out)
{
    struct part g = {.mem = mem, .page = page, .from = from, .out = out};

    read_page(&g);
    return g.why;
}
