/* store_search.c - see store_search.h. */
#include "sql/store_search.h"

#include "sql/store_priv.h"

static void read_message(struct dbq *q, struct arena *a, void *out)
{
    struct searchable *s = out;

    *s = (struct searchable){.id = db_i64(q, 0),
                             .account_id = db_i64(q, 1),
                             .at_ms = db_i64(q, 2),
                             .title = "",
                             .text = db_text(q, 3, a)};
}

static void read_answer(struct dbq *q, struct arena *a, void *out)
{
    struct searchable *s = out;

    *s = (struct searchable){.id = db_i64(q, 0),
                             .account_id = db_i64(q, 1),
                             .seq = db_i64(q, 2),
                             .at_ms = db_i64(q, 3),
                             .title = db_text(q, 4, a),
                             .text = db_text(q, 5, a)};
}

enum rc store_search_messages(struct store *st, int64_t after, int64_t limit,
                              struct arena *a, struct searchable **out,
                              size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SEARCHABLE_MESSAGES);

    db_bind_i64(q, ":after", after);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_message, sizeof(**out), out, n);
}

enum rc store_search_answers(struct store *st, int64_t after, int64_t limit,
                             struct arena *a, struct searchable **out,
                             size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SEARCHABLE_ANSWERS);

    db_bind_i64(q, ":after", after);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_answer, sizeof(**out), out, n);
}

enum rc store_search_deleted(struct store *st, int64_t *seq)
{
    return db_one_i64(db_use(st->db, STMT_SEARCHABLE_DELETED), seq);
}
