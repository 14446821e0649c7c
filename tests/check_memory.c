/* check_memory.c - memory runs out at every allocation in turn: what fails says
 * so in an ordinary way, what succeeds has done all of it, and nothing is left
 * behind, in the database or in the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "fcgi/target.h"
#include "runtime/citations.h"
#include "runtime/context_inside.h"
#include "runtime/document/charset.h"
#include "runtime/document/html.h"
#include "runtime/document/markdown_text.h"
#include "runtime/document/page.h"
#include "runtime/document/pdf.h"
#include "runtime/mcp/mcp_message.h"
#include "runtime/mcp/mcp_result.h"
#include "runtime/mcp/mcp_tool.h"
#include "sql/base/clock.h"
#include "sql/library_query.h"
#include "sql/search.h"
#include "sql/store_change.h"
#include "sql/store_handoff.h"
#include "sql/store_lease.h"
#include "tests/fuzz/stage.h"
#include "tests/support/blocks.h"
#include "tests/support/short_memory.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define OUT_BYTES    ((size_t)1 << 20)
#define ARENA_BYTES  ((size_t)16 << 20)
#define MOST         20000 /* allocations of one trial */
#define CASE_SECONDS 120   /* under sanitizers, on a busy machine */

/* One thing to do. out gets all that came of it, to be compared. */
typedef enum rc trial_fn(struct buf *out);

/* What is done and looked at once memory is there again; NULL: nothing. */
typedef void after_fn(enum rc, struct buf *out);

/* Short of memory is short of memory, and never "that is no JSON". */
static bool is_ordinary(enum rc rc)
{
    return rc == RC_OK || rc == RC_NOMEM || rc == RC_TOO_LARGE || rc == RC_DB ||
           rc == RC_IO;
}

/* The n-th allocation fails, for every n up to where there is none. */
static void exhaust(const char *what, trial_fn *run, after_fn *after)
{
    struct buf whole, out;
    bool failed = true;
    int64_t n;
    enum rc rc;

    buf_init(&whole, OUT_BYTES);
    buf_init(&out, OUT_BYTES);
    buf_reserve(&out, OUT_BYTES - 1);
    rc = run(&whole);
    ck_assert_msg(rc == RC_OK, "%s: %s", what, rc_name(rc));
    if (after != NULL) {
        after(rc, &whole);
    }
    for (n = 1; n < MOST && failed; n++) {
        buf_clear(&out);
        short_memory_fail(n);
        rc = run(&out);
        failed = short_memory_stop();
        ck_assert_msg(is_ordinary(rc), "%s, allocation %lld: %s", what,
                      (long long)n, rc_name(rc));
        if (after != NULL) {
            after(rc, &out);
        }
        ck_assert_msg(rc != RC_OK ||
                          strcmp(buf_str(&out), buf_str(&whole)) == 0,
                      "%s, allocation %lld: success, but\n%s\nin place of\n%s",
                      what, (long long)n, buf_str(&out), buf_str(&whole));
    }
    ck_assert_msg(n > 2 && n < MOST, "%s: %lld allocations", what,
                  (long long)n);
    ck_assert_msg(rc == RC_OK, "%s: %s with all memory there", what,
                  rc_name(rc));
    buf_free(&whole);
    buf_free(&out);
}

/* --- parsers ------------------------------------------------------------- */

static enum rc read_json(struct buf *out)
{
    static const char text[] =
        "{\"a\":[1,2.5,true,null,\"\\u00e9\"],\"b\":{\"c\":\"d\"}}";
    cJSON *tree = NULL;
    enum rc rc = json_parse(text, strlen(text), &tree, NULL);

    if (rc == RC_OK) {
        rc = json_print(tree, out);
    }
    json_free(tree);
    return rc;
}

static const char STREAM[] =
    "data: {\"id\":\"g\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"content\":\"lo\","
    "\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":"
    "{\"arguments\":\":1}\"}},{\"index\":1,\"function\":{\"name\":\"g\"}}]},"
    "\"finish_reason\":\"tool_calls\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
    "\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";

