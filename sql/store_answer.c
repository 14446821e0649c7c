/* store_answer.c - the text of an answer: revisions and parts (R05).
 *
 * While a Run works, its answer's text is in the parts of the feed; when it
 * ends, the text is kept whole, so that the feed may be pruned. */
#include "sql/base/buf.h"
#include "sql/base/utf8.h"
#include "sql/store_priv.h"

#define ANSWER_LIMIT_BYTES (4u << 20)
/* A part must fit into a page of the feed, whatever came at once. */
#define PART_BYTES 8192

/* The row's answer: this many parts of this revision. */
static enum rc write_answer(struct store *st, const struct run *r)
{
    struct dbq *q = db_use(st->db, STMT_RUN_ANSWER);

    db_bind_i64(q, ":id", r->id);
    db_bind_i64(q, ":revision", r->answer_revision);
    db_bind_i64(q, ":parts", r->answer_parts);
    db_bind_i64(q, ":draft", r->answer_draft ? 1 : 0);
    return db_run_one(q);
}

static enum rc open_revision(struct store *st, struct run *r, bool draft)
{
    struct run next = *r;
    enum rc rc;

    next.answer_revision++;
    next.answer_parts = 0;
    next.answer_draft = draft;
    rc = write_answer(st, &next);
    if (rc == RC_OK) {
        *r = next;
        rc = store_change_of_run(st, r, CHANGE_RUN_UPDATED, 0);
    }
    return rc;
}

enum rc store_answer_open(struct store *st, struct run *r)
{
    return open_revision(st, r, false);
}

enum rc store_answer_open_draft(struct store *st, struct run *r)
{
    return open_revision(st, r, true);
}

static enum rc add_part(struct store *st, const struct run *r, const char *text,
                        size_t len)
{
    struct dbq *q = db_use(st->db, STMT_CHANGE_INSERT);

    db_bind_i64(q, ":account", r->account_id);
    store_bind_word(q, ":kind", LIST_CHANGE_KIND, CHANGE_ANSWER_PART);
    db_bind_i64(q, ":conversation", r->conversation_id);
    db_bind_i64(q, ":run", r->id);
    db_bind_null(q, ":ref");
    db_bind_i64(q, ":revision", r->answer_revision);
    db_bind_i64(q, ":part", r->answer_parts + 1);
    db_bind_textn(q, ":body", text, len);
    return db_run(q);
}

static enum rc add_next(struct store *st, struct run *r, const char *text,
                        size_t len)
{
    struct run next = *r;
    enum rc rc;

    next.answer_parts++;
    rc = write_answer(st, &next);
    if (rc == RC_OK) {
        rc = add_part(st, r, text, len);
    }
    if (rc == RC_OK) {
        *r = next;
    }
    return rc;
}

enum rc store_answer_add(struct store *st, struct run *r, const char *text,
                         size_t len)
{
    enum rc rc = RC_OK;

    while (len > 0 && rc == RC_OK) {
        size_t part = utf8_clip(text, len, PART_BYTES);

        rc = add_next(st, r, text, part);
        text += part;
        len -= part;
    }
    return rc;
}

static enum rc kept_text(struct store *st, int64_t run_id, struct arena *a,
                         const char **out)
{
    struct dbq *q = db_use(st->db, STMT_ANSWER_GET);

    *out = "";
    db_bind_i64(q, ":run", run_id);
    if (db_next(q)) {
        *out = db_text(q, 0, a);
    }
    return db_end(q);
}

enum rc store_answer_text(struct store *st, const struct run *r,
                          struct arena *a, const char **out)
{
    struct buf text;
    struct dbq *q;
    enum rc rc;

    if (states_run_ended(r->state)) {
        return kept_text(st, r->id, a, out);
    }
    if (r->answer_parts == 0) {
        *out = "";
        return RC_OK;
    }
    buf_init(&text, ANSWER_LIMIT_BYTES);
    q = db_use(st->db, STMT_ANSWER_PARTS);
    db_bind_i64(q, ":run", r->id);
    db_bind_i64(q, ":revision", r->answer_revision);
    while (db_next(q)) {
        buf_puts(&text, db_peek(q, 0));
    }
    rc = db_end(q);
    if (rc == RC_OK) {
        rc = buf_rc(&text);
    }
    if (rc == RC_OK) {
        *out = arena_strndup(a, buf_str(&text), text.len);
        rc = *out == NULL ? RC_TOO_LARGE : RC_OK;
    }
    buf_free(&text);
    return rc;
}
