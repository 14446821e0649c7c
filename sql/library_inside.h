/* library_inside.h - what the parts of library.h share. */
#ifndef ASIDE_SQL_LIBRARY_INSIDE_H
#define ASIDE_SQL_LIBRARY_INSIDE_H

#include "sql/db.h"
#include "sql/library.h"

/* What one document, or the notes of one search, may need. */
#define LIBRARY_WORK_BYTES ((size_t)256 << 20)

struct library {
    struct db *db;
    struct arena *work; /* reset by every call that uses it */
};

/* A document by its whole path. The title belongs to lib->work. */
struct library_found {
    int64_t id;
    const char *title;
};
/* RC_NOT_FOUND if there is none. */
enum rc library_find_path(struct library *, const char *path,
                          struct library_found *) RC_MUST_CHECK;

/* A document's path as it is given out. */
const char *library_shown_path(const char *path);

#endif