/* What cannot be read for want of memory is an error, never another reply. */
static enum rc read_reply(const char *body, struct buf *out)
{
    const struct model_stream_options options = {.max_reply_bytes = 1 << 16,
                                                 .call_id_prefix = "req_1"};
    struct model_stream *s = NULL;
    struct model_reply r;
    enum rc rc = model_stream_new(&options, &s);

    if (rc != RC_OK) {
        return rc;
    }
    model_stream_feed(s, body, strlen(body));
    model_stream_end(s);
    model_stream_reply(s, &r);
    rc = model_stream_verdict(s) == MODEL_COMPLETE ? model_reply_print(&r, out)
                                                   : RC_NOMEM;
    model_stream_free(s);
    return rc;
}

static enum rc read_stream(struct buf *out)
{
    return read_reply(STREAM, out);
}

static enum rc read_whole_reply(struct buf *out)
{
    return read_reply(
        "{\"choices\":[{\"message\":{\"content\":\"Hi\",\"tool_calls\":[{"
        "\"id\":"
        "\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
        "\"finish_reason\":\"stop\"}]}",
        out);
}

static enum rc read_kept_reply(struct buf *out)
{
    static const struct model_call call = {"c", "f", "{\"a\":1}", true};
    const struct model_reply reply = {.text = "Hello",
                                      .reasoning = "hm",
                                      .reasoning_field = "reasoning",
                                      .calls = &call,
                                      .n_calls = 1,
                                      .finish = "stop",
                                      .generation_id = "g"};
    struct arena *a = arena_new(ARENA_BYTES);
    struct model_reply again;
    struct buf text;
    enum rc rc;

    buf_init(&text, OUT_BYTES);
    rc = a == NULL ? RC_NOMEM : model_reply_print(&reply, &text);
    if (rc == RC_OK) {
        rc = model_reply_parse(buf_str(&text), text.len, a, &again);
    }
    if (rc == RC_OK) {
        rc = model_reply_print(&again, out);
    }
    buf_free(&text);
    arena_free(a);
    return rc;
}

static enum rc build_request(struct buf *out)
{
    static const struct model_call call = {"c", "f", "not JSON", false};
    const struct model_reply reply = {
        .text = "Hello", .calls = &call, .n_calls = 1, .finish = "stop"};
    const struct model_chat_profile *p =
        model_chat_profile_for("https://api.mistral.ai/v1", "m");
    const struct model_chat_head_options head = {.model = "m", .system = "s"};

    model_chat_head(out, p, &head);
    model_chat_message(out, MODEL_CHAT_USER, "q\xff");
    model_chat_assistant(out, p, &reply);
    model_chat_tool_result(out, p, "c", "{}");
    buf_puts(out, MODEL_CHAT_TAIL);
    return buf_rc(out);
}

/* Whatever is missing, it stays an error of its kind. */
static enum rc read_error(struct buf *out)
{
    static const char body[] = "{\"error\":{\"message\":\"slow\",\"code\":7}}";
    struct model_error e;

    model_chat_error(body, strlen(body), 429, &e);
    buf_puts(out, model_error_kind_name(e.kind));
    return RC_OK;
}

struct take {
    struct buf *out;
    enum rc rc;
};

static enum rc put_tools(const cJSON *body, struct buf *out)
{
    struct mcp_tools tools = {0};
    char *next = NULL;
    enum rc rc = mcp_tool_read(body, "srv", 9, &tools, &next);

    for (size_t i = 0; i < tools.n; i++) {
        const struct mcp_tool *t = &tools.list[i];

        buf_printf(out, "%s %s %s %s %s\n", t->name, t->remote, t->title,
                   t->description, t->schema);
    }
    buf_puts(out, next == NULL ? "" : next);
    free(next);
    mcp_tools_free(&tools);
    return rc;
}

