/* tool.c - the tools of the model: their table, the rows of their calls, and
 * what the model is told. tool_work.c runs them. */
#include <inttypes.h>
#include <string.h>

#include "runtime/fault.h"
#include "runtime/mcp/mcp.h"
#include "runtime/runtime.h"
#include "runtime/torn.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "sql/store_page.h"

#define RESULT_BYTES       (1u << 20)
#define LIBRARY_TIMEOUT_MS 60000
/* Beyond what a fetch and a reading have for themselves. */
#define WEB_TIMEOUT_MS 180000
/* Longer arguments are not compared with those of other calls: it costs the
 * square of their members, of so many a tenth of a millisecond, for each of the
 * Run's calls. */
#define SAME_BYTES 1024
#define PINS_MAX   20 /* of one call */
#define TOLD_MAX   20 /* numbers that were not pinned */

static enum rc note(struct step *, struct tool_call *, const cJSON *args);

static const struct tool TOOLS[] = {
    {.name = "library_search",
     .safe = true,
     .description = "Search the library; gives passages with their numbers.",
     .schema =
         "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},"
         "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}},"
         "\"required\":[\"query\"],\"additionalProperties\":false}",
     .needs_index = true,
     .timeout_ms = LIBRARY_TIMEOUT_MS,
     .offered = tool_library_offered,
     .run = tool_library_search},
    {.name = "library_read",
     .safe = true,
     .description = "Read on in a document of the library, from a passage.",
     .schema = "{\"type\":\"object\",\"properties\":{\"location\":{\"type\":"
               "\"string\"},\"id\":{\"type\":\"string\",\"description\":\"of a "
               "passage\"},\"from\":{\"type\":\"integer\",\"minimum\":0}},"
               "\"additionalProperties\":false}",
     .needs_index = true,
     .timeout_ms = LIBRARY_TIMEOUT_MS,
     .offered = tool_library_offered,
     .run = tool_library_read},
    {.name = "web_search",
     .safe = true,
     .timeout_ms = WEB_TIMEOUT_MS,
     .description = "Search the web; gives addresses with a few words of each "
                    "page. Read the best of them with web_fetch.",
     .schema =
         "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},"
         "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}},"
         "\"required\":[\"query\"],\"additionalProperties\":false}",
     .offered = tool_web_search_offered,
     .run = tool_web_search,
     .cancel = tool_web_search_cancel},
    {.name = "web_fetch",
     .safe = true,
     .timeout_ms = WEB_TIMEOUT_MS,
     .description = "Read a page of the web (HTML, PDF or text): passages with "
                    "their numbers, and where the page leads. A long page is "
                    "read on with from.",
     .schema =
         "{\"type\":\"object\",\"properties\":{\"url\":{\"type\":\"string\"},"
         "\"from\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
         "\"next_from of what was read before\"}},"
         "\"required\":[\"url\"],\"additionalProperties\":false}",
     .offered = tool_web_fetch_offered,
     .run = tool_web_fetch,
     .cancel = tool_web_fetch_cancel},
    {.name = "note",
     .safe = true,
     .description = "Keep a note; it stays when older results are dropped, and "
                    "so does the text of pinned passages.",
     .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
               "\"string\"},\"pin\":{\"type\":\"array\",\"items\":{\"type\":"
               "\"integer\"},\"description\":\"numbers of passages to keep "
               "word for word\"}},\"required\":[\"text\"],"
               "\"additionalProperties\":false}",
     .inside = note},
    {.name = "recall",
     .safe = true,
     .description = "Read again what was found before: a passage by its number "
                    "n, a result by its number, or your last draft. Long ones "
                    "go on with from.",
     .schema = "{\"type\":\"object\",\"properties\":{\"source\":{\"type\":"
               "\"integer\"},\"result\":{\"type\":\"integer\"},\"draft\":"
               "{\"type\":\"boolean\"},\"from\":{\"type\":\"integer\","
               "\"minimum\":0}},\"additionalProperties\":false}",
     .inside = recall_take},
    {.name = "publish_draft",
     .safe = true,
     .description =
         "Publish what the report says so far, for the person to read while "
         "you go on. A later draft, and the report, replace it.",
     .schema = "{\"type\":\"object\",\"properties\":{\"report\":{\"type\":"
               "\"string\",\"description\":\"Markdown, citing passages as [n]"
               "\"}},\"required\":[\"report\"],"
               "\"additionalProperties\":false}",
     .inside = draft_take},
};
#define N_TOOLS (sizeof(TOOLS) / sizeof(TOOLS[0]))

