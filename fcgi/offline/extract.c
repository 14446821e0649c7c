#include "fcgi/offline/extract.h"

#include <math.h>
#include <string.h>

/* A word in a heading, against one in the sentence itself. */
#define HEAD_SHARE  0.4
#define TAIL_SHARE  0.55 /* in the innermost heading */
#define FOCUS_SHARE 0.8  /* which says hardly anything else */
#define FOCUS_WORDS 3
#define DEFINITION  1.35 /* for a definition, where one is asked for */
#define TOO_ALIKE   0.5  /* shared words of two sentences */
#define SAME_PAGE   0.88 /* for each sentence already taken from the page */
#define WEIGHT_WEAK 0.3
#define WEIGHT_VERB 0.15
#define FULL_WEIGHT 0.5 /* terms from here on are about the subject */

static double base_weight(enum word_weight w)
{
    switch (w) {
    case WORD_FULL:
        return 1;
    case WORD_WEAK:
        return WEIGHT_WEAK;
    case WORD_VERB:
        return WEIGHT_VERB;
    case WORD_STOP:
        return 0;
    }
    return 0;
}

static bool has_term(const struct query *q, uint32_t key)
{
    for (size_t i = 0; i < q->n; i++) {
        if (q->v[i].key == key) {
            return true;
        }
    }
    return false;
}

enum rc extract_query_add(struct arena *a, const char *text, size_t len,
                          double scale, struct query *q)
{
    struct words w;
    enum rc rc = words_split(a, text, len, &w);

    if (rc != RC_OK) {
        return rc;
    }
    for (size_t i = 0; i < w.n && q->n < EXTRACT_MAX_TERMS; i++) {
        double weight = base_weight(w.v[i].weight) * scale;

        if (weight > 0 && !has_term(q, w.v[i].key)) {
            q->v[q->n++] = (struct query_term){.key = w.v[i].key,
                                               .weight = weight,
                                               .cjk = w.v[i].cjk,
                                               .text = text + w.v[i].at,
                                               .len = w.v[i].len};
        }
    }
    return RC_OK;
}

static bool in_sentence(const struct sentence *s, uint32_t key)
{
    size_t low = 0, high = s->n_keys;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->keys[mid] == key) {
            return true;
        }
        if (s->keys[mid] < key) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return false;
}

static bool in_head(const struct corpus *c, const struct passage *p,
                    uint32_t key)
{
    const struct words *w = &c->heads[p - c->passages];

    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i].key == key) {
            return true;
        }
    }
    return false;
}

/* A query in Chinese over documents without any: its Chinese words say nothing
 * about relevance, as long as others remain. */
static bool counts(const struct query *q, const struct query_term *t,
                   bool corpus_cjk)
{
    if (!t->cjk || corpus_cjk) {
        return true;
    }
    for (size_t i = 0; i < q->n; i++) {
        if (!q->v[i].cjk) {
            return false;
        }
    }
    return true;
}

static bool corpus_has_cjk(const struct corpus *c)
{
    for (size_t i = 0; i < c->n_passages; i++) {
        const struct passage *p = &c->passages[i];
        if (words_has_cjk(p->text, sentence_text_len(p))) {
            return true;
        }
    }
    return false;
}

static double total_weight(const struct query *q, bool cjk)
{
    double total = 0;

    for (size_t i = 0; i < q->n; i++) {
        total += counts(q, &q->v[i], cjk) ? q->v[i].weight : 0;
    }
    return total;
}

double extract_match(const struct sentence *s, const struct query *q)
{
    double total = total_weight(q, true), hit = 0;

    for (size_t i = 0; i < q->n; i++) {
        hit += in_sentence(s, q->v[i].key) ? q->v[i].weight : 0;
    }
    return total > 0 ? hit / total : 0;
}

double extract_head_match(const struct corpus *c, const struct passage *p,
                          const struct query *q)
{
    double total = total_weight(q, true), hit = 0;

    for (size_t i = 0; i < q->n; i++) {
        hit += in_head(c, p, q->v[i].key) ? q->v[i].weight : 0;
    }
    return total > 0 ? hit / total : 0;
}

double extract_relevance(const struct corpus *c, const struct query *q)
{
    bool cjk = corpus_has_cjk(c);
    double total = total_weight(q, cjk), best = 0;
    size_t s = 0;

    for (size_t p = 0; p < c->n_passages && total > 0; p++) {
        bool seen[EXTRACT_MAX_TERMS] = {false};
        double hit = 0;

        for (; s < c->n && c->v[s].from == &c->passages[p]; s++) {
            for (size_t t = 0; t < q->n; t++) {
                seen[t] = seen[t] || in_sentence(&c->v[s], q->v[t].key);
            }
        }
        for (size_t t = 0; t < q->n; t++) {
            if (counts(q, &q->v[t], cjk) &&
                (seen[t] || in_head(c, &c->passages[p], q->v[t].key))) {
                hit += q->v[t].weight;
            }
        }
        best = hit / total > best ? hit / total : best;
    }
    return best;
}

bool extract_known(const struct corpus *c, const struct query_term *t)
{
    for (size_t i = 0; i < c->n; i++) {
        if (in_sentence(&c->v[i], t->key)) {
            return true;
        }
    }
    for (size_t i = 0; i < c->n_passages; i++) {
        if (in_head(c, &c->passages[i], t->key)) {
            return true;
        }
    }
    return false;
}

