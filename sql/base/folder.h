/* folder.h - the names in a folder, one after another; a folder that goes.
 *
 * readdir() tells the end of a folder and an error by the same NULL. Who takes
 * the one for the other sees files as gone that are there, so it is called
 * here alone.
 */
#ifndef ASIDE_BASE_FOLDER_H
#define ASIDE_BASE_FOLDER_H

#include <dirent.h>
#include <stdbool.h>

/* Read the folder open at fd; closedir() then closes fd too. NULL: errno tells
 * why not, and fd is closed. */
DIR *folder_open_take(int fd);

/* The next name, "." and ".." among them; it is good until the next call. NULL
 * at the end, with *error 0, and where the rest cannot be read, with *error
 * an errno. */
const char *folder_next(DIR *, int *error);

/* True if errno tells of a file or folder that its name leads to nothing that
 * is meant: it is gone, or something else is there. Any other errno says
 * nothing about what is there. */
bool folder_is_gone(int error);

/* Remove the folder, or file, with all that is in it; a link is removed, not
 * followed. False: errno; a part of it may be gone. */
bool folder_remove(const char *path);

#endif
