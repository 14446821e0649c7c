#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/document/index_inside.h"
#include "sql/base/buf.h"
#include "sql/base/folder.h"

/* What accounts have put in lies there, as their documents' paths say. */
#define OWN_ROOT "library"

#define MAX_FOLDERS 64
/* --- those of the accounts ------------------------------------------------ */

/* The files of one account, by names that do not say where the data directory
 * is: ids of passages follow from them. */
static void walk_owner(struct index_run *run, int parent, const char *owner)
{
    struct buf path;

    run->owner = arena_strdup(run->list, owner);
    if (run->owner == NULL) {
        index_fail(run, RC_NOMEM);
        return;
    }
    buf_init(&path, (LIBRARY_INDEX_MAX_DEPTH + 2) * (NAME_MAX + 2));
    buf_printf(&path, OWN_ROOT "/%s", owner);
    index_walk_below(run, parent, owner, &path, 0);
    buf_free(&path);
    run->owner = NULL;
}

static void walk_owners(struct index_run *run)
{
    char path[PATH_MAX];
    const char *name;
    int error = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/" OWN_ROOT, run->options->dir);
    dir = opendir(path);
    if (dir == NULL) {
        if (errno != ENOENT) {
            index_keep_unread(run, OWN_ROOT, strerror(errno));
            run->counts.folders_failed++;
        }
        return;
    }
    if (fstat(dirfd(dir), &run->own) != 0) {
        index_fail(run, RC_IO);
    }
    while (run->rc == RC_OK && (name = folder_next(dir, &error)) != NULL) {
        if (name[0] != '.') {
            walk_owner(run, dirfd(dir), name);
        }
    }
    (void)closedir(dir);
    if (error != 0) {
        index_keep_unread(run, OWN_ROOT, strerror(error));
        run->counts.folders_failed++;
    }
}

/* --- those that all share ------------------------------------------------- */

static void walk_folder(struct index_run *run, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct buf path;

    if (fd < 0) {
        index_keep_unread(run, folder, strerror(errno));
        run->counts.folders_failed++;
        return;
    }
    buf_init(&path, (LIBRARY_INDEX_MAX_DEPTH + 2) * (NAME_MAX + 2) + PATH_MAX);
    buf_puts(&path, strcmp(folder, "/") == 0 ? "" : folder);
    buf_puts(&path, "");
    index_walk(run, fd, &path, 0);
    buf_free(&path);
}

/* True if folder is one of the others, or in one of them. */
static bool is_within(const char *folder, char *const *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(others[i]);

        if (strncmp(folder, others[i], len) == 0 &&
            (folder[len] == '\0' || folder[len] == '/' || len == 1)) {
            return true;
        }
    }
    return false;
}

/* True if the folder lies where the accounts' files do. */
static bool is_in_own(const struct index_run *run, const char *folder)
{
    char path[PATH_MAX];
    char *own;
    bool in;

    (void)snprintf(path, sizeof(path), "%s/" OWN_ROOT, run->options->dir);
    own = realpath(path, NULL);
    in = own != NULL && is_within(folder, &own, 1);
    free(own);
    return in;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A folder that was named has no place now. Where it had one, behind a link
 * say, is not known: what lies in no other folder stays as it is known. */
static void keep_outside(struct index_run *run, char *const *folders, size_t n)
{
    for (size_t i = 0; i < run->n_known; i++) {
        const char *path = run->known[i].path;

        run->seen[i] =
            run->seen[i] || (path[0] == '/' && !is_within(path, folders, n));
    }
}

/* The configured folders by their real paths, outer ones before inner. */
static size_t list_folders(struct index_run *run, char **out)
{
    const char *named = run->options->folders;
    char *all = strdup(named == NULL ? "" : named);
    char *rest = all;
    const char *name;
    bool lost = named == NULL;
    size_t n = 0;

    if (all == NULL) {
        index_fail(run, RC_NOMEM);
        return 0;
    }
    while ((name = strsep(&rest, ":")) != NULL) {
        if (name[0] == '\0') {
            continue;
        }
        if (n == MAX_FOLDERS) {
            index_fail(run, RC_FULL);
            break;
        }
        out[n] = realpath(name, NULL);
        if (out[n] != NULL && is_in_own(run, out[n])) {
            free(out[n]);
            out[n] = NULL;
            errno = EACCES; /* it holds what accounts have put in */
        }
        if (out[n] == NULL) {
            index_keep_unread(run, name, strerror(errno));
            run->counts.folders_failed++;
            lost = true;
        } else {
            n++;
        }
    }
    free(all);
    qsort(out, n, sizeof(out[0]), by_text);
    if (lost) {
        keep_outside(run, out, n);
    }
    return n;
}

/* --- all ------------------------------------------------------------------ */

void index_folders_read(struct index_run *run)
{
    char *folders[MAX_FOLDERS];
    size_t n;

    walk_owners(run);
    n = list_folders(run, folders);

    for (size_t i = 0; run->rc == RC_OK && i < n; i++) {
        if (!is_within(folders[i], folders, i)) {
            walk_folder(run, folders[i]);
        }
    }
    if (run->rc == RC_OK || run->rc == RC_FULL) {
        index_batch_store(run);
    }
    for (size_t i = 0; i < n; i++) {
        free(folders[i]);
    }
}
