/* fuzz_mcp.c - what a server of the Model Context Protocol sends: messages, the
 * tools of a page, the result of a call. All of it is bounded, in UTF-8, and
 * fit for a model endpoint. */
#include <stdlib.h>
#include <string.h>

#include "runtime/data_mark.h"
#include "runtime/mcp/mcp_message.h"
#include "runtime/mcp/mcp_result.h"
#include "runtime/mcp/mcp_tool.h"
#include "sql/base/json.h"
#include "tests/fuzz/fuzz.h"

#define TOOLS_MAX 20

static void check_hello(const cJSON *body)
{
    char line[MCP_LINE_BYTES];
    struct mcp_hello hello;
    const char *offered;

    if (mcp_message_hello(body, &hello)) {
        FUZZ_CHECK(fuzz_is_line(hello.version));
    }
    offered = mcp_message_offered(body);
    FUZZ_CHECK(offered == NULL || mcp_message_speaks(offered));
    mcp_message_error(body, line);
    FUZZ_CHECK(fuzz_is_line(line));
    line[0] = '\0';
    FUZZ_CHECK(mcp_message_progress(body, line) >= 0);
    FUZZ_CHECK(fuzz_is_line(line));
}

static void check_result(const cJSON *body)
{
    struct arena *a = arena_new((size_t)32 << 20);
    struct mcp_result r;
    enum rc rc;

    FUZZ_CHECK(a != NULL);
    rc = mcp_result_read(body, a, &r);
    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    if (rc == RC_OK) {
        FUZZ_CHECK(r.n <= MCP_RESULT_PIECES_MAX);
        FUZZ_CHECK(!r.is_error || (fuzz_is_text(r.error, strlen(r.error)) &&
                                   strlen(r.error) <= MCP_RESULT_ERROR_BYTES));
        FUZZ_CHECK(fuzz_is_text(r.note, strlen(r.note)));
    }
    for (size_t i = 0; rc == RC_OK && i < r.n; i++) {
        const struct mcp_piece *p = &r.pieces[i];

        FUZZ_CHECK(p->text[0] != '\0' &&
                   fuzz_is_text(p->text, strlen(p->text)));
        FUZZ_CHECK(strlen(p->text) <= MCP_RESULT_PIECE_BYTES);
        FUZZ_CHECK(fuzz_is_text(p->heading, strlen(p->heading)) &&
                   strlen(p->heading) <= MCP_RESULT_HEAD_BYTES);
        FUZZ_CHECK(fuzz_is_text(p->uri, strlen(p->uri)) &&
                   strlen(p->uri) <= MCP_RESULT_URI_BYTES);
    }
    arena_free(a);
}

/* No line of it but the last closes the border, whatever the server says. */
static void check_marked(const char *text)
{
    static const char EDGES[] =
        DATA_MARK_OPEN "\n" DATA_MARK_LINE "\n" DATA_MARK_CLOSE;

    /* Each byte may be the end of a line, with a mark behind it. */
    FUZZ_CHECK(strlen(text) <= sizeof(EDGES) + MCP_TOOL_DESCRIPTION_BYTES *
                                                   sizeof(DATA_MARK_LINE));
    FUZZ_CHECK(strncmp(text, EDGES, strlen(DATA_MARK_OPEN "\n")) == 0);
    for (const char *p = strchr(text, '\n'); p != NULL;
         p = strchr(p + 1, '\n')) {
        FUZZ_CHECK(strncmp(p + 1, DATA_MARK_LINE, strlen(DATA_MARK_LINE)) ==
                       0 ||
                   strcmp(p + 1, DATA_MARK_CLOSE) == 0);
    }
}

static void check_tool(const struct mcp_tool *t)
{
    size_t len = strspn(t->name, "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    FUZZ_CHECK(len > 0 && len == strlen(t->name) && len < MCP_TOOL_NAME_BYTES);
    FUZZ_CHECK(strlen(t->remote) < MCP_TOOL_REMOTE_BYTES);
    FUZZ_CHECK(fuzz_is_text(t->remote, strlen(t->remote)));
    FUZZ_CHECK(fuzz_is_text(t->title, strlen(t->title)));
    check_marked(t->description);
    FUZZ_CHECK(fuzz_is_text(t->description, strlen(t->description)));
    FUZZ_CHECK(strlen(t->schema) <= MCP_TOOL_SCHEMA_BYTES);
    FUZZ_CHECK(fuzz_is_json(t->schema, strlen(t->schema)));
}

static void check_tools(const cJSON *body)
{
    struct mcp_tools tools = {0};
    char *next = NULL;
    enum rc rc = mcp_tool_read(body, "srv", TOOLS_MAX, &tools, &next);

    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    FUZZ_CHECK(rc == RC_OK || (tools.n == 0 && next == NULL));
    FUZZ_CHECK(tools.n <= TOOLS_MAX);
    FUZZ_CHECK(next == NULL || strlen(next) <= MCP_TOOL_CURSOR_BYTES);
    for (size_t i = 0; i < tools.n; i++) {
        check_tool(&tools.list[i]);
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(strcmp(tools.list[i].name, tools.list[k].name) != 0);
        }
    }
    if (next != NULL) {
        struct buf out;

        buf_init(&out, 65536);
        FUZZ_CHECK(mcp_message_list(2, next, &out) == RC_OK);
        FUZZ_CHECK(fuzz_is_json(buf_str(&out), out.len));
        buf_free(&out);
    }
    free(next);
    mcp_tools_free(&tools);
}

/* A request of the server's is answered under its own id. */
static void check_answers(const struct mcp_message *m)
{
    struct buf out;

    buf_init(&out, 65536);
    FUZZ_CHECK(fuzz_is_json(m->their_id, strlen(m->their_id)));
    FUZZ_CHECK(mcp_message_refusal(m->their_id, &out) == RC_OK);
    FUZZ_CHECK(fuzz_is_json(buf_str(&out), out.len));
    buf_clear(&out);
    FUZZ_CHECK(mcp_message_empty_result(m->their_id, &out) == RC_OK);
    FUZZ_CHECK(fuzz_is_json(buf_str(&out), out.len));
    buf_free(&out);
}

static bool take(void *ctx, const struct mcp_message *m)
{
    int *n = ctx;

    (*n)++;
    FUZZ_CHECK(m->kind >= MCP_RESULT && m->kind < MCP_KIND__MAX);
    FUZZ_CHECK(m->id >= 0);
    if (m->kind == MCP_REQUEST) {
        check_answers(m);
    }
    FUZZ_CHECK((m->kind != MCP_REQUEST && m->kind != MCP_NOTIFICATION) ||
               m->method != NULL);
    check_hello(m->body);
    check_result(m->body);
    check_tools(m->body);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *text = fuzz_rest(&in);
    const char *flaw = NULL;
    int n = 0;
    enum rc rc = mcp_message_read(text, len, take, &n, &flaw);

    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    FUZZ_CHECK(n <= MCP_BATCH_MAX);
    FUZZ_CHECK(rc == RC_OK || (flaw != NULL && fuzz_is_line(flaw)));
    free(text);
    return 0;
}
