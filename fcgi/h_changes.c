/* h_changes.c - the long poll. */
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/reply.h"
#include "fcgi/view.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "sql/store_access.h"
#include "sql/store_change.h"

#define MAX_CHANGES       200
#define MAX_BYTES         ((size_t)128 * 1024)
#define MAX_WAIT_S        55
#define ARENA_LIMIT_BYTES ((size_t)16 * 1024 * 1024)
#define LIMIT_BYTES       ((size_t)4 * 1024 * 1024)

/* One change more in the open array. RC_FULL: it would make the reply too
 * long, and is not the first; nothing was added. */
static enum rc put_change(struct json_out *json, struct store *st,
                          const struct change *c, struct arena *a,
                          struct buf *scratch, bool *any)
{
    struct json_out one;
    enum rc rc;

    buf_clear(scratch);
    json_begin(&one, scratch);
    rc = view_change(&one, st, c, a);
    if (rc == RC_NOT_FOUND) {
        return RC_OK; /* gone since; what removed it is told later */
    }
    if (rc == RC_OK) {
        rc = json_end(&one);
    }
    if (rc != RC_OK) {
        return rc;
    }
    if (*any && json->buf->len + scratch->len > MAX_BYTES) {
        return RC_FULL;
    }
    json_put_raw(json, scratch->data, scratch->len);
    *any = true;
    return RC_OK;
}

static enum rc put_changes(struct json_out *json, struct store *st,
                           const struct change_page *page, struct arena *a,
                           int64_t *next)
{
    struct buf scratch;
    bool any = false;
    enum rc rc = RC_OK;

    buf_init(&scratch, LIMIT_BYTES);
    *next = page->next;
    json_key(json, "changes");
    json_open_array(json);
    for (size_t i = 0; i < page->n && rc == RC_OK; i++) {
        rc = put_change(json, st, &page->changes[i], a, &scratch, &any);
        if (rc == RC_FULL) {
            *next = page->changes[i - 1].seq;
        }
    }
    json_close_array(json);
    buf_free(&scratch);
    return rc == RC_FULL ? RC_OK : rc;
}

static enum rc put_page(struct store *st, const struct change_page *page,
                        const char *feed, struct arena *a, struct buf *out)
{
    struct json_out json;
    int64_t next;
    enum rc rc;

    json_begin(&json, out);
    json_open_object(&json);
    rc = put_changes(&json, st, page, a, &next);
    if (rc != RC_OK) {
        return rc;
    }
    json_ki64(&json, "next", next);
    json_kbool(&json, "reset", page->reset);
    json_kstr(&json, "feed", feed);
    json_close_object(&json);
    return json_end(&json);
}

/* Inside a read. */
static enum rc read_page(struct store *st, const char *account, int64_t *cursor,
                         bool even_if_none, const struct store_view *view,
                         struct arena *a, struct buf *out)
{
    struct change_page page;
    int64_t account_id = 0;
    enum rc rc = store_account_find(st, account, &account_id);

    if (rc != RC_OK && rc != RC_NOT_FOUND) {
        return rc;
    }
    rc = store_change_page(st, account_id, *cursor, view->as_of, MAX_CHANGES,
                           MAX_BYTES, a, &page);
    if (rc != RC_OK) {
        return rc;
    }
    if (page.n == 0 && !page.reset && !even_if_none) {
        *cursor = page.next;
        return RC_NOT_FOUND;
    }
    return put_page(st, &page, view->feed, a, out);
}

enum rc h_changes_read(struct store *st, const char *account, int64_t *cursor,
                       bool even_if_none, struct buf *out)
{
    struct arena *a = arena_new(ARENA_LIMIT_BYTES);
    struct store_view view;
    enum rc rc;

    if (a == NULL) {
        return RC_NOMEM;
    }
    rc = store_read_begin(st, &view);
    if (rc == RC_OK) {
        rc = read_page(st, account, cursor, even_if_none, &view, a, out);
        store_read_end(st);
    }
    arena_free(a);
    return rc;
}

enum rc h_changes_stands(struct store *st, const struct store_actor *actor)
{
    return store_access_stands(st, actor, clock_unix_ms());
}

void h_changes_reply(struct req *r, enum rc rc, const char *text, size_t len)
{
    if (rc == RC_OK) {
        (void)reply_bytes(r, "application/json", NULL, text, len);
    } else {
        (void)reply_rc(r, rc);
    }
}

static enum serve_then read_and_reply(const struct ask *ask, int64_t *cursor,
                                      bool even_if_none, bool *none)
{
    struct buf out;
    enum rc rc;

    buf_init(&out, LIMIT_BYTES);
    rc = h_changes_read(ask->store, ask->account, cursor, even_if_none, &out);
    *none = rc == RC_NOT_FOUND;
    if (!*none) {
        h_changes_reply(ask->req, rc, buf_str(&out), out.len);
    }
    buf_free(&out);
    return SERVE_FINISH;
}

enum serve_then h_changes_get(struct ask *ask)
{
    struct park_wait wait = {.account = ask->account,
                             .actor = ask->actor,
                             .generation = park_generation(ask->app->park)};
    int64_t wait_s;
    bool none;
    enum rc rc;

    if (!form_query_i64_or_reply(ask, "after", 0, INT64_MAX, 0, &wait.cursor) ||
        !form_query_i64_or_reply(ask, "wait", 0, MAX_WAIT_S, 0, &wait_s)) {
        return SERVE_FINISH;
    }
    (void)read_and_reply(ask, &wait.cursor, wait_s == 0, &none);
    if (!none) {
        return SERVE_FINISH;
    }
    wait.deadline_ms = clock_boot_ms() + wait_s * 1000;
    rc = park_add(ask->app->park, ask->req, &wait);
    if (rc == RC_OK) {
        log_debug(NULL, "a poll is parked");
        return SERVE_KEPT;
    }
    if (rc == RC_FULL) {
        return read_and_reply(ask, &wait.cursor, true, &none);
    }
    return reply_rc(ask->req, rc);
}
