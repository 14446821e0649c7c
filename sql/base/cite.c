#include "sql/base/cite.h"

#include <string.h>

#define DIGITS_MAX 6
#define RANGE_MAX  100
#define YEAR_FIRST 1500
#define YEAR_LAST  2100

static const char BLANKS[] = " \t";
/* Within the name of a link, the end of a line is a space. */
static const char BLANKS_OF_NAMES[] = " \t\r\n";

static const struct brackets {
    const char *open;
    const char *close;
} BRACKETS[] = {
    {"[", "]"},
    {"\xef\xbc\xbb", "\xef\xbc\xbd"}, /* fullwidth */
    {"\xe3\x80\x90", "\xe3\x80\x91"}, /* lenticular */
};

static bool skip(const char **p, const char *what)
{
    size_t len = strlen(what);
    bool is = strncmp(*p, what, len) == 0;

    *p += is ? len : 0;
    return is;
}

static bool skip_any(const char **p, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (skip(p, *list)) {
            return true;
        }
    }
    return false;
}

static void skip_blanks(const char **p, const char *blanks)
{
    *p += strspn(*p, blanks);
}

static bool skip_comma(const char **p)
{
    static const char *const list[] = {
        ",", ";", "\xef\xbc\x8c", "\xe3\x80\x81", "\xef\xbc\x9b", NULL};

    return skip_any(p, list);
}

/* Hyphens and dashes: U+2010 to U+2014 too. */
static bool skip_dash(const char **p)
{
    static const char *const list[] = {"-",
                                       "\xe2\x80\x90",
                                       "\xe2\x80\x91",
                                       "\xe2\x80\x92",
                                       "\xe2\x80\x93",
                                       "\xe2\x80\x94",
                                       NULL};

    return skip_any(p, list);
}

static bool read_number(const char **p, int64_t *out)
{
    size_t digits = strspn(*p, "0123456789");

    *out = 0;
    if (digits == 0 || digits > DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        *out = *out * 10 + ((*p)[i] - '0');
    }
    *p += digits;
    return true;
}

static bool read_span(const char **p, const char *blanks, int64_t *from,
                      int64_t *to)
{
    const char *at;

    if (!read_number(p, from)) {
        return false;
    }
    *to = *from;
    at = *p;
    skip_blanks(&at, blanks);
    if (!skip_dash(&at)) {
        return true;
    }
    skip_blanks(&at, blanks);
    *p = at;
    return read_number(p, to) && *from > 0 && *from < *to &&
           *to - *from <= RANGE_MAX;
}

/* What stands in the brackets, up to the one that closes them. */
static bool read_all(const char **p, const char *blanks)
{
    int64_t from;
    int64_t to;

    do {
        skip_blanks(p, blanks);
        if (!read_span(p, blanks, &from, &to)) {
            return false;
        }
        skip_blanks(p, blanks);
    } while (skip_comma(p));
    return true;
}

/* p behind the bracket that opens; NULL: none does there. */
static const struct brackets *open_at(const char **p)
{
    for (size_t i = 0; i < sizeof(BRACKETS) / sizeof(BRACKETS[0]); i++) {
        if (skip(p, BRACKETS[i].open)) {
            return &BRACKETS[i];
        }
    }
    return NULL;
}

bool cite_at(const char *text, struct cite *c)
{
    const struct brackets *b = open_at(&text);

    if (b == NULL) {
        return false;
    }
    (void)skip(&text, "^");
    c->next = text;
    /* "[ 1]" is how tables and code are written, and no citation. */
    if (strchr(BLANKS, *text) != NULL || !read_all(&text, BLANKS) ||
        !skip(&text, b->close)) {
        return false;
    }
    c->end = text;
    /* A link that was meant; a part of an address, as in ?a[0]=1. */
    return b != BRACKETS || (*text != '(' && *text != '=');
}

bool cite_next(struct cite *c, int64_t *from, int64_t *to)
{
    const char *p = c->next;

    (void)skip_comma(&p);
    skip_blanks(&p, BLANKS);
    if (!read_span(&p, BLANKS, from, to)) {
        return false;
    }
    skip_blanks(&p, BLANKS);
    c->next = p;
    return true;
}

const char *cite_find(const char *text)
{
    for (const char *p = text; (p = strpbrk(p, "[\xef\xe3")) != NULL; p++) {
        const char *inside = p;

        if (open_at(&inside) != NULL) {
            return p;
        }
    }
    return NULL;
}

bool cite_is_year(int64_t number)
{
    return number >= YEAR_FIRST && number <= YEAR_LAST;
}

/* Behind a bracket like a citation's, where a colon or another bracket would make
 * a definition or a link of it; NULL: nothing does. */
static const char *break_of(const char *p)
{
    struct cite other;

    (void)skip(&p, "[");
    skip_blanks(&p, BLANKS_OF_NAMES);
    (void)skip(&p, "^");
    if (!read_all(&p, BLANKS_OF_NAMES) || !skip(&p, "]")) {
        return NULL;
    }
    return *p == ':' || (*p == '[' && !cite_at(p, &other)) ? p : NULL;
}

void cite_unlink(const char *markdown, size_t len, struct buf *out)
{
    const char *end = markdown + len;
    const char *from = markdown;

    for (const char *p = markdown; (p = strchr(p, '[')) != NULL; p++) {
        const char *at = break_of(p);

        if (at != NULL) {
            buf_add(out, from, (size_t)(at - from));
            buf_puts(out, "\xe2\x81\xa0");
            from = at;
        }
    }
    buf_add(out, from, (size_t)(end - from));
}
