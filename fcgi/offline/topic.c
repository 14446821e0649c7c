#include "fcgi/offline/topic.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "fcgi/offline/words.h"
#include "sql/base/utf8.h"

#define MAX_PHRASES     12
#define MAX_PHRASE_LEN  5 /* words */
#define MAX_TITLE_BYTES 80
#define MAX_QUERY_BYTES 400

/* What stands between a phrase and the one before it. */
enum gap {
    GAP_NONE = 0, /* the first one */
    GAP_AND,      /* ", " or "and": both are members of one list */
    GAP_COMPARE,  /* "compared with", "versus", "than" */
    GAP_OTHER
};

struct phrase {
    size_t at;
    size_t len;
    enum gap gap;
};

struct phrases {
    struct phrase v[MAX_PHRASES];
    size_t n;
    bool compares; /* the text begins by asking for a comparison */
    bool between;  /* "between" stands before a phrase: that phrase */
    size_t between_at;
};

static bool gap_has(const char *s, size_t len, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= len; i++) {
        bool wide = (unsigned char)word[0] >= 0x80;
        if (strncasecmp(s + i, word, n) == 0 &&
            (wide || ((i == 0 || !isalpha((unsigned char)s[i - 1])) &&
                      (i + n == len || !isalpha((unsigned char)s[i + n]))))) {
            return true;
        }
    }
    return false;
}

static bool gap_has_any(const char *s, size_t len, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (gap_has(s, len, *words)) {
            return true;
        }
    }
    return false;
}

/* Only list separators stand in the gap. */
static bool gap_is_list(const char *s, size_t len)
{
    static const char *const separators[] = {
        "and",  "or", "&",  ",",  "the", "as", "well", "to",
        "with", "、", "和", "与", "及",  "以", "，",   "跟",
    };
    size_t i = 0;
    bool any = false;

    while (i < len) {
        size_t n = 0;
        if (isspace((unsigned char)s[i])) {
            i++;
            continue;
        }
        for (size_t k = 0; k < sizeof(separators) / sizeof(*separators); k++) {
            size_t m = strlen(separators[k]);
            if (m <= len - i && strncasecmp(s + i, separators[k], m) == 0 &&
                (!isalpha((unsigned char)separators[k][0]) || i + m == len ||
                 !isalpha((unsigned char)s[i + m])) &&
                m > n) {
                n = m;
            }
        }
        if (n == 0) {
            return false;
        }
        any = true;
        i += n;
    }
    return any;
}

static enum gap gap_of(const char *s, size_t len)
{
    static const char *const compare[] = {
        "compared", "versus", "vs", "than", "contrasted",
        "相比",     "对比",   "比", NULL,
    };

    if (gap_has_any(s, len, compare)) {
        return GAP_COMPARE;
    }
    return gap_is_list(s, len) ? GAP_AND : GAP_OTHER;
}

/* Words of one phrase have nothing but a space or a joining mark between. */
static bool joined(const char *text, const struct word *a, const struct word *b)
{
    size_t from = a->at + a->len;

    if (b->at <= from) {
        return true;
    }
    return b->at - from == 1 && strchr(" -/.=", text[from]) != NULL;
}

static void note_gap(const char *text, size_t from, const struct word *w,
                     struct phrases *out)
{
    static const char *const between[] = {"between", "之间", NULL};
    struct phrase *p = &out->v[out->n];

    p->gap = out->n == 0 ? GAP_NONE : gap_of(text + from, w->at - from);
    if (!out->between && gap_has_any(text + from, w->at - from, between)) {
        out->between = true;
        out->between_at = out->n;
    }
}

static bool starts_comparing(const char *text, const struct words *w)
{
    static const char *const words[] = {"compare", "contrast", "comparing",
                                        "comparison", NULL};

    for (size_t i = 0; i < w->n && w->v[i].weight < WORD_FULL; i++) {
        for (size_t k = 0; words[k] != NULL; k++) {
            if (words_is(text, &w->v[i], words[k])) {
                return true;
            }
        }
    }
    return false;
}

/* Runs of words with meaning that name something. */
static void find_phrases(const char *text, const struct words *w,
                         struct phrases *out)
{
    size_t i = 0, end = 0;

