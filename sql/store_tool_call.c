/* store_tool_call.c - tool calls, the sources they brought, and notes. */
#include <string.h>

#include "sql/base/cite.h"
#include "sql/store_effect.h"
#include "sql/store_priv.h"

#define DAY_MS     INT64_C(86400000)
#define WHOLE_NAME 1000000 /* bytes: no name is longer */

static void read_call(struct dbq *q, struct arena *a, void *item)
{
    struct tool_call *t = item;

    t->id = db_i64(q, 0);
    t->run_id = db_i64(q, 1);
    t->request_id = db_i64(q, 2);
    t->n = db_i64(q, 3);
    t->call_id = db_text(q, 4, a);
    t->name = db_text(q, 5, a);
    t->arguments = db_text(q, 6, a);
    t->arguments_cut = false;
    t->state = (enum effect_state)store_word(q, 7, LIST_EFFECT_STATE);
    t->cause = (enum effect_cause)store_word(q, 8, LIST_EFFECT_CAUSE);
    t->result = db_text_or(q, 9, a, NULL);
    t->summary = db_text(q, 10, a);
    t->error = db_text_or(q, 11, a, NULL);
    t->planned_ms = db_i64(q, 12);
    t->started_ms = db_i64_or(q, 13, 0);
    t->ended_ms = db_i64_or(q, 14, 0);
    t->repeats = db_i64_or(q, 15, 0);
    t->safe = db_i64(q, 16) != 0;
    t->acts = db_i64(q, 17) != 0;
    t->admitted_ms = db_i64_or(q, 18, 0);
    t->approval_id = db_i64_or(q, 19, 0);
    if (t->approval_id != 0) {
        t->approval =
            (enum approval_state)store_word(q, 20, LIST_APPROVAL_STATE);
    }
    t->approval_note = db_text_or(q, 21, a, NULL);
    t->unanswered = db_i64(q, 22) != 0;
    t->tool = db_text_or(q, 23, a, NULL);
}

enum rc store_tool_call_get(struct store *st, int64_t account_id, int64_t id,
                            struct arena *a, struct tool_call *out)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_GET);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_call, out);
}

enum rc store_tool_call_of_run(struct store *st, int64_t run_id,
                               struct arena *a, struct tool_call **out,
                               size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    return store_read_list(q, a, read_call, sizeof(**out), out, n);
}

static void read_shown(struct dbq *q, struct arena *a, void *item)
{
    struct tool_call *t = item;

    read_call(q, a, item);
    t->arguments_cut = db_i64(q, 24) != 0;
}

enum rc store_tool_call_shown(struct store *st, int64_t account_id, int64_t id,
                              int64_t chars, struct arena *a,
                              struct tool_call *out)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_SHOWN);

    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    db_bind_i64(q, ":chars", chars);
    return store_read_one(q, a, read_shown, out);
}

enum rc store_tool_call_shown_of_run(struct store *st, int64_t run_id,
                                     int64_t chars, struct arena *a,
                                     struct tool_call **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_SHOWN_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":chars", chars);
    return store_read_list(q, a, read_shown, sizeof(**out), out, n);
}

enum rc store_tool_call_count(struct store *st, int64_t run_id, int64_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_COUNT);

    db_bind_i64(q, ":run", run_id);
    return db_one_i64(q, n);
}

enum rc store_tool_call_number(struct store *st, int64_t run_id, int64_t id,
                               int64_t *number)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_NUMBER);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":id", id);
    return db_one_i64(q, number);
}

enum rc store_tool_call_nth(struct store *st, int64_t run_id, int64_t number,
                            struct arena *a, struct tool_call *out)
{
    struct dbq *q;

    if (number < 1) {
        return RC_NOT_FOUND;
    }
    q = db_use(st->db, STMT_TOOL_CALL_NTH);
    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":skip", number - 1);
    return store_read_one(q, a, read_call, out);
}

enum rc store_tool_call_of_request(struct store *st, int64_t request_id,
                                   struct arena *a, struct tool_call **out,
                                   size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_OF_REQUEST);

    db_bind_i64(q, ":request", request_id);
    return store_read_list(q, a, read_call, sizeof(**out), out, n);
}

enum rc store_tool_call_sent_runs(struct store *st, struct arena *a,
                                  int64_t **ids, size_t *n)
{
    return store_read_ids(db_use(st->db, STMT_TOOL_CALL_ALL_SENT), a, ids, n);
}

enum rc store_tool_call_failed_so(struct store *st, const struct tool_call *t,
                                  bool *out)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_FAILED_SO);
    int64_t n = 0;
    enum rc rc;

    db_bind_i64(q, ":run", t->run_id);
    db_bind_i64(q, ":but", t->request_id);
    db_bind_text(q, ":name", t->name);
    db_bind_text(q, ":error", t->error);
    rc = db_one_i64(q, &n);
    *out = n != 0;
    return rc;
}

static void read_asked(struct dbq *q, struct arena *a, void *item)
{
    struct tool_asked *asked = item;

    asked->id = db_i64(q, 0);
    asked->arguments = db_text(q, 1, a);
}

