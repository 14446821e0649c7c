#include "sql/library_query.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer words are not words; the rest of one is left out. */
#define MAX_TERM_BYTES 96

enum char_class {
    CHAR_SPLIT = 0, /* separates words */
    CHAR_WORD,
    CHAR_JOIN, /* belongs to a word between two of its characters */
    CHAR_IDEO, /* written without spaces between words */
    CHAR__MAX
};

/* Words that name no subject, by the order of strcmp. */
static const char *const STOP_WORDS[] = {
    "a",        "about",   "all",      "also",   "am",    "an",      "and",
    "any",      "are",     "as",       "at",     "be",    "because", "been",
    "being",    "between", "both",     "but",    "by",    "can",     "compare",
    "compared", "could",   "describe", "did",    "do",    "does",    "doing",
    "each",     "explain", "find",     "for",    "from",  "get",     "give",
    "had",      "has",     "have",     "having", "he",    "her",     "here",
    "him",      "his",     "how",      "i",      "if",    "in",      "into",
    "is",       "it",      "its",      "just",   "me",    "more",    "most",
    "my",       "no",      "nor",      "not",    "of",    "on",      "only",
    "or",       "other",   "our",      "out",    "over",  "own",     "please",
    "same",     "she",     "should",   "show",   "so",    "some",    "such",
    "tell",     "than",    "that",     "the",    "their", "them",    "then",
    "there",    "these",   "they",     "this",   "those", "through", "to",
    "too",      "under",   "us",       "very",   "was",   "we",      "were",
    "what",     "when",    "where",    "which",  "while", "who",     "whom",
    "whose",    "why",     "will",     "with",   "would", "you",     "your",
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

static bool is_stop_word(const char *lower)
{
    return bsearch(lower, STOP_WORDS,
                   sizeof(STOP_WORDS) / sizeof(STOP_WORDS[0]),
                   sizeof(STOP_WORDS[0]), compare_words) != NULL;
}

/* One code point from s (NUL-terminated) and its length. An ill-formed byte
 * counts as U+FFFD and one byte. */
static uint32_t next_char(const char *s, size_t *len)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t want = u[0] < 0x80    ? 1
                  : u[0] >= 0xF8 ? 0
                  : u[0] >= 0xF0 ? 4
                  : u[0] >= 0xE0 ? 3
                  : u[0] >= 0xC0 ? 2
                                 : 0;
    uint32_t c;

    *len = 1;
    if (want == 1) {
        return u[0];
    }
    if (want == 0) {
        return 0xFFFD;
    }
    c = u[0] & (0x7Fu >> want);
    for (size_t i = 1; i < want; i++) {
        if ((u[i] & 0xC0) != 0x80) {
            return 0xFFFD;
        }
        c = c << 6 | (u[i] & 0x3F);
    }
    if (c < least[want] || c > 0x10FFFF) {
        return 0xFFFD;
    }
    *len = want;
    return c;
}

static bool between(uint32_t c, uint32_t least, uint32_t most)
{
    return c >= least && c <= most;
}

static enum char_class classify(uint32_t c)
{
    if (c < 0x80) {
        if (between(c | 0x20, 'a', 'z') || between(c, '0', '9')) {
            return CHAR_WORD;
        }
        return c == '_' || c == '-' || c == '.' || c == '\'' ? CHAR_JOIN
                                                             : CHAR_SPLIT;
    }
    /* Han, kana, hangul; not their punctuation. */
    if (between(c, 0x3040, 0x30FF) || between(c, 0x3400, 0x4DBF) ||
        between(c, 0x4E00, 0x9FFF) || between(c, 0xAC00, 0xD7A3) ||
        between(c, 0xF900, 0xFAFF) || between(c, 0x20000, 0x3FFFF) ||
        c == 0x3005) {
        return CHAR_IDEO;
    }
    /* Latin-1 signs, punctuation, symbols, fullwidth punctuation, pictures. */
    if (between(c, 0x80, 0xA9) || between(c, 0xAB, 0xB4) ||
        between(c, 0xB6, 0xB9) || between(c, 0xBB, 0xBF) || c == 0xD7 ||
        c == 0xF7 || between(c, 0x2000, 0x206F) || between(c, 0x20A0, 0x20CF) ||
        between(c, 0x2190, 0x2BFF) || between(c, 0x3000, 0x303F) ||
        between(c, 0xD800, 0xF8FF) || between(c, 0xFE10, 0xFE6F) ||
        between(c, 0xFF00, 0xFF0F) || between(c, 0xFF1A, 0xFF20) ||
        between(c, 0xFF3B, 0xFF40) || between(c, 0xFF5B, 0xFF65) ||
        between(c, 0xFFE0, 0xFFFF) || between(c, 0x1F000, 0x1FAFF)) {
        return CHAR_SPLIT;
    }
    return CHAR_WORD;
}

