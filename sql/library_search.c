/* library_search.c - the passages that answer a text: found, ranked and
 * sifted. */
#include "sql/library.h"

#include <stdlib.h>

#include "sql/db.h"
#include "sql/library_inside.h"
#include "sql/library_query.h"

/* Hits fetched for each that is wanted, since some are dropped. */
#define FETCH_FACTOR 6
/* Weights of a hit, beside that of its words. */
#define LINKS_SHARE    0.4
#define MOST_RAISE     0.5
#define SMALL_DOCUMENT 4
/* Passages that a query may rank: some microseconds each. Of more that fit,
 * those that were stored last are ranked. */
#define MOST_RANKED 6000
/* A term in so many passages tells little. */
#define COMMON_TERM 2000

struct hit {
    int64_t seq;
    int64_t document_id;
    int64_t start_hash;
    int64_t document_size; /* passages */
    double score;
};

/* What is to be given out. */
struct hits {
    const char *owner; /* for whom: "" for nobody's own documents */
    struct hit hit[LIBRARY_MAX_RESULTS];
    size_t n;
    size_t limit;
};

/* What one query found, before it is sifted. */
struct finds {
    struct hit hit[LIBRARY_MAX_RESULTS * FETCH_FACTOR];
    size_t n;
};

static int by_score(const void *a, const void *b)
{
    const struct hit *x = a;
    const struct hit *y = b;

    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* A document of which a large part was found is about the subject: its
 * passages go before equal ones of a document that mentions it in passing. */
static void raise_subjects(struct finds *finds)
{
    double raise[LIBRARY_MAX_RESULTS * FETCH_FACTOR];

    for (size_t i = 0; i < finds->n; i++) {
        size_t same = 0;

        for (size_t k = 0; k < finds->n; k++) {
            same += finds->hit[k].document_id == finds->hit[i].document_id;
        }
        raise[i] = (double)(same - 1) /
                   (double)(finds->hit[i].document_size + SMALL_DOCUMENT);
        raise[i] = raise[i] < MOST_RAISE ? raise[i] : MOST_RAISE;
    }
    for (size_t i = 0; i < finds->n; i++) {
        finds->hit[i].score *= 1 + raise[i];
    }
    qsort(finds->hit, finds->n, sizeof(finds->hit[0]), by_score);
}

static enum rc find(struct library *lib, const struct hits *hits,
                    const char *query, struct finds *finds)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_SEARCH);

    finds->n = 0;
    db_bind_text(q, ":query", query);
    db_bind_text(q, ":owner", hits->owner);
    db_bind_i64(q, ":ranked", MOST_RANKED);
    db_bind_i64(q, ":limit", (int64_t)(hits->limit * FETCH_FACTOR));
    while (db_next(q)) {
        double share = db_i64(q, 3) != 0 ? LINKS_SHARE : 1;

        finds->hit[finds->n++] = (struct hit){.seq = db_i64(q, 0),
                                              .document_id = db_i64(q, 1),
                                              .start_hash = db_i64(q, 2),
                                              .score = -db_real(q, 4) * share,
                                              .document_size = db_i64(q, 5)};
    }
    return db_end(q);
}

/* Whether a hit adds something: not a copy of one that is in, and not one
 * more of a document that is well represented. */
static bool is_news(const struct hits *hits, const struct hit *h)
{
    size_t of_document = 0;

    for (size_t i = 0; i < hits->n; i++) {
        if (hits->hit[i].start_hash == h->start_hash) {
            return false;
        }
        of_document += hits->hit[i].document_id == h->document_id;
    }
    return of_document < LIBRARY_MAX_PER_DOCUMENT;
}

static enum rc gather(struct library *lib, const struct library_terms *terms,
                      const char *glue, struct hits *hits)
{
    const char *query = library_query_join(terms, glue, lib->work);
    struct finds *finds = arena_alloc(lib->work, sizeof(*finds));
    enum rc rc;

    if (query == NULL || finds == NULL) {
        return RC_TOO_LARGE;
    }
    rc = find(lib, hits, query, finds);
    if (rc != RC_OK) {
        return rc;
    }
    raise_subjects(finds);
    for (size_t i = 0; i < finds->n && hits->n < hits->limit; i++) {
        if (is_news(hits, &finds->hit[i])) {
            hits->hit[hits->n++] = finds->hit[i];
        }
    }
    return RC_OK;
}

