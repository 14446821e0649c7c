/* check_library_files.c - the files that accounts add: names, folders, limits,
 * and what is there after many have added at once. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sql/library_files.h"
#include "tests/support/disk.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define BUSY_MS   10000
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const char *dir;
static struct arena *arena;
static struct library_limits limits;
static struct library_added added;

static void set_up(void)
{
    dir = tmp_make();
    arena = arena_new((size_t)16 << 20);
    ck_assert_ptr_nonnull(arena);
    limits = (struct library_limits){.files = 100, .bytes = 1000000};
}

static void tear_down(void)
{
    disk_mend();
    arena_free(arena);
    tmp_remove();
}

static enum rc add_as(const char *owner, const char *name, const char *text)
{
    struct library_upload *u;

    ck_assert_int_eq(library_files_begin(dir, owner, &u), RC_OK);
    ck_assert_int_eq(library_files_write(u, text, strlen(text)), RC_OK);
    return library_files_commit_take(u, name, &limits, BUSY_MS, arena, &added);
}

static enum rc add(const char *name, const char *text)
{
    return add_as("ann", name, text);
}

static size_t count(const char *owner)
{
    struct library_file *files;
    size_t n = 99;

    ck_assert_int_eq(library_files_list(dir, owner, arena, &files, &n), RC_OK);
    return n;
}

/* What the folder holds beside the listed files and its lock. */
static void assert_clean(void)
{
    char command[600];

    (void)snprintf(command, sizeof(command),
                   "! find '%s/library' -name '.new-*' | grep -q .", dir);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(test_folders_of_accounts)
{
    static const struct {
        const char *account;
        const char *owner;
    } ROWS[] = {
        {"me", "me"},           {"Me", "=4de"},         {"a.b@c", "a=2eb=40c"},
        {"../x", "=2e=2e=2fx"}, {"\xc3\xa9", "=c3=a9"}, {"=2e", "=3d2e"},
    };
    char owner[LIBRARY_FILES_OWNER_BYTES];
    char other[LIBRARY_FILES_OWNER_BYTES];
    char account[256];

    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        library_files_owner(ROWS[i].account, owner);
        ck_assert_str_eq(owner, ROWS[i].owner);
    }
    memset(account, '/', 255);
    account[255] = '\0';
    library_files_owner(account, owner);
    ck_assert_uint_lt(strlen(owner), 100);
    ck_assert_ptr_null(strchr(owner, '/'));
    account[254] = 'x';
    library_files_owner(account, other);
    ck_assert_str_ne(owner, other);
}
END_TEST

START_TEST(test_names)
{
    static const char *const GOOD[] = {"a.md",       "notes/sea.md",
                                       "x/y/z.HTML", "\xe6\xb5\xb7.txt",
                                       "a b.md",     "a..b.md"};
    static const char *const BAD[] = {
        "",          "/a.md",    "a//b.md", "a/",      "../a.md",
        "a/../b.md", "./a.md",   ".a.md",   "a/.b.md", "a\nb.md",
        "a\\b.md",   "a\x7f.md", "a/b/..",  "\xff.md", "a\xc0\xaf.md"};
    char name[600];

    for (size_t i = 0; i < LENGTH(GOOD); i++) {
        ck_assert_msg(library_files_fault(GOOD[i]) == NULL, "%s", GOOD[i]);
    }
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        ck_assert_msg(library_files_fault(BAD[i]) != NULL, "%s", BAD[i]);
    }
    memset(name, 'a', sizeof(name));
    name[201] = '\0';
    ck_assert_ptr_nonnull(library_files_fault(name));
    name[200] = '\0';
    ck_assert_ptr_null(library_files_fault(name));
    (void)snprintf(name, sizeof(name), "%s",
                   "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16.md");
    ck_assert_ptr_null(library_files_fault(name));
    (void)snprintf(name, sizeof(name), "%s",
                   "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17.md");
    ck_assert_ptr_nonnull(library_files_fault(name));
}
END_TEST