const struct tool *tool_at(const struct runtime *rt, size_t i)
{
    return i < N_TOOLS ? &TOOLS[i] : mcp_at(rt->mcp, i - N_TOOLS);
}

const struct tool *tool_find(const struct runtime *rt, const char *name)
{
    const struct tool *tool;

    for (size_t i = 0; i < N_TOOLS; i++) {
        if (strcmp(TOOLS[i].name, name) == 0) {
            return &TOOLS[i];
        }
    }
    tool = mcp_find(rt->mcp, name);
    return tool != NULL ? tool : fault_tool(name);
}

/* --- calls that repeat another --------------------------------------- */

static enum rc same_arguments(const cJSON *args, const char *other, bool *same)
{
    cJSON *tree = NULL;
    size_t len = strlen(other);
    enum rc rc =
        len <= SAME_BYTES ? json_parse(other, len, &tree, NULL) : RC_INVALID;

    *same = rc == RC_OK && json_same(args, tree);
    json_free(tree);
    return rc == RC_NOMEM ? rc : RC_OK;
}

/* The first call of this Run that asks the tool the same, as JSON values; 0:
 * none. What does not only read is meant each time it is asked. */
static enum rc find_first(struct step *s, const struct model_call *c,
                          int64_t *first)
{
    const struct tool *tool = tool_find(s->rt, c->name);
    struct tool_asked *asked = NULL;
    cJSON *args = NULL;
    size_t n = 0;
    size_t len = strlen(c->arguments);
    enum rc rc;

    *first = 0;
    if (tool == NULL || !tool->safe || tool->acts || tool->run == NULL ||
        len > SAME_BYTES) {
        return RC_OK;
    }
    rc = json_parse(c->arguments, len, &args, NULL);
    if (rc != RC_OK) {
        return rc == RC_NOMEM ? rc : RC_OK;
    }
    rc = store_tool_call_asked(s->rt->store, s->run.id, c->name, s->mem, &asked,
                               &n);
    for (size_t i = 0; i < n && rc == RC_OK && *first == 0; i++) {
        bool same = false;

        rc = same_arguments(args, asked[i].arguments, &same);
        if (same) {
            *first = asked[i].id;
        }
    }
    json_free(args);
    return rc;
}

