#include "fcgi/offline/scene.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

#define FACTS   "[facts of this moment]"
#define NOTICE  "[notice]"
#define EARLIER "[earlier report "
#define DASH    " \xE2\x80\x94 "
#define OPENS   "\xE2\x80\x9C"
#define CLOSES  "\xE2\x80\x9D"

/* One reading, from the first message to the last. */
struct reading {
    struct arena *a;
    const struct chat *chat;
    struct scene *out;
    const char *ids[SCENE_MAX_CALLS]; /* of out->calls */
};

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const char *role_of(const cJSON *m)
{
    return json_str(m, "role", "");
}

static bool is_user(const cJSON *m)
{
    return strcmp(role_of(m), "user") == 0;
}

/* --- purpose ----------------------------------------------------------------
 */

static enum scene_purpose purpose_of(const struct chat *c)
{
    static const char *const operations[] = {
        "start_research",   "adjust_research", "stop_research",
        "inspect_research", "reply_research",  "continue_research",
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        if (chat_offers(c, operations[i])) {
            return SCENE_ENTRY;
        }
    }
    if (!chat_offers(c, "deliver_report")) {
        return SCENE_ANSWER;
    }
    n = (size_t)cJSON_GetArraySize(c->tools);
    return n == 1 ? SCENE_CLOSEOUT : SCENE_RESEARCH;
}

/* --- facts -------------------------------------------------------------------
 */

static char *copy(struct arena *a, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from)) {
        from++;
    }
    while (to > from && isspace((unsigned char)to[-1])) {
        to--;
    }
    return arena_strndup(a, from, (size_t)(to - from));
}

static enum scene_state state_of(const char *s)
{
    if (strcmp(s, "running") == 0) {
        return SCENE_RUNNING;
    }
    return begins(s, "awaiting") ? SCENE_AWAITING : SCENE_ENDED;
}

/* research run_17 | running | "title" | elapsed 12 s | progress: ... */
static enum rc read_run(struct reading *r, const char *line, const char *end)
{
    struct scene *s = r->out;
    struct scene_run *run = &s->runs[s->n_runs];
    const char *id = line + strlen("research "), *bar, *state, *open, *close;

    bar = memchr(id, '|', (size_t)(end - id));
    if (bar == NULL || s->n_runs == SCENE_MAX_RUNS) {
        return RC_OK;
    }
    run->id = copy(r->a, id, bar);
    state = bar + 1;
    bar = memchr(state, '|', (size_t)(end - state));
    bar = bar == NULL ? end : bar;
    run->state_text = copy(r->a, state, bar);
    run->title = "";
    run->rest = "";
    open = memchr(bar, '"', (size_t)(end - bar));
    if (open != NULL) {
        /* A title may hold bars and quotes; what follows it is known. */
        close = memmem(open + 1, (size_t)(end - open - 1), "\" | elapsed", 11);
        if (close == NULL) {
            close = memrchr(open + 1, '"', (size_t)(end - open - 1));
        }
        close = close == NULL ? end : close;
        run->title = copy(r->a, open + 1, close);
        bar = memchr(close, '|', (size_t)(end - close));
        if (bar != NULL) {
            run->rest = copy(r->a, bar + 1, end);
        }
    }
    if (run->id == NULL || run->state_text == NULL || run->title == NULL ||
        run->rest == NULL) {
        return RC_NOMEM;
    }
    run->state = state_of(run->state_text);
    s->n_runs += run->id[0] != '\0' ? 1 : 0;
    return RC_OK;
}

static void read_slots(struct scene *s, const char *line)
{
    long long used = 0, limit = 0;
    char *end;

    used = strtoll(line, &end, 10);
    if (end == line || !begins(end, " of ")) {
        return;
    }
    limit = strtoll(end + 4, NULL, 10);
    s->slots_known = true;
    s->slots_used = used;
    s->slots_limit = limit;
}

/* One of Aside's messages without the marks of data in it; NULL: no memory. */
static const char *without_marks(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) + 1);
    size_t n = 0;

    while (out != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t all = len + (text[len] == '\n');
        bool border = (len == 6 && begins(text, "[data]")) ||
                      (len == 13 && begins(text, "[end of data]"));
        size_t skip = begins(text, "| ") ? 2 : 0;

        if (!border) {
            memcpy(out + n, text + skip, all - skip);
            n += all - skip;
        }
        text += all;
    }
    if (out != NULL) {
        out[n] = '\0';
    }
    return out;
}

static enum rc read_facts(struct reading *r, const char *text)
{
    static const char slots[] = "background slots: ";
    enum rc rc = RC_OK;

