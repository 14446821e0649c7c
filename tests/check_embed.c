/* check_embed.c - SQL files become C, or the build stops and says where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define GOOD "-- stmt: A_GET read params=1 cols=1\nSELECT 1;\n"

/* One file, and the one complaint about it. */
static const struct {
    const char *path;
    const char *text;
    const char *complaint; /* after the temporary directory */
} ROW[] = {
    {"query/a.sql", "-- stmt: A_GET fast read params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: unknown or repeated word \"fast\""},
    {"query/a.sql", "-- stmt: A_GET read write params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: unknown or repeated word \"write\""},
    {"query/a.sql", "-- stmt: A_GET read params=1 params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: unknown or repeated word \"params=1\""},
    {"query/a.sql", "-- stmt: A_GET read params=x cols=1\nSELECT 1;\n",
     "query/a.sql:1: expected a number, found \"x\""},
    {"query/a.sql", "-- stmt: A_GET params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: a statement header needs"},
    {"query/a.sql", "-- stmt: A_GET read cols=1\nSELECT 1;\n",
     "query/a.sql:1: a statement header needs"},
    {"query/a.sql", "-- stmt: A_GET read params=1\nSELECT 1;\n",
     "query/a.sql:1: a statement header needs"},
    {"query/a.sql", "-- stmt: a_get read params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: ill-formed statement name \"a_get\""},
    {"query/a.sql", "-- stmt: A__GET read params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: ill-formed statement name \"A__GET\""},
    {"query/a.sql", "-- stmt: _MAX read params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: ill-formed statement name \"_MAX\""},
    {"query/a.sql", "-- stmt: \nSELECT 1;\n", "query/a.sql:1: ill-formed"},
    {"query/a.sql", "--stmt: A_GET read params=1 cols=1\nSELECT 1;\n",
     "query/a.sql:1: a statement header starts with"},
    {"query/a.sql", GOOD "\n" GOOD, "query/a.sql:4: statement A_GET stands"},
    {"query/a.sql", "-- prose\nSELECT 1;\n",
     "query/a.sql:2: SQL outside a statement"},
    {"query/a.sql", GOOD "SELECT 2;\n",
     "query/a.sql:3: SQL outside a statement"},
    {"query/a.sql", "-- stmt: A_GET read params=1 cols=1\nSELECT 1\n",
     "query/a.sql:1: statement A_GET does not end with ;"},
    {"query/a.sql", "-- stmt: B read params=1 cols=1\nSELECT 1\n\n" GOOD,
     "query/a.sql:1: statement B does not end with ;"},
    {"query/a.sql", "-- stmt: A_GET read params=1 cols=1\n-- prose\n",
     "query/a.sql:1: statement A_GET has no SQL"},
    {"query/a.sql", "", "query/a.sql:1: the file is empty"},
    {"schema/0002_a.sql", "CREATE TABLE a (b);\n",
     "schema/0002_a.sql:1: expected migration 0001"},
    {"schema/first.sql", "CREATE TABLE a (b);\n",
     "schema/first.sql:1: a schema file is named"},
    {"schema/0001_a.sql", "CREATE TABLE a (b)\n",
     "schema/0001_a.sql:1: the schema does not end with ;"},
    {"schema/0001_a.sql", "", "schema/0001_a.sql:1: the file is empty"},
    {"other/a.sql", GOOD, "other/a.sql:1: neither a query nor a schema"},
};

static void set_up(void)
{
    (void)tmp_make();
    (void)tmp_write("gen/keep", "");
}

/* gawk is tried as well where it is installed. */
static const char *const AWK[] = {"awk", "mawk", "gawk"};
#define N_AWK (sizeof(AWK) / sizeof(AWK[0]))

static bool has(const char *awk)
{
    int status;

    (void)command_run(&status, "command -v %s", awk);
    return status == 0;
}

static const char *embed(const char *awk, int *status, const char *files)
{
    return command_run(status, "%s -v out=%s -f sql/embed.awk %s </dev/null",
                       awk, tmp_path("gen"), files);
}

START_TEST(planted_faults)
{
    const char *path = tmp_write(ROW[_i].path, ROW[_i].text);
    int status;

    for (size_t i = 0; i < N_AWK; i++) {
        if (has(AWK[i])) {
            const char *said = embed(AWK[i], &status, path);
            ck_assert_msg(status == 1, "accepted: %s", ROW[_i].text);
            ck_assert_msg(strstr(said, ROW[_i].complaint) != NULL,
                          "expected %s, %s says %s", ROW[_i].complaint, AWK[i],
                          said);
        }
    }
}
END_TEST

