#include "fcgi/offline/report.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/offline/answer.h"
#include "fcgi/offline/extract.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/say.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define MAX_SECTIONS    24
#define SECTION_PICKS   7
#define LEAST_SCORE     0.22
#define LEAST_SHARE     0.2
#define SIDE_PICKS      3 /* more for a side of which nothing was found yet */
#define PROMOTE_FROM    3 /* a section this large gives to the summary */
#define MAX_SUMMARY     5
#define SECTION_SUMMARY 2
#define NOTE_LINES      6
#define CONTEXT_SCALE   0.25
#define NAMED           0.6 /* of a side's words: one of two may mean something else */
#define STRONG          0.6 /* of the aspect's words */
#define TITLE_BYTES     160
#define RELEVANT        0.5
#define HALF_RELEVANT   0.4

/* Which of the two things compared a sentence speaks of. */
enum side { SIDE_NONE = 0, SIDE_FIRST, SIDE_SECOND, SIDE_BOTH, SIDE__MAX };

struct section {
    const char *title; /* an aspect, a side, or a page */
    size_t aim;
    bool by_page;
    struct sentence *picks[EXTRACT_MAX_PICKS];
    enum side side[EXTRACT_MAX_PICKS];
    bool promoted[EXTRACT_MAX_PICKS];
    size_t n;
    bool strong; /* a sentence holds the aspect's words, not just some */
};

enum status { STATUS_COVERED = 0, STATUS_PARTIAL, STATUS_NOT_COVERED };

struct making {
    struct arena *a;
    const struct report_order *order;
    bool chinese;
    struct corpus corpus;
    const char *sides[2]; /* of the request, or NULL */
    struct query side[2];
    struct section sections[MAX_SECTIONS];
    size_t n_sections;
    double relevance[SCENE_MAX_REQUIREMENTS];
};

/* --- choosing sentences
 * ------------------------------------------------------------ */

static enum rc add_words(struct making *m, const char *text, double scale,
                         struct query *q)
{
    return text == NULL ? RC_OK
                        : extract_query_add(m->a, text, strlen(text), scale, q);
}

static bool speaks_of(const struct making *m, const struct sentence *s, int i)
{
    return extract_match(s, &m->side[i]) >= NAMED;
}

/* One of both, or neither. */
static enum side only_side(bool first, bool second)
{
    return first == second ? SIDE_NONE : first ? SIDE_FIRST : SIDE_SECOND;
}

/* By its own words, else by what it stands under, else by its neighbours, if
 * these name one side only. */
static enum side side_of(const struct making *m, const struct sentence *s)
{
    bool in[2];

    if (m->sides[0] == NULL) {
        return SIDE_NONE;
    }
    in[0] = speaks_of(m, s, 0) ||
            (s->dangling && s->before != NULL && speaks_of(m, s->before, 0));
    in[1] = speaks_of(m, s, 1) ||
            (s->dangling && s->before != NULL && speaks_of(m, s->before, 1));
    if (in[0] || in[1]) {
        return in[0] && in[1] ? SIDE_BOTH : only_side(in[0], in[1]);
    }
    for (int i = 0; i < 2; i++) {
        in[i] = extract_head_match(&m->corpus, s->from, &m->side[i]) >= NAMED;
    }
    if (in[0] || in[1]) {
        return only_side(in[0], in[1]);
    }
    for (size_t i = 0; i < m->corpus.n; i++) {
        const struct sentence *near = &m->corpus.v[i];
        for (int k = 0; near->from == s->from && k < 2; k++) {
            in[k] = in[k] || speaks_of(m, near, k);
        }
    }
    return only_side(in[0], in[1]);
}

static size_t count_side(const struct section *s, enum side side)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += s->side[i] == side ? 1 : 0;
    }
    return n;
}

