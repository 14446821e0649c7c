/* check_library.c - folders become a library, and stay one: incrementally,
 * under kills, beside readers; and what is asked for is found. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cmd/cmd_index.h"
#include "runtime/document/library_index.h"
#include "sql/base/clock.h"
#include "sql/base/utf8.h"
#include "sql/library.h"
#include "sql/library_query.h"
#include "tests/support/disk.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define BUSY_MS      5000
#define CASE_SECONDS 60
#define NOBODY       65534

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static char docs[PATH_MAX];
static const char *dir;
static struct arena *arena;
static struct library_index_counts counts;
static struct library *lib; /* for reading; NULL until look() */

static void set_up(void)
{
    dir = tmp_make();
    (void)snprintf(docs, sizeof(docs), "%s/docs", dir);
    ck_assert_int_eq(mkdir(docs, 0755), 0);
    arena = arena_new((size_t)32 << 20);
    ck_assert_ptr_nonnull(arena);
    lib = NULL;
}

static void tear_down(void)
{
    disk_mend();
    library_close(lib);
    arena_free(arena);
    tmp_remove();
}

/* --- helpers
 * ------------------------------------------------------------------ */

static enum rc index_folders(const char *folders)
{
    return library_index_run(
        &(struct library_index_options){
            .dir = dir, .folders = folders, .busy_ms = BUSY_MS},
        &counts);
}

static void index_docs(void)
{
    ck_assert_int_eq(index_folders(docs), RC_OK);
}

/* A connection for reading, opened at the first call. */
static struct library *look(void)
{
    if (lib == NULL) {
        ck_assert_int_eq(library_open_read(dir, BUSY_MS, &lib), RC_OK);
    }
    return lib;
}

static struct library_passage found[LIBRARY_MAX_RESULTS];

static size_t search(const char *text, size_t limit)
{
    size_t n = 99;

    ck_assert_int_eq(library_search(look(), "", text, limit, arena, found, &n),
                     RC_OK);
    ck_assert_uint_le(n, limit);
    return n;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

static struct library_pages read_from(const char *path, int64_t from)
{
    struct library_pages pages;

    ck_assert_int_eq(library_read(look(),
                                  &(struct library_place){.path = path,
                                                          .from = from,
                                                          .max_bytes = 1000000},
                                  arena, &pages),
                     RC_OK);
    return pages;
}

static void check_whole(void)
{
    struct library *writer;

    ck_assert_int_eq(library_open(dir, BUSY_MS, &writer), RC_OK);
    ck_assert_int_eq(library_check(writer), RC_OK);
    library_close(writer);
}

static void assert_counts(int64_t documents, int64_t added, int64_t changed,
                          int64_t removed)
{
    ck_assert_int_eq(counts.documents, documents);
    ck_assert_int_eq(counts.added, added);
    ck_assert_int_eq(counts.changed, changed);
    ck_assert_int_eq(counts.removed, removed);
}

/* --- folders
 * -------------------------------------------------------------------- */

START_TEST(test_nothing_indexed_yet)
{
    ck_assert_int_eq(library_open_read(dir, BUSY_MS, &lib), RC_NOT_FOUND);
}
END_TEST

START_TEST(test_each_kind_of_file)
{
    (void)tmp_write("docs/a.md", "# Markdown title\n\nabout walnuts\n");
    (void)tmp_write("docs/b.txt", "plain words about walnuts\n");
    (void)tmp_write("docs/c.HTML", "<title>Page</title><p>walnuts here");
    (void)tmp_write("docs/sub/deep/d.htm", "<p>more walnuts");
    (void)tmp_write("docs/e.css", "walnuts {}");
    (void)tmp_write("docs/.hidden.md", "walnuts");
    (void)tmp_write("docs/.git/f.md", "walnuts");
    index_docs();
    assert_counts(4, 4, 0, 0);
    ck_assert_int_eq(counts.passages, 4);
    ck_assert_uint_eq(search("walnuts", 10), 4);
    ck_assert_str_eq(read_from("a.md", 0).title, "Markdown title");
    ck_assert_str_eq(read_from("b.txt", 0).title, "b.txt");
    ck_assert_str_eq(read_from("c.HTML", 0).title, "Page");
    ck_assert_str_eq(read_from("d.htm", 0).passages[0].text, "more walnuts");
}
END_TEST

START_TEST(test_only_what_changed_is_read)
{
    struct library_totals before;
    struct library_totals after;
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    (void)tmp_write("docs/same.md", "the same words");
    (void)tmp_write("docs/change.md", "words of yesterday");
    (void)tmp_write("docs/gone.md", "words to be forgotten");
    index_docs();
    assert_counts(3, 3, 0, 0);
    ck_assert_int_eq(library_stats(look(), &before), RC_OK);
    ck_assert_int_gt(before.scanned_ms, 0);

    index_docs();
    assert_counts(3, 0, 0, 0);

    (void)tmp_write("docs/change.md", "words of today, and more of them");
    (void)tmp_write("docs/new.md", "words of tomorrow");
    ck_assert_int_eq(unlink(tmp_path("docs/gone.md")), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, tmp_path("docs/same.md"), old, 0), 0);
    index_docs();
    assert_counts(3, 1, 1, 1);
    ck_assert_uint_eq(search("forgotten", 10), 0);
    ck_assert_uint_eq(search("yesterday", 10), 0);
    ck_assert_uint_eq(search("today", 10), 1);
    ck_assert_uint_eq(search("tomorrow", 10), 1);
    ck_assert_int_eq(library_stats(look(), &after), RC_OK);
    ck_assert_int_eq(after.documents, 3);
    ck_assert_int_ge(after.scanned_ms, before.scanned_ms);
    check_whole();
}
END_TEST