static enum rc share_summary(struct step *s, const struct tool_call *first,
                             const char **out)
{
    *out = arena_printf(s->mem, "as before: %s", first->summary);
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

enum rc tool_share(struct step *s, struct tool_call *t, bool *wait)
{
    struct tool_call first;
    const char *summary = NULL;
    enum rc rc =
        store_tool_call_get(s->rt->store, 0, t->repeats, s->mem, &first);

    if (rc == RC_OK) {
        rc = share_summary(s, &first, &summary);
    }
    if (rc != RC_OK) {
        return rc;
    }
    switch (first.state) {
    case EFFECT_PLANNED:
    case EFFECT_SENT:
        *wait = true;
        return RC_OK;
    case EFFECT_DONE:
    case EFFECT_FAILED:
        return tool_settle_inside(s, t, first.state == EFFECT_FAILED,
                                  first.result, summary);
    case EFFECT_SKIPPED:
    case EFFECT_INTERRUPTED:
    case EFFECT_UNKNOWN:
    case EFFECT_STATE__MAX:
        break;
    }
    t->state = EFFECT_SKIPPED;
    t->cause = first.cause;
    t->result = first.result;
    t->summary = summary;
    return store_tool_call_move(s->rt->store, &s->run, t, EFFECT_PLANNED,
                                s->now_ms);
}

/* --- rows of calls ----------------------------------------------------- */

/* What a model does to the conversation itself is no tool of the table. */
static bool is_ours(const char *name)
{
    static const char *const OURS[] = {
        "start_research", "adjust_research",   "stop_research",
        "ask_user",       "inspect_research",  "reply_research",
        "deliver_report", "continue_research",
    };
    bool is = false;

    for (size_t i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++) {
        is = is || strcmp(name, OURS[i]) == 0;
    }
    return is;
}

enum rc tool_insert(struct step *s, const struct request *q,
                    const struct model_call *c, size_t n, struct tool_call *t)
{
    const struct tool *tool = tool_find(s->rt, c->name);

    *t = (struct tool_call){.run_id = s->run.id,
                            .request_id = q->id,
                            .n = (int64_t)n,
                            .call_id = c->id,
                            .name = c->name,
                            .arguments = c->arguments,
                            .safe = tool != NULL && tool->safe,
                            .acts = tool == NULL || tool->acts,
                            .tool = tool != NULL ? tool->digest : NULL,
                            .unknown = tool == NULL && !is_ours(c->name),
                            .summary = ""};
    enum rc rc = find_first(s, c, &t->repeats);

    if (rc != RC_OK) {
        return rc;
    }
    return store_tool_call_plan(s->rt->store, &s->run, t, s->now_ms);
}

/* A call that was carried out, or refused, inside this transaction. */
enum rc tool_settle_inside(struct step *s, struct tool_call *t, bool failed,
                           const char *result, const char *summary)
{
    enum rc rc;

    t->state = EFFECT_SENT;
    rc = store_tool_call_move(s->rt->store, &s->run, t, EFFECT_PLANNED,
                              s->now_ms);
    if (rc != RC_OK) {
        return rc;
    }
    t->state = failed ? EFFECT_FAILED : EFFECT_DONE;
    t->result = result;
    t->summary = summary;
    t->error = failed ? summary : NULL;
    return store_tool_call_move(s->rt->store, &s->run, t, EFFECT_SENT,
                                s->now_ms);
}

enum rc tool_arguments(struct step *s, struct tool_call *t, cJSON **args)
{
    enum rc rc = json_parse(t->arguments, strlen(t->arguments), args, NULL);

    if (rc == RC_OK || rc == RC_NOMEM) {
        return rc;
    }
    return torn_is(t->arguments)
               ? tool_settle_inside(
                     s, t, true,
                     "{\"error\":\"the arguments break off: the reply was too "
                     "long. Say it in fewer words, or in parts.\"}",
                     "the arguments break off")
               : tool_settle_inside(
                     s, t, true,
                     "{\"error\":\"the arguments are not a JSON object\"}",
                     "broken arguments");
}

enum rc tool_carry_out(struct step *s, struct tool_call *t,
                       const struct tool *tool)
{
    cJSON *args = NULL;
    enum rc rc;

    rc = tool_arguments(s, t, &args);
    if (rc != RC_OK || args == NULL) {
        return rc;
    }
    rc = tool->inside(s, t, args);
    json_free(args);
    return rc;
}

enum rc tool_admit(struct step *s, struct tool_call *t, bool *refused)
{
    *refused = false;
    if (t->repeats != 0) {
        return RC_OK; /* it is not made, and uses nothing */
    }
    *refused = s->run.tool_calls.used >= s->run.tool_calls.limit;
    if (*refused) {
        if (s->run.kind == RUN_RESEARCH) {
            run_hit_limit(s, REASON_BUDGET_TOOLS);
        }
        return tool_settle_inside(s, t, true, "{\"error\":\"limit reached\"}",
                                  "limit reached");
    }
    s->run.tool_calls.used++;
    s->save = true;
    return RC_OK;
}

enum rc tool_question(struct step *s, const char *arguments,
                      const char **question)
{
    cJSON *args = NULL;
    enum rc rc = json_parse(arguments, strlen(arguments), &args, NULL);
    const char *text = json_str(args, "question", "");

    if (rc == RC_OK && utf8_is_blank(text)) {
        rc = RC_INVALID;
    }
    if (rc == RC_OK) {
        *question = arena_strdup(s->mem, text);
        rc = *question == NULL ? RC_TOO_LARGE : RC_OK;
    }
    json_free(args);
    return rc;
}

/* --- notes ------------------------------------------------------------- */

struct pins {
    struct buf unknown; /* the numbers that no passage has, "7, 9" */
    struct buf beyond;  /* those that were too many for one call */
    size_t n_unknown;
    size_t n_beyond;
};

static void put_number(struct buf *out, size_t *n, int64_t number)
{
    if (*n < TOLD_MAX) {
        buf_printf(out, "%s%" PRId64, *n > 0 ? ", " : "", number);
    } else if (*n == TOLD_MAX) {
        buf_puts(out, ", and more");
    }
    ++*n;
}

/* Each names a passage that was retrieved; what does not is passed over, and
 * told. */
static enum rc pin_all(struct step *s, const cJSON *list, struct pins *out)
{
    struct source src;
    const cJSON *item;
    int n = 0;

    cJSON_ArrayForEach(item, list)
    {
        int64_t number = cJSON_IsNumber(item) ? item->valueint : 0;
        enum rc rc;

        if (n++ >= PINS_MAX) {
            put_number(&out->beyond, &out->n_beyond, number);
            continue;
        }
        rc = store_source_by_number(s->rt->store, s->run.id, number, s->mem,
                                    &src);
        if (rc == RC_OK) {
            rc = store_pin_add(s->rt->store, s->run.id, number);
        } else if (rc == RC_NOT_FOUND) {
            put_number(&out->unknown, &out->n_unknown, number);
            rc = RC_OK;
        }
        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}

static enum rc settle_note(struct step *s, struct tool_call *t,
                           const struct pins *p)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, RESULT_BYTES);
    buf_puts(&text, "{\"outcome\":\"noted");
    if (p->n_unknown > 0) {
        buf_printf(&text,
                   "; not pinned, since no passage with that number was "
                   "retrieved: %s",
                   buf_str(&p->unknown));
    }
    if (p->n_beyond > 0) {
        buf_printf(&text, "; not pinned, since a call pins %d at most: %s",
                   PINS_MAX, buf_str(&p->beyond));
    }
    buf_puts(&text, "\"}");
    rc = buf_rc(&text);
    if (rc == RC_OK) {
        rc = tool_settle_inside(s, t, false, buf_str(&text), "noted");
    }
    buf_free(&text);
    return rc;
}

