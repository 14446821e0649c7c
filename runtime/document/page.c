#include "runtime/document/page.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/document/charset.h"
#include "runtime/document/html.h"
#include "runtime/document/markdown_text.h"
#include "runtime/document/passages.h"
#include "runtime/document/pdf.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define ARENA_BYTES   (24u << 20)
#define PASSAGES_MAX  4000
#define MAX_TYPE      80
#define SNIFFED_BYTES 1024
/* What is printed: passages up to so much, and links up to so much in all. An
 * item is not longer than ITEM_BYTES, with each byte escaped. */
#define PASSAGES_BYTES ((size_t)2 << 20)
#define ITEM_BYTES     ((size_t)64 << 10)
#define LINKS_BYTES    (PAGE_JSON_BYTES - ITEM_BYTES)

static const char *const NAMES[PAGE_TYPE__MAX] = {
    [PAGE_HTML] = "html",
    [PAGE_MARKDOWN] = "markdown",
    [PAGE_TEXT] = "text",
    [PAGE_PDF] = "pdf",
};

const char *page_type_name(enum page_type t)
{
    assert(t < PAGE_TYPE__MAX);
    return NAMES[t];
}

enum rc page_type_named(const char *name, enum page_type *out)
{
    for (int i = 0; i < PAGE_TYPE__MAX; i++) {
        if (strcmp(NAMES[i], name) == 0) {
            *out = (enum page_type)i;
            return RC_OK;
        }
    }
    return RC_NOT_FOUND;
}

/* --- what it is ---------------------------------------------------------- */

static const struct {
    const char *type;
    enum page_type page;
} TYPES[] = {
    {"text/html", PAGE_HTML},         {"application/xhtml+xml", PAGE_HTML},
    {"text/markdown", PAGE_MARKDOWN}, {"text/x-markdown", PAGE_MARKDOWN},
    {"application/pdf", PAGE_PDF},    {"application/x-pdf", PAGE_PDF},
    {"application/json", PAGE_TEXT},  {"application/ld+json", PAGE_TEXT},
    {"application/xml", PAGE_TEXT},   {"application/yaml", PAGE_TEXT},
};

static const struct {
    const char *end;
    enum page_type page;
} ENDS[] = {
    {".md", PAGE_MARKDOWN}, {".markdown", PAGE_MARKDOWN}, {".txt", PAGE_TEXT},
    {".html", PAGE_HTML},   {".htm", PAGE_HTML},          {".pdf", PAGE_PDF},
};

/* The first word of a Content-Type; *params what follows. */
static void split_type(const char *from, char type[MAX_TYPE],
                       const char **params)
{
    size_t len;

    from += strspn(from, " \t");
    len = strcspn(from, " \t;,");
    (void)snprintf(type, MAX_TYPE, "%.*s", (int)(len < MAX_TYPE ? len : 0),
                   from);
    *params = from + len;
}

/* RFC 9110 5.6.6: name=value or name="value". */
static void find_charset(const char *params, char *out, size_t out_len)
{
    const char *at = strcasestr(params, "charset=");
    size_t len;

    out[0] = '\0';
    if (at == NULL) {
        return;
    }
    at += strlen("charset=");
    at += *at == '"';
    len = strcspn(at, "\"; \t,");
    if (len < out_len) {
        (void)snprintf(out, out_len, "%.*s", (int)len, at);
    }
}

static bool ends_with(const char *url, const char *end)
{
    size_t len = strcspn(url, "?#");

    return len > strlen(end) &&
           strncasecmp(url + len - strlen(end), end, strlen(end)) == 0;
}

static bool by_end(const char *url, enum page_type *out)
{
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        if (ends_with(url, ENDS[i].end)) {
            *out = ENDS[i].page;
            return true;
        }
    }
    return false;
}