/* Same length, same second: the time's nanoseconds tell. */
START_TEST(test_a_change_of_the_same_size)
{
    struct stat st;
    int64_t before_ns;

    (void)tmp_write("docs/a.md", "colour blue");
    ck_assert_int_eq(stat(tmp_path("docs/a.md"), &st), 0);
    before_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
    index_docs();
    do { /* until the file system's clock has moved */
        (void)tmp_write("docs/a.md", "colour pink");
        ck_assert_int_eq(stat(tmp_path("docs/a.md"), &st), 0);
    } while (st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec ==
             before_ns);
    index_docs();
    assert_counts(1, 0, 1, 0);
    ck_assert_uint_eq(search("pink", 10), 1);
    ck_assert_uint_eq(search("blue", 10), 0);
}
END_TEST

START_TEST(test_loops_and_special_files_are_passed_over)
{
    (void)tmp_write("docs/sub/a.md", "words");
    (void)tmp_write("outside/b.md", "secret words");
    ck_assert_int_eq(symlink("..", tmp_path("docs/sub/loop")), 0);
    ck_assert_int_eq(symlink("/", tmp_path("docs/root")), 0);
    ck_assert_int_eq(symlink(tmp_path("outside/b.md"), tmp_path("docs/b.md")),
                     0);
    ck_assert_int_eq(mkfifo(tmp_path("docs/pipe.txt"), 0644), 0);
    index_docs();
    assert_counts(1, 1, 0, 0);
    ck_assert_int_eq(counts.failed, 0);
}
END_TEST

START_TEST(test_the_folder_itself_may_be_a_link)
{
    (void)tmp_write("docs/a.md", "words");
    ck_assert_int_eq(symlink(docs, tmp_path("link")), 0);
    ck_assert_int_eq(index_folders(tmp_path("link")), RC_OK);
    assert_counts(1, 1, 0, 0);
}
END_TEST

START_TEST(test_folders_within_folders_count_once)
{
    char folders[3 * PATH_MAX];

    (void)tmp_write("docs/a.md", "one");
    (void)tmp_write("docs/sub/b.md", "two");
    (void)tmp_write("docs2/c.md", "three");
    (void)snprintf(folders, sizeof(folders), "%s/docs/sub:%s/docs::%s/docs2",
                   dir, dir, dir);
    ck_assert_int_eq(index_folders(folders), RC_OK);
    assert_counts(3, 3, 0, 0);
    /* A folder that is configured no more is forgotten. */
    ck_assert_int_eq(index_folders(docs), RC_OK);
    assert_counts(2, 0, 0, 1);
    ck_assert_int_eq(index_folders(""), RC_OK);
    assert_counts(0, 0, 0, 2);
    check_whole();
}
END_TEST

START_TEST(test_a_missing_folder_keeps_its_documents)
{
    (void)tmp_write("docs/a.md", "words that stay");
    index_docs();
    ck_assert_int_eq(rename(docs, tmp_path("away")), 0);
    index_docs();
    assert_counts(1, 0, 0, 0);
    ck_assert_int_eq(counts.folders_failed, 1);
    ck_assert_uint_eq(search("stay", 10), 1);
}
END_TEST

/* Something of a large size, cheaply. */
static void write_large(const char *name)
{
    const char *path = tmp_write(name, "start");

    ck_assert_int_eq(truncate(path, (off_t)6 << 20), 0);
}

/* What cannot be read is not taken for what is gone, and stops nothing else. */
START_TEST(test_a_folder_that_cannot_be_read_keeps_its_documents)
{
    static const struct {
        enum disk_call call;
        const char *name;
    } WAYS[] = {{DISK_OPENAT, "deep"},     {DISK_FSTATAT, "deep"},
                {DISK_FSTATAT, "a.md"},    {DISK_FDOPENDIR, "/deep"},
                {DISK_FDOPENDIR, "/docs"}, {DISK_READDIR, "/deep"},
                {DISK_READDIR, "/docs"},   {DISK_FDOPENDIR, "/ann"},
                {DISK_FSTATAT, "own.md"},  {DISK_READDIR, "/ann"},
                {DISK_READDIR, "/library"}};

    (void)tmp_write("docs/a.md", "walnuts");
    (void)tmp_write("docs/deep/b.md", "hazelnuts");
    (void)tmp_write("library/ann/own.md", "peanuts");
    (void)tmp_write("more/c.md", "first");
    (void)snprintf(docs, sizeof(docs), "%s/docs:%s/more", dir, dir);
    index_docs();
    assert_counts(4, 4, 0, 0);
    for (int i = 0; i < COUNT(WAYS); i++) {
        char text[32];

        disk_break(WAYS[i].call, WAYS[i].name, EIO);
        (void)snprintf(text, sizeof(text), "another %d", i);
        (void)tmp_write("more/c.md", text);
        ck_assert_msg(index_folders(docs) == RC_OK, "way %d", i);
        ck_assert_msg(counts.documents == 4 && counts.removed == 0 &&
                          counts.changed == 1,
                      "way %d", i);
    }
    disk_mend();
    index_docs();
    assert_counts(4, 0, 0, 0);
}
END_TEST

