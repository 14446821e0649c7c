#include "tests/support/disk.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    enum disk_call call;
    const char *name;
    int error;
} broken;

void disk_break(enum disk_call call, const char *name, int error)
{
    broken.call = call;
    broken.name = name;
    broken.error = error;
}

void disk_mend(void)
{
    broken.call = DISK_SOUND;
}

static bool fails_by_name(enum disk_call call, const char *name)
{
    if (broken.call != call || strcmp(name, broken.name) != 0) {
        return false;
    }
    errno = broken.error;
    return true;
}

static bool fails_by_fd(enum disk_call call, int fd)
{
    char link[64];
    char path[PATH_MAX + 1];
    size_t name_len;
    ssize_t len;

    if (broken.call != call) {
        return false;
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, PATH_MAX);
    name_len = strlen(broken.name);
    if (len < (ssize_t)name_len ||
        memcmp(path + (size_t)len - name_len, broken.name, name_len) != 0) {
        return false;
    }
    errno = broken.error;
    return true;
}

/* The C library's own, by the name that it has in the program. */
static void find_own(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(out, &found, sizeof(found));
}

int openat(int parent, const char *name, int flags, ...)
{
    int (*own)(int, const char *, int, ...);
    mode_t mode = 0;
    va_list rest;

    if ((flags & O_CREAT) != 0) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (fails_by_name(DISK_OPENAT, name)) {
        return -1;
    }
    find_own("openat64", &own);
    return own(parent, name, flags, mode);
}

int fstatat(int parent, const char *restrict name, struct stat *restrict st,
            int flags)
{
    int (*own)(int, const char *, struct stat *, int);

    if (fails_by_name(DISK_FSTATAT, name)) {
        return -1;
    }
    find_own("fstatat64", &own);
    return own(parent, name, st, flags);
}

DIR *fdopendir(int fd)
{
    DIR *(*own)(int);

    if (fails_by_fd(DISK_FDOPENDIR, fd)) {
        return NULL;
    }
    find_own("fdopendir", &own);
    return own(fd);
}

struct dirent *readdir(DIR *dir)
{
    struct dirent *(*own)(DIR *);

    if (fails_by_fd(DISK_READDIR, dirfd(dir))) {
        return NULL;
    }
    find_own("readdir64", &own);
    return own(dir);
}
