/* citations.h - what a report cites: [n] and [n, m] in its prose.
 *
 * The same as the page shows as citations: up to three digits each, neither in
 * code nor the text or name of a link.
 */
#ifndef ASIDE_RUNTIME_CITATIONS_H
#define ASIDE_RUNTIME_CITATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

#define CITATIONS_MAX 1000 /* of three digits there are no more */

/* Distinct numbers that the Markdown text cites, ascending, into out, which
 * has room for CITATIONS_MAX. RC_NOMEM. */
enum rc citations_find(const char *markdown, size_t len, int64_t *out,
                       size_t *n) RC_MUST_CHECK;

#endif
