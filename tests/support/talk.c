#include "tests/support/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

void talk_begin(struct talk *t)
{
    *t = (struct talk){.request = cJSON_CreateObject()};
    cJSON_AddStringToObject(t->request, "model", "offline");
    t->messages = cJSON_AddArrayToObject(t->request, "messages");
}

cJSON *talk_say(struct talk *t, const char *role, const char *text)
{
    cJSON *m = cJSON_CreateObject();

    cJSON_AddStringToObject(m, "role", role);
    if (text != NULL) {
        cJSON_AddStringToObject(m, "content", text);
    } else {
        cJSON_AddNullToObject(m, "content");
    }
    cJSON_AddItemToArray(t->messages, m);
    return m;
}

void talk_offer(struct talk *t, const char *names)
{
    cJSON *tools = cJSON_AddArrayToObject(t->request, "tools");
    char copy[512];

    snprintf(copy, sizeof(copy), "%s", names);
    for (char *save, *n = strtok_r(copy, " ", &save); n != NULL;
         n = strtok_r(NULL, " ", &save)) {
        cJSON *tool = cJSON_CreateObject();
        cJSON *f = cJSON_AddObjectToObject(tool, "function");
        cJSON_AddStringToObject(tool, "type", "function");
        cJSON_AddStringToObject(f, "name", n);
        cJSON_AddItemToArray(tools, tool);
    }
}

void talk_call(struct talk *t, const char *id, const char *name,
               const char *arguments, const char *result)
{
    cJSON *m = talk_say(t, "assistant", NULL);
    cJSON *calls = cJSON_AddArrayToObject(m, "tool_calls");
    cJSON *call = cJSON_CreateObject();
    cJSON *f = cJSON_AddObjectToObject(call, "function");

    cJSON_AddStringToObject(call, "id", id);
    cJSON_AddStringToObject(call, "type", "function");
    cJSON_AddStringToObject(f, "name", name);
    cJSON_AddStringToObject(f, "arguments", arguments);
    cJSON_AddItemToArray(calls, call);
    m = talk_say(t, "tool", result);
    cJSON_AddStringToObject(m, "tool_call_id", id);
}

static void talk_forget_reply(struct talk *t)
{
    if (t->arena != NULL) {
        arena_free(t->arena);
        chat_free(&t->chat);
        t->arena = NULL;
    }
    free(t->body);
    t->body = NULL;
}

void talk_send(struct talk *t)
{
    struct chat_flaw flaw = {.message = ""};

    talk_forget_reply(t);
    t->body = cJSON_PrintUnformatted(t->request);
    ck_assert_ptr_nonnull(t->body);
    ck_assert_msg(chat_parse(t->body, strlen(t->body), &t->chat, &flaw) ==
                      RC_OK,
                  "%s", flaw.message);
    t->arena = arena_new(PLAN_ARENA_BYTES);
    ck_assert_ptr_nonnull(t->arena);
    ck_assert_int_eq(plan_make(t->arena, &t->chat, &t->plan), RC_OK);
}

void talk_end(struct talk *t)
{
    talk_forget_reply(t);
    cJSON_Delete(t->request);
}

const struct plan_call *talk_planned(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        if (strcmp(p->calls[i].name, name) == 0) {
            return &p->calls[i];
        }
    }
    return NULL;
}

char *talk_argument(const struct plan *p, const char *call, const char *name)
{
    const struct plan_call *c = talk_planned(p, call);
    cJSON *tree;
    char *copy;

    ck_assert_msg(c != NULL, "%s was not called", call);
    ck_assert_int_eq(
        json_parse(c->arguments, strlen(c->arguments), &tree, NULL), RC_OK);
    copy = strdup(json_str(tree, name, ""));
    json_free(tree);
    return copy;
}

void talk_follow_up(struct talk *t, const char *message, const char *result)
{
    talk_begin(t);
    talk_say(t, "system", "You are Aside's answer.");
    talk_say(t, "user", "[facts of this moment]\n" FULL RUN_A);
    talk_say(t, "user", message);
    talk_call(t, "c1", "library_search", "{\"query\":\"x\"}", result);
    talk_send(t);
}

/* --- a research ----------------------------------------------------------- */

void talk_research(struct talk *t, const char *request)
{
    char text[512];

    talk_begin(t);
    snprintf(text, sizeof(text), "[requirement msg_12]\n%s", request);
    talk_say(t, "system", "You are Aside's research.");
    talk_say(t, "user", text);
    talk_offer(t, RESEARCH);
}

static const char *result_of(const char *name)
{
    return strcmp(name, "library_search") == 0 ? PASSAGES
           : strcmp(name, "library_read") == 0
               ? "{\"title\":\"Write-Ahead Logging\",\"location\":"
                 "\"/doc/wal.html\",\"passages\":[{\"n\":7,\"heading\":"
                 "\"Concurrency\",\"text\":\"Readers do not block writers in "
                 "WAL mode, and a writer does not block readers, so that "
                 "concurrency is higher than with a rollback journal.\"},"
                 "{\"n\":8,\"heading\":\"Durability\",\"text\":\"With "
                 "synchronous set to NORMAL, a commit in WAL mode is not "
                 "durable across a power loss. A rollback journal keeps its "
                 "durability as long as it is synced.\"}],\"has_more\":false}"
               : "{\"ok\":true}";
}

void talk_research_turn(struct talk *t)
{
    struct plan plan = t->plan;
    char id[64];

    for (size_t i = 0; i < plan.n_calls; i++) {
        snprintf(id, sizeof(id), "%s", plan.calls[i].id);
        talk_call(t, id, plan.calls[i].name, plan.calls[i].arguments,
                  result_of(plan.calls[i].name));
    }
    talk_send(t);
}

void talk_assert_cites(const char *text, const int *numbers, size_t n)
{
    for (const char *p = strchr(text, '['); p != NULL; p = strchr(p + 1, '[')) {
        char *end;
        long cited = strtol(p + 1, &end, 10);
        bool known = false;

        if (end == p + 1 || *end != ']' || (p > text && p[-1] == '\\')) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            known = known || cited == numbers[i];
        }
        ck_assert_msg(known, "[%ld] was never given: %s", cited, text);
    }
}
