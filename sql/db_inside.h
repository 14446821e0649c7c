/* db_inside.h - what db.c gives to db_copy.c; nobody else includes it. */
#ifndef ASIDE_SQL_DB_INSIDE_H
#define ASIDE_SQL_DB_INSIDE_H

#include <sqlite3.h>

#include "sql/db.h"

sqlite3 *db_inside_handle(struct db *);
/* SQLite's code as ours; the message is logged. */
enum rc db_inside_failure(struct db *, int code,
                          const char *what) RC_MUST_CHECK;
/* A pragma or the like, whose rows nobody wants; waits for locks. */
enum rc db_inside_exec(struct db *, const char *text) RC_MUST_CHECK;

#endif