    *out = (struct phrases){.compares = starts_comparing(text, w)};
    while (i < w->n && out->n < MAX_PHRASES) {
        size_t last = i, count = 0;
        bool full = false;

        if (w->v[i].weight < WORD_WEAK) {
            i++;
            continue;
        }
        for (size_t k = i; k < w->n && w->v[k].weight >= WORD_WEAK; k++) {
            if (k > i && !joined(text, &w->v[k - 1], &w->v[k])) {
                break;
            }
            count += w->v[k].cjk ? 0 : 1;
            if (count > MAX_PHRASE_LEN) {
                break;
            }
            full = full || w->v[k].weight == WORD_FULL;
            last = k;
        }
        if (full) {
            note_gap(text, end, &w->v[i], out);
            out->v[out->n].at = w->v[i].at;
            out->v[out->n].len = w->v[last].at + w->v[last].len - w->v[i].at;
            end = w->v[last].at + w->v[last].len;
            out->n++;
        }
        i = last + 1;
    }
}

/* Which two phrases are compared: indices into p, or false. */
static bool find_sides(const struct phrases *p, size_t side[2])
{
    if (p->between && p->between_at + 1 < p->n) {
        side[0] = p->between_at;
        side[1] = p->between_at + 1;
        return true;
    }
    for (size_t i = 1; i < p->n; i++) {
        if (p->v[i].gap == GAP_COMPARE) {
            /* "A is faster than B": A is what the text began with. */
            side[0] = p->compares ? i - 1 : 0;
            side[1] = i;
            return true;
        }
    }
    if (p->compares && p->n >= 2) {
        /* "compare the speed of A and B": the last pair of a list. */
        for (size_t i = p->n; i-- > 1;) {
            if (p->v[i].gap == GAP_AND) {
                side[0] = i - 1;
                side[1] = i;
                return true;
            }
        }
    }
    return false;
}

static const char *take(struct arena *a, const char *text,
                        const struct phrase *p)
{
    return arena_strndup(a, text + p->at, p->len);
}

static bool take_aspects(struct arena *a, const char *text,
                         const struct phrases *p, struct topic *t,
                         const size_t side[2])
{
    for (size_t i = 0; i < p->n && t->n_aspects < TOPIC_MAX_ASPECTS; i++) {
        bool listed = p->v[i].gap == GAP_AND ||
                      (i + 1 < p->n && p->v[i + 1].gap == GAP_AND);
        if (t->side[0] != NULL ? (i == side[0] || i == side[1]) : !listed) {
            continue;
        }
        t->aspect[t->n_aspects] = take(a, text, &p->v[i]);
        if (t->aspect[t->n_aspects] == NULL) {
            return false;
        }
        t->n_aspects++;
    }
    /* A list of one is no list. */
    if (t->side[0] == NULL && t->n_aspects == 1) {
        t->n_aspects = 0;
    }
    return true;
}

static bool take_phrases(struct arena *a, const char *text,
                         const struct phrases *p, struct topic *t)
{
    for (size_t i = 0; i < p->n && i < TOPIC_MAX_PHRASES; i++) {
        t->phrase[i] = take(a, text, &p->v[i]);
        if (t->phrase[i] == NULL) {
            return false;
        }
        t->n_phrases++;
    }
    return true;
}

enum rc topic_read(struct arena *a, const char *text, size_t len,
                   struct topic *out)
{
    struct words w;
    struct phrases p;
    size_t side[2] = {0, 0};
    enum rc rc = words_split(a, text, len, &w);

    if (rc != RC_OK) {
        return rc;
    }
    *out = (struct topic){.text = arena_strndup(a, text, len)};
    if (out->text == NULL) {
        return RC_NOMEM;
    }
    find_phrases(text, &w, &p);
    if (p.n == 0) {
        return RC_OK;
    }
    out->subject = take(a, text, &p.v[0]);
    if (find_sides(&p, side)) {
        out->side[0] = take(a, text, &p.v[side[0]]);
        out->side[1] = take(a, text, &p.v[side[1]]);
        if (out->side[0] == NULL || out->side[1] == NULL) {
            return RC_NOMEM;
        }
    }
    if (out->subject == NULL || !take_aspects(a, text, &p, out, side) ||
        !take_phrases(a, text, &p, out)) {
        return RC_NOMEM;
    }
    return RC_OK;
}

/* --- searches --------------------------------------------------------------
 */

struct query_list {
    struct arena *a;
    const char **v;
    size_t n;
    enum rc rc;
};

static void add_query(struct query_list *q, const char *x, const char *y)
{
    char *text;

    if (q->rc != RC_OK || q->n >= TOPIC_MAX_QUERIES) {
        return;
    }
    text = arena_printf(q->a, "%.*s%s%.*s", words_clip(x, 200), x,
                        y[0] != '\0' ? " " : "", words_clip(y, 200), y);
    if (text == NULL) {
        q->rc = RC_NOMEM;
        return;
    }

    for (size_t i = 0; i < q->n; i++) {
        if (strcasecmp(q->v[i], text) == 0) {
            return;
        }
    }
    if (text[0] != '\0') {
        q->v[q->n++] = text;
    }
}

