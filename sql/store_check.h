/* store_check.h - looking through everything that is kept: the files by
 * themselves, what must hold between rows, and the library's files beside their
 * index. Reads alone, and beside processes at work. */
#ifndef ASIDE_SQL_STORE_CHECK_H
#define ASIDE_SQL_STORE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

struct store_finding {
    const char *where; /* a file of the data directory */
    const char *what;  /* what is wrong, with the things' ids */
    const char *todo;  /* what to do about it */
};

/* Blocks for as long as it takes to read everything. Findings are no failure.
 * RC_NOMEM, RC_TOO_LARGE; RC_BUSY. */
enum rc store_check(const char *dir, int64_t busy_ms, int64_t now_ms,
                    struct arena *, struct store_finding **,
                    size_t *n) RC_MUST_CHECK;

#endif
