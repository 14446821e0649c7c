/* library_index.h - one run of the indexer over the library's folders.
 *
 * The folders are the configured ones, which all accounts share, and those
 * that accounts have put files into (library_files.h).
 *
 * Files named .md .txt .html .htm .pdf are read when their time or size changed,
 * and forgotten when they are gone. Hidden names, symbolic links below a
 * folder, and whatever is no regular file are passed over. A file that cannot
 * be read is stored with the reason and does not stop the run; a folder that
 * cannot be read says nothing about its files, so that these stay.
 *
 * Documents are stored in batches of one transaction each: a run that is
 * killed loses the batch in hand, and the next run goes on from there. One run
 * at a time holds dir/library.lock.
 *
 * Blocking, for seconds: it belongs into a process of its own.
 */
#ifndef ASIDE_RUNTIME_LIBRARY_INDEX_H
#define ASIDE_RUNTIME_LIBRARY_INDEX_H

#include <stdint.h>

#include "sql/base/rc.h"

#define LIBRARY_INDEX_MAX_DOCUMENTS 200000
#define LIBRARY_INDEX_MAX_DEPTH     32 /* of folders in folders */

struct library_index_counts {
    int64_t documents; /* readable ones in the library after the run */
    int64_t added;     /* files that are new in the library */
    int64_t changed;   /* files whose bytes are new */
    int64_t removed;
    int64_t failed;         /* files stored with an error */
    int64_t folders_failed; /* configured folders that could not be read */
    int64_t passages;       /* in the library after the run */
    int64_t ms;
};

struct library_index_options {
    const char *dir;     /* data directory; exists */
    const char *folders; /* separated by ':'; "" for none; NULL: not known to
                          * the caller: shared documents stay as they are */
    int64_t busy_ms;
    int64_t wait_ms; /* for another run to end; 0: not at all */
    /* After each batch that was stored, or NULL; counts so far. */
    void (*progress)(void *arg, const struct library_index_counts *);
    void *progress_arg;
};

/* What `aside index` ends with if the run ended early, more the enum rc: the
 * runtime tries again then. */
#define LIBRARY_INDEX_EXIT_FAILED 16

/* RC_CONFLICT: another run is at work, after wait_ms too; nothing was done. RC_FULL: more than
 * LIBRARY_INDEX_MAX_DOCUMENTS; what fitted is stored. RC_IO, RC_DB, RC_BUSY,
 * RC_NOMEM: the run ended early. */
enum rc library_index_run(const struct library_index_options *,
                          struct library_index_counts *out) RC_MUST_CHECK;

#endif
