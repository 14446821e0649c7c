/* store_change.h - the feed. */
#ifndef ASIDE_SQL_STORE_CHANGE_H
#define ASIDE_SQL_STORE_CHANGE_H

#include "sql/store.h"

struct change {
    int64_t seq;
    enum change_kind kind;
    int64_t account_id;
    int64_t conversation_id; /* 0: none */
    int64_t run_id;          /* 0: none */
    int64_t ref;      /* id of the thing; 0: it is the Run or conversation */
    int64_t revision; /* answer.part */
    int64_t part;
    const char *body; /* answer.part: its text */
};

struct change_page {
    struct change *changes;
    size_t n;
    int64_t next; /* the cursor to ask with next */
    bool more;    /* cut by a limit: ask again at once */
    bool reset;   /* the cursor is not of this feed, or too old */
};

/* Changes of an account with seq > after, oldest first, at most max_n and about
 * max_bytes of part texts; inside a read of store_read_begin, whose as_of the
 * caller passes. account_id 0: an account that does not exist yet. */
enum rc store_change_page(struct store *, int64_t account_id, int64_t after,
                          int64_t as_of, size_t max_n, size_t max_bytes,
                          struct arena *, struct change_page *) RC_MUST_CHECK;

/* For the runtime: the Runs that any account's changes after this seq concern,
 * ascending and without doubles; *newest is the seq read up to. */
enum rc store_change_runs(struct store *, int64_t after, struct arena *,
                          int64_t **runs, size_t *n,
                          int64_t *newest) RC_MUST_CHECK;

struct notification {
    int64_t id;
    int64_t run_id;
    int64_t created_ms;
    int64_t seen_ms; /* 0: not seen */
};
enum rc store_notification_get(struct store *, int64_t account_id, int64_t id,
                               struct notification *) RC_MUST_CHECK;
/* Those that were not seen yet, of the newest Runs first, at most limit. */
enum rc store_notification_unseen(struct store *, int64_t account_id,
                                  int64_t limit, struct arena *,
                                  struct notification **,
                                  size_t *n) RC_MUST_CHECK;

#endif
