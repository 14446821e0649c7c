#include "sql/store_audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "sql/store_priv.h"

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

enum rc store_audit_add(struct store *st, const struct audit_new *in)
{
    char id[ID_TEXT_BYTES] = "";
    struct dbq *q = db_use(st->db, STMT_AUDIT_INSERT);

    if (in->subject_id != 0) {
        (void)id_text(in->subject_kind, in->subject_id, id);
    }
    db_bind_i64(q, ":at_ms", in->at_ms);
    db_bind_i64(q, ":account", in->account_id);
    store_bind_word(q, ":actor", LIST_ACTOR_KIND, (int)in->actor.kind);
    db_bind_i64(q, ":actor_id", in->actor.id);
    db_bind_text(q, ":address", or_empty(in->actor.address));
    store_bind_word(q, ":action", LIST_AUDIT_ACTION, (int)in->action);
    db_bind_text(q, ":subject", id);
    db_bind_text(q, ":outcome", or_empty(in->outcome));
    db_bind_text(q, ":detail", or_empty(in->detail));
    return db_run(q);
}

enum rc store_audit_call(struct store *st, const struct store_call *call,
                         int64_t account_id, enum audit_action action,
                         enum id_kind kind, int64_t subject_id)
{
    const struct audit_new in = {.actor = call->actor,
                                 .action = action,
                                 .account_id = account_id,
                                 .subject_kind = kind,
                                 .subject_id = subject_id,
                                 .at_ms = call->now_ms};

    return store_audit_add(st, &in);
}

static void read_line(struct dbq *q, struct arena *a, void *item)
{
    struct audit *line = item;

    line->id = db_i64(q, 0);
    line->at_ms = db_i64(q, 1);
    line->account_id = db_i64(q, 2);
    line->actor = (enum actor_kind)store_word(q, 3, LIST_ACTOR_KIND);
    line->actor_id = db_i64(q, 4);
    line->address = db_text(q, 5, a);
    line->action = (enum audit_action)store_word(q, 6, LIST_AUDIT_ACTION);
    line->subject = db_text(q, 7, a);
    line->outcome = db_text(q, 8, a);
    line->detail = db_text(q, 9, a);
}

enum rc store_audit_page(struct store *st, int64_t account_id, int64_t before,
                         int64_t limit, struct arena *a, struct audit **out,
                         size_t *n)
{
    struct dbq *q =
        db_use(st->db, account_id == 0 ? STMT_AUDIT_PAGE_ALL : STMT_AUDIT_PAGE);

    if (account_id != 0) {
        db_bind_i64(q, ":account", account_id);
    }
    db_bind_i64(q, ":before", before);
    db_bind_i64(q, ":limit", limit);
    return store_read_list(q, a, read_line, sizeof(**out), out, n);
}

enum rc store_audit_prune(struct store *st, int64_t before_ms, int64_t limit,
                          int64_t now_ms, int64_t *n)
{
    char lines[32];
    const struct audit_new line = {.actor = {.kind = ACTOR_RUNTIME},
                                   .action = AUDIT_PRUNE,
                                   .detail = lines,
                                   .at_ms = now_ms};
    struct dbq *q = db_use(st->db, STMT_AUDIT_PRUNE);
    enum rc rc;

    db_bind_i64(q, ":before_ms", before_ms);
    db_bind_i64(q, ":limit", limit);
    rc = db_run(q);
    if (rc == RC_OK) {
        rc = db_one_i64(db_use(st->db, STMT_AUDIT_PRUNED), n);
    }
    if (rc != RC_OK || *n == 0) {
        return rc;
    }
    (void)snprintf(lines, sizeof(lines), "%" PRId64, *n);
    return store_audit_add(st, &line);
}

static void put_or_null(struct json_out *json, const char *name,
                        const char *text)
{
    json_kstr(json, name, text[0] == '\0' ? NULL : text);
}

/* The id of who it was: "run_17", "sess_3"; NULL: has none. */
static const char *id_of_actor(const struct audit *a, char out[ID_TEXT_BYTES])
{
    static const struct {
        bool has;
        enum id_kind kind;
    } ID[ACTOR_KIND__MAX] = {
        [ACTOR_RUN] = {true, ID_RUN},
        [ACTOR_SESSION] = {true, ID_SESSION},
        [ACTOR_TOKEN] = {true, ID_TOKEN},
    };

    return ID[a->actor].has ? id_text(ID[a->actor].kind, a->actor_id, out)
                            : NULL;
}

/* Who it was, as an id where there is one: "run_17", or the command's uid. */
static void put_actor(struct json_out *json, const struct audit *a)
{
    char id[ID_TEXT_BYTES];

    json_kstr(json, "actor", states_text(LIST_ACTOR_KIND, (int)a->actor));
    if (a->actor == ACTOR_COMMAND) {
        json_ki64(json, "uid", a->actor_id);
    }
    json_kstr(json, "actor_id", id_of_actor(a, id));
}

void store_audit_put(struct json_out *json, const struct audit *a)
{
    char id[ID_TEXT_BYTES];

    json_open_object(json);
    json_kstr(json, "id", id_text(ID_AUDIT, a->id, id));
    json_ki64(json, "at", a->at_ms);
    put_actor(json, a);
    put_or_null(json, "address", a->address);
    json_kstr(json, "action", states_text(LIST_AUDIT_ACTION, (int)a->action));
    put_or_null(json, "subject", a->subject);
    put_or_null(json, "outcome", a->outcome);
    put_or_null(json, "detail", a->detail);
    json_close_object(json);
}