/* only: sentences of this side, or SIDE_NONE for all. */
static void take_picks(struct making *m, struct section *s,
                       struct sentence *const *picks, size_t n, enum side only)
{
    for (size_t i = 0; i < n && s->n < EXTRACT_MAX_PICKS; i++) {
        enum side side = side_of(m, picks[i]);
        if (only != SIDE_NONE && side != only) {
            picks[i]->used = false;
            continue;
        }
        s->picks[s->n] = picks[i];
        s->side[s->n] = side;
        s->n++;
    }
}

/* One aspect: its words must stand there; those of the things compared, or of
 * the subject, decide between sentences. */
static enum rc choose_aspect(struct making *m, const char *aspect,
                             const struct topic *t, struct section *s)
{
    struct sentence *picks[EXTRACT_MAX_PICKS];
    struct query must = {.n = 0}, q;
    struct extract_options o = {.query = &q,
                                .must = &must,
                                .max = SECTION_PICKS,
                                .first = LEAST_SCORE,
                                .least = LEAST_SCORE,
                                .least_share = LEAST_SHARE};
    enum rc rc = add_words(m, aspect, 1, &must);

    q = must;
    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        rc = add_words(m, m->sides[i], CONTEXT_SCALE, &q);
    }
    if (rc == RC_OK) {
        rc = add_words(m, t->subject, CONTEXT_SCALE, &q);
    }
    if (rc != RC_OK) {
        return rc;
    }
    take_picks(m, s, picks, extract_pick(&m->corpus, &o, picks), SIDE_NONE);
    for (int i = 0; i < 2 && m->sides[i] != NULL; i++) {
        enum side side = i == 0 ? SIDE_FIRST : SIDE_SECOND;
        if (count_side(s, side) + count_side(s, SIDE_BOTH) > 1) {
            continue;
        }
        q = must;
        rc = add_words(m, m->sides[i], 1, &q);
        if (rc != RC_OK) {
            return rc;
        }
        o.max = SIDE_PICKS;
        take_picks(m, s, picks, extract_pick(&m->corpus, &o, picks), side);
    }
    for (size_t i = 0; i < s->n; i++) {
        double own = extract_match(s->picks[i], &must);
        double head = extract_head_match(&m->corpus, s->picks[i]->from, &must);
        s->strong = s->strong || own >= STRONG || head >= STRONG;
    }
    return RC_OK;
}

static const char *section_name(struct making *m, enum side side)
{
    struct buf b;
    const char *name;

    if (side != SIDE_BOTH) {
        return m->sides[side == SIDE_FIRST ? 0 : 1];
    }
    buf_init(&b, 1024);
    say_put(&b, m->chinese, SAY_BOTH, m->sides[0], m->sides[1], NULL);
    name = arena_strndup(m->a, buf_str(&b), b.len);
    buf_free(&b);
    return name;
}

static struct section *new_section(struct making *m, size_t aim,
                                   const char *title)
{
    if (m->n_sections == MAX_SECTIONS) {
        return NULL;
    }
    m->sections[m->n_sections] = (struct section){.title = title, .aim = aim};
    return &m->sections[m->n_sections++];
}

/* Without parts to go by, the pages themselves are the parts. */
static enum rc choose_by_page(struct making *m, size_t aim)
{
    const struct topic *t = &m->order->aims[aim].topic;
    struct sentence *picks[EXTRACT_MAX_PICKS];
    struct query q = {.n = 0};
    struct extract_options o = {.query = &q,
                                .max = EXTRACT_MAX_PICKS,
                                .first = LEAST_SCORE,
                                .least = LEAST_SCORE,
                                .least_share = LEAST_SHARE};
    enum rc rc = add_words(m, t->text, 1, &q);
    size_t n, first = m->n_sections;

