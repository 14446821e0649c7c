/* index_mark.h - which document the indexer was reading when it died.
 *
 * A document on which the parser dies would end each run, and nothing behind it
 * would ever be read. So its path stands in the indexer's lock file while it is
 * read, with how often a run has died in it, one after another. A run that is told
 * to end (SIGTERM, SIGINT) dies of no document.
 */
#ifndef ASIDE_RUNTIME_INDEX_MARK_H
#define ASIDE_RUNTIME_INDEX_MARK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define INDEX_MARK_BYTES (PATH_MAX + 64)

struct index_mark {
    int fd;         /* of the lock file */
    int64_t deaths; /* in the document of path */
    char path[INDEX_MARK_BYTES];
};

/* fd: the lock file, locked, which must stay open. One at a time in a process. */
void index_mark_open(struct index_mark *, int fd);
/* The last runs have died in it: it is not to be read again as it is. */
bool index_mark_is_deadly(const struct index_mark *, const char *path);
void index_mark_begin(struct index_mark *, const char *path);
void index_mark_end(struct index_mark *);
void index_mark_close(struct index_mark *);

#endif
