#include "runtime/document/markdown_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/document/charset.h"
#include "sql/base/buf.h"

#define MAX_TEXT_BYTES    (4 * MARKDOWN_TEXT_MAX_BYTES)
#define MAX_HEADING_BYTES 80 /* of a plain text's line */
#define MAX_INDENT        6

/* A line without its end. */
struct line {
    const char *s;
    size_t len;
};

struct reader {
    block_fn *fn;
    void *arg;
    const char *at; /* the rest of the file */
    const char *end;

    struct buf text; /* of the block in hand */
    enum block_kind kind;
    bool has_title;
    enum rc rc;
};

/* --- lines ------------------------------------------------------------- */

static bool next_line(struct reader *r, struct line *out)
{
    const char *end;

    if (r->at >= r->end) {
        return false;
    }
    end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    end = end == NULL ? r->end : end;
    *out = (struct line){.s = r->at, .len = (size_t)(end - r->at)};
    r->at = end < r->end ? end + 1 : end;
    while (out->len > 0 && strchr("\r\f", out->s[out->len - 1]) != NULL) {
        out->len--;
    }
    return true;
}

/* The line that comes next, without taking it. */
static struct line peek_line(struct reader *r)
{
    const char *at = r->at;
    struct line l = {.s = "", .len = 0};

