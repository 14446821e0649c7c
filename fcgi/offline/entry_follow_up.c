#include <string.h>

#include "fcgi/offline/entry_inside.h"
#include "fcgi/offline/quote.h"

#define MAX_FACT_LINES 24
#define LIST_SHOWN     4
#define NAME_BYTES     60

static const char *const OPERATIONS[] = {
    "start_research",   "adjust_research", "stop_research",
    "inspect_research", "reply_research",  "continue_research",
};

static bool is_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(*OPERATIONS); i++) {
        if (strcmp(OPERATIONS[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_value(struct buf *out, const cJSON *v)
{
    if (cJSON_IsString(v)) {
        quote_plain(out, v->valuestring, strlen(v->valuestring),
                    ENTRY_LINE_BYTES);
    } else if (cJSON_IsNumber(v)) {
        buf_printf(out, "%.15g", v->valuedouble);
    } else if (cJSON_IsBool(v)) {
        buf_puts(out, cJSON_IsTrue(v) ? "yes" : "no");
    }
}

static bool says_something(const cJSON *v)
{
    return cJSON_IsBool(v) || cJSON_IsNumber(v) ||
           (cJSON_IsString(v) && v->valuestring[0] != '\0') ||
           ((cJSON_IsArray(v) || cJSON_IsObject(v)) && v->child != NULL);
}

static const char *json_text(const cJSON *v)
{
    return cJSON_IsString(v) ? v->valuestring : "";
}

/* A list by its first members, a budget as "7 of 24", other objects by their
 * members' names. */
static void put_group(struct buf *out, const cJSON *group)
{
    const cJSON *used = json_get(group, "used"), *v;
    int n = 0;

    if (cJSON_IsNumber(used)) {
        put_value(out, used);
        buf_puts(out, " of ");
        put_value(out, json_get(group, "limit"));
        return;
    }
    cJSON_ArrayForEach(v, group)
    {
        if (cJSON_IsString(v) && v->prev != NULL && v != group->child &&
            strcmp(v->valuestring, json_text(v->prev)) == 0) {
            continue; /* one page gives many passages */
        }
        if (n == LIST_SHOWN) {
            buf_puts(out, ", …");
            return;
        }
        buf_puts(out, n++ > 0 ? ", " : "");
        if (v->string != NULL) {
            quote_plain(out, v->string, strlen(v->string), NAME_BYTES);
            buf_putc(out, ' ');
        }
        put_value(out, v);
    }
}

/* What a tool said of a Run, as a list: whatever members it has. */
static void put_facts(struct buf *out, const cJSON *o)
{
    const cJSON *v;
    int lines = 0;

    cJSON_ArrayForEach(v, o)
    {
        size_t at;

        if (v->string == NULL || !says_something(v) ||
            strcmp(v->string, "run") == 0 || strcmp(v->string, "title") == 0 ||
            lines++ == MAX_FACT_LINES) {
            continue;
        }
        buf_puts(out, "\n- ");
        at = out->len;
        quote_plain(out, v->string, strlen(v->string), NAME_BYTES);
        for (; at < out->len; at++) {
            if (out->data[at] == '_') {
                out->data[at] = ' ';
            }
        }
        buf_puts(out, ": ");
        if (cJSON_IsArray(v) || cJSON_IsObject(v)) {
            put_group(out, v);
        } else {
            put_value(out, v);
        }
    }
}

static const char *title_of(const struct scene *s, const char *run)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        if (strcmp(s->runs[i].id, run) == 0) {
            return s->runs[i].title;
        }
    }
    return run;
}

static void report_inspection(struct entry *e, const struct scene_call *call)
{
    const char *run = json_str(call->arguments, "run", "");
    const cJSON *facts = json_get(call->tree, "run");

    entry_note(e, SAY_STATE_OF, title_of(e->scene, run), run, NULL);
    buf_putc(&e->notes, '\n');
    facts = cJSON_IsObject(facts) ? facts : call->tree;
    if (facts != NULL) {
        put_facts(&e->notes, facts);
    } else {
        buf_putc(&e->notes, '\n');
        quote_plain(&e->notes, call->result, strlen(call->result), 1000);
    }
}

static void report_refusal(struct entry *e, const struct scene_call *call)
{
    const cJSON *error = json_get(call->tree, "error");
    const char *why = cJSON_IsString(error)
                          ? error->valuestring
                          : json_str(error, "message", call->result);
    struct buf safe;

    if (strcmp(call->name, "start_research") == 0) {
        entry_say_full(e);
        return;
    }
    buf_init(&safe, 1024);
    quote_plain(&safe, why, strlen(why), ENTRY_LINE_BYTES);
    entry_note(e, SAY_REFUSED, call->name, buf_str(&safe), NULL);
    buf_free(&safe);
}

enum rc entry_finish_follow_up(struct entry *e)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < e->scene->n_calls; i++) {
        const struct scene_call *call = &e->scene->calls[i];
        if (!is_operation(call->name) || call->result == NULL) {
            continue;
        }
        if (call->failed) {
            report_refusal(e, call);
        } else if (strcmp(call->name, "inspect_research") == 0) {
            report_inspection(e, call);
        }
    }
    if (e->n_questions > 0) {
        rc = entry_answer_all(e, &e->notes);
    }
    if (rc == RC_OK && e->notes.len == 0) {
        entry_note(e, SAY_DONE,
                   e->scene->n_calls > 0 ? e->scene->calls[0].name : "", NULL,
                   NULL);
    }
    return rc == RC_OK ? entry_take_text(e, &e->notes) : rc;
}