static enum rc note(struct step *s, struct tool_call *t, const cJSON *args)
{
    const char *text = json_str(args, "text", "");
    struct pins pins = {.n_unknown = 0};
    enum rc rc;

    if (utf8_is_blank(text)) {
        return tool_settle_inside(s, t, true,
                                  "{\"error\":\"text: expected a text\"}",
                                  "no text was given");
    }
    buf_init(&pins.unknown, RESULT_BYTES);
    buf_init(&pins.beyond, RESULT_BYTES);
    rc = store_note_add(s->rt->store, s->run.id, text, s->now_ms);
    if (rc == RC_OK) {
        rc = pin_all(s, json_get(args, "pin"), &pins);
    }
    if (rc == RC_OK) {
        rc = settle_note(s, t, &pins);
    }
    buf_free(&pins.unknown);
    buf_free(&pins.beyond);
    return rc;
}

/* --- storing what came ------------------------------------------------- */

static enum rc put_passage(struct step *s, struct tool_call *t,
                           const struct passage *p, bool whole,
                           struct json_out *j)
{
    struct source src = {.tool_call_id = t->id,
                         .passage = p->id,
                         .title = p->title,
                         .location = p->location,
                         .heading = p->heading,
                         .body = p->text};
    enum rc rc = store_source_add(s->rt->store, &s->run, &src);