    text = without_marks(r->a, text);
    if (text == NULL) {
        return RC_NOMEM;
    }
    while (*text != '\0' && rc == RC_OK) {
        const char *end = text + strcspn(text, "\n");

        if (begins(text, "research ")) {
            rc = read_run(r, text, end);
        } else if (begins(text, slots)) {
            read_slots(r->out, text + strlen(slots));
        }
        text = *end == '\0' ? end : end + 1;
    }
    return rc;
}

/* --- requirements
 * -------------------------------------------------------------- */

static bool requirement_mark(const char *text, struct scene_requirement *out,
                             size_t *len)
{
    static const struct {
        const char *mark;
        enum scene_requirement_kind kind;
    } marks[] = {
        {"[requirement ", SCENE_REQUEST},
        {"[adjustment ", SCENE_ADJUSTMENT},
        {"[reply ", SCENE_REPLY},
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        if (begins(text, marks[i].mark)) {
            out->kind = marks[i].kind;
            *len = strlen(marks[i].mark);
            return true;
        }
    }
    return false;
}

static enum rc read_requirement(struct reading *r, const char *text)
{
    struct scene *s = r->out;
    struct scene_requirement q;
    size_t mark;
    const char *close;

    if (s->n_requirements == SCENE_MAX_REQUIREMENTS ||
        !requirement_mark(text, &q, &mark)) {
        return RC_OK;
    }
    close = strchr(text + mark, ']');
    if (close == NULL) {
        return RC_OK;
    }
    q.id = copy(r->a, text + mark, close);
    if (q.id == NULL) {
        return RC_NOMEM;
    }
    close++;
    while (isspace((unsigned char)*close)) {
        close++;
    }
    q.text = close;
    s->requirements[s->n_requirements++] = q;
    return RC_OK;
}

/* --- passages
 * ------------------------------------------------------------------- */

static int64_t number_of(const cJSON *p)
{
    int64_t n = 0;

    return json_i64(p, "n", &n) == RC_OK && n > 0 ? n : 0;
}

/* Keep a passage, unless its number is known. Its index, or -1. */
static int64_t keep_passage(struct scene *s, const struct passage *p,
                            bool *known)
{
    *known = false;
    for (size_t i = 0; i < s->n_passages; i++) {
        if (s->passages[i].n == p->n) {
            *known = true;
            return (int64_t)i;
        }
    }
    if (s->n_passages == SCENE_MAX_PASSAGES || p->text[0] == '\0') {
        return -1;
    }
    s->passages[s->n_passages] = *p;
    return (int64_t)s->n_passages++;
}

static void read_passages(struct scene *s, const cJSON *result,
                          struct scene_call *call)
{
    const cJSON *p;
    const char *title = json_str(result, "title", "");
    const char *location = json_str(result, "location", "");

    call->best = -1;
    cJSON_ArrayForEach(p, json_get(result, "passages"))
    {
        struct passage one = {
            .n = number_of(p),
            .title = json_str(p, "title", title),
            .location = json_str(p, "location", location),
            .heading = json_str(p, "heading", ""),
            .text = json_str(p, "text", ""),
        };
        bool known;
        int64_t at = one.n > 0 ? keep_passage(s, &one, &known) : -1;

        if (at >= 0) {
            call->n_passages++;
            call->n_new += known ? 0 : 1;
            call->best = call->best < 0 ? at : call->best;
        }
    }
}

/* Lines that scene_note_line wrote. */
static enum rc read_notes(struct reading *r, const char *text)
{
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n"), *p = text + 1;
        const char *location, *heading, *quote, *close;
        struct passage one;
        bool known;

        if (*text == '[' && isdigit((unsigned char)*p)) {
            one.n = strtoll(p, NULL, 10);
            p = strstr(p, "] ");
            location = p == NULL ? NULL : strstr(p, DASH);
            heading = location == NULL ? NULL : strstr(location + 1, DASH);
            quote = heading == NULL ? NULL : strstr(heading, ": " OPENS);
            close = quote == NULL ? NULL : strstr(quote + 5, CLOSES);
            if (close != NULL && close < end && one.n > 0) {
                one.title = copy(r->a, p + 2, location);
                one.location = copy(r->a, location + 5, heading);
                one.heading = copy(r->a, heading + 5, quote);
                one.text = copy(r->a, quote + 5, close);
                if (one.title == NULL || one.location == NULL ||
                    one.heading == NULL || one.text == NULL) {
                    return RC_NOMEM;
                }
                (void)keep_passage(r->out, &one, &known);
            }
        }
        text = *end == '\0' ? end : end + 1;
    }
    return RC_OK;
}

const char *scene_note_line(struct arena *a, const struct passage *p,
                            const char *text, size_t len)
{
    char *line = arena_printf(
        a, "[%lld] %.*s" DASH "%.*s" DASH "%.*s: " OPENS "%.*s" CLOSES,
        (long long)p->n, words_clip(p->title, 120), p->title,
        words_clip(p->location, 300), p->location, words_clip(p->heading, 120),
        p->heading, (int)utf8_clip(text, len, SENTENCE_MAX_BYTES), text);

    for (char *c = line; c != NULL && *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') {
            *c = ' ';
        }
    }
    return line;
}

