/* store_exchange.h - what a restore has made ready takes the place of what is
 * there: all of it, or nothing.
 *
 * A name moves after the other, the database last. What fails on the way is
 * moved back. Who is killed on the way leaves a mark, and while it stands no
 * program opens the database: half of a restore is neither the old data nor the
 * new.
 */
#ifndef ASIDE_SQL_STORE_EXCHANGE_H
#define ASIDE_SQL_STORE_EXCHANGE_H

#include "sql/store_backup.h"

/* From ready into b->dir; what was there goes into kept, a folder
 * that is made, under another name if there is such a one.
 * RC_IO: b->why says what failed. b->kept tells whether kept is still needed:
 * NULL, everything is as it was and kept is gone. */
enum rc store_exchange_make(struct store_backup *b, const char *ready,
                            const char *kept) RC_MUST_CHECK;

/* An exchange in dir was cut short: what is there is of two times. */
bool store_exchange_is_open(const char *dir);

#endif
