/* short_memory.h - memory that runs out at a chosen allocation.
 *
 * Allocations of Aside's own objects are led through here by the linker (the
 * Makefile wraps malloc and its like), those of cJSON and SQLite by their
 * hooks, while short_memory_begin holds. libxml2 is left out: it does not
 * survive each of its own, which is why pages are read in a child. One thread
 * alone.
 */
#ifndef ASIDE_TESTS_SHORT_MEMORY_H
#define ASIDE_TESTS_SHORT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* No SQLite connection may be open at either. */
void short_memory_begin(void);
void short_memory_end(void);

/* The n-th allocation from now on fails, and none after it. */
void short_memory_fail(int64_t n);
/* From now on none does. Whether it came to the n-th. */
bool short_memory_stop(void);

#endif
