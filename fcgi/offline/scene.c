#include "fcgi/offline/scene.h"

#include <ctype.h>
#include <string.h>

#include "fcgi/offline/scene_inside.h"
#include "fcgi/offline/words.h"

#define FACTS   "[facts of this moment]"
#define NOTICE  "[notice]"
#define EARLIER "[earlier report "

static const char *role_of(const cJSON *m)
{
    return json_str(m, "role", "");
}

static bool is_user(const cJSON *m)
{
    return strcmp(role_of(m), "user") == 0;
}

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

/* --- requirements --------------------------------------------------------- */

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
        if (scene_begins(text, marks[i].mark)) {
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
    q.id = scene_trimmed(r->a, text + mark, close);
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

/* --- an entry and its follow-up ------------------------------------------- */

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
        s->previous = scene_begins(text, FACTS) ? s->previous : text;
    }
    if (before != NULL) {
        const char *text = chat_text(r->a, before);
        rc = text == NULL                ? RC_NOMEM
             : scene_begins(text, FACTS) ? scene_read_facts(r, text)
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
        rc = strcmp(role_of(m), "assistant") == 0 ? scene_read_calls(r, m)
             : strcmp(role_of(m), "tool") == 0    ? scene_read_result(r, m)
                                                  : RC_OK;
    }
    return rc;
}

/* --- a research ----------------------------------------------------------- */

/* [earlier report of run_4], then its title, then the report: its citations
 * belong to that Run and are not quoted again. */
static enum rc read_earlier(struct reading *r, const char *text)
{
    const char *title = text + strcspn(text, "\n");

    title += *title == '\n' ? 1 : 0;
    r->out->earlier = scene_trimmed(r->a, title, title + strcspn(title, "\n"));
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
    if (scene_begins(text, NOTICE)) {
        s->deliver_now =
            s->deliver_now || strcasestr(text, "deliver_report") != NULL;
        return RC_OK;
    }
    if (scene_begins(text, "[note") || scene_begins(text, EARLIER)) {
        const char *plain = scene_without_marks(r->a, text);

        return plain == NULL                 ? RC_NOMEM
               : scene_begins(text, EARLIER) ? read_earlier(r, plain)
                                             : scene_read_notes(r, plain);
    }
    if (s->n_requirements == 0 && !scene_begins(text, FACTS)) {
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
            rc = scene_read_calls(r, m);
        } else if (strcmp(role_of(m), "tool") == 0) {
            rc = scene_read_result(r, m);
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

/* --- the whole ------------------------------------------------------------ */

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
