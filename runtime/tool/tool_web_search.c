/* tool_web_search.c - web_search: a search service that answers as SearXNG does.
 *
 * The address is the configuration's own, so it may be a private one. */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/log.h"
#include "sql/base/mask.h"
#include "sql/base/utf8.h"

#define LIMIT_DEFAULT 8
#define LIMIT_MAX     10
#define HITS_TRIED    100 /* to read an address takes 20 us of the loop */
#define QUERY_BYTES   400
#define REPLY_BYTES   (2u << 20)
#define SNIPPET_BYTES 1000
#define SHOWN_BYTES   80

struct search {
    struct http_call *call;
    struct buf reply;
    const char *query; /* memory of the work */
    int64_t limit;
};

bool tool_web_search_offered(const struct runtime *rt)
{
    return rt->conf.web_search_url[0] != '\0';
}

static void end(struct tool_work *w)
{
    struct search *s = w->own;

    if (s != NULL) {
        http_cancel(s->call);
        buf_free(&s->reply);
        free(s);
        w->own = NULL;
    }
}

void tool_web_search_cancel(struct tool_work *w)
{
    end(w);
}

static void fail(struct tool_work *w, const char *why)
{
    tool_fail(w, why != NULL ? why : "no memory");
}

/* --- what was found --------------------------------------------------------- */

static char *clipped(struct arena *a, const char *text, size_t most)
{
    return arena_strndup(a, text, utf8_clip(text, strlen(text), most));
}

/* A hit as a passage: what the service says of the page can be cited too. */
static bool take_hit(struct tool_work *w, const cJSON *hit, struct passage *p)
{
    const char *title = json_str(hit, "title", "");
    const char *snippet = json_str(hit, "content", "");
    uint8_t hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];
    char url[HTTP_URL_BYTES];
    struct hash_part parts[2];

    if (http_url_clean(NULL, json_str(hit, "url", ""), url) != NULL) {
        return false;
    }
    p->title = clipped(w->mem, title[0] != '\0' ? title : url, SNIPPET_BYTES);
    p->location = arena_strdup(w->mem, url);
    p->heading = "";
    p->text = clipped(w->mem, snippet, SNIPPET_BYTES);
    if (p->title == NULL || p->location == NULL || p->text == NULL) {
        return false;
    }
    if (p->text[0] == '\0') {
        p->text = p->title;
    }
    parts[0] = (struct hash_part){url, strlen(url)};
    parts[1] = (struct hash_part){p->text, strlen(p->text)};
    hash_parts(parts, 2, hash);
    hash_hex(hash, hex);
    p->id = arena_printf(w->mem, "web:%.24s", hex);
    return p->id != NULL;
}

static void take_hits(struct tool_work *w, const cJSON *tree)
{
    const struct search *s = w->own;
    const cJSON *list = json_get(tree, "results");
    struct passage *found =
        arena_alloc(w->mem, LIMIT_MAX * sizeof(struct passage));
    const cJSON *hit = NULL;
    size_t n = 0;
    int tried = 0;
    const char *summary;

    if (!cJSON_IsArray(list) || found == NULL) {
        tool_fail(w, "the search service's answer has no results");
        return;
    }
    cJSON_ArrayForEach(hit, list)
    {
        if ((int64_t)n == s->limit || tried++ == HITS_TRIED) {
            break;
        }
        if (take_hit(w, hit, &found[n])) {
            n++;
        }
    }
    w->result.passages = found;
    w->result.n_passages = n;
    summary = arena_printf(
        w->mem, "%zu page%s for \xe2\x80\x9c%.*s\xe2\x80\x9d", n,
        n == 1 ? "" : "s",
        (int)utf8_clip(s->query, strlen(s->query), SHOWN_BYTES), s->query);
    w->result.summary = summary != NULL ? summary : "";
}

/* --- the call ---------------------------------------------------------------- */