    if (rc != RC_OK) {
        return rc;
    }
    /* Pages that share a stray word with the request are no parts of it. */
    n = m->relevance[aim] < HALF_RELEVANT ? 0
                                          : extract_pick(&m->corpus, &o, picks);
    for (size_t i = 0; i < n; i++) {
        struct section *s = NULL;
        for (size_t k = first; k < m->n_sections; k++) {
            if (strcmp(m->sections[k].title, picks[i]->from->title) == 0) {
                s = &m->sections[k];
            }
        }
        s = s != NULL ? s : new_section(m, aim, picks[i]->from->title);
        if (s == NULL) {
            break;
        }
        s->by_page = true;
        s->strong = true;
        take_picks(m, s, &picks[i], 1, SIDE_NONE);
    }
    return RC_OK;
}

/* A comparison without aspects: what speaks of both, then of each. */
static enum rc choose_sides(struct making *m, size_t aim)
{
    static const enum side order[] = {SIDE_BOTH, SIDE_FIRST, SIDE_SECOND};
    struct sentence *picks[EXTRACT_MAX_PICKS];

    for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++) {
        struct query q = {.n = 0};
        struct extract_options o = {.query = &q,
                                    .define = true,
                                    .max = EXTRACT_MAX_PICKS,
                                    .first = LEAST_SCORE,
                                    .least = LEAST_SCORE,
                                    .least_share = LEAST_SHARE};
        struct section *s;
        enum rc rc = RC_OK;

        for (int i = 0; i < 2 && rc == RC_OK; i++) {
            bool own = order[k] != (i == 0 ? SIDE_SECOND : SIDE_FIRST);
            rc = own ? add_words(m, m->sides[i], 1, &q) : RC_OK;
        }
        s = rc == RC_OK ? new_section(m, aim, section_name(m, order[k])) : NULL;
        if (s == NULL || s->title == NULL) {
            return rc != RC_OK || s != NULL ? RC_NOMEM : RC_OK;
        }
        s->by_page = true;
        take_picks(m, s, picks, extract_pick(&m->corpus, &o, picks), order[k]);
        s->strong = s->n > 0;
        if (s->n == 0 && order[k] == SIDE_BOTH) {
            m->n_sections--;
        }
    }
    return RC_OK;
}

static enum rc choose_aim(struct making *m, size_t aim)
{
    const struct topic *t = &m->order->aims[aim].topic;
    bool request = m->order->aims[aim].of->kind == SCENE_REQUEST;
    const char *titles[TOPIC_MAX_ASPECTS];
    size_t n = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < t->n_aspects; i++) {
        titles[n++] = t->aspect[i];
    }
    if (n == 0 && t->side[0] != NULL && t->side[0] == m->sides[0]) {
        return choose_sides(m, aim);
    }
    if (n == 0 && !request && t->subject != NULL) {
        titles[n++] = t->subject;
    }
    if (n == 0) {
        return choose_by_page(m, aim);
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct section *s = new_section(m, aim, titles[i]);
        if (s == NULL) {
            break;
        }
        rc = choose_aspect(m, titles[i], t, s);
    }
    return rc;
}

/* The best sentences of a section that keeps enough go to the summary, the
 * second one only if it speaks of another side. */
static size_t promote_from(struct section *s, size_t most)
{
    size_t promoted = 0;
    enum side first = SIDE__MAX;

    for (size_t i = 0; i < s->n && promoted < most; i++) {
        if (s->n - promoted < PROMOTE_FROM || s->side[i] == first ||
            (first != SIDE__MAX && count_side(s, s->side[i]) < 2)) {
            continue;
        }
        s->promoted[i] = true;
        promoted++;
        first = s->side[i];
    }
    return promoted;
}

static void promote(struct making *m)
{
    size_t promoted = 0;

    for (size_t k = 0; k < m->n_sections && promoted < MAX_SUMMARY; k++) {
        size_t left = MAX_SUMMARY - promoted;
        promoted += promote_from(
            &m->sections[k], left < SECTION_SUMMARY ? left : SECTION_SUMMARY);
    }
}

static enum rc choose(struct making *m)
{
    const struct report_order *o = m->order;
    enum rc rc = sentence_corpus(m->a, o->scene->passages, o->scene->n_passages,
                                 &m->corpus);

