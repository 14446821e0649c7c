/* check_states.c - words and moves of the state machines, and the page that
 * documents them: docs/states.md is what this test prints. After a change of
 * a table, ASIDE_TEST_WRITE=1 writes the page anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/buf.h"
#include "sql/states.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define PAGE "docs/states.md"

typedef bool may_move(int from, int to);

static bool run_moves(int from, int to)
{
    return states_run_may_move((enum run_state)from, (enum run_state)to);
}

static bool handoff_moves(int from, int to)
{
    return states_handoff_may_move((enum handoff_state)from,
                                   (enum handoff_state)to);
}

static bool effect_moves(int from, int to)
{
    return states_effect_may_move((enum effect_state)from,
                                  (enum effect_state)to);
}

static bool approval_moves(int from, int to)
{
    return states_approval_may_move((enum approval_state)from,
                                    (enum approval_state)to);
}

static const struct machine {
    const char *title;
    enum states_list list;
    int n;
    may_move *moves;
} MACHINES[] = {
    {"Run", LIST_RUN_STATE, RUN_STATE__MAX, run_moves},
    {"Handoff", LIST_HANDOFF_STATE, HANDOFF_STATE__MAX, handoff_moves},
    {"Model request and tool call", LIST_EFFECT_STATE, EFFECT_STATE__MAX,
     effect_moves},
    {"Approval", LIST_APPROVAL_STATE, APPROVAL_STATE__MAX, approval_moves},
};
#define N_MACHINES ((int)(sizeof(MACHINES) / sizeof(MACHINES[0])))

static void print_machine(const struct machine *m, struct buf *out)
{
    buf_printf(out, "\n## %s\n\n| from | to |\n| --- | --- |\n", m->title);
    for (int from = 0; from < m->n; from++) {
        const char *between = "";

        buf_printf(out, "| `%s` | ", states_text(m->list, from));
        for (int to = 0; to < m->n; to++) {
            if (m->moves(from, to)) {
                buf_printf(out, "%s`%s`", between, states_text(m->list, to));
                between = ", ";
            }
        }
        buf_puts(out, between[0] == '\0' ? "final |\n" : " |\n");
    }
}

static void print_words(enum states_list list, const char *title,
                        struct buf *out)
{
    int value = 0;
    const char *between = "";

    buf_printf(out, "* **%s**: ", title);
    while (states_text_or_null(list, value) != NULL || value == 0) {
        const char *word = states_text_or_null(list, value);

        if (word != NULL) {
            buf_printf(out, "%s`%s`", between, word);
            between = ", ";
        }
        value++;
    }
    buf_puts(out, "\n");
}

static void print_page(struct buf *out)
{
    buf_puts(out, "# States and moves\n\nPrinted by `tests/check_states.c` "
                  "from the tables of `sql/states.c`. A move outside them is "
                  "not committed: the store updates a row only from the state "
                  "that it names.\n");
    for (int i = 0; i < N_MACHINES; i++) {
        print_machine(&MACHINES[i], out);
    }
    buf_puts(out, "\n## Words\n\n");
    print_words(LIST_RUN_PHASE, "Phase of a running Run", out);
    print_words(LIST_RUN_REASON, "Reason of an end", out);
    print_words(LIST_HANDOFF_REASON, "Reason of `not_applied`", out);
    print_words(LIST_EFFECT_CAUSE, "Cause of a skip or interruption", out);
    print_words(LIST_REQUEST_PURPOSE, "Purpose of a model request", out);
    print_words(LIST_APPROVAL_REASON, "Why a call waits for the person", out);
    print_words(LIST_COVERAGE_STATUS, "Coverage", out);
}

START_TEST(the_page_is_what_the_tables_say)
{
    struct buf page;
    const char *write = getenv("ASIDE_TEST_WRITE");
    char *now;

    buf_init(&page, 64 * 1024);
    print_page(&page);
    ck_assert_int_eq(buf_rc(&page), RC_OK);
    if (write != NULL && strcmp(write, "1") == 0) {
        FILE *f = fopen(PAGE, "w");

        ck_assert_ptr_nonnull(f);
        ck_assert_int_ge(fputs(buf_str(&page), f), 0);
        ck_assert_int_eq(fclose(f), 0);
    }
    now = tmp_read(PAGE);
    ck_assert_str_eq(now, buf_str(&page));
    free(now);
    buf_free(&page);
}
END_TEST

START_TEST(an_end_never_changes)
{
    for (int from = RUN_COMPLETED; from < RUN_STATE__MAX; from++) {
        ck_assert(states_run_ended((enum run_state)from));
        for (int to = 0; to < RUN_STATE__MAX; to++) {
            ck_assert(!run_moves(from, to));
        }
    }
    ck_assert(!states_run_ended(RUN_RUNNING));
    ck_assert(!states_run_ended(RUN_AWAITING_INPUT));
}
END_TEST

START_TEST(every_word_goes_both_ways)
{
    for (int list = 0; list < STATES_LIST__MAX; list++) {
        for (int v = 0;
             v == 0 || states_text_or_null((enum states_list)list, v) != NULL;
             v++) {
            const char *word = states_text_or_null((enum states_list)list, v);
            int back = -1;

            ck_assert_int_eq(states_value((enum states_list)list, word, &back),
                             RC_OK);
            ck_assert_int_eq(back, v);
        }
    }
}
END_TEST

START_TEST(a_word_outside_the_list_is_refused)
{
    int value = 7;

    ck_assert_int_eq(states_value(LIST_RUN_STATE, "cancelled", &value),
                     RC_INVALID);
    ck_assert_int_eq(states_value(LIST_RUN_STATE, "", &value), RC_INVALID);
    ck_assert_int_eq(states_value(LIST_RUN_STATE, NULL, &value), RC_INVALID);
    ck_assert_int_eq(value, 7);
}
END_TEST

Suite *states_suite(void)
{
    Suite *s = suite_create("states");
    TCase *t = tcase_create("tables");

    tcase_add_test(t, the_page_is_what_the_tables_say);
    tcase_add_test(t, an_end_never_changes);
    tcase_add_test(t, every_word_goes_both_ways);
    tcase_add_test(t, a_word_outside_the_list_is_refused);
    suite_add_tcase(s, t);
    return s;
}
