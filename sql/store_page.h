/* store_page.h - pages of the web as they were read. */
#ifndef ASIDE_SQL_STORE_PAGE_H
#define ASIDE_SQL_STORE_PAGE_H

#include "sql/store_run.h"

/* Of one account; the oldest go. */
#define STORE_PAGES_MAX 50

struct page {
    const char *url;      /* as it was asked for */
    const char *location; /* where it was found */
    const char *etag;     /* "": none, as the next */
    const char *last_modified;
    const char *body; /* JSON */
    int64_t fetched_ms;
};

/* What this Run has read under that address; RC_NOT_FOUND. */
enum rc store_page_of_run(struct store *, int64_t run_id, const char *url,
                          struct arena *, struct page *) RC_MUST_CHECK;
/* The newest that a Run of the same account has found there; RC_NOT_FOUND. */
enum rc store_page_newest(struct store *, int64_t run_id, const char *location,
                          struct arena *, struct page *) RC_MUST_CHECK;
/* Inside a transaction. In place of what the Run had under its url. */
enum rc store_page_put(struct store *, const struct run *,
                       const struct page *) RC_MUST_CHECK;

#endif