/* A walk over a question: one word or pair of characters after the other. */
struct scan {
    const char *at;
    char word[MAX_TERM_BYTES + 8]; /* as written */
    char lower[MAX_TERM_BYTES + 8];
    bool shouted; /* two capitals or more, and nothing small */
};

static void append(struct scan *s, const char *from, size_t len)
{
    size_t have = strlen(s->word);

    if (have + len <= MAX_TERM_BYTES) {
        memcpy(s->word + have, from, len);
        s->word[have + len] = '\0';
    }
}

/* A word from s->at on; s->at moves behind it. */
static void take_word(struct scan *s)
{
    size_t len;

    for (;;) {
        enum char_class class = classify(next_char(s->at, &len));
        size_t next_len;

        if (class == CHAR_JOIN &&
            classify(next_char(s->at + len, &next_len)) != CHAR_WORD) {
            return;
        }
        if (class != CHAR_WORD && class != CHAR_JOIN) {
            return;
        }
        append(s, s->at, len);
        s->at += len;
    }
}

/* A pair of characters, or a single one; s->at stays on the second of a pair
 * if more follow, so that pairs overlap. */
static void take_pair(struct scan *s)
{
    size_t first;
    size_t second;
    size_t third;

    (void)next_char(s->at, &first);
    append(s, s->at, first);
    s->at += first;
    if (classify(next_char(s->at, &second)) != CHAR_IDEO) {
        return;
    }
    append(s, " ", 1);
    append(s, s->at, second);
    if (classify(next_char(s->at + second, &third)) != CHAR_IDEO) {
        s->at += second;
    }
}

static bool next_term(struct scan *s)
{
    size_t capitals = 0;
    size_t small = 0;
    size_t len;
    size_t i;

    s->word[0] = '\0';
    while (*s->at != '\0' && s->word[0] == '\0') {
        enum char_class class = classify(next_char(s->at, &len));

        if (class == CHAR_IDEO) {
            take_pair(s);
        } else if (class == CHAR_WORD) {
            take_word(s);
        } else {
            s->at += len;
        }
    }
    for (i = 0; s->word[i] != '\0'; i++) {
        bool capital = s->word[i] >= 'A' && s->word[i] <= 'Z';

        capitals += capital;
        small += s->word[i] >= 'a' && s->word[i] <= 'z';
        s->lower[i] = (char)(capital ? s->word[i] + 32 : s->word[i]);
    }
    s->lower[i] = '\0';
    s->shouted = capitals >= 2 && small == 0;
    return i > 0;
}

static enum rc add_term(struct library_terms *t, const char *lower,
                        struct arena *arena)
{
    const char *quoted = arena_printf(arena, "\"%s\"", lower);

    if (quoted == NULL) {
        return RC_NOMEM;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->term[i], quoted) == 0) {
            return RC_OK;
        }
    }
    t->term[t->n++] = quoted;
    return RC_OK;
}

static enum rc collect(const char *text, bool with_stop_words,
                       struct arena *arena, struct library_terms *out)
{
    struct scan s = {.at = text};

    out->n = 0;
    while (out->n < LIBRARY_QUERY_MAX_TERMS && next_term(&s)) {
        /* WHERE and IN are words of a language; where and in are not. */
        bool wanted = with_stop_words || s.shouted || !is_stop_word(s.lower);
        enum rc rc = wanted ? add_term(out, s.lower, arena) : RC_OK;

        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}

enum rc library_query_terms(const char *text, struct arena *arena,
                            struct library_terms *out)
{
    enum rc rc = collect(text, false, arena, out);

    if (rc == RC_OK && out->n == 0) {
        rc = collect(text, true, arena, out);
    }
    return rc;
}

const char *library_query_join(const struct library_terms *t, const char *glue,
                               struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; i < t->n && all != NULL; i++) {
        all =
            arena_printf(arena, "%s%s%s", all, i == 0 ? "" : glue, t->term[i]);
    }
    return all;
}

const char *library_query_spaced(const char *text, struct arena *arena)
{
    size_t len;
    size_t ideo = 0;
    size_t n = 0;
    char *out;

    for (const char *at = text; *at != '\0'; at += len) {
        ideo += classify(next_char(at, &len)) == CHAR_IDEO;
    }
    if (ideo == 0) {
        return text;
    }
    out = arena_alloc(arena, strlen(text) + 2 * ideo + 1);
    if (out == NULL) {
        return NULL;
    }
    for (const char *at = text; *at != '\0'; at += len) {
        bool apart = classify(next_char(at, &len)) == CHAR_IDEO;

        if (apart) {
            out[n++] = ' ';
        }
        memcpy(out + n, at, len);
        n += len;
        if (apart) {
            out[n++] = ' ';
        }
    }
    out[n] = '\0';
    return out;
}
