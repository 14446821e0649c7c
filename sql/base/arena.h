/* arena.h - memory that goes all at once.
 *
 * One arena per HTTP request, or per step of a Run: rows, texts and JSON trees
 * are allocated in it and freed together by arena_free or arena_reset. An
 * arena has a limit given at creation; an allocation beyond it fails like an
 * exhausted system does. Not thread safe: one arena, one thread at a time.
 */
#ifndef ASIDE_BASE_ARENA_H
#define ASIDE_BASE_ARENA_H

#include <stddef.h>

struct arena;

/* A new arena that will hand out at most limit_bytes, or NULL. */
struct arena *arena_new(size_t limit_bytes);
void arena_free(struct arena *);  /* NULL is allowed */
void arena_reset(struct arena *); /* keeps one block for the next use */

/* Bytes handed out since it was made or reset. */
size_t arena_used(const struct arena *);

/* Zeroed memory, aligned for any type; NULL at the limit or out of memory.
 * A length of 0 gives a valid pointer. */
void *arena_alloc(struct arena *, size_t len);

/* A NUL-terminated copy of len bytes (which may hold NUL), or NULL. */
char *arena_strndup(struct arena *, const char *, size_t len);
char *arena_strdup(struct arena *, const char *);
char *arena_printf(struct arena *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
