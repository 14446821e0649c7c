/* tmp.h - a temporary directory for a test, and files in it. */
#ifndef ASIDE_TESTS_TMP_H
#define ASIDE_TESTS_TMP_H

/* A new directory; the path stays valid until tmp_remove, which removes it
 * with all that is in it. One at a time. For a checked fixture. */
const char *tmp_make(void);
void tmp_remove(void);

/* The path of name in it, in one of a few buffers used in turn. */
const char *tmp_path(const char *name);

/* Write a file in it (folders in the name are made). Returns its path. */
const char *tmp_write(const char *name, const char *text);

/* The whole of any file, NUL-terminated; the caller frees it. Fails the test
 * if it cannot be read. */
char *tmp_read(const char *path);

#endif
