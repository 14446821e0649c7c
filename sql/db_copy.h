/* db_copy.h - databases as files: copying one in use, judging one, and leaving
 * nothing in it of what was deleted.
 *
 * Only the files of sql/ include this header.
 */
#ifndef ASIDE_SQL_DB_COPY_H
#define ASIDE_SQL_DB_COPY_H

#include "sql/base/hash.h"
#include "sql/db.h"

/* Copy everything that one read of the database sees into the file at path,
 * which must be empty or absent. Writers go on meanwhile; only the log cannot
 * be begun anew before the end. Blocks for the disk. Outside of any
 * transaction. RC_IO: no space, or the file cannot be written. */
enum rc db_copy_to(struct db *, const char *path) RC_MUST_CHECK;

/* Look the whole file through. fn is called for each fault that is found, at
 * most DB_COPY_FAULTS times, with a line that SQLite wrote. quick leaves out
 * whether indexes fit their tables. Takes as long as reading the file. */
#define DB_COPY_FAULTS 100
typedef void db_fault_fn(void *arg, const char *line);
enum rc db_copy_verify(struct db *, bool quick, db_fault_fn *,
                       void *arg) RC_MUST_CHECK;

/* A hash over what the tables, indexes and triggers are. */
enum rc db_copy_schema(struct db *, uint8_t out[HASH_BYTES]) RC_MUST_CHECK;

/* Write the file anew without what was deleted, and empty its log. Others wait
 * for the write lock meanwhile: about a second for 100 MB. RC_BUSY: a reader
 * still needs the log; the file itself is clean. */
enum rc db_copy_compact(struct db *) RC_MUST_CHECK;

/* Bring what stands in the log of a file that nobody uses into the file, as far
 * as that can be done. A damaged or absent file is left alone. */
void db_copy_settle(const char *path);

/* A file is in use while any connection to it is open, in any process. A claim
 * keeps others from opening it. RC_BUSY: it is in use. RC_NOT_FOUND: there is
 * no file. Not beside a connection of one's own: closing the claim would drop
 * its locks. */
struct db_claim;
enum rc db_copy_claim(const char *path, struct db_claim **out) RC_MUST_CHECK;
void db_copy_release(struct db_claim *); /* NULL is allowed */

/* The schema's version of a file as its header tells, without opening it as a
 * database. RC_NOT_FOUND: no file. RC_INVALID: it is no database. */
enum rc db_copy_version(const char *path, int64_t *out) RC_MUST_CHECK;

#endif