START_TEST(test_files_come_and_go)
{
    struct library_file *files;
    struct stat st;
    size_t n;

    ck_assert(!library_files_exist(dir));
    ck_assert_uint_eq(count("ann"), 0);
    ck_assert_int_eq(add("notes/deep/sea.md", "one"), RC_OK);
    ck_assert(!added.replaced);
    ck_assert_int_eq(add("a.txt", "two"), RC_OK);
    ck_assert_int_eq(add("notes/deep/sea.md", "three"), RC_OK);
    ck_assert(added.replaced);
    ck_assert(library_files_exist(dir));
    ck_assert_int_eq(library_files_list(dir, "ann", arena, &files, &n), RC_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(files[0].name, "a.txt");
    ck_assert_str_eq(files[1].name, "notes/deep/sea.md");
    ck_assert_int_eq(files[1].bytes, 5);
    ck_assert_uint_eq(count("ben"), 0);
    ck_assert_int_eq(
        library_files_remove(dir, "ben", "notes/deep/sea.md", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/deep", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "../ann/a.txt", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/deep/sea.md", NULL, BUSY_MS),
        RC_OK);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/deep/sea.md", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_ne(stat(tmp_path("library/ann/notes"), &st), 0);
    ck_assert_uint_eq(count("ann"), 1);
    assert_clean();
}
END_TEST

START_TEST(test_what_is_not_taken)
{
    limits = (struct library_limits){.files = 2, .bytes = 10};
    ck_assert_int_eq(add("Caf\xc3\xa9.md", "12345"), RC_OK);
    ck_assert_int_eq(add("caf\xc3\xa9.md", "1"), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_TWIN);
    ck_assert_str_eq(added.other, "Caf\xc3\xa9.md");
    ck_assert_int_eq(add("Cafe\xcc\x81.md", "1"), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_TWIN);
    ck_assert_int_eq(add("big.md", "123456"), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_TOO_MUCH);
    ck_assert_int_eq(add("two.md", "12345"), RC_OK);
    ck_assert_int_eq(add("three.md", ""), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_TOO_MANY);
    /* What takes the place of a file is not counted twice. */
    ck_assert_int_eq(add("two.md", "54321"), RC_OK);
    limits.files = 9;
    ck_assert_int_eq(add("two.md/x.md", ""), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_IN_THE_WAY);
    ck_assert_int_eq(add("f.md/x.md", ""), RC_OK);
    ck_assert_int_eq(add("f.md", ""), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_IN_THE_WAY);
    ck_assert_int_eq(add_as("ben", "caf\xc3\xa9.md", "1234567890"), RC_OK);
    assert_clean();
}
END_TEST

START_TEST(test_a_file_that_is_too_large)
{
    static char piece[1 << 20];
    struct library_upload *u;

    ck_assert_int_eq(library_files_begin(dir, "ann", &u), RC_OK);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(library_files_write(u, piece, sizeof(piece)), RC_OK);
    }
    ck_assert_int_eq(library_files_write(u, piece, 1), RC_TOO_LARGE);
    library_files_drop(u);
    ck_assert_uint_eq(count("ann"), 0);
    assert_clean();
}
END_TEST

START_TEST(test_no_link_leads_out)
{
    ck_assert_int_eq(add("a.md", "x"), RC_OK);
    ck_assert_int_eq(mkdir(tmp_path("outside"), 0700), 0);
    ck_assert_int_eq(symlink(tmp_path("outside"), tmp_path("library/ann/out")),
                     0);
    ck_assert_int_eq(add("out/b.md", "x"), RC_CONFLICT);
    (void)tmp_write("outside/c.md", "x");
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "out/c.md", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_uint_eq(count("ann"), 1);
}
END_TEST

START_TEST(test_the_lock_is_waited_for_within_the_bound)
{
    struct library_upload *u;
    int fd;

    ck_assert_int_eq(add("a.md", "x"), RC_OK);
    fd = open(tmp_path("library/ann/.lock"), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(library_files_begin(dir, "ann", &u), RC_OK);
    ck_assert_int_eq(
        library_files_commit_take(u, "b.md", &limits, 50, arena, &added),
        RC_BUSY);
    ck_assert_int_eq(library_files_remove(dir, "ann", "a.md", NULL, 50),
                     RC_BUSY);
    (void)close(fd);
    ck_assert_uint_eq(count("ann"), 1);
    assert_clean();
}
END_TEST

/* What died before it was recorded is done again, and takes nothing new. */
START_TEST(test_a_removal_is_repeated)
{
    ck_assert_int_eq(add("notes/a.md", "x"), RC_OK);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", "1", BUSY_MS), RC_OK);
    ck_assert_uint_eq(count("ann"), 0);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", "1", BUSY_MS), RC_OK);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", "2", BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", NULL, BUSY_MS),
        RC_NOT_FOUND);
    ck_assert_int_eq(add("notes/a.md", "new"), RC_OK);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", "1", BUSY_MS), RC_OK);
    ck_assert_uint_eq(count("ann"), 1);
    library_files_removed(dir, "ann", "1");
    ck_assert_int_ne(access(tmp_path("library/ann/.gone-1"), F_OK), 0);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "notes/a.md", "1", BUSY_MS), RC_OK);
    ck_assert_uint_eq(count("ann"), 0);
}
END_TEST

