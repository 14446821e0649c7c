/* store_storage.h - how the disk and the database's file are. */
#ifndef ASIDE_SQL_STORE_STORAGE_H
#define ASIDE_SQL_STORE_STORAGE_H

#include "sql/store.h"

/* How what is kept can be reached, as this process has found. */
enum storage {
    STORAGE_OK = 0,
    STORAGE_FULL,      /* nothing is stored: no space */
    STORAGE_READ_ONLY, /* nothing is stored: the disk takes no writes */
    STORAGE_FAILING,   /* reading or writing fails */
    STORAGE_DAMAGED,   /* what is in the file makes no sense */
    STORAGE_LOG_LARGE, /* a reader keeps the log from being begun anew */
    STORAGE_REPLACED,  /* the file at the path is another, or none */
    STORAGE__MAX
};
/* From what the calls of all stores of this process have met so far: one of the
 * first five. A write that succeeds makes it OK again; damage stays until the
 * process ends. Any thread. */
enum storage store_storage(void);
/* The same with a look at the files. */
enum storage store_storage_look(struct store *);
/* "ok", "full" ... */
const char *store_storage_word(enum storage);
/* When the database was made, in Unix milliseconds; a restored one keeps it. */
enum rc store_storage_made(struct store *, int64_t *made_ms) RC_MUST_CHECK;
/* Write something that changes nothing, to find out. In no transaction. */
enum rc store_storage_probe(struct store *) RC_MUST_CHECK;

#endif