enum rc store_tool_call_asked(struct store *st, int64_t run_id,
                              const char *name, struct arena *a,
                              struct tool_asked **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_ASKED);

    db_bind_i64(q, ":run", run_id);
    db_bind_text(q, ":name", name);
    return store_read_list(q, a, read_asked, sizeof(**out), out, n);
}

enum rc store_tool_call_same_failed(struct store *st, int64_t run_id,
                                    int64_t *times)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_SAME_FAILED);

    db_bind_i64(q, ":run", run_id);
    return db_one_i64(q, times);
}

enum rc store_tool_call_plan(struct store *st, const struct run *run,
                             struct tool_call *t, int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_INSERT);
    enum rc rc;

    db_bind_i64(q, ":run", run->id);
    db_bind_i64(q, ":request", t->request_id);
    db_bind_i64(q, ":n", t->n);
    db_bind_text(q, ":call_id", t->call_id);
    db_bind_text(q, ":name", t->name);
    db_bind_text(q, ":arguments", t->arguments);
    db_bind_text(q, ":summary", t->summary != NULL ? t->summary : "");
    db_bind_i64(q, ":now_ms", now_ms);
    db_bind_i64_or_null(q, ":repeats", t->repeats);
    db_bind_i64(q, ":safe", t->safe ? 1 : 0);
    db_bind_i64(q, ":acts", t->acts ? 1 : 0);
    db_bind_i64(q, ":known", t->unknown ? 0 : 1);
    db_bind_text(q, ":tool", t->tool);
    rc = db_run(q);
    if (rc == RC_OK) {
        t->id = db_last_id(st->db);
        t->state = EFFECT_PLANNED;
        rc = store_change_of_run(st, run, CHANGE_TOOL_CALL_UPDATED, t->id);
    }
    return rc;
}

enum rc store_tool_call_move(struct store *st, const struct run *run,
                             struct tool_call *t, enum effect_state from,
                             int64_t now_ms)
{
    struct dbq *q;
    enum rc rc;

    if (!states_effect_may_move(from, t->state)) {
        return RC_CONFLICT;
    }
    q = db_use(st->db, STMT_TOOL_CALL_MOVE);
    db_bind_i64(q, ":id", t->id);
    store_bind_word(q, ":from", LIST_EFFECT_STATE, (int)from);
    store_bind_word(q, ":state", LIST_EFFECT_STATE, (int)t->state);
    store_bind_word(q, ":cause", LIST_EFFECT_CAUSE, (int)t->cause);
    db_bind_text(q, ":result", t->result);
    db_bind_text(q, ":summary", t->summary != NULL ? t->summary : "");
    db_bind_text(q, ":error", t->error);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    return rc == RC_OK
               ? store_change_of_run(st, run, CHANGE_TOOL_CALL_UPDATED, t->id)
               : rc;
}

static enum rc count_on_day(struct store *st, const struct run *run,
                            const char *name, int64_t day)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_DAY_ADD);
    enum rc rc;

    db_bind_i64(q, ":account", run->account_id);
    db_bind_i64(q, ":day", day);
    db_bind_text(q, ":name", name);
    rc = db_run(q);
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(st->db, STMT_TOOL_DAY_FORGET);
    db_bind_i64(q, ":account", run->account_id);
    db_bind_i64(q, ":before", day - 1); /* the clock may be put back a little */
    return db_run(q);
}

enum rc store_tool_call_admit(struct store *st, const struct run *run,
                              const struct tool_call *t, int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_ADMIT);
    enum rc rc;

    db_bind_i64(q, ":id", t->id);
    db_bind_i64(q, ":now_ms", now_ms);
    rc = db_run_one(q);
    return rc == RC_OK ? count_on_day(st, run, t->name, now_ms / DAY_MS) : rc;
}

enum rc store_tool_call_made(struct store *st, const struct tool_calls_made *m,
                             int64_t *n)
{
    struct dbq *q = db_use(st->db, m->run_id != 0 ? STMT_TOOL_CALL_MADE_IN_RUN
                                                  : STMT_TOOL_DAY_MADE);

    if (m->run_id != 0) {
        db_bind_i64(q, ":run", m->run_id);
    } else {
        db_bind_i64(q, ":account", m->account_id);
        db_bind_i64(q, ":day", m->day_of_ms / DAY_MS);
    }
    db_bind_text(q, ":name", m->name);
    db_bind_i64(q, ":bytes", m->prefix ? (int64_t)strlen(m->name) : WHOLE_NAME);
    return db_one_i64(q, n);
}

enum rc store_tool_call_say(struct store *st, const struct run *run, int64_t id,
                            const char *summary)
{
    struct dbq *q = db_use(st->db, STMT_TOOL_CALL_SAY);
    enum rc rc;

    db_bind_i64(q, ":id", id);
    db_bind_text(q, ":summary", summary);
    rc = db_run_one(q);
    if (rc == RC_OK) {
        return store_change_of_run(st, run, CHANGE_TOOL_CALL_UPDATED, id);
    }
    return rc == RC_CONFLICT ? RC_OK : rc;
}

