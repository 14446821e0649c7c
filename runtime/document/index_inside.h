/* index_inside.h - a run of the indexer under way. For library_index.c and
 * index_*.c alone.
 *
 * Folders are walked (index_folders.c, index_walk.c), each file that may be new
 * is read (index_file.c), and what came of it goes into a batch, which is one
 * transaction (index_batch.c).
 */
#ifndef ASIDE_RUNTIME_INDEX_INSIDE_H
#define ASIDE_RUNTIME_INDEX_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "runtime/document/index_mark.h"
#include "runtime/document/library_index.h"
#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/library.h"
#include "sql/library_files.h"

#define INDEX_BATCH_DOCUMENTS 64

struct index_run {
    const struct library_index_options *options;
    struct library *lib;
    struct library_index_counts counts;
    struct index_mark *mark;
    enum rc rc;        /* the first failure that ends the run */
    bool reread;       /* the reader is another one: read all files */
    int64_t n_files;   /* found so far */
    const char *owner; /* of the folder being read; NULL: shared */
    struct stat own;   /* the folder of the accounts' folders; zeros: none */

    struct arena *list; /* what the library knows */
    struct library_known *known;
    bool *seen; /* by index in known */
    size_t n_known;

    struct arena *batch;
    struct library_document put[INDEX_BATCH_DOCUMENTS];
    bool put_known[INDEX_BATCH_DOCUMENTS]; /* the library has it already */
    size_t n_put;
    struct library_known touched[INDEX_BATCH_DOCUMENTS];
    size_t n_touched;
    size_t batch_bytes; /* of files in the batch */
};

/* A file found in a folder. */
struct index_found {
    const char *path; /* of the walk: copied if kept */
    const char *name;
    int parent; /* descriptor of its folder */
    enum library_format format;
};

/* --- library_index.c ------------------------------------------------------- */

/* Keep the first failure, which ends the run. RC_OK is none. */
void index_fail(struct index_run *, enum rc);

/* --- index_folders.c ------------------------------------------------------- */

/* All files of all folders, and the last batch. */
void index_folders_read(struct index_run *);

/* --- index_walk.c ---------------------------------------------------------- */

/* Everything in the folder open at fd, which is closed. path names it, and is as
 * it was afterwards. depth: 0 for a folder that was named. */
void index_walk(struct index_run *, int fd, struct buf *path, int depth);
/* The same for the folder of that name in the one open at parent. */
void index_walk_below(struct index_run *, int parent, const char *name,
                      struct buf *path, int depth);
/* What cannot be read, or not to its end, says nothing about what is there: the
 * file of that path, or all in the folder, stays as it is known. */
void index_keep_unread(struct index_run *, const char *path, const char *why);

/* --- index_file.c ---------------------------------------------------------- */

/* What the file says, into the batch, if it is new or has changed. */
void index_file_read(struct index_run *, const struct index_found *);

/* --- index_batch.c --------------------------------------------------------- */

/* Put the document into the batch; its path and title are copied. */
void index_batch_put(struct index_run *, struct library_document,
                     bool is_known);
void index_batch_store(struct index_run *);
void index_batch_store_if_full(struct index_run *);

#endif
