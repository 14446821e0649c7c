/* records.h - FastCGI 1.0 records, written and read (sections 3 to 5, 8). */
#ifndef ASIDE_TESTS_FUZZ_RECORDS_H
#define ASIDE_TESTS_FUZZ_RECORDS_H

#include <stdbool.h>

#include "sql/base/buf.h"

enum records_type {
    RECORDS_BEGIN = 1,
    RECORDS_END = 3,
    RECORDS_PARAMS = 4,
    RECORDS_STDIN = 5,
    RECORDS_STDOUT = 6
};

/* As many records of this type as len bytes need. */
void records_put(struct buf *, enum records_type, const char *, size_t len);
void records_begin(struct buf *); /* a request to a responder begins */
void records_end(struct buf *, enum records_type); /* a stream has ended */
/* One variable, in the form of a stream of parameters. */
void records_pair(struct buf *, const char *name, const char *value);
/* What the records of stdout hold, appended to out; whether an end record
 * stands behind them. */
bool records_read(const char *, size_t len, struct buf *out);

#endif
