#include "sql/store_server.h"

#include "sql/store_priv.h"

static void read_server(struct dbq *q, struct arena *a, void *item)
{
    struct server *s = item;

    s->kind = db_text(q, 0, a);
    s->name = db_text(q, 1, a);
    s->state = (enum endpoint_state)store_word(q, 2, LIST_ENDPOINT_STATE);
    s->detail = db_text(q, 3, a);
    s->tools = db_i64(q, 4);
    s->changed_ms = db_i64(q, 5);
}

enum rc store_server_list(struct store *st, struct arena *a,
                          struct server **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SERVER_LIST);

    return store_read_list(q, a, read_server, sizeof(**out), out, n);
}

enum rc store_server_set(struct store *st, const struct server *s,
                         int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_SERVER_SET);

    db_bind_text(q, ":kind", s->kind);
    db_bind_text(q, ":name", s->name);
    store_bind_word(q, ":state", LIST_ENDPOINT_STATE, (int)s->state);
    db_bind_text(q, ":detail", s->detail);
    db_bind_i64(q, ":tools", s->tools);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_run(q);
}

enum rc store_server_forget(struct store *st)
{
    return db_run(db_use(st->db, STMT_SERVER_FORGET));
}
