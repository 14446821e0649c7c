/* report_choose.c - which sentences a report is made of.
 *
 * A section for each aspect, side or page that was asked for, and in it the
 * sentences that hold its words best; the best of all go to the summary. */
#include "fcgi/offline/report_inside.h"

#include <string.h>

#include "fcgi/offline/say.h"

#define SECTION_PICKS   7
#define LEAST_SCORE     0.22
#define LEAST_SHARE     0.2
#define SIDE_PICKS      3 /* more for a side of which nothing was found yet */
#define PROMOTE_FROM    3 /* a section this large gives to the summary */
#define MAX_SUMMARY     5
#define SECTION_SUMMARY 2
#define CONTEXT_SCALE   0.25
#define NAMED           0.6 /* of a side's words: one of two may mean something else */
#define STRONG          0.6 /* of the aspect's words */
enum rc report_words(struct making *m, const char *text, double scale,
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

size_t report_count_side(const struct section *s, enum side side)
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
    enum rc rc = report_words(m, aspect, 1, &must);

    q = must;
    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        rc = report_words(m, m->sides[i], CONTEXT_SCALE, &q);
    }
    if (rc == RC_OK) {
        rc = report_words(m, t->subject, CONTEXT_SCALE, &q);
    }
    if (rc != RC_OK) {
        return rc;
    }
    take_picks(m, s, picks, extract_pick(&m->corpus, &o, picks), SIDE_NONE);
    for (int i = 0; i < 2 && m->sides[i] != NULL; i++) {
        enum side side = i == 0 ? SIDE_FIRST : SIDE_SECOND;
        if (report_count_side(s, side) + report_count_side(s, SIDE_BOTH) > 1) {
            continue;
        }
        q = must;
        rc = report_words(m, m->sides[i], 1, &q);
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
    if (m->n_sections == REPORT_MAX_SECTIONS) {
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
    enum rc rc = report_words(m, t->text, 1, &q);
    size_t n, first = m->n_sections;

    if (rc != RC_OK) {
        return rc;
    }
    /* Pages that share a stray word with the request are no parts of it. */
    n = m->relevance[aim] < REPORT_HALF_RELEVANT
            ? 0
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
            rc = own ? report_words(m, m->sides[i], 1, &q) : RC_OK;
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
            (first != SIDE__MAX && report_count_side(s, s->side[i]) < 2)) {
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

enum rc report_choose(struct making *m)
{
    const struct report_order *o = m->order;
    enum rc rc = sentence_corpus(m->a, o->scene->passages, o->scene->n_passages,
                                 &m->corpus);

    for (size_t i = 0; i < o->n_aims && m->sides[0] == NULL; i++) {
        m->sides[0] = o->aims[i].topic.side[0];
        m->sides[1] = o->aims[i].topic.side[1];
    }
    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        rc = report_words(m, m->sides[i], 1, &m->side[i]);
    }
    for (size_t i = 0; i < o->n_aims && rc == RC_OK; i++) {
        struct query q = {.n = 0};
        if (o->aims[i].echo) {
            continue;
        }
        rc = report_words(m, o->aims[i].topic.text, 1, &q);
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
