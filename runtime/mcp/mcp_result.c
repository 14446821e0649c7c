#include "runtime/mcp/mcp_result.h"

#include <string.h>

#include "sql/base/buf.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define STRUCTURED_BYTES (1u << 20)
#define LINKS_BYTES      16384
#define NOTE_BYTES       1000
#define NAMED_BYTES      300

/* Texts are compared with the structured content only while that is cheap. */
#define SAME_BYTES 16384
#define SAME_TEXTS 4

struct reading {
    struct arena *mem;
    struct mcp_result *out;
    struct buf links;
    struct buf note;
    struct buf structured; /* its text; empty: none */
    const cJSON *structure;
    int compared;
    size_t cut_bytes;
    bool no_memory;
};

/* --- pieces ------------------------------------------------------------ */

/* The last place before max bytes where mark stands, behind it; 0: none in the
 * second half. */
static size_t behind_last(const char *text, size_t max, const char *mark)
{
    size_t len = strlen(mark);

    for (size_t i = max - len; i > max / 2; i--) {
        if (memcmp(text + i, mark, len) == 0) {
            return i + len;
        }
    }
    return 0;
}

/* Bytes of the next piece: between paragraphs, lines or words, if it can be. */
static size_t piece_len(const char *text, size_t len)
{
    static const char *const mark[] = {"\n\n", "\n", " "};

    if (len <= MCP_RESULT_PIECE_BYTES) {
        return len;
    }
    for (size_t i = 0; i < sizeof(mark) / sizeof(mark[0]); i++) {
        size_t n = behind_last(text, MCP_RESULT_PIECE_BYTES, mark[i]);

        if (n > 0) {
            return n;
        }
    }
    return utf8_clip(text, len, MCP_RESULT_PIECE_BYTES);
}

/* A bounded copy, or NULL. */
static const char *copy(struct arena *a, const char *text, size_t max)
{
    char *out = arena_strndup(a, text, utf8_clip(text, strlen(text), max));

    for (char *p = out; p != NULL && *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') {
            *p = ' ';
        }
    }
    return out;
}

static void add_text(struct reading *r, const char *heading, const char *uri,
                     const char *text)
{
    size_t len = strlen(text);

    while (len > 0 && !r->no_memory) {
        size_t n = piece_len(text, len);
        struct mcp_piece *p;

        if (r->out->n == MCP_RESULT_PIECES_MAX) {
            r->cut_bytes += len;
            return;
        }
        p = &r->out->pieces[r->out->n++];
        *p = (struct mcp_piece){
            .heading = copy(r->mem, heading, MCP_RESULT_HEAD_BYTES),
            .uri = copy(r->mem, uri, MCP_RESULT_URI_BYTES),
            .text = copy(r->mem, text, n)};
        r->no_memory = p->heading == NULL || p->uri == NULL || p->text == NULL;
        text += n;
        len -= n;
    }
}

/* --- what is only named ------------------------------------------------ */

static void put_clipped(struct buf *out, const char *text)
{
    buf_add(out, text, utf8_clip(text, strlen(text), NAMED_BYTES));
}

static void leave_out(struct reading *r, const char *what, const char *type)
{
    buf_puts(&r->note, r->note.len == 0 ? "" : ", ");
    buf_puts(&r->note, what);
    if (type[0] != '\0') {
        buf_puts(&r->note, " (");
        put_clipped(&r->note, type);
        buf_putc(&r->note, ')');
    }
}

static void add_link(struct reading *r, const cJSON *block)
{
    const char *about = json_str(block, "description", "");

    buf_puts(&r->links, "- ");
    put_clipped(&r->links,
                json_str(block, "title", json_str(block, "name", "")));
    buf_puts(&r->links, " <");
    put_clipped(&r->links, json_str(block, "uri", ""));
    buf_puts(&r->links, ">");
    if (about[0] != '\0') {
        buf_puts(&r->links, ": ");
        put_clipped(&r->links, about);
    }
    buf_putc(&r->links, '\n');
}

/* --- content ----------------------------------------------------------- */

static void add_resource(struct reading *r, const cJSON *block)
{
    const cJSON *resource = json_get(block, "resource");
    const char *uri = json_str(resource, "uri", "");
    const char *text = json_str(resource, "text", NULL);

    if (text != NULL) {
        add_text(r, uri, uri, text);
    } else {
        leave_out(r, "a resource", json_str(resource, "mimeType", ""));
    }
}

/* Does the text only repeat the structured content, as the protocol asks of
 * servers for older clients? */
