/* read.h - one consistent view of an account for a handler that reads. */
#ifndef ASIDE_FCGI_READ_H
#define ASIDE_FCGI_READ_H

#include "fcgi/ask.h"
#include "sql/store.h"

struct read {
    struct store_view view;
    int64_t account_id; /* 0: no write has created the account yet */
};

/* Begin; read_end after RC_OK. */
enum rc read_begin(const struct ask *, struct read *) RC_MUST_CHECK;
void read_end(const struct ask *);

/* as_of and feed, as every read's reply begins. */
void read_put_view(struct json_out *, const struct read *);

#endif
