/* search.h - the search over what was said: messages and answers.
 *
 * The index lives in search.db of the data directory, apart from the truth: it
 * can be removed and is made anew. Nobody keeps it up to date while nobody
 * searches; who searches first lets it catch up. So accepting a message pays
 * nothing for it, and it needs no process of its own.
 *
 * It is made anew also when a conversation was deleted, or the database was
 * replaced: no word of what is gone stays in it.
 *
 * Every word of a query must occur, the last one as the beginning of a word;
 * no character is taken as syntax. A handle belongs to one thread. Nothing
 * waits longer than busy_ms; catching up takes about 0.1 s at most.
 */
#ifndef ASIDE_SQL_SEARCH_H
#define ASIDE_SQL_SEARCH_H

#include "sql/store.h"

struct search;

/* Open dir/search.db, creating it if needed. */
enum rc search_open(const char *dir, int64_t busy_ms,
                    struct search **out) RC_MUST_CHECK;
void search_close(struct search *); /* NULL is allowed */
/* Remove the file, which is damaged: the next one to open makes it anew. Who
 * has the old one open fails once. */
void search_discard(const char *dir);

/* Take in what is new in the store, up to a bound; *complete tells whether
 * that was all. To be called between store_read_begin, which gave view, and
 * store_read_end. */
enum rc search_catch_up(struct search *, struct store *,
                        const struct store_view *view,
                        bool *complete) RC_MUST_CHECK;

/* A text that was found: of a message or of a Run; the other is 0. */
struct search_hit {
    int64_t place; /* orders by time; ask with it for what is older */
    int64_t message_id;
    int64_t run_id;
};

struct search_query {
    int64_t account_id;
    const char *text;
    int64_t before; /* a place; INT64_MAX: from the newest */
    int64_t limit;
};

/* The newest texts of the account that answer the query, newest first. None if
 * it holds no word. What was found may be gone meanwhile: whoever reads it
 * passes over it. */
enum rc search_find(struct search *, const struct search_query *,
                    struct arena *, struct search_hit **,
                    size_t *n) RC_MUST_CHECK;

/* About max_bytes of text around the first word of the query, cut between
 * characters; NULL at the arena's limit. Lines are joined by spaces. */
const char *search_snippet(const char *query, const char *text,
                           size_t max_bytes, struct arena *);

#endif