    for (size_t i = 0; i < o->n_aims && m->sides[0] == NULL; i++) {
        m->sides[0] = o->aims[i].topic.side[0];
        m->sides[1] = o->aims[i].topic.side[1];
    }
    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        rc = add_words(m, m->sides[i], 1, &m->side[i]);
    }
    for (size_t i = 0; i < o->n_aims && rc == RC_OK; i++) {
        struct query q = {.n = 0};
        if (o->aims[i].echo) {
            continue;
        }
        rc = add_words(m, o->aims[i].topic.text, 1, &q);
        if (rc == RC_OK) {
            m->relevance[i] = extract_relevance(&m->corpus, &q);
            rc = choose_aim(m, i);
        }
    }
    if (rc == RC_OK) {
        promote(m);
    }
    return rc;
}

/* --- writing
 * ------------------------------------------------------------------------ */

static void put_heading(struct buf *out, const char *mark, const char *text)
{
    size_t at;

    buf_puts(out, out->len > 0 ? "\n\n" : "");
    buf_puts(out, mark);
    at = out->len;
    quote_plain(out, text, strlen(text), TITLE_BYTES);
    if (out->len > at && islower((unsigned char)out->data[at])) {
        out->data[at] = (char)toupper((unsigned char)out->data[at]);
    }
}

static void put_summary(struct making *m, struct buf *out)
{
    bool any = false;

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        for (size_t i = 0; i < s->n; i++) {
            if (!s->promoted[i]) {
                continue;
            }
            if (!any) {
                buf_puts(out, "\n\n**");
                say_put(out, m->chinese, SAY_SUMMARY, NULL, NULL, NULL);
                buf_puts(out, "**\n");
                any = true;
            }
            buf_puts(out, "\n- ");
            quote_sentence(out, s->picks[i]);
        }
    }
}

static bool room(const struct making *m, const struct buf *out)
{
    return out->len < m->order->max_bytes;
}

static void put_group(struct making *m, const struct section *s, enum side side,
                      struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < s->n && room(m, out); i++) {
        if (s->side[i] != side || s->promoted[i]) {
            continue;
        }
        if (!any) {
            buf_puts(out, "\n");
        }
        any = true;
        buf_puts(out, "\n- ");
        quote_sentence(out, s->picks[i]);
    }
}

static void put_side_name(struct making *m, enum side side, struct buf *out)
{
    buf_puts(out, "\n\n**");
    switch (side) {
    case SIDE_FIRST:
    case SIDE_SECOND: {
        const char *name = m->sides[side == SIDE_FIRST ? 0 : 1];
        size_t at = out->len;
        quote_plain(out, name, strlen(name), TITLE_BYTES);
        if (out->len > at) {
            out->data[at] = (char)toupper((unsigned char)out->data[at]);
        }
        break;
    }
    case SIDE_BOTH:
        say_put(out, m->chinese, SAY_BOTH, m->sides[0], m->sides[1], NULL);
        break;
    case SIDE_NONE:
    case SIDE__MAX:
        say_put(out, m->chinese, SAY_IN_GENERAL, NULL, NULL, NULL);
        break;
    }
    buf_puts(out, "**");
}

static bool shows(const struct section *s, enum side side)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->side[i] == side && !s->promoted[i]) {
            return true;
        }
    }
    return false;
}

static void put_section(struct making *m, const struct section *s,
                        struct buf *out)
{
    static const enum side order[] = {SIDE_BOTH, SIDE_FIRST, SIDE_SECOND,
                                      SIDE_NONE};
    const struct scene_requirement *of = m->order->aims[s->aim].of;

