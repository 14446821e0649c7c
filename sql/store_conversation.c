/* store_conversation.c - conversations and the messages in them. */
#include "sql/store_conversation.h"

#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"
#include "sql/store_audit.h"
#include "sql/store_priv.h"

#define TITLE_BYTES 70

static void read_conversation(struct dbq *q, struct arena *a, void *item)
{
    struct conversation *c = item;

    c->id = db_i64(q, 0);
    c->account_id = db_i64(q, 1);
    c->title = db_text(q, 2, a);
    c->created_ms = db_i64(q, 3);
    c->updated_ms = db_i64(q, 4);
    c->active_runs = db_i64(q, 5);
    c->unread = db_i64(q, 6);
}

enum rc store_conversation_get(struct store *st, int64_t account_id, int64_t id,
                               struct arena *a, struct conversation *out)
{
    struct dbq *q = db_use(st->db, STMT_CONVERSATION_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_conversation, out);
}

enum rc store_conversation_owned(struct store *st, int64_t account_id,
                                 int64_t id)
{
    struct dbq *q = db_use(st->db, STMT_CONVERSATION_OWNER);
    int64_t owner = 0;
    enum rc rc;

    db_bind_i64(q, ":id", id);
    rc = db_one_i64(q, &owner);
    return rc == RC_OK && owner != account_id ? RC_NOT_FOUND : rc;
}

enum rc store_conversation_list(struct store *st, int64_t account_id,
                                int64_t limit, struct arena *a,
                                struct conversation **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_CONVERSATION_LIST);

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_conversation, sizeof(**out), out, n);
}

enum rc store_conversation_create(struct store *st, struct store_call *call,
                                  const char *title, struct conversation *out)
{
    struct key_refs refs = {0};
    int64_t account = 0;
    struct dbq *q;
    enum rc rc;

    rc = store_account_ensure(st, call->account, call->now_ms, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && !call->replayed) {
        q = db_use(st->db, STMT_CONVERSATION_INSERT);
        db_bind_i64(q, ":account", account);
        db_bind_text(q, ":title", title);
        db_bind_i64(q, ":now_ms", call->now_ms);
        rc = db_run(q);
        refs.conversation_id = db_last_id(st->db);
        if (rc == RC_OK) {
            rc = store_change_conversation(st, account, refs.conversation_id);
        }
        if (rc == RC_OK) {
            rc = store_key_bind(st, call, account, &refs);
        }
        if (rc == RC_OK) {
            rc = store_audit_call(st, call, account, AUDIT_CONVERSATION_CREATE,
                                  ID_CONVERSATION, refs.conversation_id);
        }
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = store_conversation_get(st, account, refs.conversation_id,
                                    call->arena, out);
    }
    return rc;
}

static enum rc rename_conversation(struct store *st, int64_t id,
                                   const char *title)
{
    struct dbq *q = db_use(st->db, STMT_CONVERSATION_RENAME);

    db_bind_i64(q, ":id", id);
    db_bind_text(q, ":title", title);
    return db_run(q);
}

static enum rc mark_seen(struct store *st, int64_t account_id, int64_t id,
                         int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_CONVERSATION_SEEN);

    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_run(q);
}

/* What an update changes, and that it did. */
static enum rc update_rows(struct store *st, const struct store_call *call,
                           int64_t account_id, const struct key_refs *refs,
                           const char *title, bool seen)
{
    int64_t id = refs->conversation_id;
    enum rc rc = RC_OK;

    if (title != NULL) {
        rc = rename_conversation(st, id, title);
    }
    if (rc == RC_OK && seen) {
        rc = mark_seen(st, account_id, id, call->now_ms);
    }
    if (rc == RC_OK) {
        rc = store_change_conversation(st, account_id, id);
    }
    if (rc == RC_OK && title != NULL) {
        rc = store_audit_call(st, call, account_id, AUDIT_CONVERSATION_UPDATE,
                              ID_CONVERSATION, id);
    }
    return rc == RC_OK ? store_key_bind(st, call, account_id, refs) : rc;
}

enum rc store_conversation_update(struct store *st, struct store_call *call,
                                  int64_t id, const char *title, bool seen,
                                  struct conversation *out)
{
    struct key_refs refs = {.conversation_id = id};
    int64_t account = 0;
    enum rc rc;

