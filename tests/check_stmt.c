/* check_stmt.c - every statement of the catalogue against its database:
 * it prepares, keeps what its header says, and walks no table unless the
 * header admits it. */
#include "gen/schema.h"
#include "gen/stmt.h"
#include "sql/base/log.h"
#include "sql/db.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static struct db *dbs[STMT_DB__MAX];

static struct db *open_with(const char *name, const struct db_migration *m,
                            size_t n)
{
    const struct db_options o = {
        .path = tmp_path(name),
        .migrations = m,
        .n_migrations = n,
        .busy_ms = 1000,
    };
    struct db *db = NULL;

    ck_assert_int_eq(db_open(&o, &db), RC_OK);
    return db;
}

static void set_up(void)
{
    (void)tmp_make();
    log_open("check", LOG_LEVEL_WARN);
    dbs[STMT_DB_MAIN] = open_with("main.db", SCHEMA_MAIN, SCHEMA_MAIN_COUNT);
    dbs[STMT_DB_LIBRARY] =
        open_with("library.db", SCHEMA_LIBRARY, SCHEMA_LIBRARY_COUNT);
    dbs[STMT_DB_SEARCH] =
        open_with("search.db", SCHEMA_SEARCH, SCHEMA_SEARCH_COUNT);
}

static void tear_down(void)
{
    for (int i = 0; i < STMT_DB__MAX; i++) {
        db_close(dbs[i]);
    }
    log_open("aside", LOG_LEVEL_INFO);
    tmp_remove();
}

START_TEST(catalogue)
{
    char err[512];

    /* All faults at once are more useful than the first. */
    int faults = 0;

    for (int i = 0; i < (int)STMT__MAX; i++) {
        struct db *db = dbs[STMT[i].database];

        if (db_check_statement(db, (enum stmt_id)i, err, sizeof(err)) !=
            RC_OK) {
            log_error(NULL, "%s", err);
            faults++;
        }
    }
    ck_assert_msg(faults == 0, "%d of %d statements, the last: %s", faults,
                  (int)STMT__MAX, err);
}
END_TEST

Suite *stmt_suite(void)
{
    Suite *s = suite_create("stmt");
    TCase *t = tcase_create("stmt");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, catalogue);
    suite_add_tcase(s, t);
    return s;
}