/* Nothing was said of it. */
static bool by_bytes(const char *bytes, size_t len, enum page_type *out)
{
    char head[SNIFFED_BYTES + 1];
    size_t n = len < SNIFFED_BYTES ? len : SNIFFED_BYTES;

    if (len >= 5 && memcmp(bytes, "%PDF-", 5) == 0) {
        *out = PAGE_PDF;
        return true;
    }
    if (len == 0 || charset_is_binary(bytes, len)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        head[i] = bytes[i];
        if (head[i] == '\0') {
            head[i] = ' ';
        }
    }
    head[n] = '\0';
    *out = strcasestr(head, "<html") != NULL ||
                   strcasestr(head, "<!doctype html") != NULL
               ? PAGE_HTML
               : PAGE_TEXT;
    return true;
}

static bool by_type(const char *type, enum page_type *out)
{
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (strcasecmp(type, TYPES[i].type) == 0) {
            *out = TYPES[i].page;
            return true;
        }
    }
    *out = PAGE_TEXT;
    return strncasecmp(type, "text/", 5) == 0;
}

enum rc page_type_of(const char *content_type, const char *url,
                     const char *bytes, size_t len, enum page_type *out,
                     char *charset, size_t charset_len)
{
    char type[MAX_TYPE];
    const char *params;

    split_type(content_type, type, &params);
    find_charset(params, charset, charset_len);
    if (strcasecmp(type, "text/plain") == 0) {
        /* Servers say so of Markdown, and of what they do not know. */
        *out = PAGE_TEXT;
        if (charset_is_binary(bytes, len)) {
            return RC_INVALID;
        }
        if (ends_with(url, ".md") || ends_with(url, ".markdown")) {
            *out = PAGE_MARKDOWN;
        }
        return RC_OK;
    }
    if (type[0] == '\0' || strcasecmp(type, "application/octet-stream") == 0 ||
        strcasecmp(type, "binary/octet-stream") == 0) {
        return by_end(url, out) || by_bytes(bytes, len, out) ? RC_OK
                                                             : RC_INVALID;
    }
    return by_type(type, out) ? RC_OK : RC_INVALID;
}

/* --- reading --------------------------------------------------------------- */

struct link {
    size_t at;
    const char *words;
    const char *href;
};

struct reading {
    struct arena *mem;
    struct passages *passages;
    struct link links[PAGE_LINKS_MAX];
    size_t n_links;
    size_t bytes; /* of text so far */
    bool is_cut;
};

static void take_block(void *arg, const struct block *b)
{
    struct reading *r = arg;
    struct block part = *b;

    if (r->is_cut) {
        return;
    }
    if (b->len > PAGE_TEXT_BYTES - r->bytes) {
        r->is_cut = true;
        part.len = utf8_clip(b->text, b->len, PAGE_TEXT_BYTES - r->bytes);
    }
    r->bytes += part.len;
    if (part.len > 0) {
        passages_add(r->passages, &part);
    }
}

static void take_link(void *arg, const char *words, const char *href)
{
    struct reading *r = arg;
    struct link *l = &r->links[r->n_links];

    if (r->is_cut || r->n_links == PAGE_LINKS_MAX) {
        return;
    }
    *l = (struct link){.at = passages_count(r->passages),
                       .words = arena_strdup(r->mem, words),
                       .href = arena_strdup(r->mem, href)};
    r->n_links += l->words != NULL && l->href != NULL ? 1 : 0;
}

/* Text in the encoding that the server told of. */
static enum rc read_text(const struct page_input *in, struct reading *r)
{
    struct buf utf8;
    enum rc rc;

    buf_init(&utf8, MARKDOWN_TEXT_MAX_BYTES);
    rc = charset_is_binary(in->bytes, in->len)
             ? RC_INVALID
             : charset_to_utf8(in->bytes, in->len, in->charset, &utf8);
    if (rc == RC_OK) {
        rc = in->type == PAGE_MARKDOWN
                 ? markdown_text_read(buf_str(&utf8), utf8.len, take_block, r)
                 : markdown_text_read_plain(buf_str(&utf8), utf8.len,
                                            take_block, r);
    }
    buf_free(&utf8);
    return rc;
}

