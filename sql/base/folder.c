#include "sql/base/folder.h"

#include <errno.h>
#include <unistd.h>

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
