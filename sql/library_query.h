/* library_query.h - what people write, as the search index wants it.
 *
 * The index splits text at everything that is neither letter nor digit. East
 * Asian writing has no spaces, so its characters are set apart here before a
 * text is indexed, and searched by pairs.
 */
#ifndef ASIDE_SQL_LIBRARY_QUERY_H
#define ASIDE_SQL_LIBRARY_QUERY_H

#include <stddef.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define LIBRARY_QUERY_MAX_TERMS 32

struct library_terms {
    const char *term[LIBRARY_QUERY_MAX_TERMS]; /* each one quoted for FTS5 */
    size_t n;
};

/* The words of a question that are worth looking for, without repetitions.
 * If it consists of words like "what" and "is" alone, those. Invalid UTF-8
 * and control characters separate words. RC_NOMEM, RC_TOO_LARGE. */
enum rc library_query_terms(const char *text, struct arena *,
                            struct library_terms *out) RC_MUST_CHECK;

/* The terms joined by " AND " or " OR "; NULL at the arena's limit. */
const char *library_query_join(const struct library_terms *, const char *glue,
                               struct arena *);

/* text as it is given to the index: with East Asian characters set apart by
 * spaces. Returns text itself if it has none; NULL at the arena's limit. */
const char *library_query_spaced(const char *text, struct arena *);

#endif
