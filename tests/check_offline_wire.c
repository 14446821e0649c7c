/* check_offline_wire.c - the bytes that the offline model takes and sends. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/offline/wire.h"
#include "tests/support/suites.h"
#include "tests/support/talk.h"

#define TIMEOUT_S 30

/* --- wire ----------------------------------------------------------------- */

/* A stream's events, put together again as a client does. */
struct heard {
    struct buf text;
    struct buf arguments[PLAN_MAX_CALLS];
    char finish[32];
    int64_t total_tokens;
    int events;
    bool done;
};

static void hear_delta(struct heard *h, const cJSON *chunk)
{
    const cJSON *choice = json_get(chunk, "choices")->child, *call;
    const cJSON *delta = json_get(choice, "delta");

    if (choice == NULL) {
        ck_assert_int_eq(json_i64(json_get(chunk, "usage"), "total_tokens",
                                  &h->total_tokens),
                         RC_OK);
        return;
    }
    buf_puts(&h->text, json_str(delta, "content", ""));
    cJSON_ArrayForEach(call, json_get(delta, "tool_calls"))
    {
        int64_t index = -1;
        ck_assert_int_eq(json_i64(call, "index", &index), RC_OK);
        ck_assert_int_lt(index, PLAN_MAX_CALLS);
        buf_puts(&h->arguments[index],
                 json_str(json_get(call, "function"), "arguments", ""));
    }
    snprintf(h->finish, sizeof(h->finish), "%s",
             json_str(choice, "finish_reason", h->finish));
}

static void hear(struct heard *h, const struct talk *t, size_t words_a_piece)
{
    struct wire_stream s;
    struct buf event;
    size_t words;

    *h = (struct heard){.events = 0};
    buf_init(&h->text, WIRE_REPLY_BYTES);
    for (size_t i = 0; i < PLAN_MAX_CALLS; i++) {
        buf_init(&h->arguments[i], WIRE_REPLY_BYTES);
    }
    buf_init(&event, WIRE_REPLY_BYTES);
    wire_stream_begin(&s, &t->chat, &t->plan, 1, words_a_piece);
    while (wire_stream_next(&s, &event, &words) == RC_OK) {
        cJSON *chunk;

        ck_assert(!h->done);
        ck_assert_uint_le(words, words_a_piece + 1);
        ck_assert_int_eq(strncmp(event.data, "data: ", 6), 0);
        ck_assert_str_eq(event.data + event.len - 2, "\n\n");
        if (strcmp(event.data, "data: [DONE]\n\n") == 0) {
            h->done = true;
        } else {
            ck_assert_int_eq(
                json_parse(event.data + 6, event.len - 8, &chunk, NULL), RC_OK);
            hear_delta(h, chunk);
            json_free(chunk);
        }
        h->events++;
        buf_clear(&event);
    }
    buf_free(&event);
}

static void heard_free(struct heard *h)
{
    buf_free(&h->text);
    for (size_t i = 0; i < PLAN_MAX_CALLS; i++) {
        buf_free(&h->arguments[i]);
    }
}

START_TEST(test_stream_carries_text)
{
    struct talk t;
    struct heard h;

    talk_begin(&t);
    talk_say(&t, "user", "什么是 checkpoint？");
    talk_call(&t, "c1", "library_search", "{}", PASSAGES);
    cJSON_AddTrueToObject(t.request, "stream");
    cJSON_AddTrueToObject(cJSON_AddObjectToObject(t.request, "stream_options"),
                          "include_usage");
    talk_send(&t);
    hear(&h, &t, 3);
    ck_assert(h.done);
    ck_assert_str_eq(buf_str(&h.text), t.plan.text);
    ck_assert_str_eq(h.finish, "stop");
    ck_assert_int_gt(h.total_tokens, 0);
    ck_assert_int_gt(h.events, 8);
    heard_free(&h);
    talk_end(&t);
}
END_TEST

START_TEST(test_stream_carries_calls)
{
    struct talk t;
    struct heard h;

    talk_begin(&t);
    talk_say(&t, "user", "[facts of this moment]\n" FULL RUN_A RUN_B);
    talk_say(&t, "user", "Stop both. What is a savepoint?");
    talk_offer(&t, ACTIVE LOOK);
    talk_send(&t);
    ck_assert_uint_eq(t.plan.n_calls, 3);
    for (size_t pace = 1; pace < 9; pace += 7) {
        hear(&h, &t, pace);
        ck_assert(h.done);
        ck_assert_str_eq(h.finish, "tool_calls");
        ck_assert_int_eq(h.total_tokens, 0); /* not asked for */
        for (size_t i = 0; i < t.plan.n_calls; i++) {
            ck_assert_str_eq(buf_str(&h.arguments[i]),
                             t.plan.calls[i].arguments);
        }
        heard_free(&h);
    }
    talk_end(&t);
}
END_TEST

