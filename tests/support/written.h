/* written.h - a write through the writer, waited for. */
#ifndef ASIDE_TESTS_WRITTEN_H
#define ASIDE_TESTS_WRITTEN_H

#include "fcgi/writer.h"

/* Hand fn(store, arg) over and wait until it is settled; its outcome. feed may
 * be NULL. Any thread. */
enum rc written(struct writer *, store_fn *fn, void *arg,
                char feed[STORE_FEED_BYTES]) RC_MUST_CHECK;

#endif
