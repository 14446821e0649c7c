/* db_wal.h - how a database's log is written: many pages at a time.
 *
 * SQLite writes each page of the log by two calls, one of 24 bytes and one of
 * 4,096. A commit of 64 messages is some sixty to five hundred pages, so these
 * calls cost more than the bytes. Here consecutive ones are held until they
 * are asked for, and go to the file as one.
 *
 * Nothing is promised less by that. What a commit writes is in the file, in the
 * same order, when the log is synchronised; with synchronous=FULL, which
 * db_open.c sets, that is before anybody can see the commit. Pages that an open
 * transaction could not keep in the cache are read by its own connection alone,
 * and such a read writes them first. Nothing is held past the write lock, so
 * that a transaction that was rolled back never writes over another's pages. A
 * failure to write is the failure of the call that had to: at the latest, the
 * commit.
 */
#ifndef ASIDE_SQL_DB_WAL_H
#define ASIDE_SQL_DB_WAL_H

/* Make it known to SQLite; before the first db_wal_name. */
void db_wal_register(void);
/* The VFS for sqlite3_open_v2; NULL, the system's own, if it could not be
 * registered. */
const char *db_wal_name(void);

/* The errno of the last write to a log that failed in this thread, or 0; told
 * once. SQLite's own is overwritten by what it does to roll back. */
int db_wal_take_errno(void);

#endif