    rc = store_account_find(st, call->account, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK) {
        rc = store_conversation_get(st, account, id, call->arena, out);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = update_rows(st, call, account, &refs, title, seen);
    }
    if (rc == RC_OK) {
        rc = store_as_of(st, &call->as_of);
    }
    if (rc == RC_OK) {
        rc = store_conversation_get(st, account, id, call->arena, out);
    }
    return rc;
}

static enum rc forget(struct store *st, enum stmt_id stmt, int64_t id)
{
    struct dbq *q = db_use(st->db, stmt);

    db_bind_i64(q, ":id", id);
    return db_run(q);
}

enum rc store_conversation_remove(struct store *st, int64_t account_id,
                                  int64_t id, struct arena *a)
{
    const struct change_new gone = {.kind = CHANGE_CONVERSATION_DELETED,
                                    .account_id = account_id,
                                    .conversation_id = id};
    struct conversation c = {0};
    enum rc rc = store_conversation_get(st, account_id, id, a, &c);

    if (rc == RC_OK && c.active_runs > 0) {
        rc = RC_CONFLICT;
    }
    if (rc == RC_OK) {
        rc = forget(st, STMT_CONVERSATION_FORGET_PARTS, id);
    }
    if (rc == RC_OK) {
        rc = forget(st, STMT_CONVERSATION_DELETE, id);
    }
    return rc == RC_OK ? store_change_add(st, &gone) : rc;
}

static enum rc delete_rows(struct store *st, const struct store_call *call,
                           int64_t account_id, const struct key_refs *refs)
{
    enum rc rc = store_conversation_remove(st, account_id,
                                           refs->conversation_id, call->arena);

    if (rc == RC_OK) {
        rc = store_audit_call(st, call, account_id, AUDIT_CONVERSATION_DELETE,
                              ID_CONVERSATION, refs->conversation_id);
    }
    return rc == RC_OK ? store_key_bind(st, call, account_id, refs) : rc;
}

enum rc store_conversation_delete(struct store *st, struct store_call *call,
                                  int64_t id)
{
    struct key_refs refs = {.conversation_id = id};
    int64_t account = 0;
    enum rc rc;

    rc = store_account_find(st, call->account, &account);
    if (rc == RC_OK) {
        rc = store_key_find(st, call, account, &refs);
    }
    if (rc == RC_OK && !call->replayed) {
        rc = delete_rows(st, call, account, &refs);
    }
    return rc == RC_OK ? store_as_of(st, &call->as_of) : rc;
}

/* --- messages ---------------------------------------------------------- */

/* Chinese and Japanese are written without spaces. True if a character of
 * theirs, U+3000 to U+9FFF, begins with this byte; no other one has it. */
static bool is_wide(char c)
{
    return (unsigned char)c >= 0xe3 && (unsigned char)c <= 0xe9;
}

/* Where a title that goes on beyond s[0..len) ends; s[len] is the byte that
 * comes next. Between two words, unless the last one is very long. */
static size_t title_end(const char *s, size_t len)
{
    size_t i = len;

    while (i > TITLE_BYTES / 2) {
        if ((unsigned char)s[i] <= ' ' || is_wide(s[i]) || is_wide(s[i - 3])) {
            return s[i - 1] == ' ' ? i - 1 : i;
        }
        i--;
    }
    return len;
}

/* True if a line says nothing more. */
static bool line_is_over(const char *p)
{
    while (*p != '\0' && *p != '\n' && (unsigned char)*p <= ' ') {
        p++;
    }
    return *p == '\0' || *p == '\n';
}

const char *store_title_start(const char *text)
{
    static const char *const labels[] = {"research",      "background research",
                                         "deep research", "研究",
                                         "调研",          NULL};
    const char *start = text;

    while (*start != '\0' && (unsigned char)*start <= ' ') {
        start++;
    }
    for (size_t i = 0; labels[i] != NULL; i++) {
        size_t n = strlen(labels[i]);
        const char *p = start + n;

        if (strncasecmp(start, labels[i], n) != 0 ||
            (*p != ':' && strncmp(p, "：", 3) != 0)) {
            continue;
        }
        p += *p == ':' ? 1 : 3;
        while (*p != '\0' && (unsigned char)*p <= ' ') {
            p++;
        }
        return *p == '\0' ? text : p;
    }
    return text;
}

