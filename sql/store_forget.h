/* store_forget.h - what goes as a whole: an account with all that is its, and
 * conversations that are older than is to be kept. */
#ifndef ASIDE_SQL_STORE_FORGET_H
#define ASIDE_SQL_STORE_FORGET_H

#include "sql/store.h"

/* --- an account ----------------------------------------------------------- */

/* Delete its rows, all but those of the audit log, which hold nobody's words;
 * in a transaction. RC_NOT_FOUND. RC_CONFLICT: a Run is active. */
enum rc store_account_delete(struct store *,
                             const struct store_call *) RC_MUST_CHECK;
/* Remove the files of its library. */
enum rc store_account_delete_files(const char *dir,
                                   const char *account) RC_MUST_CHECK;
/* Write the databases anew, so that their files hold nothing of what was
 * deleted, in pages that are free or in a log. Others wait for the write lock
 * meanwhile: about a second for 100 MB. RC_BUSY: a reader keeps a log; once
 * more makes it good. */
enum rc store_forget_compact(struct store *, const char *dir,
                             int64_t busy_ms) RC_MUST_CHECK;

/* --- retention ------------------------------------------------------------- */

struct store_old {
    int64_t conversation_id;
    int64_t account_id;
    int64_t touched_ms; /* when something last happened in it */
};

/* Conversations that are to go, at most limit, the oldest first. keep: so many
 * of each account stay (INT64_MAX: all); before_ms: last touched before. The
 * cost is that of looking at every conversation. */
enum rc store_old_list(struct store *, int64_t before_ms, int64_t keep,
                       int64_t limit, struct arena *, struct store_old **,
                       size_t *n) RC_MUST_CHECK;
/* Delete one as if by hand; in a transaction. RC_CONFLICT: a Run is active in
 * it, or something has happened in it since it was listed. RC_NOT_FOUND: it has
 * gone. */
enum rc store_old_delete(struct store *, const struct store_old *,
                         int64_t now_ms, struct arena *) RC_MUST_CHECK;

#endif