    put_heading(out, "## ", s->title);
    if (of->kind == SCENE_ADJUSTMENT) {
        struct buf text;
        buf_init(&text, 1024);
        quote_plain(&text, of->text, strlen(of->text), TITLE_BYTES);
        buf_puts(out, "\n\n*");
        say_put(out, m->chinese, SAY_ADJUSTED, buf_str(&text), NULL, NULL);
        buf_puts(out, "*");
        buf_free(&text);
    }
    if (s->n == 0) {
        buf_puts(out, "\n\n");
        say_put(out, m->chinese, SAY_NONE_ON, s->title, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        if (!shows(s, order[i]) || !room(m, out)) {
            continue;
        }
        if (m->sides[0] != NULL && !s->by_page) {
            put_side_name(m, order[i], out);
        }
        put_group(m, s, order[i], out);
    }
}

/* Words of a requirement that stand nowhere in what was found. */
static enum rc put_unknown(struct making *m, size_t aim, struct buf *out)
{
    struct query q = {.n = 0};
    enum rc rc = add_words(m, m->order->aims[aim].topic.text, 1, &q);

    for (size_t i = 0; rc == RC_OK && i < q.n; i++) {
        const struct query_term *t = &q.v[i];
        if (t->weight >= 1 && !t->cjk && !extract_known(&m->corpus, t)) {
            buf_puts(out, out->len > 0 ? ", " : "");
            quote_plain(out, t->text, t->len, 60);
        }
    }
    return rc;
}

static void put_gap(struct making *m, struct buf *gaps, enum say what,
                    const char *one, const char *two)
{
    buf_puts(gaps, "\n- ");
    say_put(gaps, m->chinese, what, one, two, NULL);
}

static enum rc put_gaps(struct making *m, struct buf *out)
{
    struct buf gaps, words;
    enum rc rc = RC_OK;

    buf_init(&gaps, REPORT_MAX_BYTES);
    buf_init(&words, 2048);
    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        size_t both = count_side(s, SIDE_BOTH);
        if (s->n == 0) {
            put_gap(m, &gaps, SAY_NONE_ON, s->title, NULL);
            continue;
        }
        for (int i = 0; i < 2 && m->sides[i] != NULL && !s->by_page; i++) {
            enum side side = i == 0 ? SIDE_FIRST : SIDE_SECOND;
            bool itself = s->title == m->sides[0] || s->title == m->sides[1];
            if (!itself && both + count_side(s, side) == 0) {
                put_gap(m, &gaps, SAY_NONE_ON_SIDE, s->title, m->sides[i]);
            }
        }
    }
    for (size_t i = 0; i < m->order->n_aims && rc == RC_OK; i++) {
        buf_clear(&words);
        rc = m->order->aims[i].echo ? RC_OK : put_unknown(m, i, &words);
        if (words.len > 0) {
            put_gap(m, &gaps, SAY_NOT_MENTIONED, buf_str(&words), NULL);
        }
    }
    if (gaps.len > 0) {
        buf_puts(out, "\n\n## ");
        say_put(out, m->chinese, SAY_GAPS, NULL, NULL, NULL);
        buf_puts(out, "\n");
        buf_add(out, gaps.data, gaps.len);
    }
    buf_free(&words);
    buf_free(&gaps);
    return rc;
}

/* All that was quoted for one requirement, or for all (SIZE_MAX). */
static void count_sources(const struct making *m, size_t aim, char passages[24],
                          char pages[24])
{
    struct sentence *all[MAX_SECTIONS * EXTRACT_MAX_PICKS];
    size_t n = 0, distinct = 0;
    struct buf unused;

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        for (size_t i = 0; (aim == SIZE_MAX || s->aim == aim) && i < s->n;
             i++) {
            all[n++] = s->picks[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) {
            seen = seen || all[k]->from == all[i]->from;
        }
        distinct += seen ? 0 : 1;
    }
    buf_init(&unused, 16);
    snprintf(passages, 24, "%zu", distinct);
    snprintf(pages, 24, "%zu", answer_pages(&unused, all, n, 0));
    buf_free(&unused);
}

