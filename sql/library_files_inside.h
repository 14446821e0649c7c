/* library_files_inside.h - an account's folder, as adding and removing need it.
 * For library_files*.c alone. */
#ifndef ASIDE_SQL_LIBRARY_FILES_INSIDE_H
#define ASIDE_SQL_LIBRARY_FILES_INSIDE_H

#include "sql/library_files.h"

/* A file that has no name yet, and one that was removed. */
#define LIBRARY_FILES_NEW  ".new-"
#define LIBRARY_FILES_GONE ".gone-"

/* errno says that there is no space. */
bool library_files_is_space(int error);
/* Log errno, with what was being done to which name: RC_FULL or RC_IO. */
enum rc library_files_complain(const char *what, const char *name);

/* The account's folder, to be closed. RC_NOT_FOUND: it has none, and none is to
 * be made. RC_FULL, RC_IO. */
enum rc library_files_open(const char *dir, const char *owner, bool make,
                           int *out) RC_MUST_CHECK;
/* The folder that a name's last part is in, and that part; made where it is
 * not there. The result is to be closed. -1: errno. */
int library_files_open_parent(int folder, const char *name, bool make,
                              const char **last);
/* The folder's lock, which goes when *out is closed. RC_BUSY, RC_FULL, RC_IO. */
enum rc library_files_lock(int folder, int64_t busy_ms, int *out) RC_MUST_CHECK;

/* The files in the folder, which stays open. RC_IO, RC_NOMEM, RC_TOO_LARGE. */
enum rc library_files_list_open(int folder, struct arena *,
                                struct library_file **out,
                                size_t *n) RC_MUST_CHECK;
/* Remove files that uploads and removals have left which died long ago. One that
 * cannot be seen now is left to the next. */
void library_files_remove_left(int folder);

#endif
