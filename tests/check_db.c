/* check_db.c - the door to SQLite, on real files, with rivals. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/own_db.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static const struct db_migration MIGRATION[] = {
    {"0001_item", "CREATE TABLE item ("
                  " id INTEGER PRIMARY KEY AUTOINCREMENT,"
                  " name TEXT NOT NULL UNIQUE,"
                  " n INTEGER, data BLOB, score REAL) STRICT;"
                  "INSERT INTO item (name, n) VALUES ('first', 0);"},
    {"0002_word", "CREATE VIRTUAL TABLE word USING fts5 (text);"},
    {"0003_again", "INSERT INTO item (name, n) VALUES ('second', 0);"},
};

static struct db *db;
static struct arena *arena;
static char path[512];

static enum rc open_as(size_t n_migrations, int64_t busy_ms, bool read_only,
                       struct db **out)
{
    const struct db_options o = {
        .path = path,
        .migrations = MIGRATION,
        .n_migrations = n_migrations,
        .busy_ms = busy_ms,
        .read_only = read_only,
    };

    return db_open(&o, out);
}

static struct db *open_other(int64_t busy_ms)
{
    struct db *other = NULL;

    ck_assert_int_eq(open_as(2, busy_ms, false, &other), RC_OK);
    return other;
}

static void make_place(void)
{
    (void)tmp_make();
    (void)snprintf(path, sizeof(path), "%s", tmp_path("test.db"));
    /* Failures that are looked for would fill the screen. */
    log_open("check", LOG_LEVEL__MAX - 1);
}

static void open_place(void)
{
    make_place();
    db = open_other(5000);
    arena = arena_new(100000);
}

static void close_place(void)
{
    db_close(db);
    db = NULL;
    arena_free(arena);
    arena = NULL;
    tmp_remove();
    log_open("aside", LOG_LEVEL_INFO);
}

/* --- short hands ------------------------------------------------------- */

static enum rc add(struct db *d, const char *name, int64_t n)
{
    struct dbq *q = db_use(d, STMT_ITEM_ADD);

    db_bind_text(q, ":name", name);
    db_bind_i64(q, ":n", n);
    db_bind_null(q, ":data");
    db_bind_null(q, ":score");
    return db_run(q);
}

static enum rc set_n(struct db *d, const char *name, int64_t n)
{
    struct dbq *q = db_use(d, STMT_ITEM_SET);

    db_bind_text(q, ":name", name);
    db_bind_i64(q, ":n", n);
    return db_run_one(q);
}

static int64_t number(struct db *d, enum stmt_id id)
{
    int64_t n = -1;

    ck_assert_int_eq(db_one_i64(db_use(d, id), &n), RC_OK);
    return n;
}

static int64_t count(struct db *d)
{
    return number(d, STMT_ITEM_COUNT);
}

static int raw(struct db *d, const char *sql)
{
    return sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL);
}

static void pragma_is(const char *pragma, const char *want)
{
    char value[32] = "";

    ck_assert_int_eq(db_inside_exec_one(db, pragma, value, sizeof(value)),
                     SQLITE_OK);
    ck_assert_msg(strcmp(value, want) == 0, "%s: %s", pragma, value);
}

/* --- opening ----------------------------------------------------------- */

START_TEST(pragmas)
{
    pragma_is("PRAGMA journal_mode", "wal");
    pragma_is("PRAGMA synchronous", "2");
    pragma_is("PRAGMA foreign_keys", "1");
    pragma_is("PRAGMA temp_store", "2");
    pragma_is("PRAGMA secure_delete", "1");
    pragma_is("PRAGMA busy_timeout", "0");
    pragma_is("PRAGMA user_version", "2");
    ck_assert_int_eq(raw(db, "SELECT \"no such column\""), SQLITE_ERROR);
    ck_assert_int_eq(raw(db, "PRAGMA writable_schema=ON; "
                             "UPDATE sqlite_schema SET sql = ''"),
                     SQLITE_ERROR);
}
END_TEST

START_TEST(a_second_opening_migrates_nothing)
{
    struct db *other = open_other(100);

    ck_assert_int_eq(count(other), 1);
    db_close(other);
}
END_TEST

START_TEST(migrations_that_are_new_are_applied)
{
    struct db *other = NULL;

    ck_assert_int_eq(open_as(3, 100, false, &other), RC_OK);
    ck_assert_int_eq(count(other), 2);
    db_close(other);
    pragma_is("PRAGMA user_version", "3");
}
END_TEST

START_TEST(a_newer_file_is_refused)
{
    struct db *other = NULL;

    ck_assert_int_eq(open_as(1, 100, false, &other), RC_NEWER);
    ck_assert_int_eq(open_as(1, 100, true, &other), RC_NEWER);
    ck_assert_ptr_null(other);
    pragma_is("PRAGMA user_version", "2");
}
END_TEST

START_TEST(a_failing_migration_leaves_nothing)
{
    static const struct db_migration bad[] = {
        {"0001_a", "CREATE TABLE a (b);"},
        {"0002_b", "CREATE TABLE c (d); INSERT INTO nowhere VALUES (1);"},
    };
    static const struct db_migration orphan[] = {
        {"0001_a", "CREATE TABLE a (id INTEGER PRIMARY KEY);"
                   "CREATE TABLE b (a INTEGER REFERENCES a (id));"
                   "INSERT INTO b VALUES (7);"},
    };
    struct db_options o = {
        .path = tmp_path("bad.db"),
        .migrations = bad,
        .n_migrations = 2,
        .busy_ms = 100,
    };
    struct db *other = NULL;

    ck_assert_int_eq(db_open(&o, &other), RC_DB);
    o.migrations = orphan;
    o.n_migrations = 1;
    ck_assert_int_eq(db_open(&o, &other), RC_DB);
    /* Nothing of either stands in the way of a good one. */
    o.migrations = bad;
    ck_assert_int_eq(db_open(&o, &other), RC_OK);
    db_close(other);
}
END_TEST