static void put_method(struct making *m, struct buf *out)
{
    char passages[24], pages[24];

    count_sources(m, SIZE_MAX, passages, pages);
    buf_puts(out, "\n\n*");
    if (m->order->scene->n_passages == 0) {
        say_put(out, m->chinese, SAY_NOT_SEARCHED, NULL, NULL, NULL);
    } else {
        say_put(out, m->chinese, SAY_METHOD, passages, pages, NULL);
    }
    buf_puts(out, "*\n");
}

static enum rc write_report(struct making *m, struct buf *out)
{
    enum rc rc;

    put_heading(out, "# ", m->order->aims[0].topic.text);
    if (m->order->assumed[0] != '\0') {
        struct buf text;
        buf_init(&text, 1024);
        quote_plain(&text, m->order->assumed, strlen(m->order->assumed),
                    TITLE_BYTES);
        buf_puts(out, "\n\n");
        say_put(out, m->chinese, SAY_ASSUMED, buf_str(&text), NULL, NULL);
        buf_free(&text);
    }
    put_summary(m, out);
    for (size_t k = 0; k < m->n_sections; k++) {
        put_section(m, &m->sections[k], out);
    }
    rc = put_gaps(m, out);
    put_method(m, out);
    return rc == RC_OK ? buf_rc(out) : rc;
}

/* --- coverage
 * ------------------------------------------------------------------------ */

/* Judged by what was found: each part needs a sentence with its words, each
 * side of a comparison a sentence somewhere. missing gets what lacks. */
static enum status judge(const struct making *m, size_t aim,
                         struct buf *missing)
{
    size_t sections = 0, strong = 0, quotes = 0, side[2] = {0, 0};
    const char *first = m->order->aims[aim].topic.side[0];
    bool compares = first != NULL && first == m->sides[0];

    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];
        if (s->aim != aim) {
            continue;
        }
        sections++;
        quotes += s->n;
        strong += s->strong ? 1 : 0;
        side[0] += count_side(s, SIDE_FIRST) + count_side(s, SIDE_BOTH);
        side[1] += count_side(s, SIDE_SECOND) + count_side(s, SIDE_BOTH);
        if (!s->strong) {
            buf_puts(missing, missing->len > 0 ? ", " : "");
            quote_plain(missing, s->title, strlen(s->title), 100);
        }
    }
    for (int i = 0; i < 2 && compares; i++) {
        if (side[i] == 0) {
            buf_puts(missing, missing->len > 0 ? ", " : "");
            quote_plain(missing, m->sides[i], strlen(m->sides[i]), 100);
        }
    }
    if (quotes == 0 || m->relevance[aim] < HALF_RELEVANT) {
        return STATUS_NOT_COVERED;
    }
    return strong == sections && missing->len == 0 &&
                   m->relevance[aim] >= RELEVANT
               ? STATUS_COVERED
               : STATUS_PARTIAL;
}

static void put_note(struct making *m, size_t aim, enum status status,
                     struct buf *missing, struct buf *out)
{
    const char *text = m->order->aims[aim].topic.text;
    char passages[24], pages[24];

    if (status != STATUS_COVERED && missing->len == 0) {
        const char *terms = topic_terms(m->a, text, strlen(text));
        terms = terms == NULL || terms[0] == '\0' ? text : terms;
        quote_plain(missing, terms, strlen(terms), 200);
    }
    switch (status) {
    case STATUS_COVERED:
        count_sources(m, aim, passages, pages);
        say_put(out, m->chinese, SAY_NOTE_COVERED, passages, pages, NULL);
        break;
    case STATUS_PARTIAL:
        say_put(out, m->chinese, SAY_NOTE_PARTIAL, buf_str(missing), NULL,
                NULL);
        break;
    case STATUS_NOT_COVERED:
        say_put(out, m->chinese, SAY_NOTE_MISSING, buf_str(missing), NULL,
                NULL);
        break;
    }
}

