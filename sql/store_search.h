/* store_search.h - what the search index is made from: messages and the answers
 * of Runs that have ended, in the order in which they were committed. */
#ifndef ASIDE_SQL_STORE_SEARCH_H
#define ASIDE_SQL_STORE_SEARCH_H

#include "sql/store.h"

/* A text that can be found. */
struct searchable {
    int64_t id;         /* of the message, or of the Run */
    int64_t account_id; /* whose it is */
    int64_t seq;        /* of an answer: the change that ended its Run */
    int64_t at_ms;      /* when it was said */
    const char *title;  /* of an answer's Run, else "" */
    const char *text;
};

/* Messages with an id above after, oldest first, at most limit. */
enum rc store_search_messages(struct store *, int64_t after, int64_t limit,
                              struct arena *, struct searchable **,
                              size_t *n) RC_MUST_CHECK;
/* Answers of Runs that ended with a change above after, likewise. */
enum rc store_search_answers(struct store *, int64_t after, int64_t limit,
                             struct arena *, struct searchable **,
                             size_t *n) RC_MUST_CHECK;
/* The change by which a conversation was last deleted; 0: none was. */
enum rc store_search_deleted(struct store *, int64_t *seq) RC_MUST_CHECK;

#endif
