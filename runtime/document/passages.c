#include "runtime/document/passages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/buf.h"
#include "sql/base/utf8.h"

#define MAX_HEADING_BYTES 300
#define MAX_TITLE_BYTES   300
#define HEADING_LEVELS    6
#define HEADING_GLUE      " > "
/* A section's remainder below this joins the passage before it. */
#define TAIL_BYTES 250
/* A section that says less than this before its first subsection does not
 * stand alone. */
#define STUB_BYTES 200
/* A passage of which more tenths than this are words of links is an index. */
#define LINKS_TENTHS 5
/* One block is cut into no more pieces than fit a file of the largest size. */
#define MAX_TEXT_BYTES ((size_t)32 << 20)

struct passages {
    struct arena *arena;
    struct buf texts; /* of struct library_text */
    size_t max_texts;
    bool may_cut;
    bool is_cut;
    enum rc rc;

    const char *title;
    char *levels[HEADING_LEVELS]; /* headings in force; NULL: none */
    struct buf heading;           /* of the passage in hand */
    struct buf text;              /* of the passage in hand */
    enum block_kind last;         /* kind of the block that text ends with */
    struct buf head_row;          /* of the table in hand */
    size_t link_bytes;            /* words of links in the text in hand */
    bool joins_previous;          /* the passage before is of this section */
};

struct passages *passages_new(struct arena *arena, size_t max_texts)
{
    struct passages *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        return NULL;
    }
    p->arena = arena;
    p->max_texts = max_texts;
    p->title = "";
    buf_init(&p->texts, max_texts * sizeof(struct library_text));
    buf_init(&p->heading, (size_t)HEADING_LEVELS * (MAX_HEADING_BYTES + 8));
    buf_init(&p->text, MAX_TEXT_BYTES);
    buf_init(&p->head_row, MAX_TEXT_BYTES);
    return p;
}

void passages_free(struct passages *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < HEADING_LEVELS; i++) {
        free(p->levels[i]);
    }
    buf_free(&p->texts);
    buf_free(&p->heading);
    buf_free(&p->text);
    buf_free(&p->head_row);
    free(p);
}

size_t passages_count(const struct passages *p)
{
    return p->texts.len / sizeof(struct library_text);
}

void passages_may_cut(struct passages *p)
{
    p->may_cut = true;
}

bool passages_is_cut(const struct passages *p)
{
    return p->is_cut;
}

static void fail(struct passages *p, enum rc rc)
{
    if (p->rc == RC_OK) {
        p->rc = rc;
    }
}

/* There are more passages than may be. */
static void fail_full(struct passages *p)
{
    if (p->may_cut) {
        p->is_cut = true;
    } else {
        fail(p, RC_TOO_LARGE);
    }
}

