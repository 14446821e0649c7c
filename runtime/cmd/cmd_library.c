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

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/cmd_library_list.h"
#include "runtime/document/library_index.h"
#include "sql/base/folder.h"
#include "sql/library_files.h"
#include "sql/store_library.h"

#define USAGE                                                                  \
    "add|list|remove [-c file] [-a account] [--json] [<file|folder|name>...]"
#define TOLD_BYTES ((size_t)64 << 20)
/* For a run of the indexer that is at work. */
#define WAIT_MS 600000

struct work {
    struct cmd *cmd;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    struct buf told_text; /* for --json: the elements of its two lists */
    struct buf refused_text;
    struct json_out told;
    struct json_out refused_list;
    int64_t done;    /* files added or removed */
    int64_t refused; /* named on stderr */
    int64_t passed;  /* in folders, of kinds that cannot be read */
};

static void refuse(struct work *w, const char *what, const char *why)
{
    (void)cmd_fail(what, why);
    json_open_object(&w->refused_list);
    cmd_kstr(&w->refused_list, "name", what);
    cmd_kstr(&w->refused_list, "why", why);
    json_close_object(&w->refused_list);
    w->refused++;
}

/* A file was added, replaced or removed. */
static void tell_done(struct work *w, const char *deed, const char *name)
{
    json_open_object(&w->told);
    json_kstr(&w->told, "done", deed);
    cmd_kstr(&w->told, "name", name);
    json_close_object(&w->told);
    if (!w->cmd->json) {
        (void)printf("%s %s\n", deed, cmd_shown(w->cmd->arena, name));
    }
    w->done++;
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
        return arena_printf(w->cmd->arena,
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
    const struct conf *conf = &w->cmd->conf;
    const struct library_limits limits = {.files = conf->library_max_files,
                                          .bytes = conf->library_max_bytes};
    struct library_upload *upload = NULL;
    struct library_added added = {.refusal = LIBRARY_TAKEN};
    enum rc rc = library_files_begin(conf->data, w->owner, &upload);

    if (rc == RC_OK) {
        rc = copy(fd, upload);
    }
    if (rc == RC_OK) {
        rc = library_files_commit_take(upload, name, &limits,
                                       conf->busy_timeout_ms, w->cmd->arena,
                                       &added);
    } else {
        library_files_drop(upload);
    }
    if (rc == RC_OK) {
        tell_done(w, added.replaced ? "replaced" : "added", name);
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
static enum rc announce(const struct work *w, enum audit_action why)
{
    struct want_call c = {.call = cmd_call(w->cmd, w->cmd->account),
                          .why = why};
    enum rc rc = store_tx(w->cmd->store, want, &c);

    if (rc == RC_OK) {
        cmd_ring(w->cmd);
    }
    return rc;
}

/* Read what is new here and now: no runtime need be there for it. Which folders
 * are shared is the runtime's to know: started by hand, this may have another
 * configuration. */
static enum rc index_now(const struct work *w)
{
    struct library_index_counts counts;

    return library_index_run(
        &(struct library_index_options){.dir = w->cmd->conf.data,
                                        .busy_ms = w->cmd->conf.busy_timeout_ms,
                                        .wait_ms = WAIT_MS},
        &counts);
}

static enum rc put(struct json_out *json, void *arg)
{
    struct work *w = arg;

    json_kbool(json, "ok", w->refused == 0);
    json_key(json, "files");
    json_put_raw(json, buf_str(&w->told_text), w->told_text.len);
    json_key(json, "refused");
    json_put_raw(json, buf_str(&w->refused_text), w->refused_text.len);
    json_ki64(json, "passed_over", w->passed);
    return RC_OK;
}

/* What was done is told also where reading it failed. */
static int report(struct work *w)
{
    enum rc told;
    enum rc refused;

    json_close_array(&w->told);
    json_close_array(&w->refused_list);
    told = json_end(&w->told);
    refused = json_end(&w->refused_list);
    if (!w->cmd->json) {
        if (w->passed > 0) {
            (void)printf("%" PRId64 " of other kinds passed over\n", w->passed);
        }
        return CMD_DONE;
    }
    return told == RC_OK && refused == RC_OK
               ? cmd_print_json(put, w)
               : cmd_fail_rc("printing", told == RC_OK ? refused : told);
}

static int finish(struct work *w, enum audit_action why)
{
    enum rc rc = RC_OK;
    int status;

    if (w->done > 0) {
        enum rc announced;

        rc = index_now(w);
        announced = announce(w, why);
        rc = rc == RC_OK ? announced : rc;
        if (rc != RC_OK) {
            (void)fprintf(stderr,
                          "aside: the files are in place, but were not "
                          "read: %s; try aside index\n",
                          rc_name(rc));
        }
    }
    status = report(w);
    return rc == RC_OK && w->refused == 0 ? status : CMD_FAILED;
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
        enum rc rc = library_files_remove(w->cmd->conf.data, w->owner, names[i],
                                          NULL, w->cmd->conf.busy_timeout_ms);

        if (rc == RC_OK) {
            tell_done(w, "removed", names[i]);
        } else {
            refuse(w, names[i],
                   rc == RC_NOT_FOUND ? "no such document of the account"
                   : rc == RC_FULL    ? "no space left"
                                      : rc_name(rc));
        }
    }
    return finish(w, AUDIT_LIBRARY_REMOVE);
}

/* --- the verb ---------------------------------------------------------------- */

static int list(struct work *w, int n, char **names)
{
    (void)n;
    (void)names;
    return cmd_library_list(w->cmd, w->owner);
}

struct deed {
    const char *name;
    int (*run)(struct work *, int n, char **names);
    int (*open)(struct cmd *); /* the database */
    bool names;                /* one at least, else none */
};

/* What lies in the folder can be listed whatever the database is. */
static int open_none(struct cmd *cmd)
{
    (void)cmd;
    return CMD_DONE;
}

static int open_there(struct cmd *cmd)
{
    return cmd_open_store(cmd, CMD_CHANGE);
}

static const struct deed DEEDS[] = {{"add", add, cmd_make_store, true},
                                    {"list", list, open_none, false},
                                    {"remove", drop, open_there, true}};

static const struct deed *find_deed(const struct cmd *cmd)
{
    for (size_t i = 0; i < sizeof(DEEDS) / sizeof(DEEDS[0]); i++) {
        if (cmd->n_words > 0 && strcmp(cmd->words[0], DEEDS[i].name) == 0 &&
            DEEDS[i].names == (cmd->n_words > 1)) {
            return &DEEDS[i];
        }
    }
    return NULL;
}

/* Which account: the only one there is without a login, else the one named. */
static bool choose_account(struct work *w)
{
    struct cmd *cmd = w->cmd;

    if (cmd->account == NULL && cmd->conf.auth == CONF_AUTH_NONE) {
        cmd->account = "me";
    }
    if (cmd->account == NULL || cmd->account[0] == '\0' ||
        strlen(cmd->account) > 255) {
        (void)cmd_fail("there are several accounts", "say which with -a");
        return false;
    }
    library_files_owner(cmd->account, w->owner);
    return true;
}

static int run(struct cmd *cmd, const struct deed *deed)
{
    struct work w = {.cmd = cmd};
    int status = CMD_FAILED;

    buf_init(&w.told_text, TOLD_BYTES);
    buf_init(&w.refused_text, TOLD_BYTES);
    json_begin(&w.told, &w.told_text);
    json_open_array(&w.told);
    json_begin(&w.refused_list, &w.refused_text);
    json_open_array(&w.refused_list);
    if (choose_account(&w)) {
        status = deed->open(cmd);
    }
    if (status == CMD_DONE) {
        status = deed->run(&w, cmd->n_words - 1, cmd->words + 1);
    }
    buf_free(&w.told_text);
    buf_free(&w.refused_text);
    return status;
}

int cmd_library(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);

    if (status == CMD_DONE) {
        const struct deed *deed = find_deed(&cmd);

        status = deed == NULL ? cmd_misuse(argv[0], USAGE) : run(&cmd, deed);
    }
    cmd_close(&cmd);
    return status;
}