/* --- sources ----------------------------------------------------------- */

static void read_source(struct dbq *q, struct arena *a, void *item)
{
    struct source *s = item;

    s->id = db_i64(q, 0);
    s->run_id = db_i64(q, 1);
    s->tool_call_id = db_i64(q, 2);
    s->n = db_i64(q, 3);
    s->passage = db_text(q, 4, a);
    s->title = db_text(q, 5, a);
    s->location = db_text(q, 6, a);
    s->heading = db_text(q, 7, a);
    s->body = db_text(q, 8, a);
    s->body_cut = db_i64(q, 9) != 0;
}

enum rc store_source_get(struct store *st, int64_t account_id, int64_t id,
                         int64_t chars, struct arena *a, struct source *out)
{
    struct dbq *q = db_use(st->db, STMT_SOURCE_GET);

    db_bind_i64(q, ":chars", chars);
    db_bind_i64(q, ":id", id);
    db_bind_i64(q, ":account", account_id);
    return store_read_one(q, a, read_source, out);
}

enum rc store_source_of_run(struct store *st, int64_t run_id, int64_t chars,
                            struct arena *a, struct source **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SOURCE_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":chars", chars);
    return store_read_list(q, a, read_source, sizeof(**out), out, n);
}

enum rc store_source_count(struct store *st, int64_t run_id, int64_t *n)
{
    struct dbq *q = db_use(st->db, STMT_SOURCE_COUNT);

    db_bind_i64(q, ":run", run_id);
    return db_one_i64(q, n);
}

enum rc store_source_by_number(struct store *st, int64_t run_id, int64_t number,
                               struct arena *a, struct source *out)
{
    struct dbq *q = db_use(st->db, STMT_SOURCE_BY_NUMBER);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":n", number);
    return store_read_one(q, a, read_source, out);
}

static enum rc find_source(struct store *st, struct source *s)
{
    struct dbq *q = db_use(st->db, STMT_SOURCE_FIND);
    bool found = false;
    enum rc rc;

    db_bind_i64(q, ":run", s->run_id);
    db_bind_text(q, ":passage", s->passage);
    if (db_next(q)) {
        found = true;
        s->id = db_i64(q, 0);
        s->n = db_i64(q, 1);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_NOT_FOUND : rc;
}

enum rc store_source_add(struct store *st, const struct run *run,
                         struct source *s)
{
    struct dbq *q;
    enum rc rc;

    s->run_id = run->id;
    rc = find_source(st, s);
    if (rc != RC_NOT_FOUND) {
        return rc;
    }
    q = db_use(st->db, STMT_SOURCE_NEXT);
    db_bind_i64(q, ":run", run->id);
    rc = db_one_i64(q, &s->n);
    if (rc != RC_OK) {
        return rc;
    }
    while (cite_is_year(s->n)) {
        s->n++;
    }
    q = db_use(st->db, STMT_SOURCE_INSERT);
    db_bind_i64(q, ":run", run->id);
    db_bind_i64(q, ":tool_call", s->tool_call_id);
    db_bind_i64(q, ":n", s->n);
    db_bind_text(q, ":passage", s->passage);
    db_bind_text(q, ":title", s->title);
    db_bind_text(q, ":location", s->location);
    db_bind_text(q, ":heading", s->heading);
    db_bind_text(q, ":body", s->body);
    rc = db_run(q);
    if (rc == RC_OK) {
        s->id = db_last_id(st->db);
        rc = store_change_of_run(st, run, CHANGE_SOURCE_ADDED, s->id);
    }
    return rc;
}

/* --- pins -------------------------------------------------------------- */

enum rc store_pin_add(struct store *st, int64_t run_id, int64_t number)
{
    struct dbq *q = db_use(st->db, STMT_PIN_ADD);

    db_bind_i64(q, ":run", run_id);
    db_bind_i64(q, ":n", number);
    return db_run(q);
}

enum rc store_pin_of_run(struct store *st, int64_t run_id, struct arena *a,
                         int64_t **numbers, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_PIN_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    return store_read_ids(q, a, numbers, n);
}

/* --- notes ------------------------------------------------------------- */

enum rc store_note_add(struct store *st, int64_t run_id, const char *body,
                       int64_t now_ms)
{
    struct dbq *q = db_use(st->db, STMT_NOTE_INSERT);

    db_bind_i64(q, ":run", run_id);
    db_bind_text(q, ":body", body);
    db_bind_i64(q, ":now_ms", now_ms);
    return db_run(q);
}

static void read_note(struct dbq *q, struct arena *a, void *item)
{
    struct note *note = item;

    note->id = db_i64(q, 0);
    note->body = db_text(q, 1, a);
}

enum rc store_note_of_run(struct store *st, int64_t run_id, struct arena *a,
                          struct note **out, size_t *n)
{
    struct dbq *q = db_use(st->db, STMT_NOTE_OF_RUN);

    db_bind_i64(q, ":run", run_id);
    return store_read_list(q, a, read_note, sizeof(**out), out, n);
}