static bool is_blank(const struct buf *b)
{
    for (size_t i = 0; i < b->len; i++) {
        if (strchr(" \n\t", b->data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* A short remainder is put behind the passage before it. */
static bool join_tail(struct passages *p, const char *heading)
{
    struct library_text *before;
    char *joined;

    if (!p->joins_previous || p->text.len >= TAIL_BYTES || p->texts.len == 0) {
        return false;
    }
    before = (struct library_text *)(void *)(p->texts.data + p->texts.len) - 1;
    if (strcmp(before->heading, heading) != 0) {
        return false;
    }
    joined =
        arena_printf(p->arena, "%s\n\n%s", before->text, buf_str(&p->text));
    if (joined == NULL) {
        fail(p, RC_TOO_LARGE);
    } else {
        before->text = joined;
    }
    return true;
}

/* Keep the passage in hand. */
static void keep(struct passages *p)
{
    struct library_text t = {
        .links = p->link_bytes * 10 > p->text.len * LINKS_TENTHS,
    };

    if (passages_count(p) == p->max_texts) {
        fail_full(p); /* nothing further is put into the arena */
        return;
    }
    t.heading = arena_strdup(p->arena, buf_str(&p->heading));
    t.text = arena_strndup(p->arena, p->text.data, p->text.len);
    if (t.heading == NULL || t.text == NULL) {
        fail(p, RC_TOO_LARGE);
        return;
    }
    buf_add(&p->texts, &t, sizeof(t));
    fail(p, buf_rc(&p->texts));
}

/* The passage in hand is complete. ends_section: what follows stands under
 * another heading. */
static void finish(struct passages *p, bool ends_section)
{
    if (p->text.len > 0 && !is_blank(&p->text) && !p->is_cut &&
        !(ends_section && join_tail(p, buf_str(&p->heading)))) {
        keep(p);
    }
    p->joins_previous = !ends_section;
    p->link_bytes = 0;
    fail(p, buf_rc(&p->text));
    buf_clear(&p->text);
}

/* --- headings ---------------------------------------------------------- */

static void set_level(struct passages *p, size_t level, const char *text,
                      size_t len)
{
    for (size_t i = level; i < HEADING_LEVELS; i++) {
        free(p->levels[i]);
        p->levels[i] = NULL;
    }
    p->levels[level] = strndup(text, utf8_clip(text, len, MAX_HEADING_BYTES));
    if (p->levels[level] == NULL) {
        fail(p, RC_NOMEM);
    }
    buf_clear(&p->heading);
    for (size_t i = 0; i <= level; i++) {
        if (p->levels[i] != NULL) {
            buf_puts(&p->heading, p->heading.len > 0 ? HEADING_GLUE : "");
            buf_puts(&p->heading, p->levels[i]);
        }
    }
    fail(p, buf_rc(&p->heading));
}

/* The deepest heading in force, counted from 0; -1 if there is none. */
static int depth(const struct passages *p)
{
    for (int i = HEADING_LEVELS - 1; i >= 0; i--) {
        if (p->levels[i] != NULL) {
            return i;
        }
    }
    return -1;
}

static void add_heading(struct passages *p, const struct block *b)
{
    int level = b->level < 1                ? 0
                : b->level > HEADING_LEVELS ? HEADING_LEVELS - 1
                                            : b->level - 1;
    bool stub =
        p->text.len < STUB_BYTES && !p->joins_previous && level > depth(p);

    if (!stub) {
        finish(p, true);
    }
    set_level(p, (size_t)level, b->text, b->len);
    buf_clear(&p->head_row);
    p->last = BLOCK_HEADING;
}

/* --- text -------------------------------------------------------------- */

static bool one_below_other(enum block_kind kind)
{
    return kind == BLOCK_LINE || kind == BLOCK_ROW || kind == BLOCK_HEAD_ROW;
}

static const char *glue(const struct passages *p, enum block_kind kind)
{
    if (p->text.len == 0) {
        return "";
    }
    return one_below_other(kind) && one_below_other(p->last) ? "\n" : "\n\n";
}

static void append(struct passages *p, enum block_kind kind, const char *text,
                   size_t len)
{
    /* A table that goes on in a new passage shows its head again. */
    if (kind == BLOCK_ROW && p->text.len == 0 && p->head_row.len > 0) {
        buf_add(&p->text, p->head_row.data, p->head_row.len);
        p->last = BLOCK_HEAD_ROW;
    }
    buf_puts(&p->text, glue(p, kind));
    buf_add(&p->text, text, len);
    p->last = kind;
}

/* True if a sentence ends before text[i]: a full stop and a space before
 * something that does not go on in small letters. */
static bool sentence_ends(const char *text, size_t i, size_t len)
{
    if (i >= 3 && (memcmp(text + i - 3, "\u3002", 3) == 0 ||
                   memcmp(text + i - 3, "\uFF01", 3) == 0 ||
                   memcmp(text + i - 3, "\uFF1F", 3) == 0)) {
        return true;
    }
    if (text[i - 1] != ' ' && text[i - 1] != '\n') {
        return false;
    }
    if (i < 2 || i >= len) {
        return false;
    }
    return strchr(".!?:;", text[i - 2]) != NULL &&
           !(text[i] >= 'a' && text[i] <= 'z');
}

/* How much of text to take, at most most bytes: to the end of a sentence, or
 * of a line, or of a word; at least a fourth of most. */
static size_t cut(const char *text, size_t len, size_t most,
                  enum block_kind kind)
{
    size_t least = most / 4;
    size_t at = utf8_clip(text, len, most);

    for (size_t i = at; i > least && kind != BLOCK_CODE; i--) {
        if (sentence_ends(text, i, len)) {
            return i;
        }
    }
    for (size_t i = at; i > least && kind == BLOCK_CODE; i--) {
        if (text[i - 1] == '\n') {
            return i;
        }
    }
    for (size_t i = at; i > least; i--) {
        if (text[i - 1] == ' ' || text[i - 1] == '\n') {
            return i;
        }
    }
    return at;
}

static size_t trimmed(const char *text, size_t len)
{
    while (len > 0 && strchr(" \n\t", text[len - 1]) != NULL) {
        len--;
    }
    return len;
}

/* Text larger than a passage: piece by piece. */
static void append_pieces(struct passages *p, const struct block *b,
                          size_t most)
{
    const char *at = b->text;
    size_t left = b->len;

    while (left > 0 && p->rc == RC_OK && !p->is_cut) {
        size_t used = p->text.len == 0 ? 0 : p->text.len + 2;
        size_t room = used < most ? most - used : 0;
        size_t take = left;

        if (left > room) {
            take = room < most / 3 ? 0 : cut(at, left, room, b->kind);
        }
        if (take > 0) {
            append(p, b->kind, at, trimmed(at, take));
            p->link_bytes += b->link_len * take / b->len;
            at += take;
            left -= take;
        }
        for (; b->kind != BLOCK_CODE && left > 0 && *at == ' '; at++) {
            left--;
        }
        if (left > 0) {
            finish(p, false);
        }
    }
}

static void add_text(struct passages *p, const struct block *b)
{
    size_t most =
        b->kind == BLOCK_CODE ? PASSAGES_MAX_CODE_BYTES : PASSAGES_MOST_BYTES;
    size_t sum = p->text.len + 2 + b->len;

    /* Code belongs to the words before it, if they are not many. */
    if (b->kind == BLOCK_CODE && p->text.len > 0 &&
        p->text.len < PASSAGES_LEAST_BYTES &&
        sum <= PASSAGES_MOST_BYTES + PASSAGES_LEAST_BYTES) {
        append(p, b->kind, b->text, b->len);
        p->link_bytes += b->link_len;
        return;
    }
    if (p->text.len > 0 && sum > PASSAGES_MOST_BYTES &&
        (p->text.len >= PASSAGES_LEAST_BYTES || b->kind == BLOCK_CODE ||
         one_below_other(b->kind))) {
        finish(p, false);
        sum = b->len;
    }
    if (sum <= most) {
        append(p, b->kind, b->text, b->len);
        p->link_bytes += b->link_len;
    } else {
        append_pieces(p, b, most);
    }
}

void passages_add(void *arg, const struct block *b)
{
    struct passages *p = arg;

    if (p->rc != RC_OK || p->is_cut || b->len == 0) {
        return;
    }
    switch (b->kind) {
    case BLOCK_TITLE:
        if (p->title[0] == '\0') {
            p->title = arena_strndup(
                p->arena, b->text, utf8_clip(b->text, b->len, MAX_TITLE_BYTES));
        }
        if (p->title == NULL) {
            p->title = "";
            fail(p, RC_TOO_LARGE);
        }
        break;
    case BLOCK_HEADING:
        add_heading(p, b);
        break;
    case BLOCK_HEAD_ROW:
        add_text(p, b);
        buf_clear(&p->head_row);
        if (b->len <= PASSAGES_LEAST_BYTES / 2) {
            buf_add(&p->head_row, b->text, b->len);
            fail(p, buf_rc(&p->head_row));
        }
        break;
    case BLOCK_PROSE:
    case BLOCK_LINE:
    case BLOCK_CODE:
        buf_clear(&p->head_row);
        add_text(p, b);
        break;
    case BLOCK_ROW:
        add_text(p, b);
        break;
    case BLOCK__MAX:
        break;
    }
}

enum rc passages_end(struct passages *p, const char **title,
                     const struct library_text **out, size_t *n)
{
    void *copy;

    finish(p, true);
    fail(p, buf_rc(&p->texts));
    fail(p, buf_rc(&p->text));
    if (p->rc != RC_OK) {
        return p->rc;
    }
    copy = arena_alloc(p->arena, p->texts.len);
    if (copy == NULL) {
        return RC_TOO_LARGE;
    }
    if (p->texts.len > 0) {
        memcpy(copy, p->texts.data, p->texts.len);
    }
    *title = p->title;
    *out = copy;
    *n = p->texts.len / sizeof(struct library_text);
    return RC_OK;
}
