/* own_db.h - the files of sql/db.h once more, over a catalogue of the tests' own.
 *
 * The door to SQLite asks nothing but the generated table of statements. A
 * test that includes this file brings another table, with statements that are
 * right and statements that are wrong, and gets a second copy of the door
 * under other names, so that both can be linked into one program. (A function
 * that is new in db.h or db_inside.h must be added to the names below, else the
 * linker says that it is defined twice.) The crash hook is always in this copy,
 * and its steps can be made to find the database busy.
 */
#ifndef ASIDE_TESTS_OWN_DB_H
#define ASIDE_TESTS_OWN_DB_H

#include <stdbool.h>

#define ASIDE_GEN_STMT_H /* stands for gen/stmt.h */

enum stmt_id {
    STMT_ITEM_ADD,
    STMT_ITEM_GET,
    STMT_ITEM_COUNT,
    STMT_ITEM_SUM,
    STMT_ITEM_SET,
    STMT_ITEM_LIST,
    STMT_GOOD_WORD,
    STMT_GOOD_CONSTANT,
    STMT_GOOD_NESTED,
    STMT_BAD_COLUMN,
    STMT_BAD_SCAN,
    STMT_BAD_WORDS,
    STMT_BAD_SORT,
    STMT_BAD_PARAMS,
    STMT_BAD_COLS,
    STMT_BAD_UNNAMED,
    STMT_BAD_WRITES,
    STMT_BAD_READS,
    STMT_BAD_TWO,
    STMT_BAD_QUOTES,
    STMT__MAX
};

enum stmt_db { STMT_DB_MAIN };

struct stmt {
    const char *name;
    bool write;
    bool scan;
    enum stmt_db database;
    int params;
    int cols;
    const char *text;
};

#define READ(id, n_params, n_cols, sql)                                        \
    [STMT_##id] = {                                                            \
        .name = #id, .params = (n_params), .cols = (n_cols), .text = (sql)}
#define SCAN(id, n_params, n_cols, sql)                                        \
    [STMT_##id] = {.name = #id,                                                \
                   .scan = true,                                               \
                   .params = (n_params),                                       \
                   .cols = (n_cols),                                           \
                   .text = (sql)}
#define WRITE(id, n_params, sql)                                               \
    [STMT_##id] = {                                                            \
        .name = #id, .write = true, .params = (n_params), .text = (sql)}

static const struct stmt STMT[STMT__MAX + 1] = {
    WRITE(ITEM_ADD, 4,
          "INSERT INTO item (name, n, data, score)"
          " VALUES (:name, :n, :data, :score);"),
    READ(ITEM_GET, 1, 5,
         "SELECT id, name, n, data, score FROM item WHERE id = :id;"),
    SCAN(ITEM_COUNT, 0, 1, "SELECT count(*) FROM item;"),
    SCAN(ITEM_SUM, 0, 1, "SELECT sum(n) FROM item;"),
    WRITE(ITEM_SET, 2, "UPDATE item SET n = :n WHERE name = :name;"),
    SCAN(ITEM_LIST, 0, 2, "SELECT name, n FROM item ORDER BY id;"),
    READ(GOOD_WORD, 1, 1, "SELECT rowid FROM word WHERE word MATCH :w;\n"),
    READ(GOOD_CONSTANT, 0, 1, "SELECT 1;"),
    READ(GOOD_NESTED, 1, 1,
         "SELECT name FROM (SELECT name FROM item WHERE id > :id LIMIT 3);"),
    READ(BAD_COLUMN, 0, 1, "SELECT nme FROM item;"),
    READ(BAD_SCAN, 1, 1, "SELECT id FROM item WHERE n = :n;"),
    READ(BAD_WORDS, 0, 1, "SELECT rowid FROM word;"),
    READ(BAD_SORT, 1, 1, "SELECT n FROM item WHERE id > :id ORDER BY n;"),
    READ(BAD_PARAMS, 2, 1, "SELECT name FROM item WHERE id = :id;"),
    READ(BAD_COLS, 1, 2, "SELECT name FROM item WHERE id = :id;"),
    READ(BAD_UNNAMED, 1, 1, "SELECT name FROM item WHERE id = ?;"),
    READ(BAD_WRITES, 1, 0, "DELETE FROM item WHERE id = :id;"),
    [STMT_BAD_READS] = {.name = "BAD_READS",
                        .write = true,
                        .cols = 1,
                        .text = "SELECT 1;"},
    READ(BAD_TWO, 0, 1, "SELECT 1; SELECT 2;"),
    READ(BAD_QUOTES, 0, 1, "SELECT \"nme\";"),
};

#undef READ
#undef SCAN
#undef WRITE

#define db_open                own_db_open
#define db_close               own_db_close
#define db_tx                  own_db_tx
#define db_begin_read          own_db_begin_read
#define db_set_busy            own_db_set_busy
#define db_end_read            own_db_end_read
#define db_begin               own_db_begin
#define db_commit              own_db_commit
#define db_rollback            own_db_rollback
#define db_savepoint           own_db_savepoint
#define db_release             own_db_release
#define db_rollback_to         own_db_rollback_to
#define db_mark                own_db_mark
#define db_stands_at           own_db_stands_at
#define db_use                 own_db_use
#define db_bind_i64            own_db_bind_i64
#define db_bind_text           own_db_bind_text
#define db_bind_textn          own_db_bind_textn
#define db_bind_blob           own_db_bind_blob
#define db_bind_null           own_db_bind_null
#define db_bind_i64_or_null    own_db_bind_i64_or_null
#define db_next                own_db_next
#define db_end                 own_db_end
#define db_i64                 own_db_i64
#define db_i64_or              own_db_i64_or
#define db_real                own_db_real
#define db_text                own_db_text
#define db_text_or             own_db_text_or
#define db_fail                own_db_fail
#define db_peek                own_db_peek
#define db_bytes               own_db_bytes
#define db_blob                own_db_blob
#define db_run                 own_db_run
#define db_run_one             own_db_run_one
#define db_last_id             own_db_last_id
#define db_has_fts5            own_db_has_fts5
#define db_one_i64             own_db_one_i64
#define db_check_statement     own_db_check_statement
#define db_is_lost             own_db_is_lost
#define db_inside_failure      own_db_inside_failure
#define db_inside_note_trouble own_db_inside_note_trouble
#define db_inside_prepare      own_db_inside_prepare
#define db_inside_control      own_db_inside_control
#define db_inside_exec_one     own_db_inside_exec_one
#define db_inside_exec         own_db_inside_exec
#define db_inside_tx_is_gone   own_db_inside_tx_is_gone
#define db_wait_start          own_db_wait_start
#define db_wait_again          own_db_wait_again
#define db_wait_ms             own_db_wait_ms
#define db_wait_log            own_db_wait_log
#define db_wait_is_due         own_db_wait_is_due

#ifndef ASIDE_FAULTS
#define ASIDE_FAULTS
#endif

#include <sqlite3.h>

/* So many steps to come find the database busy. */
static int busy_steps;

static int busy_or_step(sqlite3_stmt *s)
{
    if (busy_steps > 0) {
        busy_steps--;
        return SQLITE_BUSY;
    }
    return sqlite3_step(s);
}

#define sqlite3_step busy_or_step

/* NOLINTBEGIN(bugprone-suspicious-include): a second copy is the point. */
#include "sql/db.c"
#include "sql/db_check.c"
#include "sql/db_open.c"
#include "sql/db_tx.c"
#include "sql/db_wait.c"
/* NOLINTEND(bugprone-suspicious-include) */

#endif
