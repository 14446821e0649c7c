/* rc.h - the one enum of outcomes.
 *
 * Everything that can fail returns one of these, and must be checked. Results
 * come back through pointers, which are left alone on failure. The map from
 * an rc to an HTTP status exists once, in fcgi/reply.c.
 */
#ifndef ASIDE_BASE_RC_H
#define ASIDE_BASE_RC_H

enum rc {
    RC_OK = 0,
    RC_NOT_FOUND,    /* no such row, file or key */
    RC_CONFLICT,     /* the row was in another state; nothing was changed */
    RC_BUSY,         /* the write lock was not had within the bound */
    RC_FULL,         /* a class of slots, a table or a limit is full */
    RC_INVALID,      /* input of the wrong form or value */
    RC_TOO_LARGE,    /* a buffer, arena or body limit was reached */
    RC_TOO_LONG,     /* requirements that leave the model no room to work */
    RC_KEY_REUSED,   /* an Idempotency-Key stands for another request */
    RC_NOT_ELIGIBLE, /* the thing is not of the kind this can be done to */
    RC_DENIED,       /* whoever asks may not, or not any more */
    RC_NEWER,        /* the database is newer than this program */
    RC_FENCED,       /* the database has another owner, or another file */
    RC_NOMEM,        /* the system has no memory left */
    RC_IO,           /* a system call failed; errno was logged */
    RC_DB,           /* SQLite failed; its message was logged */
    RC__MAX
};

#define RC_MUST_CHECK __attribute__((warn_unused_result))

/* Lower-case name of an outcome ("not_found"), for logs. Never NULL. */
const char *rc_name(enum rc);

#endif