START_TEST(files_that_are_no_database)
{
    struct db_options o = {
        .path = tmp_write("text.db", "This is a text, and a long one at that, "
                                     "longer than the header of a database "
                                     "file, which has a hundred bytes.\n"),
        .migrations = MIGRATION,
        .n_migrations = 2,
        .busy_ms = 100,
    };
    struct db *other = NULL;

    ck_assert_int_eq(db_open(&o, &other), RC_DB);
    o.path = tmp_path("missing/test.db");
    ck_assert_int_eq(db_open(&o, &other), RC_DB);
    o.path = tmp_path(".");
    ck_assert_int_eq(db_open(&o, &other), RC_DB);
    ck_assert_ptr_null(other);
    db_close(NULL);
}
END_TEST

START_TEST(reading_only)
{
    struct db_options o = {
        .path = tmp_path("none.db"),
        .migrations = MIGRATION,
        .n_migrations = 2,
        .busy_ms = 100,
        .read_only = true,
    };
    struct db *other = NULL;

    ck_assert_int_eq(db_open(&o, &other), RC_NOT_FOUND);
    ck_assert_int_ne(access(tmp_path("none.db"), F_OK), 0);
    o.path = tmp_write("empty.db", "");
    ck_assert_int_eq(db_open(&o, &other), RC_NOT_FOUND);
    ck_assert_int_eq(open_as(3, 100, true, &other), RC_NOT_FOUND);
    ck_assert_int_eq(open_as(2, 100, true, &other), RC_OK);
    ck_assert_int_eq(count(other), 1);
    ck_assert_int_ne(raw(other, "DELETE FROM item"), SQLITE_OK);
    db_close(other);
}
END_TEST

/* Start n children at the same moment; each exits with 0 if body returned
 * true. A pipe that closes is the starting shot. */
static void race(int n, bool (*body)(int))
{
    pid_t child[16];
    int shot[2];

    ck_assert_int_le(n, 16);
    ck_assert_int_eq(pipe(shot), 0);
    for (int i = 0; i < n; i++) {
        child[i] = fork();
        ck_assert_int_ge(child[i], 0);
        if (child[i] == 0) {
            char c;
            (void)close(shot[1]);
            _exit(read(shot[0], &c, 1) == 0 && body(i) ? 0 : 1);
        }
    }
    (void)close(shot[0]);
    (void)close(shot[1]);
    for (int i = 0; i < n; i++) {
        int status = 0;
        ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                      "child %d: status %x", i, (unsigned)status);
    }
}

static bool open_and_count(int i)
{
    struct db *other = NULL;
    bool good = open_as(3, 10000, false, &other) == RC_OK && count(other) == 2;

    (void)i;
    db_close(other);
    return good;
}

/* No handle may cross a fork, so these have no open database before. */
START_TEST(several_programs_migrate_at_once)
{
    struct db *other = NULL;

    for (int round = 0; round < 5; round++) {
        (void)snprintf(path, sizeof(path), "%s", tmp_path("race.db"));
        race(8, open_and_count);
        ck_assert_int_eq(open_as(3, 100, false, &other), RC_OK);
        ck_assert_int_eq(count(other), 2);
        db_close(other);
        ck_assert_int_eq(unlink(path), 0);
    }
}
END_TEST

/* A large database is brought up to date for longer than any lock is waited for;
 * who starts meanwhile must not give up. */
