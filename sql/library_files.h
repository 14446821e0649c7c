/* library_files.h - the files that accounts put into their libraries.
 *
 * They lie as ordinary files in the data directory, below
 * library/<folder of the account>/, and are the truth: library.db is made of
 * them. A document's name is its path below that folder, "notes/sea.md".
 *
 * A file comes under its name whole or not at all: it is written under a
 * hidden name, brought to the disk, and renamed. Who adds or removes holds the
 * folder's lock for that moment, so that limits hold over all processes, and
 * of several uploads of one name each is whole and the last stays.
 *
 * Blocking: for the disk, and for the folder's lock at most busy_ms.
 */
#ifndef ASIDE_SQL_LIBRARY_FILES_H
#define ASIDE_SQL_LIBRARY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define LIBRARY_FILES_MAX_BYTES      ((size_t)5 << 20) /* of one file */
#define LIBRARY_FILES_MAX_NAME_BYTES 400
#define LIBRARY_FILES_MAX_PART_BYTES 200 /* of a name between slashes */
#define LIBRARY_FILES_MAX_PARTS      16
#define LIBRARY_FILES_OWNER_BYTES    256

/* The name of an account's folder: lower-case letters, digits, - and _ stand
 * for themselves, every other byte as =XX; a long name by its hash. Two
 * accounts never share one, on file systems that ignore case neither. */
void library_files_owner(const char *account,
                         char out[LIBRARY_FILES_OWNER_BYTES]);

/* What can be read of documents, by the ending of the name. */
enum library_format {
    LIBRARY_FORMAT_NONE = 0,
    LIBRARY_FORMAT_HTML,
    LIBRARY_FORMAT_MARKDOWN,
    LIBRARY_FORMAT_PLAIN,
    LIBRARY_FORMAT_PDF,
    LIBRARY_FORMAT__MAX
};
enum library_format library_files_format(const char *name);
#define LIBRARY_FILES_KINDS ".md, .txt, .html, .htm or .pdf"

/* NULL, or what is wrong with a name, as a sentence for a person. */
const char *library_files_fault(const char *name);

/* True if any account has ever put a file into its library. */
bool library_files_exist(const char *dir);

struct library_file {
    const char *name;
    int64_t bytes;
    int64_t mtime_ns; /* Unix nanoseconds */
};

/* The files of one account (owner: its folder's name), by the bytes of their
 * names. None if it has no folder. RC_IO: it cannot be read. */
enum rc library_files_list(const char *dir, const char *owner, struct arena *,
                           struct library_file **out, size_t *n) RC_MUST_CHECK;

/* --- adding --------------------------------------------------------------- */

/* Why a file is not taken. */
enum library_refusal {
    LIBRARY_TAKEN = 0,  /* it is */
    LIBRARY_TOO_MANY,   /* files */
    LIBRARY_TOO_MUCH,   /* bytes together */
    LIBRARY_TWIN,       /* another file's name differs in capitals or in
                            * the writing of accents alone: *other */
    LIBRARY_IN_THE_WAY, /* a file where the name has a folder, or a folder
                            * where it has the file */
    LIBRARY_DISK_FULL,  /* or another limit of the system */
};

struct library_limits {
    int64_t files;
    int64_t bytes;
};

struct library_added {
    enum library_refusal refusal;
    const char *other; /* with LIBRARY_TWIN; memory of the arena */
    bool replaced;     /* there was a file of that name */
    int64_t bytes;
};

struct library_upload; /* a file on its way */

/* RC_FULL: no space. RC_IO. */
enum rc library_files_begin(const char *dir, const char *owner,
                            struct library_upload **out) RC_MUST_CHECK;
/* RC_TOO_LARGE: more than LIBRARY_FILES_MAX_BYTES. RC_FULL, RC_IO. */
enum rc library_files_write(struct library_upload *, const void *,
                            size_t len) RC_MUST_CHECK;
/* Give the file its name, which has no fault. Frees the upload, whatever comes
 * of it. RC_CONFLICT: out->refusal says why. RC_BUSY, RC_IO, RC_NOMEM. */
enum rc library_files_commit_take(struct library_upload *, const char *name,
                                  const struct library_limits *,
                                  int64_t busy_ms, struct arena *,
                                  struct library_added *out) RC_MUST_CHECK;
/* Forget it. NULL is allowed. */
void library_files_drop(struct library_upload *);

/* --- removing ------------------------------------------------------------- */

/* Remove a file, and folders that become empty by that. RC_NOT_FOUND: there is
 * none of that name. RC_FULL: no space for the lock. RC_BUSY, RC_IO.
 *
 * mark names this removal, in at most 2 * HASH_BYTES characters of a hash, or
 * is NULL: the same removal once more gives RC_OK too, and takes no file that
 * has had the name since. That is so until library_files_removed, for who has
 * recorded elsewhere by then that it is done, or for an hour. */
enum rc library_files_remove(const char *dir, const char *owner,
                             const char *name, const char *mark,
                             int64_t busy_ms) RC_MUST_CHECK;
void library_files_removed(const char *dir, const char *owner,
                           const char *mark);

#endif
