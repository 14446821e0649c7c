/* web_part.h - the part of a page that a look-up asked for: passages from one of
 * them on, and the links that stand in them, as a tool's result. */
#ifndef ASIDE_RUNTIME_WEB_PART_H
#define ASIDE_RUNTIME_WEB_PART_H

#include "runtime/runtime.h"
#include "sql/store_page.h"

/* page->body is JSON as page.h has it. Memory is the arena's; page must stay. NULL,
 * or why there is none: a sentence without its end. */
const char *web_part_take(struct arena *, const struct page *page, int64_t from,
                          struct tool_result *out);

#endif