START_TEST(a_migration_of_another_program_is_waited_for)
{
    sqlite3 *hog = NULL;
    struct db *other = NULL;
    int status;
    pid_t pid;

    (void)snprintf(path, sizeof(path), "%s", tmp_path("old.db"));
    ck_assert_int_eq(open_as(1, 100, false, &other), RC_OK);
    db_close(other);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)usleep(300000);
        other = NULL;
        _exit(open_as(2, 50, false, &other) == RC_OK ? 0 : 1);
    }
    ck_assert_int_eq(sqlite3_open(path, &hog), SQLITE_OK);
    ck_assert_int_eq(sqlite3_busy_timeout(hog, 30000), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(hog, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    (void)usleep(1000000);
    ck_assert_int_eq(sqlite3_exec(hog, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(sqlite3_close(hog), SQLITE_OK);
}
END_TEST

/* Opening is bounded, too, where another program keeps the file to itself. */
/* SQLite's locks of a file that nobody may open (file format, 1.2). */
static void lock_all(int fd, short type)
{
    struct flock fl = {.l_type = type,
                       .l_whence = SEEK_SET,
                       .l_start = 0x40000000,
                       .l_len = 512};

    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &fl), 0);
}

/* Has the process this file open? */
static bool has_open(pid_t pid, const char *file)
{
    char link[64];
    char at[PATH_MAX];
    ssize_t len = -1;

    for (int fd = 0; fd < 64; fd++) {
        (void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
        len = readlink(link, at, sizeof(at) - 1);
        if (len > 0 && (size_t)len == strlen(file) &&
            memcmp(at, file, (size_t)len) == 0) {
            return true;
        }
    }
    return false;
}

/* What a restore does to a program that is just starting. */
START_TEST(a_file_replaced_while_it_is_opened)
{
    char new[600];
    struct db *other = NULL;
    int go[2];
    int status;
    pid_t pid;
    int fd;

    db_close(open_other(5000));
    (void)snprintf(new, sizeof(new), "%s", tmp_path("new.db"));
    ck_assert_int_eq(db_open(&(struct db_options){.path = new,
                                                  .migrations = MIGRATION,
                                                  .n_migrations = 2},
                             &other),
                     RC_OK);
    ck_assert_int_eq(raw(other, "INSERT INTO item (name) VALUES ('new')"),
                     SQLITE_OK);
    db_close(other);
    ck_assert_int_eq(pipe(go), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char byte;

        other = NULL;
        _exit(read(go[0], &byte, 1) == 1 &&
                      open_as(2, 30000, false, &other) == RC_OK &&
                      count(other) == 2 && !db_is_lost(other)
                  ? 0
                  : 1);
    }
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    lock_all(fd, F_WRLCK);
    ck_assert_int_eq(write(go[1], "", 1), 1);
    for (int i = 0; i < 30000 && !has_open(pid, path); i++) {
        (void)usleep(1000);
    }
    ck_assert_int_eq(rename(new, path), 0);
    lock_all(fd, F_UNLCK);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    (void)close(fd);
    (void)close(go[0]);
    (void)close(go[1]);
}
END_TEST

START_TEST(opening_waits_within_the_bound)
{
    sqlite3 *hog = NULL;
    struct db *other = NULL;
    int64_t from_ms;

    ck_assert_int_eq(sqlite3_open(path, &hog), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(hog,
                                  "PRAGMA locking_mode=EXCLUSIVE;"
                                  "BEGIN EXCLUSIVE; CREATE TABLE a (b);",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    from_ms = clock_boot_ms();
    ck_assert_int_eq(open_as(2, 60, false, &other), RC_BUSY);
    ck_assert_int_ge(clock_boot_ms() - from_ms, 59);
    ck_assert_int_eq(open_as(2, 60, true, &other), RC_BUSY);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(sqlite3_close(hog), SQLITE_OK);
    ck_assert_int_eq(open_as(2, 60, false, &other), RC_OK);
    db_close(other);
}
END_TEST

/* --- transactions ------------------------------------------------------ */

static enum rc add_two(struct db *d, void *arg)
{
    enum rc rc = add(d, "a", 1);

    if (rc == RC_OK) {
        rc = add(d, "b", 2);
    }
    return rc == RC_OK ? *(enum rc *)arg : rc;
}

START_TEST(commit_or_rollback)
{
    enum rc wish = RC_OK;

    ck_assert_int_eq(db_tx(db, add_two, &wish), RC_OK);
    ck_assert_int_eq(count(db), 3);
    ck_assert(!db->in_tx);
    /* The second round meets the names of the first. */
    ck_assert_int_eq(db_tx(db, add_two, &wish), RC_CONFLICT);
    ck_assert_int_eq(count(db), 3);
}
END_TEST

START_TEST(what_fn_returns_comes_back)
{
    for (int i = RC_OK + 1; i < RC__MAX; i++) {
        enum rc wish = (enum rc)i;
        if (wish != RC_BUSY) {
            ck_assert_int_eq(db_tx(db, add_two, &wish), wish);
            ck_assert_int_eq(count(db), 1);
        }
    }
}
END_TEST

static enum rc busy_thrice(struct db *d, void *arg)
{
    int *calls = arg;
    enum rc rc = add(d, "a", *calls);

    if (rc != RC_OK) {
        return rc;
    }
    return ++*calls <= 3 ? RC_BUSY : RC_OK;
}

START_TEST(the_whole_function_is_tried_again)
{
    int calls = 0;

    ck_assert_int_eq(db_tx(db, busy_thrice, &calls), RC_OK);
    ck_assert_int_eq(calls, 4);
    ck_assert_int_eq(count(db), 2);
    ck_assert_int_eq(number(db, STMT_ITEM_SUM), 3);
}
END_TEST

static enum rc count_calls(struct db *d, void *arg)
{
    (void)d;
    ++*(int *)arg;
    return RC_OK;
}

START_TEST(a_held_lock_is_waited_for_within_the_bound)
{
    struct db *other = open_other(60);
    int64_t from_ms;
    int calls = 0;

    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    from_ms = clock_boot_ms();
    ck_assert_int_eq(db_tx(other, count_calls, &calls), RC_BUSY);
    ck_assert_int_ge(clock_boot_ms() - from_ms, 59);
    ck_assert_int_eq(calls, 0);
    from_ms = clock_boot_ms();
    ck_assert_int_eq(db_begin(other, 0), RC_BUSY);
    ck_assert_int_eq(db_begin(other, 30), RC_BUSY);
    ck_assert_int_ge(clock_boot_ms() - from_ms, 29);
    ck_assert(!other->in_tx);
    /* Reading is not in the way of writing. */
    ck_assert_int_eq(count(other), 1);
    ck_assert_int_eq(db_commit(db), RC_OK);
    ck_assert_int_eq(db_tx(other, count_calls, &calls), RC_OK);
    ck_assert_int_eq(calls, 1);
    db_close(other);
}
END_TEST

/* A reader seldom finds the database busy, but it does while another process
 * recovers it; then it waits as a writer does. */
START_TEST(a_busy_reader_waits_within_the_bound)
{
    struct db *other = open_other(40);
    int64_t n = 5, from_ms;
    struct dbq *q;

    busy_steps = 3;
    ck_assert_int_eq(count(db), 1);
    ck_assert_int_eq(busy_steps, 0);
    busy_steps = 3;
    q = db_use(db, STMT_ITEM_GET);
    db_bind_i64(q, ":id", 1);
    ck_assert(db_next(q)); /* what was bound is still bound */
    ck_assert_int_eq(db_end(q), RC_OK);
    busy_steps = 1000000;
    from_ms = clock_boot_ms();
    ck_assert_int_eq(db_one_i64(db_use(other, STMT_ITEM_COUNT), &n), RC_BUSY);
    ck_assert_int_ge(clock_boot_ms() - from_ms, 39);
    ck_assert_int_eq(n, 5);
    busy_steps = 0;
    ck_assert_int_eq(count(other), 1);
    db_close(other);
}
END_TEST

static enum rc busy_once(struct db *d, void *arg)
{
    busy_steps = ++*(int *)arg == 1 ? 1 : 0;
    return add(d, "a", 1);
}

/* Inside a write transaction nothing waits: the whole is tried again. */
START_TEST(a_busy_step_in_a_transaction)
{
    int calls = 0;

    ck_assert_int_eq(db_tx(db, busy_once, &calls), RC_OK);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(count(db), 2);
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    busy_steps = 1;
    ck_assert_int_eq(db_commit(db), RC_BUSY);
    ck_assert(!db->in_tx);
}
END_TEST

static enum rc read_and_add_one(struct db *d, void *arg)
{
    (void)arg;
    return set_n(d, "first", number(d, STMT_ITEM_SUM) + 1);
}

#define RIVALS 4
#define ROUNDS 100

static bool count_up(int i)
{
    struct db *other = NULL;
    bool good = open_as(2, 20000, false, &other) == RC_OK;

    (void)i;
    for (int n = 0; good && n < ROUNDS; n++) {
        good = db_tx(other, read_and_add_one, NULL) == RC_OK;
    }
    db_close(other);
    return good;
}

/* Read, then write, by four at once: nothing fails and nothing is lost. */
START_TEST(rivals_lose_no_update)
{
    race(RIVALS, count_up);
    db = open_other(100);
    ck_assert_int_eq(number(db, STMT_ITEM_SUM), (int64_t)RIVALS * ROUNDS);
}
END_TEST

START_TEST(savepoints_undo_one_member)
{
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert(db->in_tx);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "kept", 1), RC_OK);
    ck_assert_int_eq(db_release(db), RC_OK);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "undone", 10), RC_OK);
    ck_assert_int_eq(add(db, "kept", 20), RC_CONFLICT);
    ck_assert_int_eq(db_rollback_to(db), RC_OK);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "outer", 100), RC_OK);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "inner", 1000), RC_OK);
    ck_assert_int_eq(db_rollback_to(db), RC_OK);
    ck_assert_int_eq(db_release(db), RC_OK);
    ck_assert_int_eq(db_commit(db), RC_OK);
    ck_assert_int_eq(number(db, STMT_ITEM_SUM), 101);
}
END_TEST

