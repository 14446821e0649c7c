#include "sql/base/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#define FTW_FDS 16 /* that are open at once */

DIR *folder_open_take(int fd)
{
    DIR *dir = fdopendir(fd);

    if (dir == NULL) {
        int error = errno;

        (void)close(fd);
        errno = error;
    }
    return dir;
}

const char *folder_next(DIR *dir, int *error)
{
    const struct dirent *entry;

    errno = 0;
    entry = readdir(dir);
    *error = entry == NULL ? errno : 0;
    return entry == NULL ? NULL : entry->d_name;
}

bool folder_is_gone(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

bool folder_remove(const char *path)
{
    return nftw(path, remove_one, FTW_FDS, FTW_DEPTH | FTW_PHYS) == 0;
}
