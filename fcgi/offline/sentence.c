#include "fcgi/offline/sentence.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

#define ARCHIVE_FORM  0.7
#define SCRATCH_BYTES ((size_t)1024 * 1024)

/* A full stop behind these ends no sentence. */
static const char *const ABBREVIATIONS[] = {
    "e.g",    "i.e", "etc",  "vs",   "cf", "mr", "mrs", "dr",  "fig", "no",
    "approx", "ca",  "resp", "incl", "st", "p",  "pp",  "sec", "ver",
};

/* Beginnings of entries in lists of changes, and of mere pointers. */
static const char *const POINTERS[] = {
    "added",    "fix",      "fixed",  "fixes",   "see",   "click",
    "enhanced", "improved", "update", "updated", "refer", "details",
};

/* Words that point at what stands around the sentence in its document. */
static const char *const LAYOUT[] = {
    "below", "above", "following", "previous", "preceding", "aforementioned",
};

/* Words of a definition. */
static const char *const DEFINING[] = {
    "called", "means", "refers", "defined", "known", "stands", "denotes",
};

/* A sentence that begins with one of these leans on the one before. */
static const char *const DANGLING[] = {
    "this",      "that",     "these",      "those",   "it",        "they",
    "such",      "both",     "he",         "she",     "its",       "their",
    "then",      "here",     "either",     "neither", "otherwise", "instead",
    "similarly", "likewise", "conversely",
};

static bool one_of(const char *const *list, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == len && strncasecmp(list[i], s, len) == 0) {
            return true;
        }
    }
    return false;
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* At text[at], after a line end: does a list item or a blank line follow? */
static bool paragraph_begins(const char *text, size_t len, size_t at)
{
    size_t digits = 0;

    while (at < len && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    if (at >= len || text[at] == '\n' || text[at] == '\r') {
        return true;
    }
    while (at + digits < len && isdigit((unsigned char)text[at + digits])) {
        digits++;
    }
    if (digits > 0 && digits < 3) {
        at += digits;
        return at + 1 < len && (text[at] == '.' || text[at] == ')') &&
               text[at + 1] == ' ';
    }
    if (strchr("-*+#|>", text[at]) != NULL) {
        return at + 1 < len && text[at + 1] == ' ';
    }
    return len - at > 3 && memcmp(text + at, "\xE2\x80\xA2", 3) == 0;
}

/* The stop at text[at] belongs to "e.g." or to an initial. */
static bool abbreviation(const char *text, size_t from, size_t at)
{
    size_t start = at;

    while (start > from && (isalpha((unsigned char)text[start - 1]) ||
                            text[start - 1] == '.')) {
        start--;
    }
    if (at - start == 1 && isupper((unsigned char)text[start])) {
        return true;
    }
    return one_of(ABBREVIATIONS, COUNT(ABBREVIATIONS), text + start,
                  at - start);
}

/* Length of what ends a Chinese sentence at s, or 0. */
static size_t wide_stop(const char *s, size_t len)
{
    static const char *const stops[] = {"。", "！", "？", "；"};

    for (size_t i = 0; i < COUNT(stops); i++) {
        if (len >= 3 && memcmp(s, stops[i], 3) == 0) {
            return 3;
        }
    }
    return 0;
}

/* If a sentence ends with the character at at: the place behind it, closing
 * quotes and brackets included. Else 0. */
static size_t sentence_end(const char *text, size_t len, size_t from, size_t at)
{
    size_t wide = wide_stop(text + at, len - at);
    size_t next = at + 1;

    if (wide > 0) {
        return at + wide;
    }
    if (strchr(".!?", text[at]) == NULL) {
        return 0;
    }
    while (next < len && strchr(".!?\"')]", text[next]) != NULL) {
        next++;
    }
    if (next < len && !isspace((unsigned char)text[next])) {
        return 0;
    }
    if (text[at] == '.' && abbreviation(text, from, at)) {
        return 0;
    }
    while (at = next, at < len && isspace((unsigned char)text[at])) {
        next++;
    }
    /* "version 3. the" goes on in lower case: no end. */
    return at < len && islower((unsigned char)text[at]) ? 0 : at;
}

static void trim(const char *text, struct sentence_span *s)
{
    while (s->start < s->end && isspace((unsigned char)text[s->start])) {
        s->start++;
    }
    while (s->end > s->start && isspace((unsigned char)text[s->end - 1])) {
        s->end--;
    }
}

bool sentence_next(const char *text, size_t len, size_t *at,
                   struct sentence_span *out)
{
    size_t i;

    while (*at < len && isspace((unsigned char)text[*at])) {
        (*at)++;
    }
    if (*at >= len) {
        return false;
    }
    *out = (struct sentence_span){.start = *at, .end = len, .breaks = true};
    for (i = *at; i < len; i++) {
        size_t end;

        if (text[i] == '\n' && paragraph_begins(text, len, i + 1)) {
            out->end = i;
            break;
        }
        end = text[i] == '\n' ? 0 : sentence_end(text, len, *at, i);
        if (end > 0) {
            out->end = end;
            out->breaks = memchr(text + i, '\n', end - i) != NULL &&
                          paragraph_begins(text, len, end);
            break;
        }
    }
    *at = out->end;
    trim(text, out);
    return true;
}

/* --- how a sentence looks ------------------------------------------------ */

static double share_of_prose(const char *s, size_t len)
{
    size_t prose = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        prose += isalpha(c) || isspace(c) || c >= 0x80 ? 1 : 0;
    }
    return len == 0 ? 0 : (double)prose / (double)len;
}