static enum rc put_result(const cJSON *body, struct buf *out)
{
    struct arena *a = arena_new(ARENA_BYTES);
    struct mcp_result r = {0};
    enum rc rc = a == NULL ? RC_NOMEM : mcp_result_read(body, a, &r);

    for (size_t i = 0; i < r.n && rc == RC_OK; i++) {
        buf_printf(out, "%s %s %s\n", r.pieces[i].heading, r.pieces[i].uri,
                   r.pieces[i].text);
    }
    arena_free(a);
    return rc;
}

static bool take_message(void *ctx, const struct mcp_message *m)
{
    struct take *t = ctx;

    t->rc = json_get(m->body, "tools") != NULL ? put_tools(m->body, t->out)
                                               : put_result(m->body, t->out);
    return t->rc == RC_OK;
}

static enum rc read_mcp(struct buf *out)
{
    static const char text[] =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"a "
        "b\","
        "\"title\":\"t\",\"description\":\"d\",\"inputSchema\":{\"type\":"
        "\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}},{\"name\":"
        "\"c\",\"inputSchema\":{\"type\":\"object\"}}],\"nextCursor\":\"n\"}},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":"
        "\"text\",\"text\":\"one\"},{\"type\":\"resource\",\"resource\":{"
        "\"uri\":"
        "\"file:///b\",\"text\":\"two\"}},{\"type\":\"resource_link\",\"uri\":"
        "\"file:///c\",\"name\":\"c\"}],\"structuredContent\":{\"d\":4}}}]";
    struct take t = {out, RC_OK};
    const char *flaw = NULL;
    enum rc rc = mcp_message_read(text, strlen(text), take_message, &t, &flaw);

    return t.rc == RC_OK ? rc : t.rc;
}

static const char PAGE[] =
    "<title>T&amp;</title><h1>A</h1><p>One <a href='b.html'>link</a> here.</p>"
    "<ul><li>x<li>y</ul><table><tr><th>h<tr><td>c</table><pre>code</pre>";

static enum rc read_html(struct buf *out)
{
    return html_read(PAGE, strlen(PAGE), "iso-8859-1", blocks_write, out);
}

static enum rc read_page(struct buf *out)
{
    const struct page_input in = {
        .type = PAGE_HTML, .charset = "", .bytes = PAGE, .len = strlen(PAGE)};

    return page_read(&in, out);
}

static const char MARKDOWN[] =
    "# A *b*\n\nText [link](x) `c`.\n\n- one\n- two\n"
    "\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n"
    "```\n\fLast\n";

static enum rc read_markdown(struct buf *out)
{
    return markdown_text_read(MARKDOWN, strlen(MARKDOWN), blocks_write, out);
}

static enum rc read_plain(struct buf *out)
{
    return markdown_text_read_plain(MARKDOWN, strlen(MARKDOWN), blocks_write,
                                    out);
}

static enum rc read_pdf(struct buf *out)
{
    return pdf_read(MARKDOWN, strlen(MARKDOWN), blocks_write, out);
}

static enum rc read_charset(struct buf *out)
{
    static const char text[] = "Gr\xfc\xdf"
                               "e \xa4";

    return charset_to_utf8(text, strlen(text), "iso-8859-15", out);
}

static const char *conf_path;

static enum rc read_conf(struct buf *out)
{
    char err[300] = "";
    struct conf c;
    enum rc rc = conf_load(conf_path, &c, err, sizeof(err));

    if (rc == RC_OK) {
        buf_printf(out, "%s %s %s %zu", c.model_name, c.hosts, c.mcp[0].url,
                   c.n_mcp);
        conf_free(&c);
    }
    return rc;
}

static enum rc read_target(struct buf *out)
{
    struct arena *a = arena_new(ARENA_BYTES);
    const struct target_pair *pairs = NULL;
    const char *path = NULL;
    size_t n = 0;
    enum rc rc = RC_NOMEM;

