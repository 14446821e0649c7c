/* recall.c - what a research has kept, given to the model again: a result by its
 * number, a passage by the number that it is cited by, the last draft.
 *
 * It reads rows only, so that it works when the page, the library or the server
 * that the text came from is gone. What is longer than a page goes on with
 * "from": a passage of a result, a byte of a text. */
#include <inttypes.h>
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"

#define PAGE_PART   8 /* of the room, at most one in so many */
#define RESULT_MOST ((size_t)8 << 20)
#define TITLE_BYTES 200

static int64_t page_tokens(const struct step *s)
{
    return context_room(s) / PAGE_PART;
}

static enum rc refuse(struct step *s, struct tool_call *t, const char *why)
{
    const char *text = arena_printf(s->mem, "{\"error\":\"%s\"}", why);

    return text == NULL ? RC_TOO_LARGE
                        : tool_settle_inside(s, t, true, text, why);
}

static enum rc settle(struct step *s, struct tool_call *t, struct buf *text,
                      const char *summary)
{
    enum rc rc = buf_rc(text);

    if (rc == RC_OK && summary == NULL) {
        rc = RC_TOO_LARGE;
    }
    return rc == RC_OK ? tool_settle_inside(s, t, false, buf_str(text), summary)
                       : rc;
}

static enum rc recall_result(struct step *s, struct tool_call *t,
                             int64_t number, size_t from)
{
    struct excerpt e = {
        .max_tokens = page_tokens(s), .number = number, .from = from};
    struct tool_call old;
    struct buf text;
    enum rc rc =
        store_tool_call_nth(s->rt->store, s->run.id, number, s->mem, &old);

    if (rc == RC_NOT_FOUND || (rc == RC_OK && old.result == NULL)) {
        return refuse(s, t, "result: there is none of this number");
    }
    if (rc != RC_OK) {
        return rc;
    }
    e.result = old.result;
    buf_init(&text, RESULT_MOST);
    rc = excerpt_result(&e, &text);
    if (rc == RC_OK) {
        rc = settle(
            s, t, &text,
            arena_printf(s->mem, "result %" PRId64 ": %s", number, old.name));
    }
    buf_free(&text);
    return rc;
}

void recall_put_head(const struct source *src, struct buf *out)
{
    size_t keep = utf8_clip(src->title, strlen(src->title), TITLE_BYTES);
    size_t more = utf8_clip(src->heading, strlen(src->heading), TITLE_BYTES);

    buf_printf(out, "[%" PRId64 "] %.*s%s%.*s", src->n, (int)keep, src->title,
               more > 0 ? ", " : "", (int)more, src->heading);
}

static enum rc recall_source(struct step *s, struct tool_call *t,
                             int64_t number, size_t from)
{
    struct source src;
    struct buf text;
    size_t next;
    enum rc rc =
        store_source_by_number(s->rt->store, s->run.id, number, s->mem, &src);

    if (rc == RC_NOT_FOUND) {
        return refuse(s, t, "source: there is none of this number");
    }
    if (rc != RC_OK) {
        return rc;
    }
    buf_init(&text, RESULT_MOST);
    recall_put_head(&src, &text);
    buf_printf(&text, " (%s)\n", src.location);
    next = excerpt_text(src.body, from, page_tokens(s), &text);
    if (next != 0) {
        buf_printf(&text,
                   "\n[cut here for want of room; recall {\"source\":%" PRId64
                   ",\"from\":%zu} goes on]",
                   number, next);
    }
    rc = settle(
        s, t, &text,
        arena_printf(s->mem, "passage %" PRId64 ": %s", number, src.title));
    buf_free(&text);
    return rc;
}

static enum rc recall_draft(struct step *s, struct tool_call *t, size_t from)
{
    const char *draft = "";
    struct buf text;
    size_t next;
    enum rc rc = RC_OK;

    if (!s->run.answer_draft) {
        return refuse(s, t, "draft: none was published");
    }
    rc = store_answer_text(s->rt->store, &s->run, s->mem, &draft);
    if (rc != RC_OK) {
        return rc;
    }
    buf_init(&text, RESULT_MOST);
    next = excerpt_text(draft, from, page_tokens(s), &text);
    if (next != 0) {
        buf_printf(&text,
                   "\n[cut here for want of room; recall "
                   "{\"draft\":true,\"from\":%zu} goes on]",
                   next);
    }
    rc = settle(s, t, &text, "the last draft");
    buf_free(&text);
    return rc;
}

enum rc recall_take(struct step *s, struct tool_call *t, const cJSON *args)
{
    int64_t number = 0;
    int64_t from = 0;

    if (json_get(args, "from") != NULL &&
        (json_i64(args, "from", &from) != RC_OK || from < 0)) {
        return refuse(s, t, "from: expected a whole number from 0");
    }
    if (json_i64(args, "source", &number) == RC_OK) {
        return recall_source(s, t, number, (size_t)from);
    }
    if (json_i64(args, "result", &number) == RC_OK) {
        return recall_result(s, t, number, (size_t)from);
    }
    if (cJSON_IsTrue(json_get(args, "draft"))) {
        return recall_draft(s, t, (size_t)from);
    }
    return refuse(s, t, "expected the number of a source or result, or draft");
}