START_TEST(test_whole_reply_has_usage)
{
    struct talk t;
    struct buf b;
    cJSON *reply;
    int64_t in = 0, out = 0, total = 0;

    talk_follow_up(&t, "What is a checkpoint of the WAL?", PASSAGES);
    buf_init(&b, WIRE_REPLY_BYTES);
    ck_assert_int_eq(wire_reply(&t.chat, &t.plan, 1, &b), RC_OK);
    ck_assert_int_eq(json_parse(b.data, b.len, &reply, NULL), RC_OK);
    ck_assert_int_eq(json_i64(json_get(reply, "usage"), "prompt_tokens", &in),
                     RC_OK);
    ck_assert_int_eq(
        json_i64(json_get(reply, "usage"), "completion_tokens", &out), RC_OK);
    ck_assert_int_eq(json_i64(json_get(reply, "usage"), "total_tokens", &total),
                     RC_OK);
    ck_assert_int_eq(in, (int64_t)(strlen(t.body) + 3) / 4);
    ck_assert_int_eq(in + out, total);
    ck_assert_str_eq(
        json_str(json_get(json_get(reply, "choices")->child, "message"),
                 "content", ""),
        t.plan.text);
    json_free(reply);
    buf_free(&b);
    talk_end(&t);
}
END_TEST

START_TEST(test_max_tokens_cuts)
{
    struct talk t;
    struct heard h;

    talk_begin(&t);
    talk_say(&t, "user", "What is a checkpoint of the WAL?");
    talk_call(&t, "c1", "library_search", "{}", PASSAGES);
    cJSON_AddNumberToObject(t.request, "max_tokens", 10);
    talk_send(&t);
    hear(&h, &t, 3);
    ck_assert_uint_le(h.text.len, 40);
    ck_assert_str_eq(h.finish, "length");
    heard_free(&h);
    talk_end(&t);
}
END_TEST

START_TEST(test_same_request_same_reply)
{
    struct buf replies[2];
    char first_id[48] = "";

    for (int i = 0; i < 2; i++) {
        struct talk t;
        talk_research(&t, QUESTION);
        talk_send(&t);
        snprintf(first_id, sizeof(first_id), "%s", t.plan.calls[0].id);
        buf_init(&replies[i], WIRE_REPLY_BYTES);
        ck_assert_int_eq(wire_reply(&t.chat, &t.plan, 1, &replies[i]), RC_OK);
        talk_research_turn(&t);
        ck_assert_str_ne(t.plan.calls[0].id, first_id);
        talk_end(&t);
    }
    ck_assert_str_eq(replies[0].data, replies[1].data);
    buf_free(&replies[0]);
    buf_free(&replies[1]);
}
END_TEST

/* --- bad requests --------------------------------------------------------- */

START_TEST(test_bad_requests)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"messages\":{}}",
        "{\"messages\":[]}",
        "{\"messages\":[1]}",
        "{\"messages\":[{}]}",
        "{\"messages\":[{\"role\":7}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":7}]}",
        "{\"messages\":[{\"role\":\"user\"}],\"tools\":{}}",
        "{\"messages\":[{\"role\":\"user\"}],\"tools\":[{}]}",
        "{\"messages\":[{\"role\":\"user\"}],\"stream\":\"yes\"}",
        "{\"messages\":[{\"role\":\"user\"}],\"max_tokens\":0}",
        "{\"messages\":[{\"role\":\"user\"}],\"max_tokens\":\"x\"}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\xFF\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]} trailing",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        struct chat c;
        struct chat_flaw f = {.message = ""};
        ck_assert_msg(chat_parse(bodies[i], strlen(bodies[i]), &c, &f) ==
                          RC_INVALID,
                      "accepted: %s", bodies[i]);
        ck_assert_str_ne(f.message, "");
    }
}
END_TEST