    (void)next_line(r, &l);
    r->at = at;
    return l;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static struct line trim(struct line l)
{
    while (l.len > 0 && is_space(l.s[0])) {
        l.s++;
        l.len--;
    }
    while (l.len > 0 && is_space(l.s[l.len - 1])) {
        l.len--;
    }
    return l;
}

/* Columns before the first word; a tab reaches to the next fourth. */
static size_t indent_of(struct line l)
{
    size_t columns = 0;

    for (size_t i = 0; i < l.len && is_space(l.s[i]); i++) {
        columns += l.s[i] == '\t' ? 4 - columns % 4 : 1;
    }
    return columns;
}

static bool starts_with(struct line l, const char *prefix)
{
    size_t len = strlen(prefix);

    return l.len >= len && memcmp(l.s, prefix, len) == 0;
}

/* True if the line, spaces aside, is at least least times one of marks. */
static bool is_rule(struct line l, const char *marks, size_t least)
{
    size_t n = 0;

    l = trim(l);
    if (l.len == 0 || strchr(marks, l.s[0]) == NULL) {
        return false;
    }
    for (size_t i = 0; i < l.len; i++) {
        if (l.s[i] != l.s[0] && !is_space(l.s[i])) {
            return false;
        }
        n += l.s[i] == l.s[0];
    }
    return n >= least;
}

/* --- blocks ------------------------------------------------------------ */

static void give(struct reader *r, enum block_kind kind, int level,
                 const char *text, size_t len)
{
    if (len > 0) {
        r->fn(r->arg,
              &(struct block){
                  .kind = kind, .level = level, .text = text, .len = len});
    }
}

static void flush(struct reader *r)
{
    struct line all = {.s = buf_str(&r->text), .len = r->text.len};

    while (all.len > 0 && strchr(" \t\n", all.s[all.len - 1]) != NULL) {
        all.len--;
    }
    give(r, r->kind, 0, all.s, all.len);
    buf_clear(&r->text);
    r->kind = BLOCK_PROSE;
}

static void give_heading(struct reader *r, int level, const char *text,
                         size_t len)
{
    if (!r->has_title && len > 0) {
        r->has_title = true;
        give(r, BLOCK_TITLE, 0, text, len);
    }
    give(r, BLOCK_HEADING, level, text, len);
}

/* --- words of a Markdown line ------------------------------------------ */

/* The closing mark's place in s, or len. */
static size_t find(const char *s, size_t len, size_t from, char mark)
{
    const char *at = from < len ? memchr(s + from, mark, len - from) : NULL;

    return at == NULL ? len : (size_t)(at - s);
}

/* Words of a line, and where its next closing marks stand: who looks for them
 * from each opening one anew needs a time that grows with the square. */
struct words {
    const char *s;
    size_t len;
    struct mark {
        char c;
        bool known;
        size_t at; /* len: it does not come */
    } close, round, square;
};

/* from never goes back. */
static size_t next_mark(const struct words *w, struct mark *m, size_t from)
{
    if (!m->known || m->at < from) {
        m->at = find(w->s, w->len, from, m->c);
        m->known = true;
    }
    return m->at;
}

/* [words](address) or [words][name] at i: the words' end and the link's; false:
 * it is none. */
static bool find_link(struct words *w, size_t i, size_t *close, size_t *end)
{
    *close = next_mark(w, &w->close, i + 1);
    if (*close + 1 >= w->len) {
        return false;
    }
    if (w->s[*close + 1] == '(') {
        *end = next_mark(w, &w->round, *close + 2);
    } else if (w->s[*close + 1] == '[') {
        *end = next_mark(w, &w->square, *close + 2);
    } else {
        return false;
    }
    return *end < w->len;
}

/* Append words without the marks of links, emphasis and code. */
static void add_words(struct buf *out, const char *s, size_t len)
{
    struct words w = {.s = s,
                      .len = len,
                      .close = {.c = ']'},
                      .round = {.c = ')'},
                      .square = {.c = ']'}};
    bool code = false;

    for (size_t i = 0; i < len;) {
        size_t left = len - i;
        size_t close;
        size_t end;

        if (s[i] == '`') {
            code = !code;
            i++;
            continue;
        }
        if (!code && s[i] == '[' && find_link(&w, i, &close, &end)) {
            buf_add(out, s + i + 1, close - i - 1);
            i = end + 1;
        } else if (!code && left > 1 &&
                   ((s[i] == '*' && s[i + 1] == '*') ||
                    (s[i] == '!' && s[i + 1] == '['))) {
            i += s[i] == '*' ? 2 : 1;
        } else if (!code && left > 1 && s[i] == '\\' &&
                   ispunct((unsigned char)s[i + 1])) {
            buf_putc(out, s[i + 1]);
            i += 2;
        } else {
            buf_putc(out, s[i]);
            i++;
        }
    }
}

/* A line's words behind what the block has. */
static void add_line(struct reader *r, struct line l)
{
    l = trim(l);
    if (r->text.len > 0 && r->text.data[r->text.len - 1] != ' ') {
        buf_putc(&r->text, ' ');
    }
    add_words(&r->text, l.s, l.len);
}

/* --- Markdown ---------------------------------------------------------- */

static void read_front_matter(struct reader *r)
{
    const char *start = r->at;
    struct line l;

    if (!starts_with(peek_line(r), "---") || !next_line(r, &l) || l.len != 3) {
        r->at = start;
        return;
    }
    while (next_line(r, &l)) {
        if (starts_with(l, "---") || starts_with(l, "...")) {
            return;
        }
        if (starts_with(l, "title:") && !r->has_title) {
            struct line t = trim((struct line){l.s + 6, l.len - 6});

            if (t.len >= 2 && strchr("\"'", t.s[0]) != NULL &&
                t.s[t.len - 1] == t.s[0]) {
                t = (struct line){t.s + 1, t.len - 2};
            }
            r->has_title = t.len > 0;
            give(r, BLOCK_TITLE, 0, t.s, t.len);
        }
    }
    r->at = start; /* never closed: a rule, and text below it */
}

static bool read_heading(struct reader *r, struct line l)
{
    size_t level = 0;
    struct buf words;

    while (level < l.len && l.s[level] == '#') {
        level++;
    }
    if (level == 0 || level > 6 || (level < l.len && !is_space(l.s[level]))) {
        return false;
    }
    l = trim((struct line){l.s + level, l.len - level});
    while (l.len > 0 && l.s[l.len - 1] == '#') {
        l.len--;
    }
    l = trim(l);
    flush(r);
    buf_init(&words, MAX_TEXT_BYTES);
    add_words(&words, l.s, l.len);
    give_heading(r, (int)level, buf_str(&words), words.len);
    if (r->rc == RC_OK) {
        r->rc = buf_rc(&words);
    }
    buf_free(&words);
    return true;
}

/* The paragraph in hand is a heading if a line of = or - is below it. */
static bool read_underline(struct reader *r, struct line l)
{
    int level = is_rule(l, "=", 1) ? 1 : 2;

    if (r->kind != BLOCK_PROSE || r->text.len == 0 || !is_rule(l, "=-", 2)) {
        return false;
    }
    give_heading(r, level, r->text.data, r->text.len);
    buf_clear(&r->text);
    return true;
}

static bool read_fence(struct reader *r, struct line l)
{
    size_t indent = indent_of(l);
    char fence[4] = "```";
    struct line in = trim(l);

    if (starts_with(in, "~~~")) {
        memset(fence, '~', 3);
    } else if (!starts_with(in, fence)) {
        return false;
    }
    flush(r);
    r->kind = BLOCK_CODE;
    while (next_line(r, &l)) {
        if (starts_with(trim(l), fence)) {
            break;
        }
        for (size_t i = 0; i < indent && l.len > 0 && l.s[0] == ' '; i++) {
            l.s++;
            l.len--;
        }
        buf_add(&r->text, l.s, l.len);
        buf_putc(&r->text, '\n');
    }
    flush(r);
    return true;
}

static bool read_indented_code(struct reader *r, struct line l)
{
    if (r->kind == BLOCK_LINE || r->text.len > 0 || indent_of(l) < 4) {
        return false;
    }
    r->kind = BLOCK_CODE;
    for (;;) {
        size_t skip = l.len > 0 && l.s[0] == '\t' ? 1 : 4;
        struct line next = peek_line(r);

        if (l.len > skip) {
            buf_add(&r->text, l.s + skip, l.len - skip);
        }
        buf_putc(&r->text, '\n');
        if (r->at >= r->end || (trim(next).len > 0 && indent_of(next) < 4)) {
            break;
        }
        (void)next_line(r, &l);
    }
    flush(r);
    return true;
}

/* Length of a list item's mark with its space, or 0. */
static size_t mark_len(struct line l)
{
    size_t n = 0;

    if (l.len > 1 && strchr("-*+", l.s[0]) != NULL) {
        n = 1;
    } else {
        while (n < l.len && n < 9 && isdigit((unsigned char)l.s[n])) {
            n++;
        }
        if (n == 0 || n >= l.len || strchr(".)", l.s[n]) == NULL) {
            return 0;
        }
        n++;
    }
    return n < l.len && is_space(l.s[n]) ? n + 1 : 0;
}

static bool read_item(struct reader *r, struct line l)
{
    size_t levels = indent_of(l) / 2;
    struct line in = trim(l);
    size_t mark = mark_len(in);

    if (mark == 0) {
        return false;
    }
    flush(r);
    r->kind = BLOCK_LINE;
    for (size_t i = 0; i < levels && i < MAX_INDENT; i++) {
        buf_puts(&r->text, "  ");
    }
    buf_add(&r->text, isdigit((unsigned char)in.s[0]) ? in.s : "- ",
            isdigit((unsigned char)in.s[0]) ? mark : 2);
    add_words(&r->text, in.s + mark, in.len - mark);
    return true;
}

static bool is_table_rule(struct line l)
{
    l = trim(l);
    for (size_t i = 0; i < l.len; i++) {
        if (strchr("|:- \t", l.s[i]) == NULL) {
            return false;
        }
    }
    return l.len > 2 && memchr(l.s, '-', l.len) != NULL &&
           memchr(l.s, '|', l.len) != NULL;
}

static bool read_row(struct reader *r, struct line l)
{
    struct line in = trim(l);
    size_t from;

    if (in.len < 2 || in.s[0] != '|') {
        return false;
    }
    flush(r);
    if (is_table_rule(in)) {
        return true;
    }
    r->kind = is_table_rule(peek_line(r)) ? BLOCK_HEAD_ROW : BLOCK_ROW;
    for (from = 1; from < in.len;) {
        size_t to = find(in.s, in.len, from, '|');
        struct line cell = trim((struct line){in.s + from, to - from});

        buf_puts(&r->text, from > 1 ? " | " : "");
        add_words(&r->text, cell.s, cell.len);
        from = to + 1;
    }
    flush(r);
    return true;
}

/* Comments and the addresses of named links say nothing to a reader. */
static bool skip_unseen(struct reader *r, struct line l)
{
    struct line in = trim(l);
    size_t close;

    if (starts_with(in, "<!--")) {
        while (memmem(l.s, l.len, "-->", 3) == NULL && next_line(r, &l)) {
        }
        return true;
    }
    if (in.len < 4 || in.s[0] != '[' || r->text.len > 0) {
        return false;
    }
    close = find(in.s, in.len, 1, ']');
    return close + 1 < in.len && in.s[close + 1] == ':';
}

static void read_markdown_line(struct reader *r, struct line l)
{
    struct line in = trim(l);

    while (in.len > 0 && in.s[0] == '>') { /* a quotation's words are words */
        in = trim((struct line){in.s + 1, in.len - 1});
        l = in;
    }
    if (in.len == 0) {
        flush(r);
        return;
    }
    if (read_fence(r, l) || read_indented_code(r, l) || read_heading(r, in) ||
        read_underline(r, l) || skip_unseen(r, l)) {
        return;
    }
    if (is_rule(in, "-*_", 3)) {
        flush(r);
        return;
    }
    if (read_item(r, l) || read_row(r, l)) {
        return;
    }
    add_line(r, in);
}

/* --- plain text -------------------------------------------------------- */

/* Set in columns: indented far, or with wide gaps within. */
static bool is_set(struct line l)
{
    struct line in = trim(l);

    return indent_of(l) >= 4 || memmem(in.s, in.len, "   ", 3) != NULL ||
           memchr(in.s, '\t', in.len) != NULL;
}

/* "3.1 Title" gives 2; else 0. */
static int numbered_level(struct line l)
{
    int level = 0;
    size_t i = 0;

    while (i < l.len && isdigit((unsigned char)l.s[i])) {
        while (i < l.len && isdigit((unsigned char)l.s[i])) {
            i++;
        }
        level++;
        if (i < l.len && l.s[i] == '.') {
            i++;
        }
    }
    if (level == 0 || i + 1 >= l.len || !is_space(l.s[i])) {
        return 0;
    }
    l = trim((struct line){l.s + i, l.len - i});
    return isupper((unsigned char)l.s[0]) &&
                   strchr(".;,:", l.s[l.len - 1]) == NULL
               ? level
               : 0;
}

static bool is_shouted(struct line l)
{
    size_t capitals = 0;

    for (size_t i = 0; i < l.len; i++) {
        if (islower((unsigned char)l.s[i])) {
            return false;
        }
        capitals += isupper((unsigned char)l.s[i]) != 0;
    }
    return capitals >= 3;
}

/* The level of a line that stands alone as a heading, or 0. */
static int plain_heading_level(struct line l)
{
    struct line in = trim(l);

    if (in.len == 0 || in.len > MAX_HEADING_BYTES || indent_of(l) >= 4) {
        return 0;
    }
    if (numbered_level(in) > 0) {
        return numbered_level(in);
    }
    return is_shouted(in) ? 1 : 0;
}

static void read_plain_line(struct reader *r, struct line l)
{
    struct line next = peek_line(r);
    int level = trim(next).len == 0 ? plain_heading_level(l) : 0;

    if (trim(l).len == 0) {
        flush(r);
        return;
    }
    if (r->text.len == 0 && is_rule(next, "=-~", 3) && !is_rule(l, "=-~", 3) &&
        trim(l).len <= MAX_HEADING_BYTES) {
        struct line in = trim(l);

        give_heading(r, is_rule(next, "=", 3) ? 1 : 2, in.s, in.len);
        (void)next_line(r, &next);
        return;
    }
    if (r->text.len == 0 && level > 0) {
        give_heading(r, level, trim(l).s, trim(l).len);
        return;
    }
    if (is_set(l) != (r->kind == BLOCK_CODE)) {
        flush(r);
        r->kind = is_set(l) ? BLOCK_CODE : BLOCK_PROSE;
    }
    if (r->kind == BLOCK_CODE) {
        buf_add(&r->text, l.s, l.len);
        buf_putc(&r->text, '\n');
    } else {
        struct line in = trim(l);

        buf_puts(&r->text, r->text.len > 0 ? " " : "");
        buf_add(&r->text, in.s, in.len);
    }
}

/* --- the file ---------------------------------------------------------- */

typedef void line_fn(struct reader *, struct line);

static enum rc read_lines(const char *bytes, size_t len, bool markdown,
                          block_fn *fn, void *arg)
{
    struct reader r = {.fn = fn, .arg = arg, .kind = BLOCK_PROSE};
    line_fn *read_line = markdown ? read_markdown_line : read_plain_line;
    struct buf utf8;
    struct line l;
    enum rc rc;

    if (len > MARKDOWN_TEXT_MAX_BYTES) {
        return RC_TOO_LARGE;
    }
    if (charset_is_binary(bytes, len)) {
        return RC_INVALID;
    }
    buf_init(&utf8, MAX_TEXT_BYTES);
    buf_init(&r.text, MAX_TEXT_BYTES);
    rc = charset_to_utf8(bytes, len, NULL, &utf8);
    r.at = buf_str(&utf8);
    r.end = r.at + utf8.len;
    if (rc == RC_OK && markdown) {
        read_front_matter(&r);
    }
    while (rc == RC_OK && next_line(&r, &l)) {
        read_line(&r, l);
        rc = r.rc == RC_OK ? buf_rc(&r.text) : r.rc;
    }
    if (rc == RC_OK) {
        flush(&r);
        rc = buf_rc(&r.text);
    }
    buf_free(&r.text);
    buf_free(&utf8);
    return rc;
}

enum rc markdown_text_read(const char *bytes, size_t len, block_fn *fn,
                           void *arg)
{
    return read_lines(bytes, len, true, fn, arg);
}

enum rc markdown_text_read_plain(const char *bytes, size_t len, block_fn *fn,
                                 void *arg)
{
    return read_lines(bytes, len, false, fn, arg);
}