static void on_data(void *ctx, long status, const char *data, size_t len)
{
    struct tool_work *w = ctx;
    struct search *s = w->own;

    (void)status;
    buf_add(&s->reply, data, len);
}

static void take_reply(struct tool_work *w, const struct http_result *res)
{
    struct search *s = w->own;
    cJSON *tree = NULL;
    bool usable = false;

    /* It may show the name and password that it was asked with. */
    if (buf_rc(&s->reply) == RC_OK && s->reply.len > 0) {
        mask_text(s->reply.data, s->reply.len);
    }
    if (res->end != HTTP_END_DONE) {
        /* Where it stands is not for the model, nor for who reads along. */
        log_warn(NULL, "web.search_url: %s", res->detail);
        fail(w,
             arena_printf(w->mem, "the search service failed: %s", res->brief));
    } else if (res->status != 200) {
        fail(w, arena_printf(w->mem, "the search service answered %ld",
                             res->status));
    } else if (buf_rc(&s->reply) != RC_OK ||
               json_parse(buf_str(&s->reply), s->reply.len, &tree, NULL) !=
                   RC_OK) {
        tool_fail(w, "the search service's answer is not JSON");
    } else {
        take_hits(w, tree);
        usable = !w->result.failed;
    }
    servers_search(w->rt, res, usable);
    json_free(tree);
}

static void on_done(void *ctx, const struct http_result *res)
{
    struct tool_work *w = ctx;
    struct search *s = w->own;

    s->call = NULL;
    tool_enter(w);
    take_reply(w, res);
    end(w);
    tool_leave(w);
    tool_done(w);
}

static enum rc start(struct tool_work *w)
{
    const struct conf *c = &w->rt->conf;
    struct search *s = w->own;
    struct http_options o = {.method = "GET",
                             .accept = "application/json",
                             .user_agent = c->web_agent,
                             .compressed = true,
                             .connect_timeout_ms = c->web_timeout_ms,
                             .first_byte_timeout_ms = c->web_timeout_ms,
                             .silence_timeout_ms = c->web_timeout_ms,
                             .total_timeout_ms = c->web_timeout_ms,
                             .max_reply_bytes = REPLY_BYTES};
    struct buf url;
    enum rc rc;

    buf_init(&url, REPLY_BYTES);
    buf_printf(&url, "%s?q=", c->web_search_url);
    http_url_escape(&url, s->query);
    buf_puts(&url, "&format=json");
    o.url = buf_str(&url);
    rc = buf_rc(&url);
    if (rc == RC_OK) {
        rc = http_start(w->rt->http, &o, on_data, on_done, w, &s->call);
    }
    buf_free(&url);
    return rc;
}

static const char *read_arguments(struct tool_work *w, const cJSON *args)
{
    struct search *s = w->own;
    const char *query = json_str(args, "query", "");

    s->query = clipped(w->mem, query, QUERY_BYTES);
    s->limit = LIMIT_DEFAULT;
    if (json_i64(args, "limit", &s->limit) == RC_INVALID || s->limit < 1 ||
        s->limit > LIMIT_MAX) {
        s->limit = LIMIT_DEFAULT;
    }
    return s->query == NULL          ? "no memory"
           : utf8_is_blank(s->query) ? "query: expected a text"
                                     : NULL;
}

void tool_web_search(struct tool_work *w)
{
    struct search *s = calloc(1, sizeof(*s));
    const char *why = "no memory";
    cJSON *args = NULL;

    w->own = s;
    if (s != NULL) {
        buf_init(&s->reply, REPLY_BYTES);
        why =
            json_parse(w->arguments, strlen(w->arguments), &args, NULL) == RC_OK
                ? read_arguments(w, args)
                : "the arguments are not a JSON object";
        json_free(args);
    }
    if (why == NULL && start(w) != RC_OK) {
        why = "the search service could not be asked";
    }
    if (why != NULL) {
        end(w);
        tool_fail(w, why);
        tool_done(w);
    }
}
