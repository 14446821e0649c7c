/* store_backup_inside.h - what making and putting back have in common. */
#ifndef ASIDE_SQL_STORE_BACKUP_INSIDE_H
#define ASIDE_SQL_STORE_BACKUP_INSIDE_H

#include "sql/db.h"
#include "sql/store_backup.h"

/* Keep the first reason; rc. */
enum rc store_backup_fail(struct store_backup *, enum rc, const char *what,
                          const char *why);
enum rc store_backup_fail_errno(struct store_backup *, const char *what);
/* Look a database through. RC_DB: it is damaged. */
enum rc store_backup_verify(struct store_backup *, struct db *,
                            bool quick) RC_MUST_CHECK;
/* Bring a file or folder to the disk. */
enum rc store_backup_sync(struct store_backup *,
                          const char *path) RC_MUST_CHECK;

#endif
