#include "runtime/cmd/cmd_library.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/document/library_index.h"
#include "sql/base/clock.h"
#include "sql/base/conf.h"
#include "sql/base/doorbell.h"
#include "sql/base/folder.h"
#include "sql/base/log.h"
#include "sql/library.h"
#include "sql/library_files.h"
#include "sql/store_library.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define LISTED_MAX  200000
/* For a run of the indexer that is at work. */
#define WAIT_MS 600000

struct work {
    struct conf conf;
    const char *account;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    struct arena *arena;
    int64_t done;    /* files added or removed */
    int64_t refused; /* named on stderr */
    int64_t passed;  /* in folders, of kinds that cannot be read */
};

static void refuse(struct work *w, const char *what, const char *why)
{
    (void)fprintf(stderr, "aside: %s: %s\n", what, why);
    w->refused++;
}

/* --- adding ------------------------------------------------------------------ */

static const char *refusal_text(const struct work *w,
                                const struct library_added *added)
{
    switch (added->refusal) {
    case LIBRARY_TOO_MANY:
        return "the account has library.max_files files already";
    case LIBRARY_TOO_MUCH:
        return "the account would have more than library.max_bytes";
    case LIBRARY_TWIN:
        return arena_printf(w->arena,
                            "\"%s\" is there already, and differs only in "
                            "capitals or in how accents are written",
                            added->other);
    case LIBRARY_IN_THE_WAY:
        return "there is a file where the name has a folder, or a folder "
               "where it has the file";
    case LIBRARY_DISK_FULL:
        return "no space left";
    case LIBRARY_TAKEN:
        break;
    }
    return "not added";
}

static enum rc copy(int fd, struct library_upload *upload)
{
    char piece[65536];
    ssize_t n;
    enum rc rc = RC_OK;

    do {
        n = read(fd, piece, sizeof(piece));
        if (n > 0) {
            rc = library_files_write(upload, piece, (size_t)n);
        }
    } while (rc == RC_OK && (n > 0 || (n < 0 && errno == EINTR)));
    return rc == RC_OK && n < 0 ? RC_IO : rc;
}

static void add_open(struct work *w, int fd, const char *path, const char *name)
{
    const struct library_limits limits = {.files = w->conf.library_max_files,
                                          .bytes = w->conf.library_max_bytes};
    struct library_upload *upload = NULL;
    struct library_added added = {.refusal = LIBRARY_TAKEN};
    enum rc rc = library_files_begin(w->conf.data, w->owner, &upload);

    if (rc == RC_OK) {
        rc = copy(fd, upload);
    }
    if (rc == RC_OK) {
        rc = library_files_commit_take(
            upload, name, &limits, w->conf.busy_timeout_ms, w->arena, &added);
    } else {
        library_files_drop(upload);
    }
    if (rc == RC_OK) {
        (void)printf("%s %s\n", added.replaced ? "replaced" : "added", name);
        w->done++;
    } else if (rc == RC_CONFLICT) {
        refuse(w, path, refusal_text(w, &added));
    } else if (rc == RC_TOO_LARGE) {
        refuse(w, path, "larger than 5 MB");
    } else {
        refuse(w, path, rc == RC_FULL ? "no space left" : rc_name(rc));
    }
}

static void add_file(struct work *w, const char *path, const char *name)
{
    const char *fault = library_files_fault(name);
    int fd;

    if (fault == NULL && library_files_format(name) == LIBRARY_FORMAT_NONE) {
        fault = "the name does not end in " LIBRARY_FILES_KINDS;
    }
    if (fault != NULL) {
        refuse(w, path, fault);
        return;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        refuse(w, path, strerror(errno));
        return;
    }
    add_open(w, fd, path, name);
    (void)close(fd);
}

static void add_folder(struct work *w, const char *path, const char *name,
                       int depth);

/* One entry of a folder: links, hidden names and other kinds of files are
 * passed over, as by the indexer. */