/* Where a folder lay is not known once its link leads nowhere. */
START_TEST(test_a_link_that_leads_nowhere_keeps_its_documents)
{
    (void)tmp_write("docs/a.md", "walnuts");
    (void)tmp_write("more/b.md", "hazelnuts");
    (void)tmp_write("more/c.md", "peanuts");
    ck_assert_int_eq(symlink("docs", tmp_path("link")), 0);
    (void)snprintf(docs, sizeof(docs), "%s/link:%s/more", dir, dir);
    index_docs();
    assert_counts(3, 3, 0, 0);
    ck_assert_int_eq(rename(tmp_path("docs"), tmp_path("away")), 0);
    ck_assert_int_eq(unlink(tmp_path("more/c.md")), 0);
    index_docs();
    assert_counts(2, 0, 0, 1);
    ck_assert_int_eq(counts.folders_failed, 1);
    ck_assert_int_eq(unlink(tmp_path("link")), 0);
    ck_assert_int_eq(index_folders(tmp_path("more")), RC_OK);
    assert_counts(1, 0, 0, 1);
}
END_TEST

START_TEST(test_unreadable_files_do_not_stop_the_run)
{
    struct library_totals totals;

    (void)tmp_write("docs/a.md", "good words");
    write_large("docs/large.html");
    write_large("docs/m.txt");
    ck_assert_int_eq(truncate(tmp_path("docs/m.txt"), 4000), 0); /* NULs */
    (void)tmp_write("docs/z.md", "other good words");
    index_docs();
    assert_counts(2, 2, 0, 0);
    ck_assert_int_eq(counts.failed, 2);
    ck_assert_int_eq(library_stats(look(), &totals), RC_OK);
    ck_assert_int_eq(totals.failed, 2);
    index_docs(); /* still so, and not read again */
    assert_counts(2, 0, 0, 0);
    ck_assert_int_eq(counts.failed, 2);
    (void)tmp_write("docs/m.txt", "good words at last");
    index_docs();
    assert_counts(3, 0, 1, 0);
    ck_assert_uint_eq(search("last", 10), 1);
}
END_TEST

static void run_sql(const char *sql)
{
    char command[1024];

    (void)snprintf(command, sizeof(command), "sqlite3 '%s/library.db' \"%s\"",
                   dir, sql);
    ck_assert_int_eq(system(command), 0);
}

/* Whatever the database has against one document, old or new, it is said of
 * that one, and the rest of its batch is read. */
START_TEST(test_a_document_that_cannot_be_stored_does_not_stop_the_run)
{
    struct library_entry *list;
    size_t n;

    (void)tmp_write("docs/m.md", "before");
    index_docs();
    run_sql("CREATE TRIGGER no_new BEFORE INSERT ON passage "
            "WHEN NEW.text LIKE '%cursed%' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END;");
    (void)tmp_write("docs/a.md", "good words");
    (void)tmp_write("docs/c.md", "cursed words");
    (void)tmp_write("docs/m.md", "fine\n\n# Cursed\n\ncursed words");
    (void)tmp_write("docs/z.md", "other good words");
    index_docs();
    assert_counts(2, 2, 0, 0);
    ck_assert_int_eq(counts.failed, 2);
    ck_assert_uint_eq(search("good", 10), 2);
    ck_assert_uint_eq(search("before", 10), 0);
    ck_assert_int_eq(library_entries(look(), "", "", 10, arena, &list, &n),
                     RC_OK);
    ck_assert_uint_eq(n, 4);
    ck_assert_str_eq(list[1].error, "not stored");
    ck_assert_str_eq(list[2].error, "not stored");
    index_docs(); /* as before, and not tried again */
    assert_counts(2, 0, 0, 0);
    ck_assert_int_eq(counts.failed, 2);
    run_sql("DROP TRIGGER no_new;");
    (void)tmp_write("docs/c.md", "cursed words no more");
    index_docs();
    assert_counts(3, 0, 1, 0);
    check_whole();
}
END_TEST

/* A document of so many sections, each of which repeats the headings above. */
static void write_sections(const char *name, int n)
{
    static const char LINE[] = "###### y\n\nz\n\n";
    static const char HEADING[] = "######";
    const size_t len = 290;
    char *text = malloc(8 * len + (size_t)n * (sizeof(LINE) - 1) + 1);
    char *to = text;

    ck_assert_ptr_nonnull(text);
    for (int level = 1; level < 6; level++) {
        to += sprintf(to, "%.*s ", level, HEADING);
        memset(to, 'x', len);
        to += len;
        to += sprintf(to, "\n\n");
    }
    for (int i = 0; i < n; i++) {
        memcpy(to, LINE, sizeof(LINE));
        to += sizeof(LINE) - 1;
    }
    (void)tmp_write(name, text);
    free(text);
}

/* Neither one that has far too many parts, nor several that are too many in one
 * batch, take the memory that the others are read with. */
START_TEST(test_documents_of_too_many_parts_do_not_stop_the_run)
{
    char name[32];

    (void)tmp_write("docs/a.md", "good words");
    write_sections("docs/b.md", 250000);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "docs/c%d.md", i);
        write_sections(name, 20100);
    }
    (void)tmp_write("docs/z.md", "other good words");
    index_docs();
    assert_counts(2, 2, 0, 0);
    ck_assert_int_eq(counts.failed, 13);
    ck_assert_uint_eq(search("good", 10), 2);
}
END_TEST

/* A PDF that could not be read for want of the program is read once it is
 * there. */
START_TEST(test_a_pdf_is_read_when_there_is_a_reader_for_it)
{
    const char *given = getenv("PATH");
    char *before = strdup(given != NULL ? given : "");
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/bin", dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    (void)tmp_write("docs/a.pdf", "%PDF-1.4");
    index_docs();
    ck_assert_int_eq(counts.failed, 1);
    index_docs(); /* tried again, in vain */
    ck_assert_int_eq(counts.failed, 1);
    ck_assert_int_eq(
        chmod(tmp_write("bin/pdftotext", "#!/bin/sh\necho about walnuts\n"),
              0755),
        0);
    index_docs();
    ck_assert_int_eq(setenv("PATH", before, 1), 0);
    free(before);
    assert_counts(1, 0, 1, 0);
    ck_assert_int_eq(counts.failed, 0);
    ck_assert_uint_eq(search("walnuts", 10), 1);
}
END_TEST