static enum rc read_blocks(const struct page_input *in, struct reading *r)
{
    switch (in->type) {
    case PAGE_HTML:
        return html_read_links(in->bytes, in->len,
                               in->charset[0] != '\0' ? in->charset : NULL,
                               take_block, take_link, r);
    case PAGE_PDF:
        return pdf_read(in->bytes, in->len, take_block, r);
    case PAGE_MARKDOWN:
    case PAGE_TEXT:
    case PAGE_TYPE__MAX:
        break;
    }
    return read_text(in, r);
}

/* What was given before it became too much is kept. */
static enum rc read_all(const struct page_input *in, struct reading *r)
{
    enum rc rc = read_blocks(in, r);

    if (rc == RC_TOO_LARGE && r->bytes > 0) {
        r->is_cut = true;
        rc = RC_OK;
    }
    return rc;
}

/* How many of the n passages had room. */
static size_t print_passages(struct json_out *j,
                             const struct library_text *texts, size_t n)
{
    size_t i;

    json_key(j, "passages");
    json_open_array(j);
    for (i = 0; i < n && j->buf->len < PASSAGES_BYTES; i++) {
        json_open_object(j);
        json_kstr(j, "heading", texts[i].heading);
        json_kstr(j, "text", texts[i].text);
        json_close_object(j);
    }
    json_close_array(j);
    return i;
}

/* Those of the first n passages. A link's words may have joined the passage
 * before, as the last of all. */
static void print_links(struct json_out *j, const struct reading *r, size_t n)
{
    json_key(j, "links");
    json_open_array(j);
    for (size_t i = 0;
         i < r->n_links && r->links[i].at <= n && j->buf->len < LINKS_BYTES;
         i++) {
        size_t at = r->links[i].at;

        json_open_object(j);
        json_ki64(j, "at", (int64_t)(at < n ? at : n - 1));
        json_kstr(j, "text", r->links[i].words);
        json_kstr(j, "href", r->links[i].href);
        json_close_object(j);
    }
    json_close_array(j);
}

static enum rc print(const struct reading *r, const char *title,
                     const struct library_text *texts, size_t n,
                     struct buf *out)
{
    struct json_out j;
    size_t printed;

    json_begin(&j, out);
    json_open_object(&j);
    json_kstr(&j, "title", title);
    printed = print_passages(&j, texts, n);
    print_links(&j, r, printed);
    json_kbool(&j, "cut", r->is_cut || printed < n);
    json_close_object(&j);
    return json_end(&j);
}

static enum rc finish(struct reading *r, struct buf *out)
{
    const struct library_text *texts = NULL;
    const char *title = "";
    size_t n = 0;
    enum rc rc = passages_end(r->passages, &title, &texts, &n);

    if (rc != RC_OK) {
        return rc;
    }
    r->is_cut = r->is_cut || passages_is_cut(r->passages);
    return n == 0 ? RC_NOT_FOUND : print(r, title, texts, n, out);
}

enum rc page_read(const struct page_input *in, struct buf *out)
{
    static struct reading r; /* too large for the stack; one at a time */
    enum rc rc = RC_NOMEM;

    memset(&r, 0, sizeof(r));
    r.is_cut = false;
    r.mem = arena_new(ARENA_BYTES);
    if (r.mem != NULL) {
        r.passages = passages_new(r.mem, PASSAGES_MAX);
    }
    if (r.passages != NULL) {
        passages_may_cut(r.passages);
        rc = read_all(in, &r);
        if (rc == RC_OK) {
            r.is_cut = r.is_cut || in->is_cut;
            rc = finish(&r, out);
        }
    }
    passages_free(r.passages);
    arena_free(r.mem);
    return rc;
}
