/* buf.h - a byte buffer that grows up to a limit.
 *
 * Appending never returns an error: the first failure (RC_TOO_LARGE at the
 * limit, RC_NOMEM) is kept, later appends do nothing, and whoever uses the
 * bytes asks buf_rc first. That keeps builders readable and forgets no check.
 * The bytes are always followed by a NUL that is not counted.
 */
#ifndef ASIDE_BASE_BUF_H
#define ASIDE_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "sql/base/rc.h"

struct buf {
    char *data; /* NULL while empty */
    size_t len; /* bytes in use */
    size_t cap;
    size_t limit; /* len never exceeds this */
    enum rc rc;   /* first failure */
};

void buf_init(struct buf *, size_t limit_bytes);
void buf_free(struct buf *);  /* back to the state after buf_init */
void buf_clear(struct buf *); /* empty, without failure; keeps the memory */

void buf_add(struct buf *, const void *, size_t len);
void buf_puts(struct buf *, const char *);
void buf_putc(struct buf *, char);
/* Append n bytes that the caller fills in, all of them; NULL after a failure.
 * The place is good until the next append. */
char *buf_extend(struct buf *, size_t n);
void buf_put_i64(struct buf *, int64_t); /* decimal */
void buf_printf(struct buf *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Make room for so many bytes at once, where the size is about known. Within
 * the limit; does nothing if there is no memory for it. */
void buf_reserve(struct buf *, size_t bytes);

/* Remove the first n bytes (n <= len). */
void buf_drop_front(struct buf *, size_t n);

enum rc buf_rc(const struct buf *) RC_MUST_CHECK;
/* The bytes as a C string; "" while empty. Valid until the next append. */
const char *buf_str(const struct buf *);

#endif