/* As root nothing is forbidden: become nobody for the run. */
START_TEST(test_a_forbidden_file_is_read_when_allowed)
{
    const char *secret = tmp_write("docs/secret.md", "forbidden words");
    bool root = geteuid() == 0;

    (void)tmp_write("docs/a.md", "words");
    ck_assert_int_eq(chmod(secret, 0), 0);
    if (root) {
        ck_assert_int_eq(chown(dir, NOBODY, (gid_t)-1), 0);
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    index_docs();
    assert_counts(1, 1, 0, 0);
    ck_assert_int_eq(counts.failed, 1);
    index_docs();
    ck_assert_int_eq(counts.failed, 1);
    ck_assert(!root || seteuid(0) == 0);
    ck_assert_int_eq(chmod(secret, 0644), 0);
    index_docs();
    ck_assert_int_eq(counts.failed, 0);
    ck_assert_uint_eq(search("forbidden", 10), 1);
}
END_TEST

START_TEST(test_broken_pages)
{
    char *page = malloc(60000);

    ck_assert_ptr_nonnull(page);
    page[0] = '\0';
    for (size_t at = 0; at + 5 < 59000; at += 5) {
        memcpy(page + at, "<div>", 6);
    }
    (void)tmp_write("docs/deep.html", page);
    (void)tmp_write("docs/cut.html", "<p>walnuts</p><table><tr><td cla");
    (void)tmp_write("docs/bytes.html", "<p>walnuts \xFF\xC3 \x01 end");
    (void)tmp_write("docs/none.html", "");
    index_docs();
    assert_counts(4, 4, 0, 0);
    ck_assert_uint_eq(search("walnuts", 10), 2);
    for (int i = 0; i < 2; i++) {
        ck_assert(utf8_valid(found[i].text, strlen(found[i].text)));
    }
    ck_assert_uint_eq(read_from("none.html", 0).n, 0);
    free(page);
}
END_TEST

START_TEST(test_one_run_at_a_time)
{
    const char *path = tmp_path("library.lock");
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    (void)tmp_write("docs/a.md", "words");
    ck_assert_int_eq(index_folders(docs), RC_CONFLICT);
    ck_assert_int_eq(close(fd), 0);
    index_docs();
    assert_counts(1, 1, 0, 0);
}
END_TEST

/* --- owners
 * -------------------------------------------------------------------------
 */

static size_t search_as(const char *owner, const char *text)
{
    size_t n = 99;

    ck_assert_int_eq(library_search(look(), owner, text, 10, arena, found, &n),
                     RC_OK);
    return n;
}

static enum rc read_as(const char *owner, const char *path, int64_t id,
                       struct library_pages *pages)
{
    return library_read(look(),
                        &(struct library_place){.owner = owner,
                                                .path = path,
                                                .passage_id = id,
                                                .from = -1,
                                                .max_bytes = 1000},
                        arena, pages);
}

static void make_two_owners(void)
{
    ck_assert_int_eq(mkdir(tmp_path("library"), 0700), 0);
    ck_assert_int_eq(mkdir(tmp_path("library/ann"), 0700), 0);
    ck_assert_int_eq(mkdir(tmp_path("library/ben"), 0700), 0);
    (void)tmp_write("docs/shared.md", "# Shared\n\nThe herring of all.\n");
    (void)tmp_write("library/ann/a.md", "# Own\n\nThe herring of Ann.\n");
    (void)tmp_write("library/ben/a.md", "# Own\n\nThe herring of Ben.\n");
    (void)tmp_write("library/ben/b.md", "# Own\n\nA kipper of Ben.\n");
    index_docs();
    assert_counts(4, 4, 0, 0);
}

START_TEST(test_an_account_sees_its_own_and_shared_documents)
{
    struct library_pages pages;
    int64_t id;

    make_two_owners();
    ck_assert_uint_eq(search_as("", "herring"), 1);
    ck_assert_uint_eq(search_as("ann", "herring"), 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(strstr(found[i].text, "Ben"));
    }
    ck_assert_uint_eq(search_as("ann", "kipper"), 0);
    ck_assert_uint_eq(search_as("ben", "kipper"), 1);
    ck_assert_str_eq(found[0].path, "b.md");
    id = found[0].id;
    ck_assert_int_eq(read_as("ben", NULL, id, &pages), RC_OK);
    ck_assert_str_eq(pages.path, "b.md");
    ck_assert_int_eq(read_as("ann", NULL, id, &pages), RC_NOT_FOUND);
    ck_assert_int_eq(read_as(NULL, NULL, id, &pages), RC_NOT_FOUND);
    ck_assert_int_eq(read_as("ann", "a.md", 0, &pages), RC_OK);
    ck_assert_ptr_nonnull(strstr(pages.passages[0].text, "Ann"));
    check_whole();
}
END_TEST

START_TEST(test_no_path_leads_to_anothers_document)
{
    static const char *const PATHS[] = {
        "b.md",  "library/ben/b.md",  "ben/b.md", "../ben/b.md",
        "/b.md", "/library/ben/b.md", "",         "./b.md"};
    struct library_pages pages;

    make_two_owners();
    ck_assert_int_eq(read_as("ben", "b.md", 0, &pages), RC_OK);
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
        ck_assert_msg(read_as("ann", PATHS[i], 0, &pages) == RC_NOT_FOUND, "%s",
                      PATHS[i]);
    }
}
END_TEST

