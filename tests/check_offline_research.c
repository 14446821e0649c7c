/* check_offline_research.c - how the offline model researches, from the first
 * search to the report. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/offline/scene.h"
#include "tests/support/suites.h"
#include "tests/support/talk.h"

#define TIMEOUT_S 30

/* Until the report; the number of turns. */
static int research_run(struct talk *t)
{
    int turns = 1;

    talk_send(t);
    while (talk_planned(&t->plan, "deliver_report") == NULL && turns < 24) {
        ck_assert_uint_gt(t->plan.n_calls, 0);
        ck_assert_str_ne(t->plan.text, ""); /* it thinks aloud */
        talk_research_turn(t);
        turns++;
    }
    return turns;
}

static cJSON *delivered(const struct plan *p)
{
    const struct plan_call *c = talk_planned(p, "deliver_report");
    cJSON *tree;

    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(
        json_parse(c->arguments, strlen(c->arguments), &tree, NULL), RC_OK);
    return tree;
}

static const char *status_of(const cJSON *report, const char *id)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, json_get(report, "coverage"))
    {
        if (strcmp(json_str(c, "id", ""), id) == 0) {
            ck_assert_str_ne(json_str(c, "note", ""), "");
            return json_str(c, "status", "");
        }
    }
    return "left out";
}

START_TEST(test_research_searches_then_delivers)
{
    static const int given[] = {3, 5, 7, 8};
    struct talk t;
    cJSON *report;
    const char *text;
    int turns;

    talk_research(&t, QUESTION);
    turns = research_run(&t);
    ck_assert_int_ge(turns, 6);
    ck_assert_int_le(turns, 14);
    report = delivered(&t.plan);
    text = json_str(report, "report", "");
    ck_assert_ptr_nonnull(strstr(text, "# How does WAL mode"));
    ck_assert_ptr_nonnull(strstr(text, "## Concurrency"));
    ck_assert_ptr_nonnull(strstr(text, "## Durability"));
    ck_assert_ptr_nonnull(strstr(text, "Readers do not block writers"));
    talk_assert_cites(text, given, 4);
    ck_assert_str_eq(status_of(report, "msg_12"), "covered");
    json_free(report);
    talk_end(&t);
}
END_TEST

/* R21: an adjustment in the middle brings searches of its own, and stands in
 * the coverage (R31). */
START_TEST(test_adjustment_is_searched_and_covered)
{
    struct talk t;
    char *query;
    cJSON *report;

    talk_research(&t, QUESTION);
    talk_send(&t);
    talk_research_turn(&t);
    talk_research_turn(&t);
    talk_say(&t, "user",
             "[adjustment msg_15]\nAlso compare checkpoint "
             "behaviour");
    talk_say(&t, "user", "[adjustment msg_16]\nAdd the price of bananas");
    talk_research_turn(&t);
    query = talk_argument(&t.plan, QUERY, "query");
    ck_assert_ptr_nonnull(strstr(query, "bananas"));
    free(query);
    ck_assert_ptr_nonnull(strstr(t.plan.text, "price of bananas"));
    research_run(&t);
    ck_assert_ptr_nonnull(strstr(t.body, "checkpoint behaviour WAL mode"));
    report = delivered(&t.plan);
    ck_assert_str_eq(status_of(report, "msg_12"), "covered");
    ck_assert_str_eq(status_of(report, "msg_15"), "covered");
    ck_assert_str_eq(status_of(report, "msg_16"), "not_covered");
    ck_assert_ptr_nonnull(
        strstr(json_str(report, "report", ""), "## Checkpoint behaviour"));
    ck_assert_ptr_nonnull(strstr(json_str(report, "report", ""),
                                 "What the library does not say"));
    json_free(report);
    talk_end(&t);
}
END_TEST

/* R26: with nothing but deliver_report, or a notice, it delivers at once. */
START_TEST(test_closeout_delivers_at_once)
{
    struct talk t;
    cJSON *report;

    talk_begin(&t);
    talk_say(&t, "user", "[requirement msg_1]\n" QUESTION);
    talk_say(&t, "user", "[adjustment msg_2]\nAlso include checkpoints");
    talk_call(&t, "c1", "library_search", "{\"query\":\"x\"}", PASSAGES);
    talk_offer(&t, "deliver_report");
    talk_send(&t);
    report = delivered(&t.plan);
    ck_assert_uint_eq(t.plan.n_calls, 1);
    ck_assert_str_eq(status_of(report, "msg_2"), "covered");
    ck_assert_str_ne(status_of(report, "msg_1"), "left out");
    json_free(report);
    talk_end(&t);

    talk_research(&t, QUESTION);
    talk_say(&t, "user", "[notice] deliver the report with deliver_report now");
    talk_send(&t);
    report = delivered(&t.plan);
    ck_assert_str_eq(status_of(report, "msg_12"), "not_covered");
    json_free(report);
    talk_end(&t);
}
END_TEST

START_TEST(test_limits_and_errors_end_in_a_report)
{
    struct talk t;

    talk_research(&t, QUESTION);
    talk_call(&t, "c1", "library_search", "{\"query\":\"x\"}",
              "{\"error\":\"limit reached\"}");
    talk_send(&t);
    ck_assert_ptr_nonnull(talk_planned(&t.plan, "deliver_report"));
    talk_end(&t);

    talk_research(&t, QUESTION);
    talk_call(&t, "c1", "library_search", "{\"query\":\"x\"}",
              "{\"error\":\"broken\"}");
    talk_send(&t);
    ck_assert_ptr_null(talk_planned(&t.plan, "deliver_report"));
    talk_call(&t, "c2", "library_search", "{\"query\":\"y\"}",
              "{\"error\":\"broken\"}");
    talk_send(&t);
    ck_assert_ptr_nonnull(talk_planned(&t.plan, "deliver_report"));
    talk_end(&t);
}
END_TEST