    if (rc != RC_OK) {
        return rc;
    }
    json_open_object(j);
    json_ki64(j, "n", src.n);
    if (whole) {
        json_kstr(j, "id", p->id);
        json_kstr(j, "title", p->title);
        json_kstr(j, "location", p->location);
    }
    json_kstr(j, "heading", p->heading);
    json_kstr(j, "text", p->text);
    json_close_object(j);
    return RC_OK;
}

static void put_links(const struct tool_result *r, struct json_out *j)
{
    if (r->n_links == 0) {
        return;
    }
    json_key(j, "links");
    json_open_array(j);
    for (size_t i = 0; i < r->n_links; i++) {
        json_open_object(j);
        json_kstr(j, "text", r->links[i].text);
        json_kstr(j, "url", r->links[i].url);
        json_close_object(j);
    }
    json_close_array(j);
}

/* {"passages":[...]} of a search, with title, location and has_more of a read. */
static enum rc put_passages(struct step *s, struct tool_call *t,
                            const struct tool_result *r, struct buf *out)
{
    struct json_out j;
    bool read = r->location != NULL;
    enum rc rc = RC_OK;
    enum rc built;

    json_begin(&j, out);
    json_open_object(&j);
    if (read) {
        json_kstr(&j, "title", r->title);
        json_kstr(&j, "location", r->location);
    }
    json_key(&j, "passages");
    json_open_array(&j);
    for (size_t i = 0; i < r->n_passages && rc == RC_OK; i++) {
        rc = put_passage(s, t, &r->passages[i], !read, &j);
    }
    if (rc != RC_OK) {
        return rc;
    }
    json_close_array(&j);
    put_links(r, &j);
    if (read) {
        json_kbool(&j, "has_more", r->has_more);
    }
    if (r->note != NULL) {
        json_kstr(&j, "note", r->note);
    }
    if (read && r->next_from > 0) {
        json_ki64(&j, "next_from", r->next_from);
    }
    json_close_object(&j);
    built = json_end(&j);
    return built;
}

static enum rc put_error(const struct tool_result *r, struct buf *out)
{
    struct json_out j;

    json_begin(&j, out);
    json_open_object(&j);
    json_kstr(&j, "error", r->error);
    json_close_object(&j);
    return json_end(&j);
}

static enum rc put_text(const struct tool_result *r, struct buf *out)
{
    buf_puts(out, r->text);
    return buf_rc(out);
}

enum rc tool_settle(struct step *s, struct tool_call *t,
                    const struct tool_result *r)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, RESULT_BYTES);
    rc = r->failed         ? put_error(r, &text)
         : r->text != NULL ? put_text(r, &text)
                           : put_passages(s, t, r, &text);
    if (rc == RC_OK && r->page != NULL) {
        rc = store_page_put(s->rt->store, &s->run, r->page);
    }
    if (rc == RC_OK) {
        t->state = r->unknown  ? EFFECT_UNKNOWN
                   : r->failed ? EFFECT_FAILED
                               : EFFECT_DONE;
        t->cause = CAUSE_NONE;
        t->result = buf_str(&text);
        t->summary = r->summary;
        t->error = r->failed ? r->error : NULL;
        rc = store_tool_call_move(s->rt->store, &s->run, t, EFFECT_SENT,
                                  s->now_ms);
    }
    buf_free(&text);
    return rc;
}