/* --- calls
 * ------------------------------------------------------------------------ */

/* Parse text into a tree that the scene owns; NULL if it is not JSON. */
static enum rc open_json(struct scene *s, const char *text, const cJSON **out)
{
    cJSON *tree = NULL;
    enum rc rc = json_parse(text, strlen(text), &tree, NULL);

    *out = NULL;
    if (rc == RC_NOMEM) {
        return rc;
    }
    if (rc == RC_OK) {
        s->owned[s->n_owned++] = tree;
        *out = tree;
    }
    return RC_OK;
}

/* Most send arguments as JSON text, some as an object. */
static enum rc open_arguments(struct scene *s, const cJSON *function,
                              struct scene_call *call)
{
    const cJSON *given = json_get(function, "arguments");

    if (cJSON_IsObject(given)) {
        call->arguments = given;
        return RC_OK;
    }
    return open_json(s, json_str(function, "arguments", "{}"),
                     &call->arguments);
}

static enum rc read_calls(struct reading *r, const cJSON *m)
{
    struct scene *s = r->out;
    const cJSON *c;
    bool any = false;

    cJSON_ArrayForEach(c, json_get(m, "tool_calls"))
    {
        const cJSON *f = json_get(c, "function");
        struct scene_call call = {
            .name = json_str(f, "name", ""), .turn = s->n_turns, .best = -1};
        enum rc rc = RC_OK;

        if (s->n_calls == SCENE_MAX_CALLS) {
            break;
        }
        rc = open_arguments(s, f, &call);
        if (rc != RC_OK) {
            return rc;
        }
        if (strcmp(call.name, "note") == 0) {
            rc = read_notes(r, json_str(call.arguments, "text", ""));
            if (rc != RC_OK) {
                return rc;
            }
        }
        r->ids[s->n_calls] = json_str(c, "id", "");
        s->calls[s->n_calls++] = call;
        any = true;
    }
    s->n_turns += any ? 1 : 0;
    return RC_OK;
}

static bool mentions(const char *text, const char *what)
{
    return strcasestr(text, what) != NULL;
}

static void judge_result(struct scene_call *call)
{
    const cJSON *tree = call->tree, *error = json_get(tree, "error");
    const char *text = cJSON_IsString(error) ? error->valuestring
                                             : json_str(error, "message", "");

    if (cJSON_IsObject(tree)) {
        call->failed = error != NULL && !cJSON_IsNull(error);
        call->limit = call->failed && mentions(text, "limit reached");
    } else {
        call->failed = begins(call->result, "error") ||
                       begins(call->result, "Error") ||
                       begins(call->result, "limit reached");
        call->limit = mentions(call->result, "limit reached");
    }
}

/* What stands within the marks of data; NULL: no memory. Results are one line
 * of JSON, or plain text. */
static const char *unmarked(struct arena *a, const char *text)
{
    static const char open[] = "[data]\n| ";
    static const char line[] = "\n| ";
    const char *from = text + sizeof(open) - 1;
    const char *end;
    char *out;
    size_t n = 0;

    if (!begins(text, open)) {
        return text;
    }
    end = strstr(from, "\n[end of data]");
    end = end != NULL ? end : from + strlen(from);
    out = arena_alloc(a, (size_t)(end - from) + 1);
    while (out != NULL && from < end) {
        out[n++] = *from;
        from +=
            strncmp(from, line, sizeof(line) - 1) == 0 ? sizeof(line) - 1 : 1;
    }
    return out;
}

static enum rc read_result(struct reading *r, const cJSON *m)
{
    struct scene *s = r->out;
    const char *id = json_str(m, "tool_call_id", "");
    const char *text = chat_text(r->a, m);
    if (text == NULL) {
        return RC_NOMEM;
    }
    text = unmarked(r->a, text);
    if (text == NULL) {
        return RC_NOMEM;
    }
    for (size_t i = s->n_calls; i-- > 0;) {
        struct scene_call *call = &s->calls[i];
        enum rc rc;

        if (call->result != NULL || strcmp(r->ids[i], id) != 0) {
            continue;
        }
        call->result = text;
        rc = open_json(s, text, &call->tree);
        if (rc != RC_OK) {
            return rc;
        }
        judge_result(call);
        if (!call->failed) {
            read_passages(s, call->tree, call);
        }
        return RC_OK;
    }
    return RC_OK;
}

/* --- the whole
 * ---------------------------------------------------------------------- */