static void request_queries(struct query_list *q, const struct topic *t)
{
    for (size_t i = 0; i < t->n_aspects; i++) {
        if (t->side[0] != NULL) {
            add_query(q, t->side[0], t->aspect[i]);
            add_query(q, t->side[1], t->aspect[i]);
        } else if (t->subject != NULL &&
                   strcasecmp(t->subject, t->aspect[i]) != 0) {
            add_query(q, t->subject, t->aspect[i]);
        } else {
            add_query(q, t->aspect[i], "");
        }
    }
    if (t->side[0] != NULL) {
        add_query(q, t->side[0], "");
        add_query(q, t->side[1], "");
    } else if (t->subject != NULL) {
        add_query(q, t->subject, "");
        for (size_t i = 1; i < t->n_phrases; i++) {
            add_query(q, t->phrase[i], "");
        }
    }
}

static void adjustment_queries(struct query_list *q, const struct topic *t,
                               const struct topic *base, const char *terms)
{
    const char *first = base->side[0] != NULL ? base->side[0] : base->subject;

    if (first != NULL) {
        add_query(q, terms, first);
    }
    if (base->side[0] != NULL && t->side[0] == NULL) {
        add_query(q, terms, base->side[1]);
    }
    for (size_t i = 0; i < t->n_aspects && i < 2; i++) {
        add_query(q, t->aspect[i], first != NULL ? first : "");
    }
}

enum rc topic_queries(struct arena *a, const struct topic *t,
                      const struct topic *base,
                      const char *out[TOPIC_MAX_QUERIES], size_t *n)
{
    struct query_list q = {.a = a, .v = out};
    const char *terms = topic_terms(a, t->text, strlen(t->text));

    *n = 0;
    if (terms == NULL) {
        return RC_NOMEM;
    }
    add_query(&q, terms, "");
    if (base == NULL) {
        request_queries(&q, t);
    } else if (q.n > 0) {
        adjustment_queries(&q, t, base, terms);
    }
    if (q.rc == RC_OK) {
        *n = q.n;
    }
    return q.rc;
}

/* --- texts ------------------------------------------------------------------
 */

const char *topic_terms(struct arena *a, const char *text, size_t len)
{
    struct words w;
    char *out;
    size_t n = 0, end = SIZE_MAX;

    if (words_split(a, text, len, &w) != RC_OK) {
        return NULL;
    }
    out = arena_alloc(a, MAX_QUERY_BYTES + 2);
    for (size_t i = 0; out != NULL && i < w.n; i++) {
        size_t from = w.v[i].at, skip = 0;
        if (w.v[i].weight < WORD_WEAK) {
            continue;
        }
        /* Paired characters overlap: each is given once. */
        if (end != SIZE_MAX && from < end) {
            skip = end - from;
        }
        if (skip >= w.v[i].len ||
            n + w.v[i].len + 1 > (size_t)MAX_QUERY_BYTES) {
            continue;
        }
        if (n > 0 && skip == 0) {
            out[n++] = from - end == 1 && text[end] == '-' ? '-' : ' ';
        }
        memcpy(out + n, text + from + skip, w.v[i].len - skip);
        n += w.v[i].len - skip;
        end = from + w.v[i].len;
    }
    return out;
}

enum rc topic_has_subject(struct arena *a, const char *text, size_t len,
                          int *out)
{
    struct words w;
    enum rc rc = words_split(a, text, len, &w);
    int found = 0;

    for (size_t i = 0; rc == RC_OK && i < w.n; i++) {
        found = found || w.v[i].weight == WORD_FULL;
    }
    if (rc == RC_OK) {
        *out = found;
    }
    return rc;
}

const char *topic_title(struct arena *a, const char *text, size_t len)
{
    char *title;
    size_t n = 0;

    while (len > 0 &&
           (isspace((unsigned char)*text) || strchr(",;:-.", *text) != NULL)) {
        text++;
        len--;
    }
    n = strcspn(text, "\r\n");
    len = n < len ? n : len;
    n = utf8_clip(text, len, MAX_TITLE_BYTES);
    while (n < len && n > MAX_TITLE_BYTES / 2 &&
           (unsigned char)text[n] < 0x80 && text[n] != ' ') {
        n = utf8_clip(text, len, n - 1);
    }
    while (n > 0 && (isspace((unsigned char)text[n - 1]) ||
                     strchr(".!,;:", text[n - 1]) != NULL)) {
        n--;
    }
    title = arena_strndup(a, text, n);
    if (title != NULL && islower((unsigned char)title[0])) {
        title[0] = (char)toupper((unsigned char)title[0]);
    }
    return title;
}