START_TEST(test_a_shared_folder_around_the_data_shares_nothing_own)
{
    make_two_owners();
    ck_assert_int_eq(index_folders(dir), RC_OK);
    ck_assert_uint_eq(search_as("", "herring"), 1);
    ck_assert_int_eq(index_folders(tmp_path("library/ben")), RC_OK);
    ck_assert_int_eq(counts.folders_failed, 1);
    ck_assert_uint_eq(search_as("", "kipper"), 0);
    ck_assert_uint_eq(search_as("ben", "kipper"), 1);
}
END_TEST

START_TEST(test_ids_of_own_passages_do_not_depend_on_the_place)
{
    int64_t id;

    make_two_owners();
    ck_assert_uint_eq(search_as("ben", "kipper"), 1);
    id = found[0].id;
    library_close(lib);
    lib = NULL;
    ck_assert_int_eq(unlink(tmp_path("library.db")), 0);
    (void)unlink(tmp_path("library.db-wal"));
    (void)unlink(tmp_path("library.db-shm"));
    ck_assert_int_eq(mkdir(tmp_path("moved"), 0700), 0);
    ck_assert_int_eq(rename(tmp_path("library"), tmp_path("moved/library")), 0);
    dir = tmp_path("moved");
    ck_assert_int_eq(index_folders(""), RC_OK);
    ck_assert_uint_eq(search_as("ben", "kipper"), 1);
    ck_assert_int_eq(found[0].id, id);
}
END_TEST

/* --- ids
 * ----------------------------------------------------------------------------
 */

#define LONG_TEXT                                                              \
    "A paragraph that is long enough to stand in a passage of its own, since " \
    "there are several sentences in it. It goes on for a while, as text does " \
    "when there is something to say. And then it says a little more.\n\n"

START_TEST(test_ids_stay_with_their_words)
{
    struct library_pages before;
    struct library_pages after;

    (void)tmp_write("docs/a.md",
                    "# A\n\none " LONG_TEXT "# B\n\ntwo " LONG_TEXT
                    "# C\n\nthree " LONG_TEXT "# C\n\nthree " LONG_TEXT);
    index_docs();
    before = read_from("a.md", 0);
    ck_assert_uint_eq(before.n, 4);
    ck_assert_int_ne(before.passages[2].id, before.passages[3].id);

    /* One more before, another one changed. */
    (void)tmp_write("docs/a.md",
                    "# A\n\nnew " LONG_TEXT "# A\n\none " LONG_TEXT
                    "# B\n\nother " LONG_TEXT "# C\n\nthree " LONG_TEXT);
    index_docs();
    after = read_from("a.md", 0);
    ck_assert_uint_eq(after.n, 4);
    ck_assert_int_eq(after.passages[1].id, before.passages[0].id);
    ck_assert_int_ne(after.passages[2].id, before.passages[1].id);
    ck_assert_int_eq(after.passages[3].id, before.passages[2].id);
    for (int64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(after.passages[i].n, i);
    }
    check_whole();
}
END_TEST

START_TEST(test_ids_survive_a_new_library)
{
    struct library_pages before;
    struct library_pages after;

    (void)tmp_write("docs/b.md", "other " LONG_TEXT);
    (void)tmp_write("docs/a.md", "# A\n\none " LONG_TEXT);
    index_docs();
    before = read_from("a.md", 0);
    library_close(lib);
    lib = NULL;
    ck_assert_int_eq(unlink(tmp_path("library.db")), 0);
    (void)unlink(tmp_path("library.db-wal"));
    (void)unlink(tmp_path("library.db-shm"));
    ck_assert_int_eq(unlink(tmp_path("docs/b.md")), 0);
    index_docs();
    after = read_from("a.md", 0);
    ck_assert_int_eq(after.passages[0].id, before.passages[0].id);
    ck_assert_int_lt(after.passages[0].id, INT64_C(1) << 53);
}
END_TEST

START_TEST(test_a_new_title_is_found)
{
    int64_t id;

    (void)tmp_write("docs/a.md", "---\ntitle: Pears\n---\nwords");
    index_docs();
    ck_assert_uint_eq(search("pears", 10), 1);
    id = found[0].id;
    (void)tmp_write("docs/a.md", "---\ntitle: Apples\n---\nwords");
    index_docs();
    ck_assert_uint_eq(search("pears", 10), 0);
    ck_assert_uint_eq(search("apples", 10), 1);
    ck_assert_int_eq(found[0].id, id);
    check_whole();
}
END_TEST

/* --- searching
 * ------------------------------------------------------------------------ */

static void write_shelf(void)
{
    (void)tmp_write("docs/wal.html",
                    "<title>Write-Ahead Logging</title><h1>Checkpointing</h1>"
                    "<p>Moving the write-ahead log's transactions back into "
                    "the database is called a checkpoint. " LONG_TEXT
                    "<h1>Concurrency</h1><p>Readers do not block writers.");
    (void)tmp_write("docs/journal.html",
                    "<title>Rollback journal</title><h1>Commit</h1><p>The "
                    "journal is written ahead of the commit, and a log is "
                    "kept by the editor. " LONG_TEXT);
    (void)tmp_write(
        "docs/news.md",
        "# News\n\nOnce upon a time a checkpoint was mentioned. " LONG_TEXT);
    (void)tmp_write("docs/index.html",
                    "<title>Index</title><ul><li><a href=x>Write-ahead log "
                    "checkpoint</a><li><a href=y>Checkpoint</a></ul>");
    (void)tmp_write("docs/zh.md",
                    "# \u6570\u636e\u5e93\n\n\u9884\u5199\u65e5\u5fd7\u6a21"
                    "\u5f0f\u4e0b\uff0c\u8bfb\u8005\u4e0d\u4f1a\u963b\u585e"
                    "\u5199\u8005\u3002\n");
    index_docs();
}

