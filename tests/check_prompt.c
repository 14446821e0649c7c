/* check_prompt.c - the fixed texts: tools are valid JSON and what the offer
 * says, and nothing else (R07, R26). */
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "sql/base/json.h"
#include "tests/support/suites.h"

/* The names of the tools of a purpose, separated by spaces. */
static void names_of(enum request_purpose purpose, const struct offer *o,
                     char *out, size_t len)
{
    struct buf names;
    struct buf text;
    cJSON *list = NULL;
    const cJSON *item;

    buf_init(&names, len - 1);
    buf_init(&text, 64 * 1024);
    ck_assert_int_eq(prompt_tools(purpose, o, &text), RC_OK);
    ck_assert_int_eq(json_parse(buf_str(&text), text.len, &list, NULL), RC_OK);
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *fn = json_get(item, "function");

        ck_assert_str_eq(json_str(item, "type", ""), "function");
        ck_assert_ptr_nonnull(json_get(fn, "parameters"));
        ck_assert_str_ne(json_str(fn, "description", ""), "");
        buf_printf(&names, "%s ", json_str(fn, "name", "?"));
    }
    ck_assert_int_eq(buf_rc(&names), RC_OK);
    (void)snprintf(out, len, "%s", buf_str(&names));
    json_free(list);
    buf_free(&text);
    buf_free(&names);
}

static const struct {
    const char *what;
    enum request_purpose purpose;
    struct offer offer;
    bool look_up; /* the library's tools, and notes */
    const char *want;
} OFFERS[] = {
    {"nothing to steer, a free place",
     PURPOSE_ENTRY,
     {.start = true, .ask = true},
     true,
     "start_research library_search library_read ask_user "},
    {"research runs, no place",
     PURPOSE_ENTRY,
     {.steer = true},
     false,
     "adjust_research stop_research inspect_research ask_user "},
    {"research waits for input",
     PURPOSE_ENTRY,
     {.steer = true, .reply = true},
     false,
     "adjust_research stop_research inspect_research reply_research "
     "ask_user "},
    {"one has ended and a place is free",
     PURPOSE_ENTRY,
     {.start = true, .proceed = true},
     false,
     "start_research continue_research ask_user "},
    {"an answer only looks up",
     PURPOSE_ANSWER,
     {.start = true, .steer = true},
     true,
     "library_search library_read "},
    {"research that may ask",
     PURPOSE_RESEARCH,
     {.ask = true},
     true,
     "library_search library_read note recall publish_draft ask_user "
     "deliver_report "},
    {"research that assumes",
     PURPOSE_RESEARCH,
     {.start = false},
     true,
     "library_search library_read note recall publish_draft deliver_report "},
    {"a closeout only delivers",
     PURPOSE_CLOSEOUT,
     {.ask = true, .start = true},
     true,
     "deliver_report "},
};

START_TEST(tools_follow_the_offer)
{
    const struct tool *tools[] = {
        tool_find(NULL, "library_search"), tool_find(NULL, "library_read"),
        tool_find(NULL, "note"), tool_find(NULL, "recall"),
        tool_find(NULL, "publish_draft")};
    struct offer offer = OFFERS[_i].offer;
    char names[400];

    offer.tools = OFFERS[_i].look_up ? tools : NULL;
    offer.n_tools = OFFERS[_i].look_up ? 5 : 0;
    names_of(OFFERS[_i].purpose, &offer, names, sizeof(names));
    ck_assert_msg(strcmp(names, OFFERS[_i].want) == 0, "%s: %s",
                  OFFERS[_i].what, names);
}
END_TEST

START_TEST(each_purpose_has_a_text_of_its_own)
{
    for (int p = 0; p < REQUEST_PURPOSE__MAX; p++) {
        const char *text = prompt_system((enum request_purpose)p);

        ck_assert_str_ne(text, "");
        for (int q = 0; q < p; q++) {
            ck_assert_str_ne(text, prompt_system((enum request_purpose)q));
        }
    }
}
END_TEST

START_TEST(an_operation_makes_a_request_an_entry)
{
    const struct offer none = {.ask = true};
    const struct offer one = {.proceed = true};

    ck_assert(!offer_any_operation(&none));
    ck_assert(offer_any_operation(&one));
}
END_TEST

/* --- the table of Runs at work --------------------------------------------- */

START_TEST(lives_are_found_by_id_in_any_order_of_arrival)
{
    struct runtime rt = {0};
    static const int64_t IDS[] = {5, 1, 9, 3, 7, 2, 8, 4, 6, 5, 1};
    struct live *l;

    for (size_t i = 0; i < sizeof(IDS) / sizeof(IDS[0]); i++) {
        ck_assert_int_eq(live_add(&rt, IDS[i], &l), RC_OK);
        ck_assert_int_eq(l->id, IDS[i]);
    }
    ck_assert_uint_eq(rt.n_lives, 9);
    for (int64_t id = 1; id <= 9; id++) {
        ck_assert_ptr_nonnull(live_find(&rt, id));
        ck_assert_int_eq(rt.lives[id - 1]->id, id);
    }
    ck_assert_ptr_null(live_find(&rt, 10));
    live_remove(&rt, live_find(&rt, 5));
    ck_assert_ptr_null(live_find(&rt, 5));
    ck_assert_uint_eq(rt.n_lives, 8);
    live_free_all(&rt);
    ck_assert_uint_eq(rt.n_lives, 0);
}
END_TEST

Suite *prompt_suite(void)
{
    Suite *s = suite_create("prompt");
    TCase *t = tcase_create("texts");

    tcase_add_loop_test(t, tools_follow_the_offer, 0,
                        (int)(sizeof(OFFERS) / sizeof(OFFERS[0])));
    tcase_add_test(t, each_purpose_has_a_text_of_its_own);
    tcase_add_test(t, an_operation_makes_a_request_an_entry);
    tcase_add_test(t, lives_are_found_by_id_in_any_order_of_arrival);
    suite_add_tcase(s, t);
    return s;
}
