/* store_backup.h - whole copies of what Aside keeps, and putting one in the
 * place of what is there.
 *
 * A backup is one file: a database like aside.db that also holds the files of
 * the accounts' libraries, as an archive that the sqlite3 shell reads. What can
 * be made anew (library.db, search.db) is not in it.
 *
 * All of this blocks for the disk, as long as it takes to read and write the
 * data once or twice.
 */
#ifndef ASIDE_SQL_STORE_BACKUP_H
#define ASIDE_SQL_STORE_BACKUP_H

#include "sql/store.h"

#define STORE_BACKUP_WHY_BYTES 512

struct store_backup {
    const char *dir;  /* of the data */
    const char *file; /* the backup */
    bool replace;     /* a file of that name may be there */
    struct store_actor actor;
    int64_t busy_ms;
    int64_t now_ms;
    struct arena *arena;
    /* What came of it. */
    int64_t bytes; /* of the backup's file */
    int64_t files; /* of libraries in it */
    int64_t active_runs;
    struct store_view view;  /* what it holds, or what is there */
    const char *kept;        /* restored: where the old data is */
    int64_t tokens_kept_out; /* revoked since the backup, and so still; -1:
                              * what was there does not tell */
    const char *back;        /* accounts that were deleted since, or NULL */
    char why[STORE_BACKUP_WHY_BYTES]; /* failed: a sentence */
};

/* Copy what is there into the file, under another name beside it until it is
 * whole, checked and on the disk. Writers go on; the store may be one that only
 * reads. That it was made is written to the audit log, if that can be. RC_CONFLICT: there is such a
 * file. RC_IO, RC_DB, RC_NOMEM. b->why says what went wrong. */
enum rc store_backup_make(struct store *, struct store_backup *) RC_MUST_CHECK;

/* Put the backup in the place of what is in dir, which is kept in a folder in
 * it. RC_BUSY: a runtime, a responder or another program has the database open.
 * RC_INVALID: the file is no sound backup. RC_NEWER. Nothing is touched then.
 * If it is cut short, it is to be done again; no program starts until then. */
enum rc store_backup_restore(struct store_backup *) RC_MUST_CHECK;

/* Remove what a restore that was killed has made ready and not put in place: a
 * copy of all that the backup holds. Only while one has the database open: then
 * no restore is at work. */
void store_backup_drop_left(const char *dir);

#endif
