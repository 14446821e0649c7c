#include "sql/base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks double from the first to the last size, so that a small request
 * costs one small block and a large one few calls of malloc. */
#define FIRST_BLOCK_BYTES ((size_t)4096 - 64)
#define LAST_BLOCK_BYTES  ((size_t)65536 - 64)

struct block {
    struct block *older;
    size_t size; /* bytes in data */
    size_t used;
    alignas(max_align_t) char data[];
};

struct arena {
    struct block *newest; /* NULL until the first allocation */
    size_t limit;         /* bytes that may be handed out */
    size_t handed;        /* bytes handed out, rounded up */
};

struct arena *arena_new(size_t limit_bytes)
{
    struct arena *a = calloc(1, sizeof(*a));

    if (a != NULL) {
        a->limit = limit_bytes;
    }
    return a;
}

static void free_blocks(struct block *b)
{
    while (b != NULL) {
        struct block *older = b->older;
        free(b);
        b = older;
    }
}

void arena_free(struct arena *a)
{
    if (a != NULL) {
        free_blocks(a->newest);
        free(a);
    }
}

void arena_reset(struct arena *a)
{
    struct block *keep = a->newest;

    a->handed = 0;
    if (keep == NULL) {
        return;
    }
    free_blocks(keep->older);
    keep->older = NULL;
    keep->used = 0;
    /* One huge text must not stay for the rest of the arena's life. */
    if (keep->size > LAST_BLOCK_BYTES) {
        free(keep);
        a->newest = NULL;
    }
}

size_t arena_used(const struct arena *a)
{
    return a->handed;
}

static struct block *block_for(struct arena *a, size_t need)
{
    struct block *b = a->newest;
    size_t size = FIRST_BLOCK_BYTES;

    if (b != NULL && b->size - b->used >= need) {
        return b;
    }
    if (b != NULL && b->size < LAST_BLOCK_BYTES / 2) {
        size = 2 * b->size;
    } else if (b != NULL) {
        size = LAST_BLOCK_BYTES;
    }
    if (size < need) {
        size = need;
    }
    b = malloc(sizeof(*b) + size);
    if (b == NULL) {
        return NULL;
    }
    b->older = a->newest;
    b->size = size;
    b->used = 0;
    a->newest = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t len)
{
    const size_t align = alignof(max_align_t);
    size_t need;
    struct block *b;
    void *p;

    if (len > a->limit - a->handed || len > SIZE_MAX / 2) {
        return NULL;
    }
    need = len == 0 ? align : (len + align - 1) / align * align;
    b = block_for(a, need);
    if (b == NULL) {
        return NULL;
    }
    p = b->data + b->used;
    b->used += need;
    /* Rounding may pass the limit by a few bytes; it never wraps. */
    a->handed = need > a->limit - a->handed ? a->limit : a->handed + need;
    return memset(p, 0, need);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : arena_alloc(a, len + 1);

    if (copy != NULL && len > 0) {
        memcpy(copy, s, len);
    }
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    int len;
    char *text;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0) {
        return NULL;
    }
    text = arena_alloc(a, (size_t)len + 1);
    if (text == NULL) {
        return NULL;
    }
    va_start(args, fmt);
    len = vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    assert(len >= 0);
    return text;
}