START_TEST(test_odd_requests_get_a_plan)
{
    static const char *const bodies[] = {
        "{\"messages\":[{\"role\":\"system\",\"content\":null}]}",
        "{\"messages\":[{\"role\":\"tool\",\"content\":\"x\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"What is\"},{\"text\":\"WAL?\"},7,{}]}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":"
        "\"assistant\",\"tool_calls\":[1,{},{\"function\":{\"name\":\"note\","
        "\"arguments\":\"{broken\"}},{\"id\":\"a\",\"function\":{\"arguments\":"
        "{\"query\":\"x\"}}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\","
        "\"content\":\"{\\\"passages\\\":[1,{},{\\\"n\\\":-1},{\\\"n\\\":2.5,"
        "\\\"text\\\":\\\"x\\\"},{\\\"n\\\":1,\\\"text\\\":7}]}\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"[requirement\"}],"
        "\"tools\":[{\"function\":{\"name\":\"deliver_report\"}}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"[requirement m\\n\"}],"
        "\"tools\":[{\"function\":{\"name\":\"deliver_report\"}},{\"function\":"
        "{\"name\":\"x\"}}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[],"
        "\"tool_choice\":\"none\",\"stream_options\":null}",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        struct chat c;
        struct chat_flaw f = {.message = ""};
        struct arena *a = arena_new(PLAN_ARENA_BYTES);
        struct plan p;

        ck_assert_msg(chat_parse(bodies[i], strlen(bodies[i]), &c, &f) == RC_OK,
                      "%s: %s", bodies[i], f.message);
        ck_assert_int_eq(plan_make(a, &c, &p), RC_OK);
        ck_assert(p.text[0] != '\0' || p.n_calls > 0);
        arena_free(a);
        chat_free(&c);
    }
}
END_TEST

START_TEST(test_tool_choice_none)
{
    struct talk t;

    talk_begin(&t);
    talk_say(&t, "user", "What is WAL?");
    talk_offer(&t, START LOOK);
    cJSON_AddStringToObject(t.request, "tool_choice", "none");
    talk_send(&t);
    ck_assert_uint_eq(t.plan.n_calls, 0);
    talk_end(&t);
}
END_TEST

/* Large and hostile: bounded work, and still a reply. */
START_TEST(test_huge_requests)
{
    static const char *const pieces[] = {
        "WAL. ", "[[[[", "\n\n- a", "中文", "a.b.c. ", "\"", "[1] ", "**_`<",
    };

    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        struct buf text;
        struct talk t;
        cJSON *result = cJSON_CreateObject(), *list, *p;
        char *printed;

        buf_init(&text, (size_t)1024 * 1024);
        while (text.len < (size_t)100 * 1024) {
            buf_puts(&text, pieces[i]);
        }
        list = cJSON_AddArrayToObject(result, "passages");
        for (int n = 1; n <= 6; n++) {
            p = cJSON_CreateObject();
            cJSON_AddNumberToObject(p, "n", n);
            cJSON_AddStringToObject(p, "title", "WAL");
            cJSON_AddStringToObject(p, "text", buf_str(&text) + n);
            cJSON_AddItemToArray(list, p);
        }
        /* A cut through a character must not reach the parser. */
        if ((unsigned char)pieces[i][0] >= 0x80) {
            cJSON_ReplaceItemInObject(result, "passages", cJSON_CreateArray());
        }
        printed = cJSON_PrintUnformatted(result);
        talk_begin(&t);
        talk_say(&t, "user", buf_str(&text));
        talk_call(&t, "c1", "library_search", "{}", printed);
        talk_send(&t);
        ck_assert_str_ne(t.plan.text, "");
        talk_end(&t);

        talk_begin(&t);
        talk_say(&t, "user", "[requirement m]\nWAL");
        talk_call(&t, "c1", "library_search", "{}", printed);
        talk_say(&t, "user", buf_str(&text));
        talk_offer(&t, "deliver_report");
        talk_send(&t);
        ck_assert_uint_eq(t.plan.n_calls, 1);
        talk_end(&t);
        free(printed);
        cJSON_Delete(result);
        buf_free(&text);
    }
}
END_TEST

START_TEST(test_deep_json_is_refused)
{
    struct buf b;
    struct chat c;
    struct chat_flaw f = {.message = ""};

    buf_init(&b, 65536);
    buf_puts(&b, "{\"messages\":");
    for (int i = 0; i < 5000; i++) {
        buf_putc(&b, '[');
    }
    ck_assert_int_eq(chat_parse(b.data, b.len, &c, &f), RC_INVALID);
    buf_free(&b);
}
END_TEST

/* R37 of the house: failing memory gives RC_NOMEM, never a crash. */
START_TEST(test_little_memory)
{
    struct talk t;

    talk_research(&t, QUESTION);
    talk_say(&t, "user", "[adjustment msg_15]\nAlso compare checkpoints");
    talk_call(&t, "c1", "library_search", "{\"query\":\"x\"}", PASSAGES);
    talk_say(&t, "user", "[notice] use deliver_report now");
    talk_send(&t);
    for (size_t limit = 1024; limit < (size_t)512 * 1024; limit += 3001) {
        struct arena *a = arena_new(limit);
        struct plan p;
        enum rc rc = plan_make(a, &t.chat, &p);
        ck_assert(rc == RC_OK || rc == RC_NOMEM);
        arena_free(a);
    }
    talk_end(&t);
}
END_TEST

Suite *offline_wire_suite(void)
{
    Suite *s = suite_create("offline_wire");
    TCase *t = tcase_create("offline_wire");

    tcase_set_timeout(t, TIMEOUT_S);
    tcase_add_test(t, test_stream_carries_text);
    tcase_add_test(t, test_stream_carries_calls);
    tcase_add_test(t, test_whole_reply_has_usage);
    tcase_add_test(t, test_max_tokens_cuts);
    tcase_add_test(t, test_same_request_same_reply);
    tcase_add_test(t, test_bad_requests);
    tcase_add_test(t, test_odd_requests_get_a_plan);
    tcase_add_test(t, test_tool_choice_none);
    tcase_add_test(t, test_huge_requests);
    tcase_add_test(t, test_deep_json_is_refused);
    tcase_add_test(t, test_little_memory);
    suite_add_tcase(s, t);
    return s;
}
