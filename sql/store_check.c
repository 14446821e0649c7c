#include "sql/store_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/folder.h"
#include "sql/db_copy.h"
#include "sql/library.h"
#include "sql/library_files.h"
#include "sql/store_exchange.h"
#include "sql/store_library.h"
#include "sql/store_priv.h"

/* Things that are named for one fault. */
#define NAMED_MAX 20
/* Nothing of an ended Run is under way for so long. */
#define SETTLING_MS 3600000
/* Of one account that are compared. */
#define DOCUMENTS_MAX 100000

#define RESTORE                                                                \
    "stop Aside, keep a copy of the folder, and restore a backup with "        \
    "`aside restore`"
#define RESTART                                                                \
    "start the runtime, which settles it; if it stays, restore a backup"
#define REPORT                                                                 \
    "keep a copy of the folder and report it: this is a fault of Aside"
#define REMOVE "stop Aside and remove the file: it is made anew"
#define INDEX  "run `aside index`"

struct check {
    const char *dir;
    int64_t busy_ms;
    int64_t now_ms;
    struct arena *arena;
    struct store_finding *list;
    size_t n;
    /* Of the file that is being looked at. */
    const char *where;
    const char *todo;
    enum rc rc; /* the first failure of this program's own */
};

static void find(struct check *c, const char *what, const char *todo)
{
    void *list = c->list;
    struct store_finding *f =
        store_list_add(c->arena, &list, &c->n, sizeof(*f));

    if (f == NULL || what == NULL) {
        c->rc = RC_TOO_LARGE;
        return;
    }
    c->list = list;
    *f = (struct store_finding){.where = c->where, .what = what, .todo = todo};
}

/* --- rows ------------------------------------------------------------------- */

struct rule {
    enum stmt_id stmt;
    const char *broken;
    const char *todo;
};

static const struct rule RULES[] = {
    {STMT_CHECK_PLACE_HELD, "have ended and still hold a place", RESTART},
    {STMT_CHECK_PLACE_MISSING, "are at work without a place", REPORT},
    {STMT_CHECK_PLACE_OTHER, "hold a place that is not theirs", REPORT},
    {STMT_CHECK_SENT, "are under way, though their Runs have ended", RESTART},
    {STMT_CHECK_PLANNED, "are planned, though their Runs have ended", REPORT},
    {STMT_CHECK_RECEIPT_OPEN, "are open, though their Runs have ended", REPORT},
    {STMT_CHECK_MESSAGE, "neither started a Run nor were handed to one",
     REPORT},
    {STMT_CHECK_PARTS, "have answers with holes between their parts", REPORT},
    {STMT_CHECK_ANSWER, "have answers that are not what was streamed", REPORT},
    {STMT_CHECK_BUDGET, "used more than their budget", REPORT},
    {STMT_CHECK_NOTIFICATION, "are research that ended and was not told",
     REPORT},
    {STMT_CHECK_SEQ, "would be given out again", RESTORE},
};

static void check_rule(struct check *c, struct store *st,
                       const struct rule *rule)
{
    struct dbq *q = db_use(st->db, rule->stmt);
    const char *names = NULL;
    enum rc rc;

    db_bind_i64(q, ":limit", NAMED_MAX);
    if (rule->stmt == STMT_CHECK_SENT) {
        db_bind_i64(q, ":before_ms", c->now_ms - SETTLING_MS);
    }
    while (db_next(q)) {
        const char *name = db_text(q, 0, c->arena);

        names = names == NULL ? name
                              : arena_printf(c->arena, "%s, %s", names, name);
    }
    rc = db_end(q);
    if (rc != RC_OK) {
        find(c, arena_printf(c->arena, "cannot be read: %s", rc_name(rc)),
             c->todo);
    } else if (names != NULL) {
        find(c, arena_printf(c->arena, "%s %s", names, rule->broken),
             rule->todo);
    }
}

static void check_rows(struct check *c, struct store *st)
{
    struct store_view view;
    enum rc rc = store_read_begin(st, &view);

    if (rc != RC_OK) {
        find(c, arena_printf(c->arena, "cannot be read: %s", rc_name(rc)),
             c->todo);
        return;
    }
    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        check_rule(c, st, &RULES[i]);
    }
    store_read_end(st);
}

/* --- files by themselves ------------------------------------------------------ */

static void note_fault(void *arg, const char *line)
{
    struct check *c = arg;

    find(c, arena_printf(c->arena, "damaged: %s", line), c->todo);
}

/* True if it is sound. */
static bool verify(struct check *c, struct db *db)
{
    size_t before = c->n;
    enum rc rc = db_copy_verify(db, false, note_fault, c);

    if (rc != RC_OK) {
        find(c, arena_printf(c->arena, "cannot be read: %s", rc_name(rc)),
             c->todo);
    }
    return c->n == before;
}

static bool is_there(struct check *c)
{
    const char *path = arena_printf(c->arena, "%s/%s", c->dir, c->where);

    return path != NULL && access(path, F_OK) == 0;
}