START_TEST(rollback_takes_all)
{
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "a", 1), RC_OK);
    ck_assert_int_eq(db_release(db), RC_OK);
    db_rollback(db);
    ck_assert(!db->in_tx);
    ck_assert_int_eq(count(db), 1);
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(db_commit(db), RC_OK);
}
END_TEST

/* Some failures end the transaction by themselves. What comes after must not
 * commit row by row. */
START_TEST(a_transaction_that_is_gone)
{
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(db_savepoint(db), RC_OK);
    ck_assert_int_eq(add(db, "a", 1), RC_OK);
    ck_assert_int_eq(raw(db, "ROLLBACK"), SQLITE_OK);
    ck_assert_int_eq(add(db, "b", 1), RC_DB);
    ck_assert_int_eq(db_rollback_to(db), RC_DB);
    ck_assert_int_eq(db_savepoint(db), RC_DB);
    ck_assert_int_eq(db_commit(db), RC_DB);
    ck_assert(!db->in_tx);
    ck_assert_int_eq(count(db), 1);
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(raw(db, "ROLLBACK"), SQLITE_OK);
    db_rollback(db);
    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(add(db, "c", 1), RC_OK);
    ck_assert_int_eq(db_commit(db), RC_OK);
    ck_assert_int_eq(count(db), 2);
}
END_TEST

START_TEST(one_view_over_several_reads)
{
    struct db *other = open_other(100);
    enum rc wish = RC_OK;

    ck_assert_int_eq(db_begin_read(other), RC_OK);
    ck_assert_int_eq(count(other), 1);
    ck_assert_int_eq(db_tx(db, add_two, &wish), RC_OK);
    ck_assert_int_eq(count(other), 1);
    db_end_read(other);
    ck_assert_int_eq(count(other), 3);
    db_close(other);
}
END_TEST

/* A reading loop that stops early must not hold its snapshot. */
START_TEST(an_ended_statement_holds_no_snapshot)
{
    struct db *other = open_other(100);
    enum rc wish = RC_OK;
    struct dbq *q;

    q = db_use(other, STMT_ITEM_LIST);
    ck_assert(db_next(q));
    ck_assert_int_eq(db_end(q), RC_OK);
    ck_assert_int_eq(db_tx(db, add_two, &wish), RC_OK);
    /* A checkpoint that empties the log needs that nobody reads from it. */
    pragma_is("PRAGMA wal_checkpoint(TRUNCATE)", "0");
    db_close(other);
}
END_TEST

/* --- the log ------------------------------------------------------------- */

/* Rows of a page each: more of them than SQLite's cache holds (2 MiB) go to the
 * log before the commit. */
#define MANY 700

static enum rc add_pages(struct db *d, void *arg)
{
    static char page[4000];
    const int *n = arg;
    enum rc rc = RC_OK;

    for (int i = 0; i < *n && rc == RC_OK; i++) {
        char name[24];
        struct dbq *q = db_use(d, STMT_ITEM_ADD);

        (void)snprintf(name, sizeof(name), "page %d", i);
        memset(page, 'a' + i % 26, sizeof(page));
        db_bind_text(q, ":name", name);
        db_bind_i64(q, ":n", 1);
        db_bind_blob(q, ":data", page, sizeof(page));
        db_bind_null(q, ":score");
        rc = db_run(q);
    }
    /* Read what may have left the cache. */
    return rc == RC_OK && number(d, STMT_ITEM_SUM) != *n ? RC_DB : rc;
}