static bool has_any_byte(const char *s, size_t len, const char *bytes)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr(bytes, s[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static double form_of_length(size_t n_words)
{
    static const struct {
        size_t below;
        double form;
    } steps[] = {{6, 0.4}, {9, 0.8}, {43, 1}, {61, 0.8}, {SIZE_MAX, 0.5}};
    size_t i = 0;

    while (n_words >= steps[i].below) {
        i++;
    }
    return steps[i].form;
}

static double form_of_end(char last)
{
    if (last == '?') {
        return 0.3;
    }
    if (last == ':') {
        return 0.4;
    }
    /* A heading, a table cell, code. */
    return strchr(".!\"')]", last) == NULL && (unsigned char)last < 0x80 ? 0.45
                                                                         : 1;
}

static double form_of(const struct sentence *s)
{
    char last = s->text[s->len - 1];
    double form = form_of_end(last) * form_of_length(s->n_words);

    if (s->len > SENTENCE_MAX_BYTES) {
        return 0;
    }
    if (s->points) {
        form *= 0.3;
    }
    if (s->shows) {
        form *= 0.6;
    }
    if (share_of_prose(s->text, s->len) < 0.86) {
        form *= 0.35;
    }
    if (memmem(s->text, s->len, "/*", 2) != NULL ||
        memmem(s->text, s->len, "-- ", 3) != NULL || last == ';' ||
        has_any_byte(s->text, s->len, "#{}")) {
        form *= 0.3; /* code */
    }
    if (has_any_byte(s->text, s->len - 1, "|;")) {
        form *= 0.7; /* syntax more often than prose */
    }
    if (islower((unsigned char)s->text[0]) ||
        isdigit((unsigned char)s->text[0])) {
        form *= 0.5; /* the rest of something */
    }
    return form;
}

static int by_key(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static bool any_of(const char *const *list, size_t n, const char *text,
                   const struct words *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (one_of(list, n, text + w->v[i].at, w->v[i].len)) {
            return true;
        }
    }
    return false;
}

static bool defines(const char *text, const struct words *w)
{
    if (any_of(DEFINING, COUNT(DEFINING), text, w)) {
        return true;
    }
    for (size_t i = 0; i < w->n; i++) {
        /* "A checkpoint is a ...": early in the sentence. */
        if (i > 0 && i < 5 && i + 1 < w->n &&
            (words_is(text, &w->v[i], "is") ||
             words_is(text, &w->v[i], "are")) &&
            (words_is(text, &w->v[i + 1], "a") ||
             words_is(text, &w->v[i + 1], "an") ||
             words_is(text, &w->v[i + 1], "the"))) {
            return true;
        }
    }
    return false;
}

static enum rc take_words(struct arena *a, struct arena *scratch,
                          struct sentence *s)
{
    struct words w;
    size_t distinct = 0;
    enum rc rc;

    arena_reset(scratch);
    rc = words_split(scratch, s->text,
                     s->len > SENTENCE_MAX_BYTES ? SENTENCE_MAX_BYTES : s->len,
                     &w);
    if (rc != RC_OK) {
        return rc;
    }
    s->keys = arena_alloc(a, w.n * sizeof(*s->keys));
    if (s->keys == NULL) {
        return RC_NOMEM;
    }
    s->n_words = w.n;
    for (size_t i = 0; i < w.n; i++) {
        if (w.v[i].weight != WORD_STOP) {
            s->keys[s->n_keys++] = w.v[i].key;
        }
    }
    if (s->n_keys > 0) {
        qsort(s->keys, s->n_keys, sizeof(*s->keys), by_key);
    }
    for (size_t i = 0; i < s->n_keys; i++) {
        if (i == 0 || s->keys[i] != s->keys[i - 1]) {
            s->keys[distinct++] = s->keys[i];
        }
    }
    s->n_keys = distinct;
    s->defines = defines(s->text, &w);
    s->shows = any_of(LAYOUT, COUNT(LAYOUT), s->text, &w);
    if (w.n > 0) {
        s->first_key = w.v[0].key;
        s->points =
            one_of(POINTERS, COUNT(POINTERS), s->text + w.v[0].at, w.v[0].len);
        s->dangling =
            one_of(DANGLING, COUNT(DANGLING), s->text + w.v[0].at, w.v[0].len);
    }
    return RC_OK;
}

/* Lists of what changed in which version explain little. */
static bool is_archive(const char *title)
{
    static const char *const words[] = {"news", "history", "changelog",
                                        "release notes", "changes in"};

    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasestr(title, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

size_t sentence_text_len(const struct passage *p)
{
    return utf8_clip(p->text, strlen(p->text), SENTENCE_PASSAGE_BYTES);
}

static enum rc cut_passage(struct arena *a, struct arena *scratch,
                           const struct passage *p, struct corpus *out)
{
    size_t len = sentence_text_len(p), at = 0;
    const struct sentence *before = NULL;
    struct sentence_span span;

    double form = is_archive(p->title) ? ARCHIVE_FORM : 1;

    while (out->n < SENTENCE_MAX && sentence_next(p->text, len, &at, &span)) {
        struct sentence *s = &out->v[out->n];
        enum rc rc;

        if (span.end == span.start) {
            continue;
        }
        *s = (struct sentence){.from = p,
                               .text = p->text + span.start,
                               .len = span.end - span.start,
                               .before = before};
        rc = take_words(a, scratch, s);
        if (rc != RC_OK) {
            return rc;
        }
        s->form = form * form_of(s);
        /* What cannot be quoted itself is no support for another. */
        if (before != NULL &&
            (before->form < 0.4 || before->n_words + s->n_words > 75)) {
            s->before = NULL;
        }
        before = span.breaks ? NULL : s;
        out->n++;
    }
    return RC_OK;
}

static size_t count_sentences(const struct passage *p, size_t n)
{
    size_t count = 0;
    struct sentence_span span;

    for (size_t i = 0; i < n && count < SENTENCE_MAX; i++) {
        size_t len = sentence_text_len(&p[i]), at = 0;
        while (sentence_next(p[i].text, len, &at, &span)) {
            count++;
        }
    }
    return count < SENTENCE_MAX ? count : SENTENCE_MAX;
}

/* The words of the innermost heading: what the passage itself is about. */
static enum rc take_tail(struct arena *a, struct corpus *out, size_t i)
{
    const char *heading = out->passages[i].heading, *tail = heading;

    for (const char *p = heading; p = strstr(p, " > "), p != NULL; p += 3) {
        tail = p + 3;
    }
    return words_split(a, tail, strnlen(tail, 300), &out->tails[i]);
}

static enum rc take_heads(struct arena *a, struct corpus *out)
{
    for (size_t i = 0; i < out->n_passages; i++) {
        const struct passage *p = &out->passages[i];
        const char *head =
            arena_printf(a, "%.300s\n%.300s", p->title, p->heading);
        enum rc rc = head == NULL
                         ? RC_NOMEM
                         : words_split(a, head, strlen(head), &out->heads[i]);
        if (rc == RC_OK) {
            rc = take_tail(a, out, i);
        }
        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_OK;
}

enum rc sentence_corpus(struct arena *a, const struct passage *p, size_t n,
                        struct corpus *out)
{
    struct arena *scratch = arena_new(SCRATCH_BYTES);
    enum rc rc = RC_NOMEM;

    *out = (struct corpus){.passages = p, .n_passages = n};
    out->v = arena_alloc(a, count_sentences(p, n) * sizeof(*out->v));
    out->heads = arena_alloc(a, n * sizeof(*out->heads));
    out->tails = arena_alloc(a, n * sizeof(*out->tails));
    if (scratch == NULL || out->v == NULL || out->heads == NULL ||
        out->tails == NULL) {
        goto done;
    }
    rc = take_heads(a, out);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = cut_passage(a, scratch, &p[i], out);
    }
done:
    arena_free(scratch);
    return rc;
}