/* Each passage that was quoted for it, once. */
static void put_evidence(const struct making *m, size_t aim, struct json_out *j)
{
    const struct passage *seen[MAX_SECTIONS * EXTRACT_MAX_PICKS];
    size_t n = 0;

    json_key(j, "sources");
    json_open_array(j);
    for (size_t k = 0; k < m->n_sections; k++) {
        const struct section *s = &m->sections[k];

        for (size_t i = 0; s->aim == aim && i < s->n; i++) {
            const struct passage *from = s->picks[i]->from;
            size_t at = 0;

            while (at < n && seen[at] != from) {
                at++;
            }
            if (at == n) {
                seen[n++] = from;
                json_put_i64(j, from->n);
            }
        }
    }
    json_close_array(j);
}

static void put_coverage(struct making *m, struct json_out *j)
{
    static const char *const names[] = {"covered", "partial", "not_covered"};

    json_key(j, "coverage");
    json_open_array(j);
    for (size_t i = 0; i < m->order->n_aims; i++) {
        struct buf missing, text;
        enum status status;
        size_t of;

        buf_init(&missing, 2048);
        buf_init(&text, 4096);
        of = m->order->aims[i].echo ? 0 : i;
        status = judge(m, of, &missing);
        put_note(m, of, status, &missing, &text);
        json_open_object(j);
        json_kstr(j, "id", m->order->aims[i].of->id);
        json_kstr(j, "status", names[status]);
        json_kstr(j, "note", buf_str(&text));
        put_evidence(m, of, j);
        json_close_object(j);
        buf_free(&missing);
        buf_free(&text);
    }
    json_close_array(j);
}

/* --- both products
 * ------------------------------------------------------------------- */

static struct making *begin(struct arena *a, const struct report_order *o)
{
    struct making *m = arena_alloc(a, sizeof(*m));

    if (m != NULL) {
        m->a = a;
        m->order = o;
        m->chinese = o->scene->chinese;
    }
    return m;
}

/* A report as arguments, with or without what it covers. */
static enum rc put_report(struct arena *a, const struct report_order *o,
                          bool covers, struct buf *out)
{
    struct making *m = begin(a, o);
    struct json_out j;
    struct buf report;
    enum rc rc = m == NULL ? RC_NOMEM : choose(m);

    if (rc != RC_OK) {
        return rc;
    }
    buf_init(&report, (size_t)4 * REPORT_MAX_BYTES);
    rc = write_report(m, &report);
    if (rc == RC_OK) {
        json_begin(&j, out);
        json_open_object(&j);
        json_kstr(&j, "report", buf_str(&report));
        if (covers) {
            put_coverage(m, &j);
        }
        json_close_object(&j);
        rc = json_end(&j);
    }
    buf_free(&report);
    return rc;
}

enum rc report_deliver(struct arena *a, const struct report_order *o,
                       struct buf *out)
{
    return put_report(a, o, true, out);
}

enum rc report_draft(struct arena *a, const struct report_order *o,
                     struct buf *out)
{
    return put_report(a, o, false, out);
}

enum rc report_note(struct arena *a, const struct report_order *o,
                    struct buf *out)
{
    struct making *m = begin(a, o);
    enum rc rc = m == NULL ? RC_NOMEM : choose(m);
    size_t lines = 0;

    for (size_t turn = 0; rc == RC_OK && turn < EXTRACT_MAX_PICKS; turn++) {
        for (size_t k = 0; k < m->n_sections && lines < NOTE_LINES; k++) {
            const struct section *s = &m->sections[k];
            const char *line;
            if (turn >= s->n) {
                continue;
            }
            line = scene_note_line(a, s->picks[turn]->from,
                                   s->picks[turn]->text, s->picks[turn]->len);
            if (line == NULL) {
                return RC_NOMEM;
            }
            buf_puts(out, lines > 0 ? "\n" : "");
            buf_puts(out, line);
            lines++;
        }
    }
    return rc == RC_OK ? buf_rc(out) : rc;
}
