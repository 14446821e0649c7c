/* check_stmt.c - every statement of the catalogue against its database:
 * it prepares, keeps what its header says, and walks no table unless the
 * header admits it. */
#include "gen/schema.h"
#include "gen/stmt.h"
#include "sql/base/log.h"
#include "sql/db.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static struct db *main_db, *library_db;

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
    main_db = open_with("main.db", SCHEMA_MAIN, SCHEMA_MAIN_COUNT);
    library_db = open_with("library.db", SCHEMA_LIBRARY, SCHEMA_LIBRARY_COUNT);
}

static void tear_down(void)
{
    db_close(main_db);
    db_close(library_db);
    log_open("aside", LOG_LEVEL_INFO);
    tmp_remove();
}

START_TEST(catalogue)
{
    char err[512];

    /* All faults at once are more useful than the first. */
    int faults = 0;

    for (int i = 0; i < (int)STMT__MAX; i++) {
        struct db *db = STMT[i].library ? library_db : main_db;
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