/* Calls that wrote, of this process so far; -1: nobody counts. */
static long long calls_to_write(void)
{
    FILE *f = fopen("/proc/self/io", "re");
    char line[64];
    long long n = -1;

    while (f != NULL && n < 0 && fgets(line, sizeof(line), f) != NULL) {
        (void)sscanf(line, "syscw: %lld", &n);
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return n;
}

START_TEST(the_log_is_written_in_few_calls)
{
    int n = 100;
    long long before = calls_to_write();

    ck_assert_int_eq(db_tx(db, add_pages, &n), RC_OK);
    if (before >= 0) {
        ck_assert_int_lt(calls_to_write() - before, 2 * n / 8);
    }
    pragma_is("PRAGMA integrity_check", "ok");
}
END_TEST

START_TEST(a_transaction_beyond_the_cache)
{
    struct db *other = open_other(5000);
    int n = MANY;

    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(add_pages(db, &n), RC_OK);
    ck_assert_int_eq(count(other), 1);
    db_rollback(db);
    ck_assert_int_eq(count(db), 1);
    ck_assert_int_eq(db_tx(db, add_pages, &n), RC_OK);
    ck_assert_int_eq(count(other), 1 + MANY);
    ck_assert_int_eq(
        db_inside_exec_one(other, "PRAGMA wal_checkpoint", NULL, 0), SQLITE_OK);
    pragma_is("PRAGMA integrity_check", "ok");
    db_close(other);
}
END_TEST

/* What was rolled back is gone from where another writes now. */
START_TEST(a_rollback_beyond_the_cache)
{
    struct db *other = open_other(5000);
    int n = MANY;
    int few = 10;

    for (int i = 0; i < 3; i++) {
        n = MANY + i;
        ck_assert_int_eq(db_begin(db, 0), RC_OK);
        ck_assert_int_eq(add_pages(db, &n), RC_OK);
        db_rollback(db);
    }
    ck_assert_int_eq(db_tx(other, add_pages, &few), RC_OK);
    ck_assert_int_eq(count(db), 1 + few);
    ck_assert_int_eq(db_tx(db, read_and_add_one, NULL), RC_OK);
    db_close(other);
    db_close(db);
    db = open_other(5000);
    ck_assert_int_eq(count(db), 1 + few);
    pragma_is("PRAGMA integrity_check", "ok");
}
END_TEST

/* The database's file, or one beside it. */
static void copy_file(const char *to, const char *end)
{
    static char bytes[65536];
    char from_path[640];
    char to_path[640];
    FILE *in;
    FILE *out;
    size_t n;

    (void)snprintf(from_path, sizeof(from_path), "%s%s", path, end);
    (void)snprintf(to_path, sizeof(to_path), "%s%s", to, end);
    in = fopen(from_path, "re");
    out = fopen(to_path, "we");
    ck_assert(in != NULL && out != NULL);
    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0) {
        ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
    }
    (void)fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

/* What one connection still holds of a transaction that it rolled back must not
 * go over what another has committed there since: not when it reads, nor when
 * it writes, nor for whoever opens the file after a power cut. */
START_TEST(a_rollback_writes_over_nobody)
{
    static const char fill[] =
        "INSERT INTO item (name, n, data)"
        " WITH RECURSIVE i (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM i"
        "                           WHERE k < 900)"
        " SELECT 'x' || k, 1, zeroblob(3000) FROM i";
    static const char strange[] =
        "INSERT INTO item (name, n, data)"
        " WITH RECURSIVE i (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM i"
        "                           WHERE k < 700)"
        " SELECT 'y' || k, 7, randomblob(3000) FROM i";
    struct db *other = open_other(5000);
    struct db *third = NULL;
    char copy[600];

    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(raw(db, strange), SQLITE_OK);
    db_rollback(db);
    ck_assert_int_eq(raw(other, fill), SQLITE_OK);
    pragma_is("SELECT count(*) FROM item WHERE n = 7 OR data <> zeroblob(3000)",
              "0");
    pragma_is("SELECT count(*) FROM item WHERE n = 1", "900");
    pragma_is("PRAGMA integrity_check", "ok");
    (void)snprintf(copy, sizeof(copy), "%s", tmp_path("copy.db"));
    copy_file(copy, "");
    copy_file(copy, "-wal");
    ck_assert_int_eq(db_open(&(struct db_options){.path = copy,
                                                  .migrations = MIGRATION,
                                                  .n_migrations = 2,
                                                  .busy_ms = 1000},
                             &third),
                     RC_OK);
    ck_assert_int_eq(count(third), 901);
    db_close(third);
    db_close(other);
}
END_TEST

/* Writing fails at some page of the log: the commit says so, and no page of
 * it is ever taken for the database's. */
START_TEST(a_log_that_cannot_grow)
{
    struct rlimit was;
    struct rlimit small;
    struct stat st;
    char wal[600];
    int n = 100;

    (void)snprintf(wal, sizeof(wal), "%s-wal", path);
    ck_assert_int_eq(stat(wal, &st), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = (rlim_t)st.st_size + (rlim_t)_i * 7000;
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_int_eq(db_tx(db, add_pages, &n), RC_IO);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    ck_assert_int_eq(count(db), 1);
    ck_assert_int_eq(db_tx(db, add_pages, &n), RC_OK);
    db_close(db);
    db = open_other(5000);
    ck_assert_int_eq(count(db), 1 + n);
    pragma_is("PRAGMA integrity_check", "ok");
}
END_TEST

/* --- statements -------------------------------------------------------- */

static enum rc add_values(struct db *d, void *arg)
{
    struct dbq *q = db_use(d, STMT_ITEM_ADD);

    (void)arg;
    db_bind_textn(q, ":name", "a\0b\xc3\xa9zz", 5);
    db_bind_i64(q, ":n", INT64_MIN);
    db_bind_blob(q, ":data", "\0\xff\0", 3);
    db_bind_i64(q, ":score", 3);
    return db_run(q);
}

START_TEST(values_come_back)
{
    const void *bytes;
    size_t len = 99;
    struct dbq *q;

    ck_assert_int_eq(db_tx(db, add_values, NULL), RC_OK);
    ck_assert_int_eq(db_last_id(db), 2);
    q = db_use(db, STMT_ITEM_GET);
    db_bind_i64(q, ":id", 2);
    ck_assert(db_next(q));
    ck_assert_int_eq(db_i64(q, 0), 2);
    bytes = db_blob(q, 1, arena, &len);
    ck_assert_uint_eq(len, 5);
    ck_assert_mem_eq(bytes, "a\0b\xc3\xa9", 6);
    ck_assert_int_eq(db_i64(q, 2), INT64_MIN);
    ck_assert_int_eq(db_i64_or(q, 2, 5), INT64_MIN);
    bytes = db_blob(q, 3, arena, &len);
    ck_assert_uint_eq(len, 3);
    ck_assert_mem_eq(bytes, "\0\xff\0", 4);
    ck_assert_double_eq(db_real(q, 4), 3);
    ck_assert(!db_next(q));
    ck_assert(!db_next(q));
    ck_assert_int_eq(db_end(q), RC_OK);
}
END_TEST

static enum rc add_edges(struct db *d, void *arg)
{
    struct dbq *q = db_use(d, STMT_ITEM_ADD);

    (void)arg;
    db_bind_text(q, ":name", "");
    db_bind_i64_or_null(q, ":n", 0);
    db_bind_blob(q, ":data", NULL, 0);
    db_bind_null(q, ":score");
    return db_run(q);
}

START_TEST(nothing_and_null_differ)
{
    size_t len = 99;
    struct dbq *q;

    ck_assert_int_eq(db_tx(db, add_edges, NULL), RC_OK);
    q = db_use(db, STMT_ITEM_GET);
    db_bind_i64(q, ":id", 2);
    ck_assert(db_next(q));
    ck_assert_str_eq(db_text(q, 1, arena), "");
    ck_assert_str_eq(db_text_or(q, 1, arena, "fallback"), "");
    ck_assert_int_eq(db_i64_or(q, 2, -7), -7);
    ck_assert_str_eq(db_blob(q, 3, arena, &len), "");
    ck_assert_uint_eq(len, 0);
    ck_assert_str_eq(db_text_or(q, 4, arena, "fallback"), "fallback");
    ck_assert_ptr_null(db_text_or(q, 4, arena, NULL));
    ck_assert_int_eq(db_end(q), RC_OK);
}
END_TEST

/* Text outlives its row, and the row what was bound. */
START_TEST(memory_is_ones_own)
{
    const char *first, *second;
    enum rc wish = RC_OK;
    struct dbq *q;

    ck_assert_int_eq(db_tx(db, add_two, &wish), RC_OK);
    q = db_use(db, STMT_ITEM_LIST);
    ck_assert(db_next(q));
    first = db_text(q, 0, arena);
    ck_assert(db_next(q));
    second = db_text(q, 0, arena);
    ck_assert_int_eq(db_end(q), RC_OK);
    ck_assert_str_eq(first, "first");
    ck_assert_str_eq(second, "a");
}
END_TEST

START_TEST(the_first_failure_stays)
{
    size_t len = 99;
    struct dbq *q = db_use(db, STMT_ITEM_GET);

    db_bind_i64(q, ":id", 1);
    ck_assert(db_next(q));
    ck_assert_str_eq(db_text(q, 1, arena), "first");
    ck_assert_double_eq(db_real(q, 4), 0); /* null */
    ck_assert_str_eq(db_text(q, 1, arena), "");
    ck_assert_str_eq(db_text_or(q, 1, arena, "x"), "");
    ck_assert_int_eq(db_i64(q, 0), 0);
    ck_assert_int_eq(db_i64_or(q, 0, 3), 0);
    ck_assert_str_eq(db_blob(q, 1, arena, &len), "");
    ck_assert_uint_eq(len, 0);
    ck_assert(!db_next(q));
    ck_assert_int_eq(db_end(q), RC_DB);
    /* The next use starts clean. */
    q = db_use(db, STMT_ITEM_GET);
    db_bind_i64(q, ":id", 1);
    ck_assert(db_next(q));
    ck_assert_int_eq(db_i64(q, 0), 1);
    ck_assert_int_eq(db_end(q), RC_OK);
}
END_TEST

START_TEST(a_failure_of_the_readers_own)
{
    struct dbq *q = db_use(db, STMT_ITEM_LIST);

    ck_assert(db_next(q));
    ck_assert_mem_eq(db_peek(q, 0), "first", 5);
    ck_assert_uint_eq(db_bytes(q, 0), 5);
    db_fail(q, RC_INVALID);
    db_fail(q, RC_FULL);
    ck_assert_ptr_null(db_peek(q, 0));
    ck_assert_uint_eq(db_bytes(q, 0), 0);
    ck_assert(!db_next(q));
    ck_assert_int_eq(db_end(q), RC_INVALID);
}
END_TEST

/* The column and how it is asked for, wrongly. */
START_TEST(a_value_of_another_type)
{
    struct dbq *q = db_use(db, STMT_ITEM_GET);
    size_t len;

    db_bind_i64(q, ":id", 1);
    ck_assert(db_next(q));
    switch (_i) {
    case 0:
        ck_assert_int_eq(db_i64(q, 1), 0);
        break;
    case 1:
        ck_assert_str_eq(db_text(q, 0, arena), "");
        break;
    case 2:
        ck_assert_str_eq(db_text_or(q, 0, arena, NULL), "");
        break;
    case 3:
        ck_assert_int_eq(db_i64(q, 3), 0);
        break;
    case 4:
        ck_assert_str_eq(db_blob(q, 3, arena, &len), "");
        break;
    default:
        ck_assert_double_eq(db_real(q, 1), 0);
        break;
    }
    ck_assert_int_eq(db_end(q), RC_DB);
}
END_TEST

START_TEST(a_full_arena)
{
    struct arena *small = arena_new(4);
    struct dbq *q = db_use(db, STMT_ITEM_LIST);

    ck_assert(db_next(q));
    ck_assert_str_eq(db_text(q, 0, small), "");
    ck_assert_int_eq(db_i64(q, 1), 0);
    ck_assert(!db_next(q));
    ck_assert_int_eq(db_end(q), RC_TOO_LARGE);
    arena_free(small);
}
END_TEST

START_TEST(a_statement_that_does_not_prepare)
{
    struct dbq *q = db_use(db, STMT_BAD_COLUMN);

    db_bind_i64(q, ":any", 1);
    ck_assert(!db_next(q));
    ck_assert_int_eq(db_end(q), RC_DB);
    ck_assert_int_eq(count(db), 1);
}
END_TEST

START_TEST(one_row_or_none)
{
    int64_t n = 5;
    struct dbq *q;

    ck_assert_int_eq(db_begin(db, 0), RC_OK);
    ck_assert_int_eq(set_n(db, "first", 3), RC_OK);
    ck_assert_int_eq(set_n(db, "nobody", 3), RC_CONFLICT);
    ck_assert_int_eq(db_commit(db), RC_OK);
    q = db_use(db, STMT_ITEM_GET);
    db_bind_i64(q, ":id", 77);
    ck_assert_int_eq(db_one_i64(q, &n), RC_NOT_FOUND);
    ck_assert_int_eq(n, 5);
    ck_assert_int_eq(raw(db, "DELETE FROM item"), SQLITE_OK);
    /* The sum of nothing is null. */
    ck_assert_int_eq(db_one_i64(db_use(db, STMT_ITEM_SUM), &n), RC_DB);
    ck_assert_int_eq(n, 5);
}
END_TEST

/* --- bugs -------------------------------------------------------------- */

static void misuse_statement(int i)
{
    struct dbq *q;

    switch (i) {
    case 0: /* writing outside a transaction */
        (void)db_use(db, STMT_ITEM_ADD);
        break;
    case 1: /* writing inside a read */
        ck_assert_int_eq(db_begin_read(db), RC_OK);
        (void)db_use(db, STMT_ITEM_ADD);
        break;
    case 2: /* one statement twice at once */
        (void)db_use(db, STMT_ITEM_COUNT);
        (void)db_use(db, STMT_ITEM_COUNT);
        break;
    case 3: /* no such parameter */
        db_bind_i64(db_use(db, STMT_ITEM_GET), ":nobody", 1);
        break;
    case 4: /* no such statement */
        (void)db_use(db, STMT__MAX);
        break;
    case 5: /* a parameter left out */
        (void)db_next(db_use(db, STMT_ITEM_GET));
        break;
    case 6: /* no such column */
        q = db_use(db, STMT_ITEM_COUNT);
        (void)db_next(q);
        (void)db_i64(q, 1);
        break;
    case 7: /* no row yet */
        (void)db_i64(db_use(db, STMT_ITEM_COUNT), 0);
        break;
    case 8: /* no row any more */
        q = db_use(db, STMT_ITEM_COUNT);
        while (db_next(q)) {
        }
        (void)db_i64(q, 0);
        break;
    case 9: /* a row nobody asked for */
        (void)!db_run(db_use(db, STMT_ITEM_COUNT));
        break;
    case 10: /* bound while it runs */
        q = db_use(db, STMT_ITEM_GET);
        db_bind_i64(q, ":id", 1);
        (void)db_next(q);
        db_bind_i64(q, ":id", 2);
        break;
    default: /* used after its end */
        q = db_use(db, STMT_ITEM_COUNT);
        (void)!db_end(q);
        (void)db_next(q);
        break;
    }
}

START_TEST(misuse_of_statements)
{
    misuse_statement(_i);
}
END_TEST

static enum rc leave_open(struct db *d, void *arg)
{
    (void)arg;
    (void)db_next(db_use(d, STMT_ITEM_COUNT));
    return RC_OK;
}

static enum rc nest(struct db *d, void *arg)
{
    return db_tx(d, nest, arg);
}

START_TEST(misuse_of_transactions)
{
    struct db *other = NULL;

    switch (_i) {
    case 0: /* one within the other */
        (void)!db_tx(db, nest, NULL);
        break;
    case 1: /* a statement left in use */
        (void)!db_tx(db, leave_open, NULL);
        break;
    case 2: /* begun while a statement is in use */
        (void)db_use(db, STMT_ITEM_COUNT);
        (void)!db_begin(db, 0);
        break;
    case 3: /* on a database that is only read */
        ck_assert_int_eq(open_as(2, 100, true, &other), RC_OK);
        (void)!db_tx(other, nest, NULL);
        break;
    case 4: /* committed with a savepoint open */
        ck_assert_int_eq(db_begin(db, 0), RC_OK);
        ck_assert_int_eq(db_savepoint(db), RC_OK);
        (void)!db_commit(db);
        break;
    case 5: /* a savepoint outside */
        (void)!db_savepoint(db);
        break;
    case 6: /* a release without savepoint */
        ck_assert_int_eq(db_begin(db, 0), RC_OK);
        (void)!db_release(db);
        break;
    case 7: /* closed inside a transaction */
        ck_assert_int_eq(db_begin(db, 0), RC_OK);
        db_close(db);
        break;
    default: /* closed with a statement in use */
        (void)db_use(db, STMT_ITEM_COUNT);
        db_close(db);
        break;
    }
}
END_TEST

/* --- crashes ----------------------------------------------------------- */

static const struct {
    const char *plan;
    int signal;    /* that ends the process */
    enum rc third; /* of the third commit, where it is reached */
    int64_t rows;  /* that stand afterwards, of four commits */
} CRASH[] = {
    {"abort:3", SIGABRT, RC_OK, 3},
    {"before:3", SIGABRT, RC_OK, 2},
    {"fail:3", 0, RC_DB, 3},
    {"abort:9", 0, RC_OK, 4},
    {"", 0, RC_OK, 4},
    {"nonsense", 0, RC_OK, 4},
};

static enum rc add_numbered(struct db *d, void *arg)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "%d", *(int *)arg);
    return add(d, name, 0);
}

