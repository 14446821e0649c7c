#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sql/base/folder.h"
#include "sql/base/hash.h"
#include "sql/library_files_inside.h"

#define GONE_BYTES (sizeof(LIBRARY_FILES_GONE) + (size_t)2 * HASH_BYTES)

/* The folders that a removed file was in, from the inside, as far as they are
 * empty. */
static void remove_empty(int folder, const char *name)
{
    char path[LIBRARY_FILES_MAX_NAME_BYTES + 1];
    char *slash;

    (void)snprintf(path, sizeof(path), "%s", name);
    while ((slash = strrchr(path, '/')) != NULL) {
        *slash = '\0';
        if (unlinkat(folder, path, AT_REMOVEDIR) != 0) {
            return;
        }
    }
}

/* Put the file aside under its mark, which tells a repetition that it is done.
 * Where there is no space for that, it is removed all the same. */
static int put_aside(int folder, int parent, const char *last, const char *mark)
{
    char aside[GONE_BYTES];

    if (mark != NULL) {
        (void)snprintf(aside, sizeof(aside), LIBRARY_FILES_GONE "%s", mark);
        if (renameat(parent, last, folder, aside) == 0) {
            return fsync(folder);
        }
        if (!library_files_is_space(errno)) {
            return -1;
        }
    }
    return unlinkat(parent, last, 0);
}

static bool is_put_aside(int folder, const char *mark)
{
    char aside[GONE_BYTES];

    if (mark == NULL) {
        return false;
    }
    (void)snprintf(aside, sizeof(aside), LIBRARY_FILES_GONE "%s", mark);
    return faccessat(folder, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum rc remove_locked(int folder, const char *name, const char *mark)
{
    const char *last;
    int parent = library_files_open_parent(folder, name, false, &last);
    struct stat st;
    enum rc rc = RC_OK;

    if (is_put_aside(folder, mark)) {
        /* What has the name now came later. */
        if (parent >= 0) {
            (void)close(parent);
        }
        return RC_OK;
    }
    if (parent < 0) {
        return folder_is_gone(errno) ? RC_NOT_FOUND
                                     : library_files_complain("removing", name);
    }
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        rc = folder_is_gone(errno) ? RC_NOT_FOUND
                                   : library_files_complain("removing", name);
    } else if (!S_ISREG(st.st_mode)) {
        rc = RC_NOT_FOUND;
    } else if (put_aside(folder, parent, last, mark) != 0 ||
               fsync(parent) != 0) {
        rc = library_files_complain("removing", name);
    }
    (void)close(parent);
    if (rc == RC_OK) {
        remove_empty(folder, name);
    }
    return rc;
}

enum rc library_files_remove(const char *dir, const char *owner,
                             const char *name, const char *mark,
                             int64_t busy_ms)
{
    int folder;
    int lock;
    enum rc rc;

    if (library_files_fault(name) != NULL) {
        return RC_NOT_FOUND;
    }
    rc = library_files_open(dir, owner, false, &folder);
    if (rc != RC_OK) {
        return rc;
    }
    rc = library_files_lock(folder, busy_ms, &lock);
    if (rc == RC_OK) {
        library_files_remove_left(folder);
        rc = remove_locked(folder, name, mark);
        (void)close(lock);
    }
    (void)close(folder);
    return rc;
}

void library_files_removed(const char *dir, const char *owner, const char *mark)
{
    char aside[GONE_BYTES];
    int folder;

    if (library_files_open(dir, owner, false, &folder) == RC_OK) {
        (void)snprintf(aside, sizeof(aside), LIBRARY_FILES_GONE "%s", mark);
        (void)unlinkat(folder, aside, 0);
        (void)close(folder);
    }
}
