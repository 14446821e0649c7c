/* reminder.c - what a research is asked, called to mind at the end of each of
 * its requests: every requirement by its id, in short, the newest last.
 *
 * In full they stand where they were said, further up with every step. The
 * reminder is no part of that history: the next request has one of its own in
 * the place of this one, and begins with all that stood before it, so that
 * providers' caches of prompts hit. */
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/id.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"

#define PART       24 /* of the room, adjustments take at most one in so many */
#define LINE_BYTES 200
#define TEXT_BYTES (1u << 20)

/* What a message asks, in one short line; memory of s. */
static enum rc shorten(struct step *s, int64_t message_id, const char **out)
{
    char id[ID_TEXT_BYTES];
    struct message m;
    size_t keep;
    char *line;
    enum rc rc = store_message_get(s->rt->store, 0, message_id, s->mem, &m);

    if (rc != RC_OK) {
        return rc;
    }
    keep = utf8_clip(m.body, strlen(m.body), LINE_BYTES);
    line = arena_strndup(s->mem, m.body, keep);
    if (line == NULL) {
        return RC_TOO_LARGE;
    }
    utf8_one_line(line);
    *out =
        arena_printf(s->mem, "\n%s: %s%s", id_text(ID_MESSAGE, message_id, id),
                     line, m.body[keep] != '\0' ? "\xe2\x80\xa6" : "");
    return *out == NULL ? RC_TOO_LARGE : RC_OK;
}

static enum rc put_request(struct step *s, struct buf *out)
{
    const char *line = "\nrequest: " CONTEXT_GO_ON;
    enum rc rc = RC_OK;

    if (s->run.message_id != 0) {
        rc = shorten(s, s->run.message_id, &line);
    }
    if (rc == RC_OK) {
        buf_puts(out, line);
    }
    return rc;
}

/* Those that have no line, by their ids, as far as there is room: in full they
 * stand above, like all. */
static void put_ids(const struct step *s, const struct handoff *const *list,
                    size_t n, struct buf *out)
{
    int64_t room = context_room(s) / PART;
    char id[ID_TEXT_BYTES];

    buf_printf(out, "\n(before these %zu more, which stand above: ", n);
    for (size_t i = 0; i < n && room > 0; i++) {
        (void)id_text(ID_MESSAGE, list[i]->message_id, id);
        room -= tokens_estimate(id, strlen(id)) + 1;
        buf_printf(out, "%s%s", i > 0 ? " " : "", room > 0 ? id : "...");
    }
    buf_putc(out, ')');
}

/* As many of the newest as there is room for, in order. */
static enum rc put_adjustments(struct step *s,
                               const struct handoff *const *list, size_t n,
                               struct buf *out)
{
    const char **lines = arena_alloc(s->mem, (n + 1) * sizeof(*lines));
    int64_t room = context_room(s) / PART;
    size_t first = n;
    enum rc rc = lines == NULL ? RC_TOO_LARGE : RC_OK;

    while (first > 0 && rc == RC_OK && room > 0) {
        first--;
        rc = shorten(s, list[first]->message_id, &lines[first]);
        if (rc == RC_OK) {
            room -= tokens_estimate(lines[first], strlen(lines[first]));
        }
    }
    if (first > 0) {
        put_ids(s, list, first, out);
    }
    for (size_t i = first; i < n && rc == RC_OK; i++) {
        buf_puts(out, lines[i]);
    }
    return rc;
}

/* The adjustments that count: of those that came too late none does. */
static enum rc find_adjustments(struct step *s, const struct handoff ***out,
                                size_t *n)
{
    struct handoff *list = NULL;
    size_t all = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &all);

    *n = 0;
    *out = arena_alloc(s->mem, (all + 1) * sizeof(**out));
    if (*out == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < all && rc == RC_OK; i++) {
        if (list[i].kind == HANDOFF_ADJUSTMENT &&
            list[i].state != HANDOFF_NOT_APPLIED) {
            (*out)[(*n)++] = &list[i];
        }
    }
    return rc;
}

/* Whether something stands behind the request by now. */
static enum rc has_steps(struct step *s, bool *out)
{
    struct request *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_request_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    *out = false;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        *out = *out || (list[i].state == EFFECT_DONE &&
                        !context_is_short(list[i].purpose));
    }
    return rc;
}

static enum rc print(struct step *s, const struct handoff *const *list,
                     size_t n, const char **out)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, TEXT_BYTES);
    buf_puts(&text, "[reminder]\nWhat is asked, the newest last, in short; it "
                    "stands above in full:");
    rc = put_request(s, &text);
    if (rc == RC_OK) {
        rc = put_adjustments(s, list, n, &text);
    }
    if (rc == RC_OK) {
        rc = buf_rc(&text);
    }
    if (rc == RC_OK) {
        *out = arena_strndup(s->mem, buf_str(&text), text.len);
        rc = *out == NULL ? RC_TOO_LARGE : RC_OK;
    }
    buf_free(&text);
    return rc;
}

enum rc reminder_text(struct step *s, enum request_purpose purpose,
                      const char **out)
{
    const struct handoff **list = NULL;
    size_t n = 0;
    bool steps = false;
    enum rc rc;

    *out = NULL;
    if (context_is_short(purpose)) {
        return RC_OK;
    }
    rc = find_adjustments(s, &list, &n);
    if (rc == RC_OK) {
        rc = has_steps(s, &steps);
    }
    return rc == RC_OK && (n > 0 || steps) ? print(s, list, n, out) : rc;
}