static const struct {
    const char *query;
    const char *first; /* file of the best passage */
} QUESTIONS[] = {
    {"write-ahead log checkpoint", "wal.html"},
    {"What is a checkpoint in the write-ahead log?", "wal.html"},
    {"How do checkpoints of write ahead logs differ from cheese?", "wal.html"},
    {"do readers block writers", "wal.html"},
    {"ROLLBACK JOURNAL", "journal.html"},
    {"committed journals", "journal.html"}, /* stems */
    {"once upon a time", "news.md"},
    {"\u65e5\u5fd7", "zh.md"},
    {"\u8bfb\u8005\u4f1a\u963b\u585e\u5199\u8005\u5417\uff1f", "zh.md"},
};

START_TEST(test_ranking)
{
    write_shelf();
    ck_assert_uint_ge(search(QUESTIONS[_i].query, 5), 1);
    ck_assert_msg(strcmp(name_of(found[0].path), QUESTIONS[_i].first) == 0,
                  "%s: %s", QUESTIONS[_i].query, found[0].path);
}
END_TEST

START_TEST(test_what_a_result_holds)
{
    write_shelf();
    ck_assert_uint_ge(search("write-ahead log checkpoint", 5), 1);
    ck_assert_str_eq(found[0].title, "Write-Ahead Logging");
    ck_assert_str_eq(found[0].heading, "Checkpointing");
    ck_assert_int_eq(found[0].n, 0);
    ck_assert_int_eq(strncmp(found[0].path, docs, strlen(docs)), 0);
    ck_assert_ptr_nonnull(strstr(found[0].text, "is called a checkpoint."));
    ck_assert_double_gt(found[0].score, 0);
}
END_TEST

START_TEST(test_nothing_fits)
{
    write_shelf();
    ck_assert_uint_eq(search("xylophone", 5), 0);
    ck_assert_uint_eq(search("", 5), 0);
    ck_assert_uint_eq(search("?! -- ...", 5), 0);
    ck_assert_uint_eq(search("checkpoint", 0), 0);
}
END_TEST

START_TEST(test_no_document_fills_the_result)
{
    char name[64];
    FILE *f = fopen(tmp_write("docs/long.md", ""), "w");

    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 20; i++) {
        (void)fprintf(f, "# Part %d\n\nwalnuts %d " LONG_TEXT, i, i);
    }
    (void)fclose(f);
    for (int i = 0; i < 4; i++) { /* copies under other names */
        (void)snprintf(name, sizeof(name), "docs/copy%d.md", i);
        (void)tmp_write(name, "# Copy\n\nwalnuts of one text " LONG_TEXT);
    }
    index_docs();
    ck_assert_uint_eq(search("walnuts", 50), LIBRARY_MAX_PER_DOCUMENT + 1);
}
END_TEST

static const char *const HOSTILE[] = {
    "\"",
    "\"\"",
    "checkpoint\"",
    "'; DROP TABLE passage; --",
    "NEAR(checkpoint log, 5)",
    "checkpoint NEAR log",
    "checkpoint AND OR NOT",
    "NOT checkpoint",
    "check*",
    "*",
    "^checkpoint",
    "title:checkpoint",
    "{title heading}: checkpoint",
    "-title : checkpoint",
    "checkpoint + log",
    "((((((checkpoint",
    "checkpoint))))",
    ":query ?1 @a $b",
    "checkpoint\001\002\033[31m\x7f log",
    "\xFF\xFE checkpoint \xC3",
    "\xED\xA0\x80 \xF5\x80\x80\x80",
    "checkpoint\n\t\r\nlog",
    "%s%n%d",
    "\u200b\u00ad\ufffd",
    "\U0001F600",
    "C:\\windows\\checkpoint",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9 0",
};

START_TEST(test_hostile_query)
{
    size_t n;

    write_shelf();
    n = search(HOSTILE[_i], 5);
    ck_assert_msg(strstr(HOSTILE[_i], "checkpoint") == NULL || n > 0, "%s",
                  HOSTILE[_i]);
    ck_assert_uint_ge(search("checkpoint", 5), 1); /* nothing was lost */
}
END_TEST

START_TEST(test_a_query_of_ten_kilobytes)
{
    static const char *const PIECES[] = {"x", "\"(", "ab ", "\u4e2d"};
    char text[10240 + 8];

    write_shelf();
    for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++) {
        size_t n = 0;

        while (n < 10240) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", PIECES[i]);
        }
        (void)search(text, 5);
    }
}
END_TEST

static const struct {
    const char *text;
    const char *terms;
} TERMS[] = {
    {"What is the WAL?", "\"wal\""},
    {"what is this", "\"what\"|\"is\"|\"this\""},
    {"WHERE and IN, not where or in", "\"where\"|\"in\""},
    {"write-ahead sqlite3_open_v2() don't a.b. -x-",
     "\"write-ahead\"|\"sqlite3_open_v2\"|\"don't\"|\"a.b\"|\"x\""},
    {"Log log LOG", "\"log\""},
    {"\u9884\u5199\u65e5\u5fd7", "\"\u9884 \u5199\"|\"\u5199 \u65e5\"|"
                                 "\"\u65e5 \u5fd7\""},
    {"SQL\u6570\u636e!", "\"sql\"|\"\u6570 \u636e\""},
    {"\u4e2d", "\"\u4e2d\""},
    {"na\u00efve \u2014 caf\u00e9", "\"na\u00efve\"|\"caf\u00e9\""},
    {"", ""},
};