void store_title_of(const char *body, char *out, size_t out_len)
{
    size_t len = 0;
    bool space = false;
    const char *p;

    /* Room for one more character, a space before it, and an ellipsis. */
    for (p = store_title_start(body);
         *p != '\0' && len < TITLE_BYTES && len + 5 < out_len; p++) {
        if ((unsigned char)*p <= ' ') {
            /* The first line that says something is enough. */
            if (*p == '\n' && len > 0) {
                break;
            }
            space = len > 0;
            continue;
        }
        if (space) {
            out[len++] = ' ';
            space = false;
        }
        out[len++] = *p;
    }
    if (line_is_over(p)) {
        out[len] = '\0';
        return;
    }
    out[len] = *p;
    if (space) {
        out[len] = ' ';
    }
    len = title_end(out, utf8_complete_len(out, len));
    memcpy(out + len, "\xe2\x80\xa6", 4); /* an ellipsis */
}

enum rc store_message_add(struct store *st, int64_t account_id,
                          int64_t conversation_id, const char *body,
                          int64_t now_ms, int64_t *id)
{
    struct change_new made = {.kind = CHANGE_MESSAGE_CREATED,
                              .account_id = account_id,
                              .conversation_id = conversation_id};
    char title[TITLE_BYTES + 8];
    struct dbq *q = db_use(st->db, STMT_MESSAGE_INSERT);
    enum rc rc;

    db_bind_i64(q, ":conversation", conversation_id);
    db_bind_text(q, ":body", body);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run(q);
    if (rc != RC_OK) {
        return rc;
    }
    *id = db_last_id(st->db);
    store_title_of(body, title, sizeof(title));
    q = db_use(st->db, STMT_CONVERSATION_TOUCH);
    db_bind_i64(q, ":id", conversation_id);
    db_bind_i64(q, ":now_ms", now_ms);
    db_bind_text(q, ":title", title);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        made.ref = *id;
        rc = store_change_add(st, &made);
    }
    return rc;
}

static void read_message(struct dbq *q, struct arena *a, void *item)
{
    struct message *m = item;

    m->id = db_i64(q, 0);
    m->conversation_id = db_i64(q, 1);
    m->body = db_text(q, 2, a);
    m->created_ms = db_i64(q, 3);
    m->run_id = db_i64_or(q, 4, 0);
    m->handoff_ids = NULL;
    m->n_handoffs = 0;
}

static enum rc read_handoff_ids(struct store *st, struct arena *a,
                                struct message *m)
{
    struct dbq *q = db_use(st->db, STMT_MESSAGE_HANDOFFS);

    db_bind_i64(q, ":message", m->id);
    return store_read_ids(q, a, &m->handoff_ids, &m->n_handoffs);
}

enum rc store_message_get(struct store *st, int64_t account_id, int64_t id,
                          struct arena *a, struct message *out)
{
    struct dbq *q = db_use(st->db, STMT_MESSAGE_GET);
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    rc = store_read_one(q, a, read_message, out);
    return rc == RC_OK ? read_handoff_ids(st, a, out) : rc;
}

/* The page as read, newest first, turned to oldest first. */
static void turn(struct message *m, size_t n)
{
    for (size_t i = 0; i + 1 < n - i; i++) {
        struct message t = m[i];

        m[i] = m[n - 1 - i];
        m[n - 1 - i] = t;
    }
}

enum rc store_message_page(struct store *st, int64_t conversation_id,
                           int64_t before, int64_t limit, struct arena *a,
                           struct message **out, size_t *n, bool *more)
{
    struct dbq *q = db_use(st->db, STMT_MESSAGE_PAGE);
    struct message *page = NULL;
    size_t count = 0;
    enum rc rc;

    db_bind_i64(q, ":conversation", conversation_id);
    db_bind_i64(q, ":before", before > 0 ? before : INT64_MAX);
    /* One more than asked for tells whether there are older ones. */
    db_bind_i64(q, ":limit", limit + 1);
    rc = store_read_list(q, a, read_message, sizeof(*page), &page, &count);
    *more = (int64_t)count > limit;
    count -= *more ? 1 : 0;
    if (count > 1) {
        turn(page, count);
    }
    for (size_t i = 0; i < count && rc == RC_OK; i++) {
        rc = read_handoff_ids(st, a, &page[i]);
    }
    if (rc == RC_OK) {
        *out = page;
        *n = count;
    }
    return rc;
}
