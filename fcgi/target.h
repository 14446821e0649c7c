/* target.h - the request target of HTTP (RFC 9112 3.2, RFC 3986) in pieces.
 *
 * Pure: bytes in, texts of an arena out. Decoded texts never hold a NUL and
 * are valid UTF-8; what would break that is malformed.
 */
#ifndef ASIDE_FCGI_TARGET_H
#define ASIDE_FCGI_TARGET_H

#include <stddef.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define TARGET_MAX_QUERY 32 /* parameters; a request with more is malformed */

struct target_pair {
    const char *name;
    const char *value; /* "" if there is no '=' */
};

/* The path of a target below prefix, decoded. RC_NOT_FOUND: outside of the
 * prefix. RC_INVALID: malformed. RC_NOMEM. */
enum rc target_path(struct arena *, const char *target, const char *prefix,
                    const char **out) RC_MUST_CHECK;

/* The parameters of a query text (without '?'), in order. RC_INVALID, RC_NOMEM
 * as above. */
enum rc target_query(struct arena *, const char *query,
                     const struct target_pair **out, size_t *n) RC_MUST_CHECK;

#endif