START_TEST(test_terms)
{
    struct library_terms terms;
    const char *joined;

    ck_assert_int_eq(library_query_terms(TERMS[_i].text, arena, &terms), RC_OK);
    joined = library_query_join(&terms, "|", arena);
    ck_assert_str_eq(joined, TERMS[_i].terms);
}
END_TEST

/* --- reading
 * -------------------------------------------------------------------------- */

START_TEST(test_reading_in_portions)
{
    struct library_place place = {.path = "a.md", .from = -1, .max_bytes = 1};
    struct library_pages pages;
    int64_t id;

    (void)tmp_write("docs/a.md", "# A\n\none " LONG_TEXT "# B\n\ntwo " LONG_TEXT
                                 "# C\n\nthree " LONG_TEXT);
    index_docs();
    for (int64_t i = 0; i < 3; i++) {
        place.from = i;
        ck_assert_int_eq(library_read(look(), &place, arena, &pages), RC_OK);
        ck_assert_uint_eq(pages.n, 1);
        ck_assert_int_eq(pages.total, 3);
        ck_assert_int_eq(pages.passages[0].n, i);
        ck_assert_int_eq(pages.has_more, i < 2);
    }
    id = pages.passages[0].id;
    place.from = 3;
    ck_assert_int_eq(library_read(look(), &place, arena, &pages), RC_OK);
    ck_assert_uint_eq(pages.n, 0);
    ck_assert(!pages.has_more);

    /* By id: from the passage on, or from where it is said. */
    place = (struct library_place){
        .passage_id = id, .from = -1, .max_bytes = 10000};
    ck_assert_int_eq(library_read(look(), &place, arena, &pages), RC_OK);
    ck_assert_uint_eq(pages.n, 1);
    ck_assert_str_eq(pages.passages[0].heading, "C");
    place.from = 0;
    ck_assert_int_eq(library_read(look(), &place, arena, &pages), RC_OK);
    ck_assert_uint_eq(pages.n, 3);
}
END_TEST

START_TEST(test_paths_may_be_shortened_if_only_one_fits)
{
    static const struct {
        const char *path;
        enum rc rc;
    } PATHS[] = {
        {"x/a.md", RC_OK},   {"y/a.md", RC_OK},        {"only.md", RC_OK},
        {"/x/a.md", RC_OK},  {"a.md", RC_NOT_FOUND},   {"nly.md", RC_NOT_FOUND},
        {"%", RC_NOT_FOUND}, {"z.md", RC_NOT_FOUND},   {"", RC_NOT_FOUND},
        {"/", RC_NOT_FOUND}, {"x/only", RC_NOT_FOUND},
    };
    struct library_pages pages;

    (void)tmp_write("docs/x/a.md", "one");
    (void)tmp_write("docs/y/a.md", "two");
    (void)tmp_write("docs/x/only.md", "three");
    index_docs();
    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++) {
        struct library_place place = {.path = PATHS[i].path, .max_bytes = 100};

        ck_assert_msg(library_read(look(), &place, arena, &pages) ==
                          PATHS[i].rc,
                      "%s", PATHS[i].path);
    }
    ck_assert_int_eq(
        library_read(look(),
                     &(struct library_place){.passage_id = 1, .max_bytes = 1},
                     arena, &pages),
        RC_NOT_FOUND);
}
END_TEST

/* --- processes
 * ------------------------------------------------------------------------- */

#define MANY_FILES 400

static int told; /* pipe: a byte for each batch */
static int batches;

/* Tell of the batch; never come to an end. */
static void tell_and_stay(void *arg, const struct library_index_counts *c)
{
    (void)arg;
    (void)c;
    if (write(told, "b", 1) != 1 || ++batches == 4) {
        for (;;) {
            (void)pause();
        }
    }
}

START_TEST(test_a_killed_run_is_completed_by_the_next)
{
    struct library_totals totals;
    char name[64];
    int ends[2];
    char byte;
    int status;
    pid_t child;

    for (int i = 0; i < MANY_FILES; i++) {
        (void)snprintf(name, sizeof(name), "docs/%d.md", i);
        (void)tmp_write(name, "# A\n\none " LONG_TEXT "# B\n\ntwo " LONG_TEXT);
    }
    ck_assert_int_eq(pipe(ends), 0);
    told = ends[1];
    batches = 0;
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        enum rc rc = library_index_run(
            &(struct library_index_options){.dir = dir,
                                            .folders = docs,
                                            .busy_ms = BUSY_MS,
                                            .progress = tell_and_stay},
            &counts);
        _exit(rc == RC_OK ? 0 : 1);
    }
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));

    ck_assert_int_eq(library_stats(look(), &totals), RC_OK);
    ck_assert_int_gt(totals.documents, 0);
    ck_assert_int_lt(totals.documents, MANY_FILES);
    ck_assert_int_eq(totals.scanned_ms, 0);
    check_whole();
    index_docs();
    ck_assert_int_eq(counts.documents, MANY_FILES);
    ck_assert_int_eq(counts.passages, (int64_t)2 * MANY_FILES);
    ck_assert_uint_gt(search("paragraph", 5), 0);
    check_whole();
    (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

#define ROUNDS 15

/* Both passages of each document name the round they were written in. */
static void write_round(int round)
{
    char name[64];
    char text[1024];

    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "docs/%d.md", i);
        (void)snprintf(text, sizeof(text),
                       "# A\n\nround%d " LONG_TEXT "# B\n\nround%d " LONG_TEXT,
                       round, round);
        (void)tmp_write(name, text);
    }
}