static void commit_four_times(const char *plan, enum rc third)
{
    struct db *other = NULL;

    (void)setenv("ASIDE_FAULT_COMMIT", plan, 1);
    fault_commits = 0;
    /* Migrating is no commit of the plan. */
    if (open_as(3, 100, false, &other) != RC_OK) {
        _exit(2);
    }
    for (int i = 1; i <= 4; i++) {
        if (db_tx(other, add_numbered, &i) != (i == 3 ? third : RC_OK)) {
            _exit(3);
        }
    }
    _exit(0);
}

START_TEST(faults_at_a_commit)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        commit_four_times(CRASH[_i].plan, CRASH[_i].third);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (CRASH[_i].signal != 0) {
        ck_assert_msg(WIFSIGNALED(status) &&
                          WTERMSIG(status) == CRASH[_i].signal,
                      "%s: status %x", CRASH[_i].plan, (unsigned)status);
    } else {
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                      "%s: status %x", CRASH[_i].plan, (unsigned)status);
    }
    ck_assert_int_eq(open_as(3, 100, false, &db), RC_OK);
    ck_assert_int_eq(count(db), 2 + CRASH[_i].rows);
}
END_TEST

/* --- no memory --------------------------------------------------------- */

static sqlite3_mem_methods plain;
static int64_t fail_in; /* the allocation that fails, counted down; 0: none */