/* What was made must compile under the strictest flags. */
static void assert_compiles(void)
{
    static const char *const file[] = {"gen/stmt.c", "gen/schema.c"};
    int status;

    for (size_t i = 0; i < 2; i++) {
        const char *said = command_run(
            &status,
            "cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror "
            "-fsyntax-only -I%s -I. %s",
            tmp_path("."), tmp_path(file[i]));
        ck_assert_msg(status == 0, "%s", said);
    }
}

static void assert_holds(const char *name, const char *part)
{
    char *text = tmp_read(tmp_path(name));

    ck_assert_msg(strstr(text, part) != NULL, "%s lacks %s:\n%s", name, part,
                  text);
    free(text);
}

START_TEST(no_files)
{
    int status;
    const char *said = embed("awk", &status, "");

    ck_assert_msg(status == 0 && said[0] == '\0', "%s", said);
    assert_compiles();
    assert_holds("gen/schema.h", "SCHEMA_LIBRARY_COUNT ((size_t)0)");
}
END_TEST

static const char *sql_files(void)
{
    static char files[2048];
    char *many = malloc(20000);
    size_t n = 0;

    /* Longer than C promises for one string literal. */
    n += (size_t)snprintf(many, 20000,
                          "-- stmt: LONG read scan params=0 cols=1\nSELECT\n");
    while (n < 15000) {
        n += (size_t)snprintf(many + n, 20000 - n, "  1 +\n");
    }
    (void)snprintf(many + n, 20000 - n, "  1;\n");
    (void)snprintf(
        files, sizeof(files), "%s %s %s %s %s %s",
        tmp_write("query/a.sql", "-- About a.\n\n"
                                 "-- stmt: A_GET read params=1 cols=2\n"
                                 "-- Prose; with a semicolon.\n"
                                 "SELECT \"b\", '\\ ?\?/ \t'\n"
                                 "  -- why\n"
                                 "  FROM a;  \n"
                                 "\n"
                                 "-- stmt: A_SET write params=12 cols=0\n"
                                 "UPDATE a SET b = ';' WHERE c = 1;\n"),
        tmp_write("query/long.sql", many),
        tmp_write("query/library/l.sql",
                  "-- stmt: L_GET read params=0 cols=1\nSELECT 1;\n"),
        tmp_write("schema/0001_first.sql", "CREATE TABLE a (b); -- \"why\"\n"),
        tmp_write("schema/0002_more.sql",
                  "-- More.\nCREATE TABLE b (\n  c\n);\n-- end\n"),
        tmp_write("schema/library/0001_library.sql", "CREATE TABLE d (e);\n"));
    free(many);
    return files;
}

START_TEST(tables)
{
    const char *files = sql_files();

    for (size_t i = 0; i < N_AWK; i++) {
        int status;
        const char *said;

        if (!has(AWK[i])) {
            continue;
        }
        said = embed(AWK[i], &status, files);
        ck_assert_msg(status == 0 && said[0] == '\0', "%s", said);
        assert_compiles();
        assert_holds("gen/stmt.h", "    STMT_A_GET,\n    STMT_A_SET,\n"
                                   "    STMT_LONG,\n    STMT_L_GET,\n"
                                   "    STMT__MAX\n");
        assert_holds("gen/stmt.c",
                     "    [STMT_A_GET] = {\n        .name = \"A_GET\",\n"
                     "        .database = STMT_DB_MAIN,\n"
                     "        .write = false,\n        .scan = false,\n"
                     "        .params = 1,\n"
                     "        .cols = 2,\n        .text =\n"
                     "        \"SELECT \\\"b\\\", '\\\\ \\?\\?/ \\t'\\n\"\n"
                     "        \"  FROM a;  \\n\",\n");
        assert_holds("gen/stmt.c", ".write = true,\n        .scan = false,\n"
                                   "        .params = 12,\n");
        assert_holds("gen/stmt.c", ".scan = true");
        assert_holds("gen/stmt.c", ".database = STMT_DB_LIBRARY");
        assert_holds("gen/schema.h", "SCHEMA_MAIN_COUNT ((size_t)2)");
        assert_holds("gen/schema.h", "SCHEMA_LIBRARY_COUNT ((size_t)1)");
        assert_holds("gen/schema.h", "SCHEMA_SEARCH_COUNT ((size_t)0)");
        assert_holds("gen/schema.c", "{.name = \"0002_more\"");
        assert_holds("gen/schema.c", "{.name = \"0001_library\"");
    }
}
END_TEST

Suite *embed_suite(void)
{
    Suite *s = suite_create("embed");
    TCase *t = tcase_create("embed");

    tcase_add_checked_fixture(t, set_up, tmp_remove);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, planted_faults, 0,
                        (int)(sizeof(ROW) / sizeof(ROW[0])));
    tcase_add_test(t, no_files);
    tcase_add_test(t, tables);
    suite_add_tcase(s, t);
    return s;
}