static bool repeats(struct reading *r, const char *text)
{
    cJSON *tree = NULL;
    size_t len = strlen(text);
    bool same = false;

    if (r->structured.len > 0 && r->structured.len <= SAME_BYTES &&
        len <= SAME_BYTES && r->compared++ < SAME_TEXTS) {
        enum rc rc = json_parse(text, len, &tree, NULL);

        same = rc == RC_OK && json_same(tree, r->structure);
        r->no_memory = r->no_memory || rc == RC_NOMEM;
    }
    json_free(tree);
    return same;
}

static void add_block(struct reading *r, const cJSON *block)
{
    const char *type = json_str(block, "type", "");
    const char *text = json_str(block, "text", "");

    if (strcmp(type, "text") == 0) {
        if (!repeats(r, text)) {
            add_text(r, "", "", text);
        }
    } else if (strcmp(type, "resource") == 0) {
        add_resource(r, block);
    } else if (strcmp(type, "resource_link") == 0) {
        add_link(r, block);
    } else if (strcmp(type, "image") == 0) {
        leave_out(r, "an image", json_str(block, "mimeType", ""));
    } else if (strcmp(type, "audio") == 0) {
        leave_out(r, "audio", json_str(block, "mimeType", ""));
    } else {
        leave_out(r, "content of another kind", "");
    }
}

static void print_structured(struct reading *r, const cJSON *structured)
{
    enum rc rc =
        structured == NULL ? RC_OK : json_print(structured, &r->structured);

    r->structure = structured;
    if (rc != RC_OK) {
        r->no_memory = r->no_memory || rc == RC_NOMEM;
        buf_clear(&r->structured);
        leave_out(r, "structured content, which is too large", "");
    }
}

/* The text of all pieces, as one; a result that says it failed. */
static const char *error_of(struct reading *r)
{
    struct buf text;
    const char *out;

    buf_init(&text, MCP_RESULT_PIECES_MAX * (MCP_RESULT_PIECE_BYTES + 1));
    for (size_t i = 0; i < r->out->n; i++) {
        buf_puts(&text, i > 0 ? "\n" : "");
        buf_puts(&text, r->out->pieces[i].text);
    }
    out = text.len == 0 ? "the tool failed, and did not say why"
                        : arena_strndup(r->mem, buf_str(&text),
                                        utf8_clip(buf_str(&text), text.len,
                                                  MCP_RESULT_ERROR_BYTES));
    buf_free(&text);
    return out;
}

/* What is not passed on, as one sentence. */
static const char *note_of(struct reading *r)
{
    const char *more = buf_rc(&r->note) != RC_OK ? ", and more" : "";
    const char *names = buf_str(&r->note);

    if (r->cut_bytes > 0) {
        return arena_printf(r->mem,
                            "Not passed on: %zu bytes of text, which are too "
                            "many%s%s%s",
                            r->cut_bytes, names[0] != '\0' ? ", " : "", names,
                            more);
    }
    return names[0] == '\0'
               ? ""
               : arena_printf(r->mem, "Not passed on: %s%s", names, more);
}

static void finish(struct reading *r)
{
    if (r->links.len > 0) {
        add_text(r, "links to resources", "", buf_str(&r->links));
    }
    if (buf_rc(&r->links) != RC_OK) {
        leave_out(r, "further links", "");
    }
    r->out->note = note_of(r);
    if (r->out->is_error) {
        r->out->error = error_of(r);
        r->no_memory = r->no_memory || r->out->error == NULL;
    }
    r->no_memory = r->no_memory || r->out->note == NULL;
}

enum rc mcp_result_read(const cJSON *result, struct arena *mem,
                        struct mcp_result *out)
{
    const cJSON *content = json_get(result, "content");
    const cJSON *structured = json_get(result, "structuredContent");
    struct reading r = {.mem = mem, .out = out};
    const cJSON *block;

    *out = (struct mcp_result){.is_error =
                                   cJSON_IsTrue(json_get(result, "isError"))};
    if (!cJSON_IsArray(content) && structured == NULL) {
        return RC_INVALID;
    }
    out->pieces =
        arena_alloc(mem, MCP_RESULT_PIECES_MAX * sizeof(out->pieces[0]));
    if (out->pieces == NULL) {
        return RC_NOMEM;
    }
    buf_init(&r.links, LINKS_BYTES);
    buf_init(&r.note, NOTE_BYTES);
    buf_init(&r.structured, STRUCTURED_BYTES);
    print_structured(&r, structured);
    cJSON_ArrayForEach(block, content)
    {
        add_block(&r, block);
    }
    add_text(&r, "structured content", "", buf_str(&r.structured));
    finish(&r);
    r.no_memory = r.no_memory || r.links.rc == RC_NOMEM ||
                  r.note.rc == RC_NOMEM || r.structured.rc == RC_NOMEM;
    buf_free(&r.structured);
    buf_free(&r.links);
    buf_free(&r.note);
    return r.no_memory ? RC_NOMEM : RC_OK;
}
