/* check_layers.c - the lint finds what it is there to find. */
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

/* One file and what the lint says about it: NULL for nothing. */
static const struct {
    const char *path;
    const char *text;
    const char *complaint;
} ROW[] = {
    {"sql/base/a.c", "#include \"sql/base/b.h\"\n#include <stdio.h>\n", NULL},
    {"sql/base/a.c", "\n#include \"sql/db.h\"\n",
     "sql/base/a.c:2: base must not include \"sql/db.h\""},
    {"sql/base/a.h", "#include \"sql/store.h\"\n", "base must not"},
    {"sql/db.c", "#include <sqlite3.h>\n#include \"gen/stmt.h\"\n", NULL},
    {"sql/db.c", "#include \"sql/store.h\"\n", "db must not"},
    {"sql/db_wal.c", "#include <sqlite3.h>\n", NULL},
    {"sql/store_run.c", "#include \"sql/db.h\"\n#include \"sql/states.h\"\n",
     NULL},
    {"sql/store_run.c", "#include <sqlite3.h>\n",
     "sqlite3.h is included only by sql/db.c"},
    {"sql/store_run.c", "#include \"fcgi/park.h\"\n", "store must not"},
    {"sql/store_run.c", "#include \"runtime/run.h\"\n", "store must not"},
    {"fcgi/park.c", "#include \"sql/store.h\"\n#include \"fcgi/req.h\"\n",
     NULL},
    {"fcgi/park.c", "#include \"sql/db.h\"\n", "fcgi must not"},
    {"fcgi/park.c", "#include \"gen/stmt.h\"\n", "fcgi must not"},
    {"fcgi/park.c", "#include \"runtime/run.h\"\n", "fcgi must not"},
    {"fcgi/park.c", "  #  include   <fcgiapp.h>\n",
     "fcgiapp.h is included only by fcgi/req.c"},
    {"fcgi/req.c", "#include <fcgiapp.h>\n", NULL},
    {"fcgi/offline/main.c", "#include \"fcgi/req.h\"\n", NULL},
    {"runtime/run.c", "#include \"sql/store.h\"\n", NULL},
    {"runtime/run.c", "#include \"sql/db.h\"\n", "runtime must not"},
    {"runtime/run.c", "#include \"fcgi/req.h\"\n", "runtime must not"},
    {"runtime/run.c", "#include <curl/curl.h>\n",
     "curl/curl.h is included only by runtime/http/http_inside.h"},
    {"runtime/http/http_inside.h", "#include <curl/curl.h>\n", NULL},
    {"runtime/run.c", "#include \"run.h\"\n", "does not name its folder"},
    {"runtime/run.c", "#include \"./run.h\"\n", "does not name its folder"},
    {"runtime/run.c", "#include \"runtime/../sql/db.h\"\n",
     "does not name its folder"},
    {"tests/check_x.c", "#include \"sql/db.h\"\n#include <sqlite3.h>\n", NULL},
    {"tests/check_x.c", "#include \"tmp.h\"\n", "does not name its folder"},
};

static void set_up(void)
{
    (void)tmp_make();
}

START_TEST(planted_violations)
{
    const char *path = tmp_write(ROW[_i].path, ROW[_i].text);
    int status;
    const char *said =
        command_run(&status, "awk -v root=%s -f tests/lint/layers.awk %s",
                    tmp_path(""), path);

    if (ROW[_i].complaint == NULL) {
        ck_assert_msg(status == 0 && said[0] == '\0', "%s", said);
    } else {
        ck_assert_int_eq(status, 1);
        ck_assert_msg(strstr(said, ROW[_i].complaint) != NULL, "%s", said);
    }
}
END_TEST

/* fcgi includes a harmless header of sql/, which leads to db.h by another. */
START_TEST(a_way_round)
{
    const char *outer = tmp_write("sql/outer.h", "#include \"sql/mid.h\"\n");
    const char *mid = tmp_write("sql/mid.h", "#include \"sql/db.h\"\n");
    const char *user = tmp_write("fcgi/a.c", "#include \"sql/outer.h\"\n");
    int status;
    const char *said =
        command_run(&status, "awk -v root=%s -f tests/lint/layers.awk %s %s %s",
                    tmp_path(""), user, outer, mid);

    ck_assert_int_eq(status, 1);
    ck_assert_msg(strstr(said, "fcgi/a.c:1: fcgi must not include "
                               "\"sql/outer.h\"") != NULL,
                  "%s", said);
}
END_TEST

START_TEST(our_own_sources)
{
    int status;
    const char *said =
        command_run(&status, "find sql fcgi runtime tests -name '*.[ch]' | "
                             "xargs awk -f tests/lint/layers.awk");

    ck_assert_msg(status == 0 && said[0] == '\0', "%s", said);
}
END_TEST

Suite *layers_suite(void)
{
    Suite *s = suite_create("layers");
    TCase *t = tcase_create("layers");

    tcase_add_checked_fixture(t, set_up, tmp_remove);
    tcase_add_loop_test(t, planted_violations, 0,
                        (int)(sizeof(ROW) / sizeof(ROW[0])));
    tcase_add_test(t, a_way_round);
    tcase_add_test(t, our_own_sources);
    suite_add_tcase(s, t);
    return s;
}