START_TEST(test_readers_beside_the_indexer_see_whole_documents)
{
    int status = 0;
    int reads = 0;
    pid_t child;

    write_round(0);
    index_docs();
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        for (int i = 1; i <= ROUNDS; i++) {
            write_round(i);
            if (index_folders(docs) != RC_OK) {
                _exit(1);
            }
        }
        _exit(0);
    }
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct library_pages pages = read_from("3.md", 0);
        int a = -1;
        int b = -2;

        ck_assert_uint_eq(pages.n, 2);
        ck_assert_int_eq(sscanf(pages.passages[0].text, "round%d", &a), 1);
        ck_assert_int_eq(sscanf(pages.passages[1].text, "round%d", &b), 1);
        ck_assert_int_eq(a, b);
        ck_assert_uint_gt(search("long enough paragraph", 5), 0);
        arena_reset(arena);
        reads++;
    }
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_gt(reads, 0);
    ck_assert_uint_gt(search("round15", 5), 0);
    check_whole();
}
END_TEST

/* Run the verb in a process of its own; its output into text. */
static int run_verb(char *argv[], int argc, char *text, size_t size)
{
    int ends[2];
    int status;
    ssize_t n;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    (void)fflush(stdout);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        status = cmd_index(argc, argv);
        (void)fflush(stdout);
        _exit(status);
    }
    (void)close(ends[1]);
    n = read(ends[0], text, size - 1);
    text[n < 0 ? 0 : n] = '\0';
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(test_the_verb)
{
    char verb[] = "index";
    char extra[] = "extra";
    char *argv[] = {verb, NULL, NULL};
    char text[256];

    (void)tmp_write("docs/a.md", "one");
    (void)tmp_write("docs/b.md", "two");
    ck_assert_int_eq(setenv("ASIDE_DATA", dir, 1), 0);
    ck_assert_int_eq(setenv("ASIDE_LIBRARY", docs, 1), 0);
    ck_assert_int_eq(run_verb(argv, 1, text, sizeof(text)), 0);
    ck_assert_int_eq(strncmp(text,
                             "indexed 2 documents (2 new, 0 changed, 0 "
                             "removed), 2 passages in ",
                             64),
                     0);
    ck_assert_int_eq(setenv("ASIDE_LIBRARY", "/nonexistent", 1), 0);
    ck_assert_int_eq(run_verb(argv, 1, text, sizeof(text)), 1);
    argv[1] = extra;
    ck_assert_int_eq(run_verb(argv, 2, text, sizeof(text)), 2);
    ck_assert_int_eq(unsetenv("ASIDE_DATA"), 0);
    ck_assert_int_eq(unsetenv("ASIDE_LIBRARY"), 0);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, CASE_SECONDS);
    suite_add_tcase(suite, tc);
    return tc;
}

Suite *library_suite(void)
{
    Suite *suite = suite_create("library");
    TCase *tc = add_case(suite, "folders");

    tcase_add_test(tc, test_nothing_indexed_yet);
    tcase_add_test(tc, test_each_kind_of_file);
    tcase_add_test(tc, test_only_what_changed_is_read);
    tcase_add_test(tc, test_a_change_of_the_same_size);
    tcase_add_test(tc, test_loops_and_special_files_are_passed_over);
    tcase_add_test(tc, test_the_folder_itself_may_be_a_link);
    tcase_add_test(tc, test_folders_within_folders_count_once);
    tcase_add_test(tc, test_a_missing_folder_keeps_its_documents);
    tcase_add_test(tc, test_a_folder_that_cannot_be_read_keeps_its_documents);
    tcase_add_test(tc, test_a_link_that_leads_nowhere_keeps_its_documents);
    tcase_add_test(tc, test_unreadable_files_do_not_stop_the_run);
    tcase_add_test(tc,
                   test_a_document_that_cannot_be_stored_does_not_stop_the_run);
    tcase_add_test(tc, test_documents_of_too_many_parts_do_not_stop_the_run);
    tcase_add_test(tc, test_a_pdf_is_read_when_there_is_a_reader_for_it);
    tcase_add_test(tc, test_a_forbidden_file_is_read_when_allowed);
    tcase_add_test(tc, test_broken_pages);
    tcase_add_test(tc, test_one_run_at_a_time);

    tc = add_case(suite, "owners");
    tcase_add_test(tc, test_an_account_sees_its_own_and_shared_documents);
    tcase_add_test(tc, test_no_path_leads_to_anothers_document);
    tcase_add_test(tc, test_a_shared_folder_around_the_data_shares_nothing_own);
    tcase_add_test(tc, test_ids_of_own_passages_do_not_depend_on_the_place);

    tc = add_case(suite, "ids");
    tcase_add_test(tc, test_ids_stay_with_their_words);
    tcase_add_test(tc, test_ids_survive_a_new_library);
    tcase_add_test(tc, test_a_new_title_is_found);

    tc = add_case(suite, "searching");
    tcase_add_loop_test(tc, test_ranking, 0, COUNT(QUESTIONS));
    tcase_add_test(tc, test_what_a_result_holds);
    tcase_add_test(tc, test_nothing_fits);
    tcase_add_test(tc, test_no_document_fills_the_result);
    tcase_add_loop_test(tc, test_hostile_query, 0, COUNT(HOSTILE));
    tcase_add_test(tc, test_a_query_of_ten_kilobytes);
    tcase_add_loop_test(tc, test_terms, 0, COUNT(TERMS));

    tc = add_case(suite, "reading");
    tcase_add_test(tc, test_reading_in_portions);
    tcase_add_test(tc, test_paths_may_be_shortened_if_only_one_fits);

    tc = add_case(suite, "processes");
    tcase_add_test(tc, test_a_killed_run_is_completed_by_the_next);
    tcase_add_test(tc, test_readers_beside_the_indexer_see_whole_documents);
    tcase_add_test(tc, test_the_verb);
    return suite;
}
