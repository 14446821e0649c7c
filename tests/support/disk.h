/* disk.h - a disk that fails where a test says.
 *
 * The C library's calls of these names are ours in the test program: they hand
 * on to the C library's own, but for the one that was told to fail.
 */
#ifndef ASIDE_TESTS_DISK_H
#define ASIDE_TESTS_DISK_H

enum disk_call {
    DISK_SOUND = 0,
    DISK_OPENAT,    /* of a file or folder of that name */
    DISK_FSTATAT,   /* likewise */
    DISK_FDOPENDIR, /* of a folder whose path ends in the name */
    DISK_READDIR    /* likewise: nothing is read of it */
};

/* From now on this call fails with this errno, each time, until disk_mend. name
 * is kept by reference. */
void disk_break(enum disk_call, const char *name, int error);
void disk_mend(void);

#endif