    if (a != NULL) {
        rc = target_path(a, "/aside/api/v1/runs/run%5f1?x", "/aside", &path);
    }
    if (rc == RC_OK) {
        rc = target_query(a, "a=b%20c&d=+e", &pairs, &n);
    }
    if (rc == RC_OK) {
        buf_printf(out, "%s %s %s", path, pairs[0].value, pairs[n - 1].value);
    }
    arena_free(a);
    return rc;
}

static enum rc find_citations(struct buf *out)
{
    static const char text[] = "A [1] and [2, 30], `[4]`.";
    struct citations found = {.count = 0};
    enum rc rc = citations_find(text, NULL, &found);

    for (size_t i = 0; i < found.count && rc == RC_OK; i++) {
        buf_put_i64(out, found.n[i]);
    }
    citations_free(&found);
    return rc;
}

/* It may be cut shorter than there is room for, but no more than that. */
static enum rc cut_result(struct buf *out)
{
    struct excerpt e = {.max_tokens = 150, .number = 3};
    struct buf text, cut;
    enum rc rc;

    buf_init(&text, OUT_BYTES);
    buf_puts(&text, "{\"title\":\"t\",\"location\":\"l\",\"passages\":[");
    for (int i = 1; i < 9; i++) {
        buf_printf(&text, "%s{\"n\":%d,\"text\":\"%0100d\"}", i > 1 ? "," : "",
                   i, i);
    }
    buf_puts(&text, "]}");
    e.result = buf_str(&text);
    buf_init(&cut, OUT_BYTES);
    rc = buf_rc(&text) == RC_OK ? excerpt_result(&e, &cut) : RC_NOMEM;
    buf_puts(out, rc != RC_OK || (cut.len > 0 && cut.data[cut.len - 1] == '}')
                      ? "JSON"
                      : "not JSON");
    buf_free(&cut);
    buf_free(&text);
    return rc;
}

static enum rc find_terms(struct buf *out)
{
    struct arena *a = arena_new(ARENA_BYTES);
    struct library_terms terms;
    const char *text = NULL;
    enum rc rc = RC_NOMEM;

    if (a != NULL) {
        rc = library_query_terms("how high are \xe6\xbd\xae\xe6\xb1\x90 tides",
                                 a, &terms);
    }
    if (rc == RC_OK) {
        text = library_query_join(&terms, " AND ", a);
        buf_puts(out, text == NULL ? "" : text);
        rc = text == NULL ? RC_NOMEM : RC_OK;
    }
    if (rc == RC_OK) {
        text = search_snippet("tides", "The tides are high.", 12, a);
        buf_puts(out, text == NULL ? "" : text);
        rc = text == NULL ? RC_NOMEM : RC_OK;
    }
    arena_free(a);
    return rc;
}

/* One to a line, so that additions merge. */
static const struct {
    const char *what;
    trial_fn *run;
} PARSERS[] = {
    {"JSON", read_json},
    {"a provider's stream", read_stream},
    {"a provider's whole reply", read_whole_reply},
    {"a reply that was kept", read_kept_reply},
    {"a request to a provider", build_request},
    {"a provider's error", read_error},
    {"messages of a tool server", read_mcp},
    {"HTML", read_html},
    {"a page", read_page},
    {"Markdown", read_markdown},
    {"plain text", read_plain},
    {"the text of a PDF", read_pdf},
    {"an old encoding", read_charset},
    {"a configuration", read_conf},
    {"a request target", read_target},
    {"citations", find_citations},
    {"a result that is cut", cut_result},
    {"a search", find_terms},
};

static void begin_parsing(void)
{
    (void)tmp_make();
    conf_path = tmp_write(
        "aside.conf", "model.name = m\nhosts = a b\nmcp.x.url = http://a/\n");
    html_init();
    short_memory_begin();
}

static void end_parsing(void)
{
    short_memory_end();
    tmp_remove();
}