/* --- ranking ---------------------------------------------------------------
 */

/* A term's weight times how rare it is among the sentences. */
static void weigh_terms(const struct corpus *c, const struct query *q,
                        double out[EXTRACT_MAX_TERMS])
{
    for (size_t t = 0; t < q->n; t++) {
        size_t seen = 0;
        for (size_t i = 0; i < c->n; i++) {
            seen += in_sentence(&c->v[i], q->v[t].key) ? 1 : 0;
        }
        out[t] =
            q->v[t].weight * log(1.5 + (double)c->n / (1.0 + (double)seen));
    }
}

/* The subject's words must stand where the options ask for them. */
static bool admitted(const struct corpus *c, const struct sentence *s,
                     const struct extract_options *o)
{
    const struct query *q = o->must != NULL ? o->must : o->query;

    if (s->used || s->form <= 0) {
        return false;
    }

    for (size_t t = 0; t < q->n; t++) {
        if (q->v[t].weight < FULL_WEIGHT && q->n > 1) {
            continue;
        }
        if (in_sentence(s, q->v[t].key) ||
            (o->must != NULL && in_head(c, s->from, q->v[t].key))) {
            return true;
        }
    }
    return false;
}

static double head_share(const struct corpus *c, const struct passage *p,
                         uint32_t key)
{
    const struct words *w = &c->tails[p - c->passages];

    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i].key == key) {
            return w->n <= FOCUS_WORDS ? FOCUS_SHARE : TAIL_SHARE;
        }
    }
    return HEAD_SHARE;
}

static double score(const struct corpus *c, const struct sentence *s,
                    const struct extract_options *o,
                    const double weights[EXTRACT_MAX_TERMS])
{
    const struct query *q = o->query;
    double hit = 0, total = 0;

    for (size_t t = 0; t < q->n; t++) {
        total += weights[t];
        if (in_sentence(s, q->v[t].key)) {
            hit += weights[t];
            /* "WAL is ...": a sentence about the word itself. */
            hit += s->first_key == q->v[t].key ? 0.15 * weights[t] : 0;
        } else if (in_head(c, s->from, q->v[t].key)) {
            hit += head_share(c, s->from, q->v[t].key) * weights[t];
        }
    }
    if (total <= 0) {
        return 0;
    }
    hit = hit / total * s->form;
    if (o->define && s->defines && extract_match(s, q) > 0.9) {
        hit *= DEFINITION;
    }
    if (s->dangling) {
        hit *= s->before != NULL && !s->before->used ? 0.85 : 0.5;
    }
    return hit;
}

/* Words in common, against the smaller of both. */
static double alike(const struct sentence *a, const struct sentence *b)
{
    size_t i = 0, j = 0, same = 0;
    size_t least = a->n_keys < b->n_keys ? a->n_keys : b->n_keys;

    while (i < a->n_keys && j < b->n_keys) {
        if (a->keys[i] == b->keys[j]) {
            same++;
            i++;
            j++;
        } else if (a->keys[i] < b->keys[j]) {
            i++;
        } else {
            j++;
        }
    }
    return least == 0 ? 1 : (double)same / (double)least;
}

/* What is left of a score beside the sentences already quoted. */
static double novelty(const struct corpus *c, const struct sentence *s,
                      struct sentence *const *picked, size_t n)
{
    double left = 1;

    for (size_t i = 0; i < c->n_used; i++) {
        if (alike(s, c->used[i]) > 0.8) {
            return 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        double a = alike(s, picked[i]);
        if (a > TOO_ALIKE) {
            left *= 1 - a;
        }
        if (strcmp(s->from->location, picked[i]->from->location) == 0) {
            left *= SAME_PAGE;
        }
    }
    return left;
}

static void mark_used(struct corpus *c, const struct sentence *s)
{
    c->v[s - c->v].used = true;
    if (c->n_used < SENTENCE_MAX_USED) {
        c->used[c->n_used++] = s;
    }
    if (s->dangling && s->before != NULL) {
        c->v[s->before - c->v].used = true;
    }
}

size_t extract_pick(struct corpus *c, const struct extract_options *o,
                    struct sentence **out)
{
    double weights[EXTRACT_MAX_TERMS], top = 0;
    size_t n = 0;

    weigh_terms(c, o->query, weights);
    while (n < o->max && n < EXTRACT_MAX_PICKS) {
        struct sentence *best = NULL;
        double best_score = n == 0 ? o->first : o->least;

        for (size_t i = 0; i < c->n; i++) {
            double is = 0;
            if (admitted(c, &c->v[i], o)) {
                is = score(c, &c->v[i], o, weights);
            }
            if (is > best_score) {
                is *= novelty(c, &c->v[i], out, n);
            }
            if (is > best_score) {
                best_score = is;
                best = &c->v[i];
            }
        }
        /* What scores far below the best would only pad the answer. */
        if (best == NULL || best_score < o->least_share * top) {
            break;
        }
        top = n == 0 ? best_score : top;
        mark_used(c, best);
        out[n++] = best;
    }
    return n;
}