/* Several processes at the limit: it holds, and each file is whole. */
START_TEST(test_limits_hold_over_processes)
{
    limits.files = 10;
    for (int k = 0; k < 4; k++) {
        if (fork() == 0) {
            for (int i = 0; i < 10; i++) {
                char name[32];

                (void)snprintf(name, sizeof(name), "%d-%d.md", k, i);
                (void)add(name, "text");
                (void)add("same.md", k % 2 == 0 ? "aaaaaaaa" : "bbbbbbbb");
            }
            _exit(0);
        }
    }
    for (int k = 0; k < 4; k++) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(count("ann"), 10);
    assert_clean();
}
END_TEST

START_TEST(test_no_room_for_the_lock)
{
    ck_assert_int_eq(add("a.md", "x"), RC_OK);
    disk_break(DISK_OPENAT, ".lock", ENOSPC);
    ck_assert_int_eq(add("b.md", "x"), RC_CONFLICT);
    ck_assert_int_eq(added.refusal, LIBRARY_DISK_FULL);
    ck_assert_int_eq(library_files_remove(dir, "ann", "a.md", NULL, BUSY_MS),
                     RC_FULL);
    disk_break(DISK_OPENAT, ".lock", EIO);
    ck_assert_int_eq(add("b.md", "x"), RC_IO);
    disk_mend();
    ck_assert_uint_eq(count("ann"), 1);
    assert_clean();
}
END_TEST

static int count_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(all);
    while (readdir(all) != NULL) {
        n++;
    }
    (void)closedir(all);
    return n;
}

/* What cannot be read is not taken for what is not there: neither are there
 * fewer files, nor is there more room. */
START_TEST(test_a_disk_that_cannot_be_read)
{
    static const struct {
        enum disk_call call;
        const char *name;
    } WAYS[] = {{DISK_OPENAT, "deep"},    {DISK_FSTATAT, "deep"},
                {DISK_FSTATAT, "sea.md"}, {DISK_FDOPENDIR, "/deep"},
                {DISK_FDOPENDIR, "/ann"}, {DISK_READDIR, "/deep"},
                {DISK_READDIR, "/ann"}};
    struct library_file *files;
    size_t n;
    int before;

    ck_assert_int_eq(add("deep/sea.md", "one"), RC_OK);
    before = count_descriptors();
    for (size_t i = 0; i < LENGTH(WAYS); i++) {
        disk_break(WAYS[i].call, WAYS[i].name, EIO);
        ck_assert_msg(library_files_list(dir, "ann", arena, &files, &n) ==
                          RC_IO,
                      "way %zu", i);
        ck_assert_msg(add("other.md", "x") == RC_IO, "way %zu", i);
        ck_assert_int_eq(count_descriptors(), before);
    }
    disk_break(DISK_FSTATAT, "sea.md", EIO);
    ck_assert_int_eq(
        library_files_remove(dir, "ann", "deep/sea.md", NULL, BUSY_MS), RC_IO);
    disk_mend();
    ck_assert_uint_eq(count("ann"), 1);
    assert_clean();
}
END_TEST

Suite *library_files_suite(void)
{
    Suite *suite = suite_create("library_files");
    TCase *tc = tcase_create("files");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_folders_of_accounts);
    tcase_add_test(tc, test_names);
    tcase_add_test(tc, test_files_come_and_go);
    tcase_add_test(tc, test_what_is_not_taken);
    tcase_add_test(tc, test_a_file_that_is_too_large);
    tcase_add_test(tc, test_no_link_leads_out);
    tcase_add_test(tc, test_the_lock_is_waited_for_within_the_bound);
    tcase_add_test(tc, test_a_removal_is_repeated);
    tcase_add_test(tc, test_no_room_for_the_lock);
    tcase_add_test(tc, test_a_disk_that_cannot_be_read);
    tcase_add_test(tc, test_limits_hold_over_processes);
    suite_add_tcase(suite, tc);
    return suite;
}