START_TEST(a_parser_short_of_memory_says_so)
{
    exhaust(PARSERS[_i].what, PARSERS[_i].run, NULL);
}
END_TEST

/* --- what is asked for --------------------------------------------------- */

static struct store *st;
static struct arena *mem;
static struct conf conf;
static char *pristine; /* the database before each try */
static size_t pristine_len;

/* Every row of every table. */
static void put_rows(sqlite3 *db, const char *table, struct buf *out)
{
    char sql[200];
    sqlite3_stmt *s = NULL;

    (void)snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", table);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        buf_printf(out, "%s", table);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const unsigned char *text = sqlite3_column_text(s, i);

            buf_printf(out, " %s",
                       text == NULL ? (const unsigned char *)"-" : text);
        }
        buf_putc(out, '\n');
    }
    ck_assert_int_eq(sqlite3_finalize(s), SQLITE_OK);
}

static void put_database(struct buf *out)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;

    ck_assert_int_eq(sqlite3_open(tmp_path("aside.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db,
                                        "SELECT name FROM sqlite_schema"
                                        " WHERE type = 'table' ORDER BY name",
                                        -1, &s, NULL),
                     SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        put_rows(db, (const char *)sqlite3_column_text(s, 0), out);
    }
    (void)sqlite3_finalize(s);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_int_eq(buf_rc(out), RC_OK);
}

static void read_file(const char *path, char **bytes, size_t *len)
{
    FILE *f = fopen(path, "re");
    size_t room = (size_t)8 << 20;

    ck_assert_ptr_nonnull(f);
    *bytes = malloc(room);
    ck_assert_ptr_nonnull(*bytes);
    *len = fread(*bytes, 1, room, f);
    ck_assert(feof(f) && !ferror(f));
    (void)fclose(f);
}

static void open_store(void)
{
    ck_assert_int_eq(store_open(tmp_path(""), 2000, &st), RC_OK);
}