/* R28 */
START_TEST(test_empty_request_asks_once)
{
    struct talk t;

    talk_research(&t, "Research it");
    talk_send(&t);
    ck_assert_ptr_nonnull(talk_planned(&t.plan, "ask_user"));
    talk_call(&t, "c1", "ask_user", "{\"question\":\"?\"}", "{\"ok\":true}");
    talk_say(&t, "user", "[reply msg_20]\nThe WAL checkpoint");
    talk_send(&t);
    ck_assert_ptr_nonnull(talk_planned(&t.plan, QUERY));
    ck_assert_ptr_nonnull(strstr(t.plan.calls[0].arguments, "checkpoint"));
    talk_end(&t);
}
END_TEST

/* A continuation without words goes on from the earlier title, and words that
 * name nothing are covered as the request is. */
START_TEST(test_continuation_takes_the_earlier_title)
{
    struct talk t;
    cJSON *report;
    char *query;

    talk_begin(&t);
    talk_say(&t, "user", "[facts of this moment]\ndate: 2026-03-01");
    talk_say(&t, "user",
             "[earlier report of run_4]\nWAL checkpoints\nText "
             "about bananas. [77]");
    talk_say(&t, "user",
             "[requirement request]\nGo on with the earlier "
             "research where it was left.");
    talk_say(&t, "user", "[adjustment msg_9]\ncontinue the research");
    talk_offer(&t, RESEARCH);
    talk_send(&t);
    query = talk_argument(&t.plan, QUERY, "query");
    ck_assert_str_eq(query, "WAL checkpoints");
    free(query);
    research_run(&t);
    report = delivered(&t.plan);
    ck_assert_str_eq(status_of(report, "request"), "covered");
    ck_assert_str_eq(status_of(report, "msg_9"), "covered");
    ck_assert_ptr_null(strstr(json_str(report, "report", ""), "bananas"));
    json_free(report);
    talk_end(&t);
}
END_TEST

/* R05: what there is can be read before the report, once, where that is offered.
 */
START_TEST(test_a_draft_comes_before_the_report)
{
    static const char *const OFFERS[] = {RESEARCH " publish_draft", RESEARCH};
    size_t drafts = 0;
    struct talk t;

    talk_begin(&t);
    talk_say(&t, "user", "[requirement msg_12]\n" QUESTION);
    talk_offer(&t, OFFERS[_i]);
    talk_send(&t);
    for (int turn = 0; turn < 20; turn++) {
        const struct plan_call *c = talk_planned(&t.plan, "publish_draft");

        if (talk_planned(&t.plan, "deliver_report") != NULL) {
            break;
        }
        if (c != NULL) {
            drafts++;
            ck_assert_ptr_nonnull(strstr(c->arguments, "[7]"));
            ck_assert_ptr_null(strstr(c->arguments, "coverage"));
        }
        talk_research_turn(&t);
    }
    ck_assert_ptr_nonnull(talk_planned(&t.plan, "deliver_report"));
    ck_assert_uint_eq(drafts, _i == 0 ? 1 : 0);
    talk_end(&t);
}
END_TEST

/* Passages that were trimmed from the context can be quoted from notes. */
START_TEST(test_notes_outlive_passages)
{
    struct passage p = {.n = 42,
                        .title = "Locking",
                        .location = "/doc/lock.html",
                        .heading = "Readers",
                        .text = ""};
    static const char said[] = "A WAL checkpoint never blocks the readers of "
                               "the database.";
    struct arena *a = arena_new(65536);
    const char *line = scene_note_line(a, &p, said, strlen(said));
    cJSON *args = cJSON_CreateObject(), *report;
    char *text;
    struct talk t;

    ck_assert_ptr_nonnull(line);
    cJSON_AddStringToObject(args, "text", line);
    text = cJSON_PrintUnformatted(args);
    talk_begin(&t);
    talk_say(&t, "user", "[requirement msg_1]\nResearch the WAL checkpoint");
    talk_call(&t, "c1", "note", text, "{\"ok\":true}");
    talk_offer(&t, "deliver_report");
    talk_send(&t);
    report = delivered(&t.plan);
    ck_assert_ptr_nonnull(strstr(json_str(report, "report", ""), said));
    ck_assert_ptr_nonnull(strstr(json_str(report, "report", ""), "[42]"));
    json_free(report);
    talk_end(&t);
    free(text);
    cJSON_Delete(args);
    arena_free(a);
}
END_TEST

Suite *offline_research_suite(void)
{
    Suite *s = suite_create("offline_research");
    TCase *t = tcase_create("offline_research");

    tcase_set_timeout(t, TIMEOUT_S);
    tcase_add_test(t, test_research_searches_then_delivers);
    tcase_add_test(t, test_adjustment_is_searched_and_covered);
    tcase_add_test(t, test_closeout_delivers_at_once);
    tcase_add_test(t, test_limits_and_errors_end_in_a_report);
    tcase_add_test(t, test_empty_request_asks_once);
    tcase_add_test(t, test_continuation_takes_the_earlier_title);
    tcase_add_loop_test(t, test_a_draft_comes_before_the_report, 0, 2);
    tcase_add_test(t, test_notes_outlive_passages);
    suite_add_tcase(s, t);
    return s;
}
