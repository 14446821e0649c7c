/* library.h - the library: documents cut into passages, and the search over
 * them.
 *
 * It lives in library.db of the data directory, apart from the conversations:
 * it can be removed and made anew at any time. The indexer (`aside index`)
 * writes it, the runtime reads it. A document's rows are replaced in one
 * transaction, so that a reader sees the old passages or the new ones.
 *
 * A document is shared, or an account's own: its owner is the name of the
 * account's folder (library_files.h), "" for shared ones. Whoever searches or
 * reads says for which account, and sees the shared ones and that account's.
 *
 * A passage's id follows from the document's path, the passage's heading and
 * its text. It is the same after every run that finds the same words in the
 * same file, and after the whole library was made anew; it fits a double.
 *
 * Nothing here waits longer than the busy_ms given at opening. Searches and
 * reads take a few milliseconds. A handle belongs to one thread.
 */
#ifndef ASIDE_SQL_LIBRARY_H
#define ASIDE_SQL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/hash.h"
#include "sql/base/rc.h"

/* Owner and name of an own document, as a path. */
#define LIBRARY_OWN_PATH "library/%s/%s"

#define LIBRARY_MAX_RESULTS      50
#define LIBRARY_MAX_PER_DOCUMENT 3 /* passages of one document in a result */

struct library;

/* Open for the indexer: creates dir/library.db and migrates it. */
enum rc library_open(const char *dir, int64_t busy_ms,
                     struct library **out) RC_MUST_CHECK;
/* Open for reading. RC_NOT_FOUND: nothing was indexed yet. */
enum rc library_open_read(const char *dir, int64_t busy_ms,
                          struct library **out) RC_MUST_CHECK;
void library_close(struct library *); /* NULL is allowed */
/* The file that is open is no longer the one at its path: open another. */
bool library_is_lost(struct library *);
/* A call has found the file damaged (RC_DB): remove it. It holds only what the
 * documents hold, so the next run of the indexer makes it anew. */
void library_discard(const char *dir);
/* There is such a file. */
bool library_is_there(const char *dir);

/* --- searching and reading --------------------------------------------- */

struct library_passage {
    int64_t id;
    int64_t n; /* place in its document, from 0 */
    const char *title;
    const char *path;    /* what a source cites as its location: absolute, or
                          * the name of an own document */
    const char *heading; /* "Outer > Inner"; "" before the first heading */
    const char *text;
    double score; /* larger is better; comparable within one result only */
};

/* The passages that answer text best, best first, at most limit (and
 * LIBRARY_MAX_RESULTS) into out. text is what a person or a model wrote:
 * no character of it is taken as query syntax, words that carry no meaning
 * are left out, words beyond the first 32 too. Passages with all words come
 * first; others follow while there is room. At most LIBRARY_MAX_PER_DOCUMENT
 * passages of one document are given, and each text only once. *n is 0 if
 * nothing fits or text holds no word. Memory belongs to the arena. */
enum rc library_search(struct library *, const char *owner, const char *text,
                       size_t limit, struct arena *,
                       struct library_passage *out, size_t *n) RC_MUST_CHECK;

/* Where to read: by passage id, or by path. */
struct library_place {
    const char *owner;  /* NULL: shared documents alone */
    int64_t passage_id; /* 0: by path */
    const char *path;   /* whole, or its end ("wal.html") if only one fits;
                         * an own document before shared ones */
    int64_t from;       /* first passage, from 0; -1: the named one, or 0 */
    size_t max_bytes;   /* of text; one passage is always given */
};

struct library_pages {
    const char *title;
    const char *path;
    struct library_passage *passages; /* in order; score is 0 */
    size_t n;
    int64_t total; /* passages of the document */
    bool has_more; /* go on with from = passages[n - 1].n + 1 */
};

/* RC_NOT_FOUND: no such passage or document. A document without text, or a
 * from beyond its end, gives RC_OK and n = 0. */
enum rc library_read(struct library *, const struct library_place *,
                     struct arena *, struct library_pages *out) RC_MUST_CHECK;

struct library_totals {
    int64_t documents; /* readable ones */
    int64_t failed;    /* documents that could not be read */
    int64_t passages;
    int64_t scanned_ms;
};
enum rc library_stats(struct library *,
                      struct library_totals *out) RC_MUST_CHECK;

/* Documents of an owner ("": shared ones), by path, behind after (""), at most
 * limit. */
struct library_entry {
    const char *path; /* as in struct library_passage */
    const char *title;
    int64_t mtime_ns;
    int64_t size_bytes;
    const char *error; /* "" if it could be read */
    int64_t passages;
};
enum rc library_entries(struct library *, const char *owner, const char *after,
                        size_t limit, struct arena *,
                        struct library_entry **out, size_t *n) RC_MUST_CHECK;

/* How many those are. */
enum rc library_count(struct library *, const char *owner,
                      int64_t *out) RC_MUST_CHECK;

/* --- indexing ---------------------------------------------------------- */

/* A document as the library knows it. */
struct library_known {
    int64_t id;
    const char *path;
    int64_t mtime_ns; /* 0: to be read again by every run */
    int64_t size_bytes;
    uint8_t hash[HASH_BYTES]; /* of the file's bytes; zeros if unread */
    const char *error;        /* "" if it could be read */
};
/* All of them, ordered by the bytes of their paths. */
enum rc library_list(struct library *, struct arena *,
                     struct library_known **out, size_t *n) RC_MUST_CHECK;

struct library_text {
    const char *heading; /* "" allowed; all texts are valid UTF-8 */
    const char *text;
    bool links; /* mostly links: a menu or an index, found after real text */
};
/* A document to store. */
struct library_document {
    const char *path;  /* absolute, or LIBRARY_OWN_PATH of an own one */
    const char *owner; /* NULL: shared */
    const char *title;
    int64_t mtime_ns;
    int64_t size_bytes;
    uint8_t hash[HASH_BYTES];
    const char *error; /* "" or why it could not be read: then no passages */
    const struct library_text *texts;
    size_t n_texts;
};
/* Store or replace these documents, in one transaction. */
enum rc library_put(struct library *, const struct library_document *,
                    size_t n) RC_MUST_CHECK;
/* The times of these files changed, their bytes did not: store id, mtime_ns
 * and size_bytes, in one transaction. */
enum rc library_touch(struct library *, const struct library_known *,
                      size_t n) RC_MUST_CHECK;
/* Forget these documents, in one transaction. */
enum rc library_remove(struct library *, const int64_t *ids,
                       size_t n) RC_MUST_CHECK;
/* A run over all folders has ended. reader is the version of what turns files
 * into passages; library_reader gives the one of the last run, 0 if none: with
 * another one, files are to be read again though they did not change. */
enum rc library_scan_done(struct library *, int64_t now_ms,
                          int64_t reader) RC_MUST_CHECK;
enum rc library_reader(struct library *, int64_t *out) RC_MUST_CHECK;
/* Merge the search index into one piece: after large changes, it makes
 * searches faster. Takes about a second for 10,000 passages. */
enum rc library_optimize(struct library *) RC_MUST_CHECK;
/* RC_DB: the search index does not fit the passages. For tests. */
enum rc library_check(struct library *) RC_MUST_CHECK;

#endif