static void add_entry(struct work *w, const char *folder, const char *prefix,
                      const char *entry, int depth)
{
    char path[PATH_MAX];
    char name[PATH_MAX];
    struct stat st;
    int a = snprintf(path, sizeof(path), "%s/%s", folder, entry);
    int b = snprintf(name, sizeof(name), "%s/%s", prefix, entry);

    if (a < 0 || (size_t)a >= sizeof(path) || b < 0 ||
        (size_t)b >= sizeof(name)) {
        refuse(w, entry, "the path is too long");
    } else if (lstat(path, &st) != 0) {
        refuse(w, path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        add_folder(w, path, name, depth + 1);
    } else if (S_ISREG(st.st_mode) &&
               library_files_format(entry) != LIBRARY_FORMAT_NONE) {
        add_file(w, path, name);
    } else {
        w->passed++;
    }
}

static void add_folder(struct work *w, const char *path, const char *name,
                       int depth)
{
    DIR *dir = depth < LIBRARY_FILES_MAX_PARTS ? opendir(path) : NULL;
    const char *entry;
    int error;

    if (dir == NULL) {
        refuse(w, path,
               depth < LIBRARY_FILES_MAX_PARTS ? strerror(errno)
                                               : "too many folders in folders");
        return;
    }
    while ((entry = folder_next(dir, &error)) != NULL) {
        if (entry[0] != '.') {
            add_entry(w, path, name, entry, depth);
        }
    }
    (void)closedir(dir);
    if (error != 0) {
        refuse(w, path, strerror(error));
    }
}

/* What is named is taken under its last part, a folder with all in it. */
static void add_named(struct work *w, const char *named)
{
    char path[PATH_MAX];
    const char *name;
    struct stat st;

    if (realpath(named, path) == NULL || stat(path, &st) != 0) {
        refuse(w, named, strerror(errno));
        return;
    }
    name = strrchr(path, '/') + 1;
    if (S_ISDIR(st.st_mode)) {
        add_folder(w, path, name, 0);
    } else if (S_ISREG(st.st_mode)) {
        add_file(w, named, name);
    } else {
        refuse(w, named, "no file and no folder");
    }
}

/* --- telling ----------------------------------------------------------------- */

struct want_call {
    struct store_call call;
    enum audit_action why;
};

static enum rc want(struct store *st, void *arg)
{
    struct want_call *c = arg;

    return store_library_want(st, &c->call, c->why);
}

/* Pages look again; a runtime that is there reads what is new. */
static enum rc tell(const struct work *w, enum audit_action why)
{
    struct want_call c = {
        .call = {.account = w->account,
                 .actor = {.kind = ACTOR_COMMAND, .id = (int64_t)getuid()},
                 .now_ms = clock_unix_ms(),
                 .conf = &w->conf,
                 .arena = w->arena},
        .why = why};
    struct doorbell *bell = NULL;
    struct store *st = NULL;
    enum rc rc = store_open(w->conf.data, w->conf.busy_timeout_ms, &st);

    if (rc == RC_OK) {
        rc = store_tx(st, want, &c);
    }
    if (rc == RC_OK) {
        rc = doorbell_open(w->conf.data, &bell);
    }
    if (rc == RC_OK) {
        doorbell_ring(bell);
    }
    doorbell_close(bell);
    store_close(st);
    return rc;
}

/* Read what is new here and now: no runtime need be there for it. */
static enum rc index_now(const struct work *w)
{
    struct library_index_counts counts;

    return library_index_run(
        &(struct library_index_options){.dir = w->conf.data,
                                        .folders = w->conf.library,
                                        .busy_ms = w->conf.busy_timeout_ms,
                                        .wait_ms = WAIT_MS},
        &counts);
}

static int finish(struct work *w, enum audit_action why)
{
    enum rc rc = RC_OK;

    if (w->done > 0) {
        enum rc told;

        rc = index_now(w);
        told = tell(w, why);
        rc = rc == RC_OK ? told : rc;
        if (rc != RC_OK) {
            (void)fprintf(stderr,
                          "aside: the files are in place, but were not "
                          "read: %s; try aside index\n",
                          rc_name(rc));
        }
    }
    if (w->passed > 0) {
        (void)printf("%" PRId64 " of other kinds passed over\n", w->passed);
    }
    return rc == RC_OK && w->refused == 0 ? 0 : 1;
}

static int add(struct work *w, int n, char **names)
{
    for (int i = 0; i < n; i++) {
        add_named(w, names[i]);
    }
    return finish(w, AUDIT_LIBRARY_ADD);
}

static int drop(struct work *w, int n, char **names)
{
    for (int i = 0; i < n; i++) {
        enum rc rc = library_files_remove(w->conf.data, w->owner, names[i],
                                          NULL, w->conf.busy_timeout_ms);

        if (rc == RC_OK) {
            (void)printf("removed %s\n", names[i]);
            w->done++;
        } else {
            refuse(w, names[i],
                   rc == RC_NOT_FOUND ? "no such document of the account"
                   : rc == RC_FULL    ? "no space left"
                                      : rc_name(rc));
        }
    }
    return finish(w, AUDIT_LIBRARY_REMOVE);
}

/* --- listing ----------------------------------------------------------------- */

static void print_entry(const struct library_entry *e, const char *whose)
{
    if (e->error[0] != '\0') {
        (void)printf("failed\t%s\t%" PRId64 "\t0\t%s\t(%s)\n", whose,
                     e->size_bytes, e->path, e->error);
    } else {
        (void)printf("indexed\t%s\t%" PRId64 "\t%" PRId64 "\t%s\n", whose,
                     e->size_bytes, e->passages, e->path);
    }
}

static const struct library_entry *find_entry(const struct library_entry *list,
                                              size_t n,
                                              const struct library_file *f)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].path, f->name) == 0 &&
            (list[i].mtime_ns == f->mtime_ns ||
             (list[i].mtime_ns == 0 && list[i].error[0] != '\0'))) {
            return &list[i];
        }
    }
    return NULL;
}