/* The person's message is the last one of a user. */
static const cJSON *last_message(const struct chat *c)
{
    const cJSON *m, *last = NULL;

    cJSON_ArrayForEach(m, c->messages)
    {
        last = is_user(m) ? m : last;
    }
    return last;
}

static enum rc read_conversation(struct reading *r)
{
    const cJSON *last = last_message(r->chat), *m, *before = NULL;
    struct scene *s = r->out;
    enum rc rc = RC_OK;

    cJSON_ArrayForEach(m, r->chat->messages)
    {
        const char *text;
        if (m == last) {
            break;
        }
        if (!is_user(m)) {
            continue;
        }
        text = chat_text(r->a, m);
        if (text == NULL) {
            return RC_NOMEM;
        }
        before = m;
        s->previous = begins(text, FACTS) ? s->previous : text;
    }
    if (before != NULL) {
        const char *text = chat_text(r->a, before);
        rc = text == NULL          ? RC_NOMEM
             : begins(text, FACTS) ? read_facts(r, text)
                                   : RC_OK;
    }
    s->message = last == NULL ? "" : chat_text(r->a, last);
    if (s->message == NULL) {
        return RC_NOMEM;
    }
    s->chinese = words_has_cjk(s->message, strlen(s->message));
    /* Calls after the message, their results with them. */
    for (m = last == NULL ? r->chat->messages->child : last->next;
         m != NULL && rc == RC_OK; m = m->next) {
        rc = strcmp(role_of(m), "assistant") == 0 ? read_calls(r, m)
             : strcmp(role_of(m), "tool") == 0    ? read_result(r, m)
                                                  : RC_OK;
    }
    return rc;
}

/* [earlier report of run_4], then its title, then the report: its citations
 * belong to that Run and are not quoted again. */
static enum rc read_earlier(struct reading *r, const char *text)
{
    const char *title = text + strcspn(text, "\n");

    title += *title == '\n' ? 1 : 0;
    r->out->earlier = copy(r->a, title, title + strcspn(title, "\n"));
    return r->out->earlier == NULL ? RC_NOMEM : RC_OK;
}

static enum rc read_user(struct reading *r, const cJSON *m)
{
    struct scene *s = r->out;
    const char *text = chat_text(r->a, m);
    struct scene_requirement unused;
    size_t len;

    if (text == NULL) {
        return RC_NOMEM;
    }
    if (requirement_mark(text, &unused, &len)) {
        return read_requirement(r, text);
    }
    if (begins(text, NOTICE)) {
        s->deliver_now = s->deliver_now || mentions(text, "deliver_report");
        return RC_OK;
    }
    if (begins(text, "[note") || begins(text, EARLIER)) {
        const char *plain = without_marks(r->a, text);

        return plain == NULL           ? RC_NOMEM
               : begins(text, EARLIER) ? read_earlier(r, plain)
                                       : read_notes(r, plain);
    }
    if (s->n_requirements == 0 && !begins(text, FACTS)) {
        s->previous = text;
    }
    return RC_OK;
}

static enum rc read_research(struct reading *r)
{
    struct scene *s = r->out;
    const cJSON *m;
    enum rc rc = RC_OK;

    cJSON_ArrayForEach(m, r->chat->messages)
    {
        if (is_user(m)) {
            rc = read_user(r, m);
        } else if (strcmp(role_of(m), "assistant") == 0) {
            s->deliver_now = false;
            rc = read_calls(r, m);
        } else if (strcmp(role_of(m), "tool") == 0) {
            rc = read_result(r, m);
        }
        if (rc != RC_OK) {
            return rc;
        }
    }
    /* Without marks, the last message is the request. */
    if (s->n_requirements == 0 && s->previous[0] != '\0') {
        s->requirements[s->n_requirements++] = (struct scene_requirement){
            .kind = SCENE_REQUEST, .id = "request", .text = s->previous};
        s->previous = "";
    }
    for (size_t i = 0; i < s->n_requirements; i++) {
        const char *text = s->requirements[i].text;
        s->chinese = s->chinese || words_has_cjk(text, strlen(text));
    }
    return RC_OK;
}

enum rc scene_read(struct arena *a, const struct chat *c, struct scene *out)
{
    struct reading r = {.a = a, .chat = c, .out = out};

    *out = (struct scene){
        .purpose = purpose_of(c), .message = "", .previous = "", .earlier = ""};
    if (out->purpose == SCENE_RESEARCH || out->purpose == SCENE_CLOSEOUT) {
        return read_research(&r);
    }
    return read_conversation(&r);
}

void scene_free(struct scene *s)
{
    while (s->n_owned > 0) {
        json_free(s->owned[--s->n_owned]);
    }
}

size_t scene_count(const struct scene *s, const char *name, bool failed_only)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_calls; i++) {
        n += strcmp(s->calls[i].name, name) == 0 &&
             (!failed_only || s->calls[i].failed);
    }
    return n;
}