static void cannot_open(struct check *c, enum rc rc)
{
    if (rc == RC_NOT_FOUND) {
        find(c, "is of an older Aside",
             "start Aside once, which brings it up to date");
    } else if (rc == RC_NEWER) {
        find(c, "is of a newer Aside",
             "install the newer Aside again, or restore an older backup");
    } else {
        find(c, arena_printf(c->arena, "cannot be opened: %s", rc_name(rc)),
             c->todo);
    }
}

static void check_main(struct check *c, bool *reading)
{
    struct library_want *wants = NULL;
    struct store *st = NULL;
    size_t n = 0;
    enum rc rc;

    c->where = "aside.db";
    c->todo = RESTORE;
    if (store_exchange_is_open(c->dir)) {
        find(c, "a restore was cut short: what is here is of two times",
             "restore once more, with `aside restore`");
    }
    if (!is_there(c)) {
        find(c, "is not there", RESTORE ", or start Aside once for a new one");
        return;
    }
    rc = store_open_half(c->dir, c->busy_ms, &st);
    if (rc != RC_OK) {
        cannot_open(c, rc);
        return;
    }
    if (verify(c, st->db)) {
        check_rows(c, st);
        rc = store_library_wants(st, c->arena, &wants, &n);
        *reading = rc == RC_OK && n > 0;
    }
    store_close(st);
}

/* A file that is made of others and may be removed. */
static bool check_made(struct check *c, const char *name,
                       const struct db_migration *migrations, size_t n)
{
    const char *path = arena_printf(c->arena, "%s/%s", c->dir, name);
    struct db *db = NULL;
    bool sound = false;
    enum rc rc;

    c->where = name;
    c->todo = REMOVE;
    if (path == NULL || !is_there(c)) {
        return false;
    }
    rc = db_open(&(struct db_options){.path = path,
                                      .migrations = migrations,
                                      .n_migrations = n,
                                      .busy_ms = c->busy_ms,
                                      .read_only = true},
                 &db);
    if (rc == RC_OK) {
        sound = verify(c, db);
        db_close(db);
    } else if (rc != RC_NOT_FOUND) {
        cannot_open(c, rc);
    }
    return sound;
}

/* --- the library's files beside their index ------------------------------------ */

static int by_path(const char *name, size_t prefix, const char *path)
{
    return strcmp(name, path + prefix);
}

/* Files of one account against its documents; both are sorted by name. */
static void compare(struct check *c, const char *owner,
                    const struct library_file *files, size_t n_files,
                    const struct library_entry *docs, size_t n_docs)
{
    size_t k = 0;

    for (size_t i = 0; i < n_files || k < n_docs;) {
        int order = i == n_files  ? 1
                    : k == n_docs ? -1
                                  : by_path(files[i].name, 0, docs[k].path);

        if (order < 0) {
            find(c,
                 arena_printf(c->arena, "library/%s/%s is not in it", owner,
                              files[i].name),
                 INDEX);
        } else if (order > 0) {
            find(c,
                 arena_printf(c->arena, "library/%s/%s is in it, and no file",
                              owner, docs[k].path),
                 INDEX);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

static void check_owner(struct check *c, struct library *lib, const char *owner)
{
    struct library_file *files = NULL;
    struct library_entry *docs = NULL;
    size_t n_files = 0;
    size_t n_docs = 0;
    enum rc rc = library_files_list(c->dir, owner, c->arena, &files, &n_files);

    if (rc == RC_OK) {
        rc = library_entries(lib, owner, "", DOCUMENTS_MAX, c->arena, &docs,
                             &n_docs);
    }
    if (rc != RC_OK) {
        find(c,
             arena_printf(c->arena, "library/%s cannot be read: %s", owner,
                          rc_name(rc)),
             "look at the folder's rights, and at the disk");
        return;
    }
    compare(c, owner, files, n_files, docs, n_docs);
}

static void check_library(struct check *c)
{
    const char *path = arena_printf(c->arena, "%s/library", c->dir);
    struct library *lib = NULL;
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : folder_open_take(fd);
    const char *owner;
    int error = 0;

    if (dir != NULL && library_open_read(c->dir, c->busy_ms, &lib) == RC_OK) {
        while ((owner = folder_next(dir, &error)) != NULL) {
            if (owner[0] != '.') {
                check_owner(c, lib, arena_printf(c->arena, "%s", owner));
            }
        }
    }
    library_close(lib);
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

enum rc store_check(const char *dir, int64_t busy_ms, int64_t now_ms,
                    struct arena *arena, struct store_finding **out, size_t *n)
{
    struct check c = {
        .dir = dir, .busy_ms = busy_ms, .now_ms = now_ms, .arena = arena};
    bool reading = true;

    check_main(&c, &reading);
    (void)check_made(&c, "search.db", SCHEMA_SEARCH, SCHEMA_SEARCH_COUNT);
    /* While the indexer has something to do, the two differ. */
    if (check_made(&c, "library.db", SCHEMA_LIBRARY, SCHEMA_LIBRARY_COUNT) &&
        !reading) {
        check_library(&c);
    }
    *out = c.list;
    *n = c.n;
    return c.rc;
}