struct counted {
    const char *term;
    int64_t count; /* passages with it, at most COMMON_TERM */
};

static int by_count(const void *a, const void *b)
{
    const struct counted *x = a;
    const struct counted *y = b;

    return x->count < y->count ? -1 : x->count > y->count;
}

static enum rc count_term(struct library *lib, const char *owner,
                          struct counted *c)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_TERM_COUNT);

    db_bind_text(q, ":query", c->term);
    db_bind_text(q, ":owner", owner);
    db_bind_i64(q, ":limit", COMMON_TERM);
    return db_one_i64(q, &c->count);
}

/* The rarest terms, as many as can be ranked at once. Rare words tell most,
 * and common ones would take the time. None if all are common. */
static enum rc keep_rare(struct library *lib, const char *owner,
                         struct library_terms *terms)
{
    struct counted all[LIBRARY_QUERY_MAX_TERMS] = {{NULL, 0}};
    size_t n = terms->n;
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        enum rc rc;

        all[i].term = terms->term[i];
        rc = count_term(lib, owner, &all[i]);
        if (rc != RC_OK) {
            return rc;
        }
    }
    qsort(all, n, sizeof(all[0]), by_count);
    terms->n = 0;
    for (size_t i = 0; i < n && all[i].count < COMMON_TERM; i++) {
        sum += all[i].count;
        if (all[i].count > 0 && sum <= MOST_RANKED) {
            terms->term[terms->n++] = all[i].term;
        }
    }
    return RC_OK;
}

/* All words first, then any of them. */
static enum rc find_hits(struct library *lib, const char *text,
                         struct hits *hits)
{
    struct library_terms terms;
    struct library_terms rare;
    enum rc rc = library_query_terms(text, lib->work, &terms);

    if (rc != RC_OK || terms.n == 0) {
        return rc;
    }
    rc = gather(lib, &terms, " AND ", hits);
    if (rc != RC_OK || hits->n == hits->limit || terms.n == 1) {
        return rc;
    }
    rare = terms;
    rc = keep_rare(lib, hits->owner, &rare);
    if (rc == RC_OK && rare.n > 0) {
        rc = gather(lib, &rare, " OR ", hits);
    } else if (rc == RC_OK && hits->n == 0) {
        rc = gather(lib, &terms, " OR ", hits);
    }
    return rc;
}

static enum rc load_passage(struct library *lib, const struct hit *h,
                            struct arena *arena, struct library_passage *out)
{
    struct dbq *q = db_use(lib->db, STMT_LIBRARY_PASSAGE_GET);
    bool found;
    enum rc rc;

    db_bind_i64(q, ":seq", h->seq);
    found = db_next(q);
    if (found) {
        *out = (struct library_passage){
            .id = db_i64(q, 0),
            .n = db_i64(q, 1),
            .title = db_text(q, 2, arena),
            .path = library_shown_path(db_text(q, 3, arena)),
            .heading = db_text(q, 4, arena),
            .text = db_text(q, 5, arena),
            .score = h->score};
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc library_search(struct library *lib, const char *owner, const char *text,
                       size_t limit, struct arena *arena,
                       struct library_passage *out, size_t *n)
{
    struct hits hits = {
        .owner = owner,
        .limit = limit < LIBRARY_MAX_RESULTS ? limit : LIBRARY_MAX_RESULTS};
    enum rc rc;

    arena_reset(lib->work);
    rc = db_begin_read(lib->db);
    if (rc != RC_OK) {
        return rc;
    }
    rc = find_hits(lib, text, &hits);
    for (size_t i = 0; rc == RC_OK && i < hits.n; i++) {
        rc = load_passage(lib, &hits.hit[i], arena, &out[i]);
    }
    db_end_read(lib->db);
    if (rc == RC_OK) {
        *n = hits.n;
    }
    return rc;
}
