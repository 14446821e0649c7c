#include "tests/support/tmp.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

const char *tmp_make(void)
{
    ck_assert_msg(root[0] == '\0', "a temporary directory stands already");
    (void)snprintf(root, sizeof(root), "/tmp/aside-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    return root;
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void tmp_remove(void)
{
    int failed = nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);

    ck_assert_msg(failed == 0, "cannot remove %s: %s", root, strerror(errno));
    root[0] = '\0';
}

const char *tmp_path(const char *name)
{
    static char path[8][512];
    static unsigned turn;
    char *p = path[turn++ % 8];

    ck_assert_int_ne(root[0], '\0');
    (void)snprintf(p, sizeof(path[0]), "%s/%s", root, name);
    return p;
}

static void make_folders(const char *path)
{
    char folder[512];

    (void)snprintf(folder, sizeof(folder), "%s", path);
    for (char *p = folder + strlen(root) + 1; *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            ck_assert(mkdir(folder, 0777) == 0 || errno == EEXIST);
            *p = '/';
        }
    }
}

const char *tmp_write(const char *name, const char *text)
{
    const char *path = tmp_path(name);
    size_t len = strlen(text);
    FILE *f;

    make_folders(path);
    f = fopen(path, "we");
    ck_assert_msg(f != NULL, "cannot write %s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(text, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

char *tmp_read(const char *path)
{
    size_t size = (size_t)4 << 20, len;
    char *text = malloc(size);
    FILE *f = fopen(path, "re");

    ck_assert_msg(f != NULL, "cannot read %s: %s", path, strerror(errno));
    ck_assert_ptr_nonnull(text);
    len = fread(text, 1, size - 1, f);
    ck_assert(feof(f) && !ferror(f));
    text[len] = '\0';
    (void)fclose(f);
    return text;
}