static bool fails_now(void)
{
    return fail_in > 0 && --fail_in == 0;
}

static void *failing_malloc(int n)
{
    return fails_now() ? NULL : plain.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
    return fails_now() ? NULL : plain.xRealloc(p, n);
}

static void set_memory(const sqlite3_mem_methods *methods)
{
    sqlite3_mem_methods copy = *methods;

    ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &copy), SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
}

/* Open and add two rows while the n-th allocation fails. False: there was no
 * n-th. */
static bool survives(int64_t n)
{
    struct db *other = NULL;
    enum rc wish = RC_OK, rc;
    bool failed;

    fail_in = n;
    rc = open_as(2, 100, false, &other);
    if (rc == RC_OK) {
        rc = db_tx(other, add_two, &wish);
    }
    failed = fail_in == 0;
    fail_in = 0;
    db_close(other);
    ck_assert_msg(count(db) == (rc == RC_OK ? 3 : 1),
                  "allocation %lld: %s, and %lld rows", (long long)n,
                  rc_name(rc), (long long)count(db));
    if (rc == RC_OK) {
        ck_assert_int_eq(raw(db, "DELETE FROM item WHERE name <> 'first'"),
                         SQLITE_OK);
    }
    ck_assert(failed || rc == RC_OK);
    return failed;
}

/* Whichever allocation fails: success means that both rows stand, failure
 * that neither does, and nothing is left in use or leaks. */
START_TEST(each_allocation_fails_in_turn)
{
    sqlite3_mem_methods failing;
    int64_t n = 1;

    ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain),
                     SQLITE_OK);
    failing = plain;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    set_memory(&failing);
    db = open_other(100);
    while (n < 5000 && survives(n)) {
        n++;
    }
    db_close(db);
    db = NULL;
    set_memory(&plain);
    ck_assert_int_gt(n, 50);
    ck_assert_int_lt(n, 5000);
}
END_TEST