/* As it was before the try. */
static void restore(void)
{
    FILE *f;

    store_close(st);
    st = NULL;
    (void)remove(tmp_path("aside.db-wal"));
    (void)remove(tmp_path("aside.db-shm"));
    f = fopen(tmp_path("aside.db"), "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(pristine, 1, pristine_len, f), pristine_len);
    ck_assert_int_eq(fclose(f), 0);
    open_store();
}

static sqlite3 *eye; /* watches the database */

/* Changes when another connection has committed. */
static int64_t version(void)
{
    sqlite3_stmt *s = NULL;
    int64_t n;

    ck_assert_int_eq(
        sqlite3_prepare_v2(eye, "PRAGMA data_version", -1, &s, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    n = sqlite3_column_int64(s, 0);
    ck_assert_int_eq(sqlite3_finalize(s), SQLITE_OK);
    return n;
}

static int64_t before; /* the version before each try */

static void watch(void)
{
    ck_assert_int_eq(sqlite3_open(tmp_path("aside.db"), &eye), SQLITE_OK);
    before = version();
}

static void watch_no_more(void)
{
    ck_assert_int_eq(sqlite3_close(eye), SQLITE_OK);
    eye = NULL;
}

/* Done is done whole, and told by its rows; failed is not done at all. */
static void compare_database(enum rc rc, struct buf *out)
{
    ck_assert_msg((version() == before) == (rc != RC_OK), "%s, but %s",
                  rc_name(rc),
                  rc == RC_OK ? "nothing is there" : "it is there");
    if (rc == RC_OK) {
        watch_no_more();
        put_database(out);
        restore();
        watch();
    }
}

static struct store_call call_of(const char *key)
{
    struct store_call c = {.account = "me",
                           .key = key,
                           .now_ms = 1700000000000,
                           .conf = &conf,
                           .arena = mem};

    memset(c.fingerprint, 7, sizeof(c.fingerprint));
    return c;
}

/* The stage's conversation is 1; run 2 awaits a reply, run 3 was stopped, and
 * nothing is said in conversation 2. */
static enum rc do_create(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct conversation x;

    (void)arg;
    return store_conversation_create(s, &c, "title", &x);
}

static enum rc do_rename(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct conversation x;

    (void)arg;
    return store_conversation_update(s, &c, 1, "other", true, &x);
}

static enum rc do_delete(struct store *s, void *arg)
{
    struct store_call c = call_of("k");

    (void)arg;
    return store_conversation_delete(s, &c, 2);
}

static enum rc send_message(struct store *s, bool background)
{
    struct store_call c = call_of("k");
    const struct message_new in = {
        .conversation_id = 1, .body = "text", .background = background};
    struct message m;
    struct run r;

    return store_message_send(s, &c, &in, &m, &r);
}

static enum rc do_send(struct store *s, void *arg)
{
    (void)arg;
    return send_message(s, false);
}

static enum rc do_order(struct store *s, void *arg)
{
    (void)arg;
    return send_message(s, true);
}

static enum rc do_adjust(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct message m;
    struct handoff h;

    (void)arg;
    return store_run_adjust(s, &c, 2, "only spring", &m, &h);
}

static enum rc do_reply(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct message m;
    struct handoff h;

    (void)arg;
    return store_run_reply(s, &c, 2, "the North Sea", &m, &h);
}

static enum rc do_stop(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct run r;

    (void)arg;
    return store_run_stop(s, &c, 2, &r);
}

static enum rc do_continue(struct store *s, void *arg)
{
    struct store_call c = call_of("k");
    struct message m;
    struct run r;

    (void)arg;
    return store_run_continue(s, &c, 3, "go on", &m, &r);
}

static enum rc do_want(struct store *s, void *arg)
{
    struct store_call c = call_of(NULL);

    (void)arg;
    return store_library_want(s, &c, AUDIT_LIBRARY_INDEX);
}

static enum rc do_endpoint(struct store *s, void *arg)
{
    (void)arg;
    return store_endpoint_set(s, ENDPOINT_UNAUTHORIZED, 5);
}

/* One to a line, so that additions merge. */
static const struct {
    const char *what;
    store_fn *fn;
} WRITES[] = {
    {"a conversation", do_create},
    {"a title", do_rename},
    {"a deletion", do_delete},
    {"a message", do_send},
    {"a research", do_order},
    {"an adjustment", do_adjust},
    {"a reply", do_reply},
    {"a stop", do_stop},
    {"a continuation", do_continue},
    {"files to be read", do_want},
    {"the endpoint's state", do_endpoint},
};

static int chosen;

static enum rc write_one(struct buf *out)
{
    (void)out;
    arena_reset(mem);
    return store_tx(st, WRITES[chosen].fn, NULL);
}

static enum rc prepare(struct store *s, void *arg)
{
    struct store_call order = call_of("p1");
    struct store_call stop = call_of("p2");
    struct store_call create = call_of("p3");
    struct message_new in = {
        .conversation_id = 1, .body = "other", .background = true};
    struct conversation c;
    struct message m;
    struct run r;
    enum rc rc = store_message_send(s, &order, &in, &m, &r);

    (void)arg;
    if (rc == RC_OK) {
        rc = store_run_stop(s, &stop, r.id, &r);
    }
    if (rc == RC_OK) {
        rc = store_conversation_create(s, &create, "empty", &c);
    }
    return rc;
}

static void await_reply(void)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(tmp_path("aside.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db,
                                  "UPDATE run SET state = 'awaiting_input',"
                                  " question = '?', waiting_since_ms = 1"
                                  " WHERE id = 2",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static void begin_writing(void)
{
    char err[300];

    stage_free(stage_new(tmp_make()));
    mem = arena_new(ARENA_BYTES);
    ck_assert_int_eq(conf_load(NULL, &conf, err, sizeof(err)), RC_OK);
    conf.background_limit = 3;
    open_store();
    ck_assert_int_eq(store_tx(st, prepare, NULL), RC_OK);
    await_reply();
    store_close(st);
    st = NULL;
    read_file(tmp_path("aside.db"), &pristine, &pristine_len);
    short_memory_begin();
    restore();
    watch();
}

static void end_writing(void)
{
    watch_no_more();
    store_close(st);
    short_memory_end();
    free(pristine);
    arena_free(mem);
    conf_free(&conf);
    tmp_remove();
}

START_TEST(R01_a_write_short_of_memory_leaves_nothing)
{
    chosen = _i;
    exhaust(WRITES[_i].what, write_one, compare_database);
}
END_TEST

/* --- reading --------------------------------------------------------------- */

static enum rc read_runs(struct store *s, struct buf *out)
{
    const struct run_filter f = {
        .account_id = 1, .limit = 10, .state = -1, .kind = -1};
    struct run *runs = NULL;
    size_t n = 0;
    enum rc rc = store_run_list(s, &f, mem, &runs, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(out, "%lld %s %s\n", (long long)runs[i].id, runs[i].title,
                   runs[i].progress);
    }
    return rc;
}

static enum rc read_messages(struct store *s, struct buf *out)
{
    struct message *messages = NULL;
    size_t n = 0;
    bool more = false;
    enum rc rc = store_message_page(s, 1, 0, 10, mem, &messages, &n, &more);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(out, "%s %zu\n", messages[i].body, messages[i].n_handoffs);
    }
    return rc;
}

static enum rc read_changes(struct store *s, int64_t as_of, struct buf *out)
{
    struct change_page page;
    enum rc rc =
        store_change_page(s, 1, 0, as_of, 100, (size_t)1 << 16, mem, &page);

    for (size_t i = 0; i < page.n && rc == RC_OK; i++) {
        buf_printf(out, "%lld %d %s\n", (long long)page.changes[i].seq,
                   (int)page.changes[i].kind,
                   page.changes[i].body == NULL ? "" : page.changes[i].body);
    }
    return rc;
}

static enum rc read_effects(struct store *s, struct buf *out)
{
    struct tool_call *calls = NULL;
    struct source *sources = NULL;
    size_t n = 0;
    enum rc rc = store_tool_call_of_run(s, 2, mem, &calls, &n);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(out, "%s %s\n", calls[i].name, calls[i].arguments);
    }
    if (rc == RC_OK) {
        rc = store_source_of_run(s, 2, 100, mem, &sources, &n);
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        buf_printf(out, "%s %s\n", sources[i].title, sources[i].body);
    }
    return rc == RC_OK ? store_request_input(s, 2, out) : rc;
}

static enum rc read_all(struct buf *out)
{
    struct store_view view;
    enum rc rc;

    arena_reset(mem);
    rc = store_read_begin(st, &view);
    if (rc != RC_OK) {
        return rc;
    }
    rc = read_runs(st, out);
    if (rc == RC_OK) {
        rc = read_messages(st, out);
    }
    if (rc == RC_OK) {
        rc = read_changes(st, view.as_of, out);
    }
    if (rc == RC_OK) {
        rc = read_effects(st, out);
    }
    store_read_end(st);
    return rc;
}

START_TEST(a_read_short_of_memory_says_so)
{
    exhaust("reading", read_all, NULL);
}
END_TEST

/* --- steps of Runs --------------------------------------------------------- */

static struct stage *stage;
static bool step_failed; /* it came to the allocation before the look */

static const struct {
    const char *what;
    enum request_purpose purpose;
    struct model_call call;
} STEPS[] = {
    {"a report",
     PURPOSE_RESEARCH,
     {"x", "deliver_report",
      "{\"report\":\"Tides [1].\",\"coverage\":[{\"id\":\"request\","
      "\"status\":\"covered\",\"evidence\":[1]}]}",
      true}},
    {"a look-up",
     PURPOSE_RESEARCH,
     {"x", "library_search", "{\"query\":\"neap\"}", true}},
    {"a note",
     PURPOSE_RESEARCH,
     {"x", "note", "{\"text\":\"n\",\"pin\":[1]}", true}},
    {"a draft",
     PURPOSE_RESEARCH,
     {"x", "publish_draft", "{\"report\":\"So far [1].\"}", true}},
    {"a recall", PURPOSE_RESEARCH, {"x", "recall", "{\"result\":1}", true}},
    {"a question",
     PURPOSE_RESEARCH,
     {"x", "ask_user", "{\"question\":\"Which sea?\"}", true}},
    {"a closeout",
     PURPOSE_CLOSEOUT,
     {"x", "deliver_report", "{\"report\":\"All there is.\"}", true}},
    {"an adjustment by entry",
     PURPOSE_ENTRY,
     {"x", "adjust_research", "{\"run\":\"run_2\"}", true}},
    {"a stop by entry",
     PURPOSE_ENTRY,
     {"x", "stop_research", "{\"run\":\"run_2\"}", true}},
    {"a look by entry",
     PURPOSE_ENTRY,
     {"x", "inspect_research", "{\"run\":\"run_2\"}", true}},
};

/* What the step has done, by its rows. */
static void look(struct step *s, void *arg)
{
    struct buf *out = arg;
    struct store *store = s->rt->store;
    struct tool_call *calls = NULL;
    struct run r;
    size_t n = 0;

    step_failed = short_memory_stop();
    ck_assert_int_eq(store_run_get(store, 0, s->run.id, true, s->mem, &r),
                     RC_OK);
    buf_printf(out, "%d %d %lld %s\n", (int)r.state, (int)r.reason,
               (long long)r.requests.used, r.progress);
    ck_assert_int_eq(
        store_tool_call_of_run(store, s->run.id, s->mem, &calls, &n), RC_OK);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s %d %s\n", calls[i].name, (int)calls[i].state,
                   calls[i].summary);
    }
}

static enum rc step_one(struct buf *out)
{
    const struct model_reply reply = {.text = "",
                                      .calls = &STEPS[chosen].call,
                                      .n_calls = 1,
                                      .finish = "tool_calls",
                                      .generation_id = ""};
    enum rc result = RC_OK;
    enum rc rc =
        stage_try(stage, STEPS[chosen].purpose, &reply, look, out, &result);

    return rc == RC_OK ? result : rc;
}

static void begin_stepping(void)
{
    short_memory_begin();
    stage = stage_new(tmp_make());
}

static void end_stepping(void)
{
    stage_free(stage);
    short_memory_end();
    tmp_remove();
}

START_TEST(a_step_short_of_memory_is_not_taken)
{
    chosen = _i;
    exhaust(STEPS[_i].what, step_one, NULL);
}
END_TEST

/* ------------------------------------------------------------------------- */

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

Suite *memory_suite(void)
{
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("parsers");

    tcase_add_checked_fixture(t, begin_parsing, end_parsing);
    tcase_set_timeout(t, CASE_SECONDS);
    tcase_add_loop_test(t, a_parser_short_of_memory_says_so, 0, ROWS(PARSERS));
    suite_add_tcase(s, t);
    t = tcase_create("store");
    tcase_add_checked_fixture(t, begin_writing, end_writing);
    tcase_set_timeout(t, CASE_SECONDS);
    tcase_add_loop_test(t, R01_a_write_short_of_memory_leaves_nothing, 0,
                        ROWS(WRITES));
    tcase_add_test(t, a_read_short_of_memory_says_so);
    suite_add_tcase(s, t);
    t = tcase_create("steps");
    tcase_add_checked_fixture(t, begin_stepping, end_stepping);
    tcase_set_timeout(t, CASE_SECONDS);
    tcase_add_loop_test(t, a_step_short_of_memory_is_not_taken, 0, ROWS(STEPS));
    suite_add_tcase(s, t);
    return s;
}
