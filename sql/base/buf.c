#include "sql/base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/decimal.h"

#define FIRST_BYTES ((size_t)256)

void buf_init(struct buf *b, size_t limit_bytes)
{
    /* Room for the NUL is counted beside the limit and must not wrap. */
    assert(limit_bytes < SIZE_MAX / 4);
    *b = (struct buf){.limit = limit_bytes, .rc = RC_OK};
}

void buf_free(struct buf *b)
{
    size_t limit = b->limit;

    free(b->data);
    *b = (struct buf){.limit = limit, .rc = RC_OK};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->rc = RC_OK;
    if (b->data != NULL) {
        b->data[0] = '\0';
    }
}

/* Room for more bytes and the NUL behind them. False keeps the failure. */
static bool reserve(struct buf *b, size_t more)
{
    size_t need, cap;
    char *data;

    if (b->rc != RC_OK) {
        return false;
    }
    if (more > b->limit - b->len) {
        b->rc = RC_TOO_LARGE;
        return false;
    }
    need = b->len + more + 1;
    if (need <= b->cap) {
        return true;
    }
    cap = b->cap == 0 ? FIRST_BYTES : 2 * b->cap;
    if (cap < need) {
        cap = need;
    }
    if (cap > b->limit + 1) {
        cap = b->limit + 1;
    }
    data = realloc(b->data, cap);
    if (data == NULL) {
        b->rc = RC_NOMEM;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
    if (!reserve(b, len)) {
        return;
    }
    if (len > 0) {
        memcpy(b->data + b->len, bytes, len);
    }
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    char *place = buf_extend(b, 1);

    if (place != NULL) {
        *place = c;
    }
}

char *buf_extend(struct buf *b, size_t n)
{
    char *place;

    if (!reserve(b, n)) {
        return NULL;
    }
    place = b->data + b->len;
    b->len += n;
    b->data[b->len] = '\0';
    return place;
}

void buf_reserve(struct buf *b, size_t bytes)
{
    if (b->rc == RC_OK && bytes <= b->limit - b->len && !reserve(b, bytes)) {
        b->rc = RC_OK;
    }
}

void buf_put_i64(struct buf *b, int64_t n)
{
    char text[DECIMAL_BYTES];
    char *end = text + sizeof(text);
    const char *first = decimal_before(end, n);

    buf_add(b, first, (size_t)(end - first));
}

static void __attribute__((format(printf, 2, 0)))
put_formatted(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    assert(len >= 0);
    if (!reserve(b, (size_t)len)) {
        return;
    }
    (void)vsnprintf(b->data + b->len, (size_t)len + 1, fmt, args);
    b->len += (size_t)len;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_formatted(b, fmt, args);
    va_end(args);
}

void buf_drop_front(struct buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0) {
        return;
    }
    /* The NUL moves along. */
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

enum rc buf_rc(const struct buf *b)
{
    return b->rc;
}

const char *buf_str(const struct buf *b)
{
    return b->data == NULL ? "" : b->data;
}