static enum rc read_entries(const struct work *w, const char *owner,
                            struct library_entry **out, size_t *n)
{
    struct library *lib = NULL;
    enum rc rc = library_open_read(w->conf.data, w->conf.busy_timeout_ms, &lib);

    if (rc == RC_NOT_FOUND) {
        return RC_OK;
    }
    if (rc == RC_OK) {
        rc = library_entries(lib, owner, "", LISTED_MAX, w->arena, out, n);
    }
    library_close(lib);
    return rc;
}

/* Lines of state, own or shared, bytes, passages and name, by tabs. */
static int list(struct work *w, int n_names, char **names)
{
    struct library_entry *own = NULL;
    struct library_entry *shared = NULL;
    struct library_file *files = NULL;
    size_t n_own = 0;
    size_t n_shared = 0;
    size_t n = 0;
    enum rc rc =
        library_files_list(w->conf.data, w->owner, w->arena, &files, &n);

    (void)n_names;
    (void)names;
    if (rc == RC_OK) {
        rc = read_entries(w, w->owner, &own, &n_own);
    }
    if (rc == RC_OK) {
        rc = read_entries(w, "", &shared, &n_shared);
    }
    if (rc != RC_OK) {
        (void)fprintf(stderr, "aside: the library cannot be read: %s\n",
                      rc_name(rc));
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct library_entry *e = find_entry(own, n_own, &files[i]);

        if (e != NULL) {
            print_entry(e, "own");
        } else {
            (void)printf("waiting\town\t%" PRId64 "\t0\t%s\n", files[i].bytes,
                         files[i].name);
        }
    }
    for (size_t i = 0; i < n_shared; i++) {
        print_entry(&shared[i], "shared");
    }
    return 0;
}

/* --- the verb ---------------------------------------------------------------- */

struct deed {
    const char *name;
    int (*run)(struct work *, int n, char **names);
    bool names; /* one at least, else none */
};

static const struct deed DEEDS[] = {
    {"add", add, true}, {"list", list, false}, {"remove", drop, true}};

static int usage(void)
{
    (void)fputs("usage: aside library add [-c file] [-a account] "
                "<file|folder>...\n"
                "       aside library list [-c file] [-a account]\n"
                "       aside library remove [-c file] [-a account] "
                "<name>...\n",
                stderr);
    return 2;
}

static const struct deed *find_deed(const char *name)
{
    for (size_t i = 0; i < sizeof(DEEDS) / sizeof(DEEDS[0]); i++) {
        if (strcmp(DEEDS[i].name, name) == 0) {
            return &DEEDS[i];
        }
    }
    return NULL;
}

/* Which account: the only one there is without a login, else the one named. */
static bool choose_account(struct work *w)
{
    if (w->account == NULL && w->conf.auth == CONF_AUTH_NONE) {
        w->account = "me";
    }
    if (w->account == NULL || w->account[0] == '\0' ||
        strlen(w->account) > 255) {
        (void)fputs("aside: there are several accounts: say which with -a\n",
                    stderr);
        return false;
    }
    library_files_owner(w->account, w->owner);
    return true;
}

static int run(struct work *w, const struct deed *deed, int n, char **names)
{
    int status = 1;

    if (mkdir(w->conf.data, 0700) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "aside: data: %s: %s\n", w->conf.data,
                      strerror(errno));
        return 1;
    }
    w->arena = arena_new(ARENA_BYTES);
    if (w->arena != NULL && choose_account(w)) {
        status = deed->run(w, n, names);
    }
    arena_free(w->arena);
    return status;
}

int cmd_library(int argc, char **argv)
{
    const struct deed *deed = find_deed(argc > 1 ? argv[1] : "");
    struct work work = {.account = NULL};
    const char *file = NULL;
    char err[512];
    int option;
    int status;

    if (deed == NULL) {
        return usage();
    }
    optind = 2;
    while ((option = getopt(argc, argv, "c:a:")) != -1) {
        switch (option) {
        case 'c':
            file = optarg;
            break;
        case 'a':
            work.account = optarg;
            break;
        default:
            return usage();
        }
    }
    if (deed->names != (optind < argc)) {
        return usage();
    }
    if (conf_load(file, &work.conf, err, sizeof(err)) != RC_OK) {
        (void)fprintf(stderr, "aside: %s\n", err);
        return 1;
    }
    log_open("aside", (enum log_level)work.conf.log_level);
    status = run(&work, deed, argc - optind, argv + optind);
    conf_free(&work.conf);
    return status;
}