/* --- the catalogue's guard --------------------------------------------- */

static const struct {
    enum stmt_id id;
    const char *says; /* NULL: it is good */
} GUARD[] = {
    {STMT_ITEM_ADD, NULL},
    {STMT_ITEM_GET, NULL},
    {STMT_ITEM_COUNT, NULL},
    {STMT_ITEM_SET, NULL},
    {STMT_ITEM_LIST, NULL},
    {STMT_GOOD_WORD, NULL},
    {STMT_GOOD_CONSTANT, NULL},
    {STMT_GOOD_NESTED, NULL},
    {STMT_BAD_COLUMN, "BAD_COLUMN: does not prepare: no such column: nme"},
    {STMT_BAD_SCAN, "BAD_SCAN: is slow: SCAN item"},
    {STMT_BAD_WORDS, "BAD_WORDS: is slow: SCAN word VIRTUAL TABLE INDEX 0:"},
    {STMT_BAD_SORT, "BAD_SORT: is slow: USE TEMP B-TREE"},
    {STMT_BAD_PARAMS, "BAD_PARAMS: has params=1 cols=1, says params=2 cols=1"},
    {STMT_BAD_COLS, "BAD_COLS: has params=1 cols=1, says params=1 cols=2"},
    {STMT_BAD_UNNAMED, "BAD_UNNAMED: a parameter has no name"},
    {STMT_BAD_WRITES, "BAD_WRITES: writes, says read"},
    {STMT_BAD_READS, "BAD_READS: reads, says write"},
    {STMT_BAD_TWO, "BAD_TWO: more than one statement"},
    {STMT_BAD_QUOTES, "BAD_QUOTES: does not prepare"},
};

START_TEST(guard)
{
    char err[256] = "";
    enum rc rc = db_check_statement(db, GUARD[_i].id, err, sizeof(err));

    if (GUARD[_i].says == NULL) {
        ck_assert_msg(rc == RC_OK, "%s", err);
    } else {
        ck_assert_int_eq(rc, RC_INVALID);
        ck_assert_msg(strncmp(err, GUARD[_i].says, strlen(GUARD[_i].says)) == 0,
                      "%s", err);
    }
}
END_TEST

static TCase *opening_case(void)
{
    TCase *t = tcase_create("opening");

    tcase_add_checked_fixture(t, open_place, close_place);
    tcase_add_test(t, pragmas);
    tcase_add_test(t, a_second_opening_migrates_nothing);
    tcase_add_test(t, migrations_that_are_new_are_applied);
    tcase_add_test(t, a_newer_file_is_refused);
    tcase_add_test(t, a_failing_migration_leaves_nothing);
    tcase_add_test(t, files_that_are_no_database);
    tcase_add_test(t, reading_only);
    return t;
}

static TCase *transaction_case(void)
{
    TCase *t = tcase_create("transactions");

    tcase_add_checked_fixture(t, open_place, close_place);
    tcase_add_test(t, commit_or_rollback);
    tcase_add_test(t, what_fn_returns_comes_back);
    tcase_add_test(t, the_whole_function_is_tried_again);
    tcase_add_test(t, a_held_lock_is_waited_for_within_the_bound);
    tcase_add_test(t, a_busy_reader_waits_within_the_bound);
    tcase_add_test(t, a_busy_step_in_a_transaction);
    tcase_add_test(t, savepoints_undo_one_member);
    tcase_add_test(t, rollback_takes_all);
    tcase_add_test(t, a_transaction_that_is_gone);
    tcase_add_test(t, one_view_over_several_reads);
    tcase_add_test(t, an_ended_statement_holds_no_snapshot);
    return t;
}

static TCase *log_case(void)
{
    TCase *t = tcase_create("log");

    tcase_add_checked_fixture(t, open_place, close_place);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_log_is_written_in_few_calls);
    tcase_add_test(t, a_transaction_beyond_the_cache);
    tcase_add_test(t, a_rollback_beyond_the_cache);
    tcase_add_test(t, a_rollback_writes_over_nobody);
    tcase_add_loop_test(t, a_log_that_cannot_grow, 0, 8);
    return t;
}

static TCase *statement_case(void)
{
    TCase *t = tcase_create("statements");

    tcase_add_checked_fixture(t, open_place, close_place);
    tcase_add_test(t, values_come_back);
    tcase_add_test(t, nothing_and_null_differ);
    tcase_add_test(t, memory_is_ones_own);
    tcase_add_test(t, the_first_failure_stays);
    tcase_add_test(t, a_failure_of_the_readers_own);
    tcase_add_loop_test(t, a_value_of_another_type, 0, 6);
    tcase_add_test(t, a_full_arena);
    tcase_add_test(t, a_statement_that_does_not_prepare);
    tcase_add_test(t, one_row_or_none);
    tcase_add_loop_test(t, guard, 0, (int)(sizeof(GUARD) / sizeof(GUARD[0])));
    if (suite_may_abort()) {
        tcase_add_loop_test_raise_signal(t, misuse_of_statements, SIGABRT, 0,
                                         12);
        tcase_add_loop_test_raise_signal(t, misuse_of_transactions, SIGABRT, 0,
                                         9);
    }
    return t;
}

/* Nothing is open while these fork. */
static TCase *process_case(void)
{
    TCase *t = tcase_create("processes");

    tcase_add_checked_fixture(t, make_place, close_place);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, several_programs_migrate_at_once);
    tcase_add_test(t, a_migration_of_another_program_is_waited_for);
    tcase_add_test(t, a_file_replaced_while_it_is_opened);
    tcase_add_test(t, opening_waits_within_the_bound);
    tcase_add_test(t, rivals_lose_no_update);
    tcase_add_test(t, each_allocation_fails_in_turn);
    tcase_add_loop_test(t, faults_at_a_commit, 0,
                        (int)(sizeof(CRASH) / sizeof(CRASH[0])));
    return t;
}

Suite *db_suite(void)
{
    Suite *s = suite_create("db");

    suite_add_tcase(s, opening_case());
    suite_add_tcase(s, transaction_case());
    suite_add_tcase(s, log_case());
    suite_add_tcase(s, statement_case());
    suite_add_tcase(s, process_case());
    return s;
}
