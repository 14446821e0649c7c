#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/document/index_inside.h"
#include "sql/base/buf.h"
#include "sql/base/folder.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"

void index_keep_unread(struct index_run *run, const char *path, const char *why)
{
    size_t len = strlen(path);

    log_warn(NULL, "library: %s: %s", path, why);
    for (size_t i = 0; i < run->n_known; i++) {
        const char *known = run->known[i].path;

        if (strncmp(known, path, len) == 0 &&
            (known[len] == '/' || known[len] == '\0')) {
            run->seen[i] = true;
        }
    }
}

/* A shared folder may hold the data directory: what accounts have put in is
 * theirs even so. */
static bool is_own_root(const struct index_run *run, const struct stat *st)
{
    return run->owner == NULL && S_ISDIR(st->st_mode) &&
           st->st_ino == run->own.st_ino && st->st_dev == run->own.st_dev;
}

static void visit(struct index_run *run, int parent, const char *name,
                  struct buf *path, int depth)
{
    enum library_format format = library_files_format(name);
    struct stat st;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!folder_is_gone(errno)) {
            index_keep_unread(run, buf_str(path), strerror(errno));
        }
        return;
    }
    if (is_own_root(run, &st)) {
        return; /* not shared */
    }
    if (S_ISDIR(st.st_mode)) {
        index_walk_below(run, parent, name, path, depth);
    } else if (S_ISREG(st.st_mode) && format != LIBRARY_FORMAT_NONE &&
               (run->owner == NULL || library_files_fault(name) == NULL)) {
        index_file_read(run, &(struct index_found){.path = buf_str(path),
                                                   .name = name,
                                                   .parent = parent,
                                                   .format = format});
    }
}

void index_walk(struct index_run *run, int fd, struct buf *path, int depth)
{
    DIR *dir = folder_open_take(fd);
    size_t len = path->len;
    const char *name;
    int error = 0;

    if (dir == NULL) {
        index_keep_unread(run, buf_str(path), strerror(errno));
        return;
    }
    while (run->rc == RC_OK && (name = folder_next(dir, &error)) != NULL) {
        if (name[0] == '.') {
            continue;
        }
        if (!utf8_valid(name, strlen(name))) {
            log_warn(NULL, "library: a name in %s is not UTF-8", buf_str(path));
            continue;
        }
        buf_printf(path, "/%s", name);
        if (buf_rc(path) != RC_OK) {
            index_fail(run, buf_rc(path));
            break;
        }
        visit(run, fd, name, path, depth);
        path->len = len;
        path->data[len] = '\0';
    }
    (void)closedir(dir);
    if (error != 0) {
        index_keep_unread(run, buf_str(path), strerror(error));
    }
}

void index_walk_below(struct index_run *run, int parent, const char *name,
                      struct buf *path, int depth)
{
    int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        if (!folder_is_gone(errno)) {
            index_keep_unread(run, buf_str(path), strerror(errno));
        }
        return;
    }
    if (depth >= LIBRARY_INDEX_MAX_DEPTH) {
        index_keep_unread(run, buf_str(path), "too many folders in folders");
        (void)close(fd);
        return;
    }
    index_walk(run, fd, path, depth + 1);
}
