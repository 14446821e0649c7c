/* search.c - see search.h. */
#include "sql/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/schema.h"
#include "sql/base/log.h"
#include "sql/base/utf8.h"
#include "sql/db.h"
#include "sql/library_query.h"
#include "sql/store_search.h"

/* Taken in by one call: what is new since is one transaction. */
#define STEP_TEXTS   1000
#define STEP_BYTES   ((size_t)4 << 20)
#define WORK_BYTES   ((size_t)256 << 20)
#define LONGEST_TEXT ((size_t)256 << 10) /* of one text, in bytes */

/* A place: milliseconds, whether it is an answer, and bits of the id. */
#define ID_BITS 19

struct search {
    struct db *db;
    struct arena *work; /* reset by every call that uses it */
};

enum rc search_open(const char *dir, int64_t busy_ms, struct search **out)
{
    struct search *s = calloc(1, sizeof(*s));
    const char *path = NULL;
    enum rc rc = RC_NOMEM;

    if (s == NULL) {
        return RC_NOMEM;
    }
    s->work = arena_new(WORK_BYTES);
    if (s->work != NULL) {
        path = arena_printf(s->work, "%s/search.db", dir);
    }
    if (path != NULL) {
        rc = db_open(&(struct db_options){.path = path,
                                          .migrations = SCHEMA_SEARCH,
                                          .n_migrations = SCHEMA_SEARCH_COUNT,
                                          .busy_ms = busy_ms},
                     &s->db);
    }
    if (rc != RC_OK) {
        search_close(s);
        return rc;
    }
    *out = s;
    return RC_OK;
}

void search_close(struct search *s)
{
    if (s != NULL) {
        if (s->db != NULL) {
            db_close(s->db);
        }
        arena_free(s->work);
        free(s);
    }
}

void search_discard(const char *dir)
{
    static const char *const END[] = {"", "-wal", "-shm"};
    char path[4096];

    log_warn(NULL, "search.db is damaged: it is made anew");
    for (size_t i = 0; i < sizeof(END) / sizeof(END[0]); i++) {
        int len = snprintf(path, sizeof(path), "%s/search.db%s", dir, END[i]);

        if (len > 0 && (size_t)len < sizeof(path)) {
            (void)unlink(path);
        }
    }
}

/* --- catching up ------------------------------------------------------- */

struct state {
    const char *feed;
    int64_t deleted_seq;
    int64_t message_id;
    int64_t ended_seq;
};

struct catching_up {
    struct search *search;
    struct store *store;
    const char *feed;
    int64_t deleted_seq;
    int64_t left; /* texts that may still be taken in */
    bool complete;
};

static enum rc read_state(struct search *s, struct state *out)
{
    struct dbq *q = db_use(s->db, STMT_SEARCH_STATE);
    bool found = db_next(q);
    enum rc rc;

    *out = (struct state){.feed = ""};
    if (found) {
        out->feed = db_text(q, 0, s->work);
        out->deleted_seq = db_i64(q, 1);
        out->message_id = db_i64(q, 2);
        out->ended_seq = db_i64(q, 3);
    }
    rc = db_end(q);
    return rc == RC_OK && !found ? RC_DB : rc;
}

static enum rc write_state(struct search *s, const struct state *state)
{
    struct dbq *q = db_use(s->db, STMT_SEARCH_STATE_SET);

    db_bind_text(q, ":feed", state->feed);
    db_bind_i64(q, ":deleted_seq", state->deleted_seq);
    db_bind_i64(q, ":message_id", state->message_id);
    db_bind_i64(q, ":ended_seq", state->ended_seq);
    return db_run(q);
}

/* Begin anew where what it was made from is not what is there. */
static enum rc clear_if_stale(struct search *s, const struct catching_up *c,
                              struct state *state)
{
    enum rc rc;

    if (strcmp(state->feed, c->feed) == 0 &&
        state->deleted_seq == c->deleted_seq) {
        return RC_OK;
    }
    *state = (struct state){.feed = c->feed, .deleted_seq = c->deleted_seq};
    rc = db_run(db_use(s->db, STMT_SEARCH_CLEAR));
    return rc == RC_OK ? db_run(db_use(s->db, STMT_SEARCH_CLEAR_WORDS)) : rc;
}

static int64_t place_of(const struct searchable *x, bool answer)
{
    const int64_t mask = ((int64_t)1 << ID_BITS) - 1;
    int64_t at = x->at_ms > 0 ? x->at_ms : 0;

    return at << (ID_BITS + 1) | (int64_t)answer << ID_BITS | (x->id & mask);
}

static enum rc add(struct search *s, const struct searchable *x, bool answer)
{
    size_t len = utf8_clip(x->text, strlen(x->text), LONGEST_TEXT);
    const char *text =
        arena_printf(s->work, "%s\n%.*s", x->title, (int)len, x->text);
    int64_t place = place_of(x, answer);
    struct dbq *q;
    enum rc rc;

    text = text != NULL ? library_query_spaced(text, s->work) : NULL;
    if (text == NULL) {
        return RC_NOMEM;
    }
    q = db_use(s->db, STMT_SEARCH_ADD);
    db_bind_i64(q, ":place", place);
    db_bind_i64_or_null(q, ":message", answer ? 0 : x->id);
    db_bind_i64_or_null(q, ":run", answer ? x->id : 0);
    rc = db_run_one(q);
    if (rc != RC_OK) {
        return rc;
    }
    q = db_use(s->db, STMT_SEARCH_ADD_WORDS);
    db_bind_i64(q, ":place", place);
    db_bind_text(q, ":account",
                 arena_printf(s->work, "a%" PRId64, x->account_id));
    db_bind_text(q, ":text", text);
    return db_run(q);
}

typedef enum rc read_fn(struct store *, int64_t after, int64_t limit,
                        struct arena *, struct searchable **, size_t *n);

/* Take in one kind of text; *upto becomes how far that went. */
static enum rc take_in(struct catching_up *c, bool answer, int64_t *upto)
{
    read_fn *const read = answer ? store_search_answers : store_search_messages;
    struct search *s = c->search;
    struct searchable *list = NULL;
    size_t bytes = 0;
    size_t n = 0;
    size_t i;
    enum rc rc = RC_OK;

    if (c->left > 0) {
        rc = read(c->store, *upto, c->left, s->work, &list, &n);
    }
    for (i = 0; i < n && rc == RC_OK && bytes < STEP_BYTES; i++) {
        bytes += strlen(list[i].text);
        rc = add(s, &list[i], answer);
        /* Two texts of one place: one of them cannot be found. */
        rc = rc == RC_CONFLICT ? RC_OK : rc;
        *upto = answer ? list[i].seq : list[i].id;
        c->left--;
    }
    c->complete = c->complete && c->left > 0 && i == n;
    return rc;
}

static enum rc catch_up(struct db *db, void *arg)
{
    struct catching_up *c = arg;
    struct search *s = c->search;
    struct state state;
    enum rc rc = read_state(s, &state);

    (void)db;
    c->left = STEP_TEXTS;
    c->complete = true;
    if (rc == RC_OK) {
        rc = clear_if_stale(s, c, &state);
    }
    if (rc == RC_OK) {
        rc = take_in(c, false, &state.message_id);
    }
    if (rc == RC_OK) {
        rc = take_in(c, true, &state.ended_seq);
    }
    return rc == RC_OK ? write_state(s, &state) : rc;
}

/* Without the write lock: is there anything to do? */
static enum rc is_current(struct catching_up *c, bool *out)
{
    struct search *s = c->search;
    struct searchable *list = NULL;
    struct state state;
    size_t messages = 0;
    size_t answers = 0;
    enum rc rc = read_state(s, &state);

    if (rc == RC_OK) {
        rc = store_search_messages(c->store, state.message_id, 1, s->work,
                                   &list, &messages);
    }
    if (rc == RC_OK) {
        rc = store_search_answers(c->store, state.ended_seq, 1, s->work, &list,
                                  &answers);
    }
    *out = rc == RC_OK && messages == 0 && answers == 0 &&
           strcmp(state.feed, c->feed) == 0 &&
           state.deleted_seq == c->deleted_seq;
    return rc;
}

enum rc search_catch_up(struct search *s, struct store *st,
                        const struct store_view *view, bool *complete)
{
    struct catching_up c = {.search = s, .store = st, .feed = view->feed};
    bool current = false;
    enum rc rc = store_search_deleted(st, &c.deleted_seq);

    if (rc == RC_OK) {
        rc = is_current(&c, &current);
    }
    if (rc == RC_OK && !current) {
        rc = db_tx(s->db, catch_up, &c);
    }
    arena_reset(s->work);
    *complete = rc == RC_OK && (current || c.complete);
    return rc;
}

/* --- finding ----------------------------------------------------------- */

/* account : "a1" AND text : ("wal" AND "check" *); NULL at the limit. */
static const char *expression(const struct library_terms *t, int64_t account,
                              struct arena *a)
{
    const char *all = library_query_join(t, " AND ", a);

    return all == NULL
               ? NULL
               : arena_printf(a, "account : \"a%" PRId64 "\" AND text : (%s *)",
                              account, all);
}

enum rc search_find(struct search *s, const struct search_query *query,
                    struct arena *a, struct search_hit **out, size_t *n)
{
    struct library_terms terms;
    struct search_hit *hits;
    struct dbq *q;
    enum rc rc = library_query_terms(query->text, s->work, &terms);
    const char *match;

    *n = 0;
    if (rc != RC_OK || terms.n == 0) {
        return rc;
    }
    match = expression(&terms, query->account_id, s->work);
    hits = arena_alloc(a, (size_t)query->limit * sizeof(hits[0]));
    if (match == NULL || hits == NULL) {
        return RC_NOMEM;
    }
    q = db_use(s->db, STMT_SEARCH_FIND);
    db_bind_text(q, ":query", match);
    db_bind_i64(q, ":before", query->before);
    db_bind_i64(q, ":limit", query->limit);
    while (db_next(q) && *n < (size_t)query->limit) {
        hits[(*n)++] = (struct search_hit){.place = db_i64(q, 0),
                                           .message_id = db_i64_or(q, 1, 0),
                                           .run_id = db_i64_or(q, 2, 0)};
    }
    rc = db_end(q);
    arena_reset(s->work);
    *out = hits;
    return rc;
}

/* --- snippets ---------------------------------------------------------- */

/* Where a word of the query stands in text, or its start. */
static size_t first_word(const struct library_terms *t, const char *text)
{
    const char *first = NULL;

    for (size_t i = 0; i < t->n; i++) {
        char word[128];
        size_t len = 0;
        const char *at;

        /* The quotes of the term go, and the blank within a pair. */
        for (const char *c = t->term[i]; *c != '\0' && len < 127; c++) {
            if (*c != '"' && (*c != ' ')) {
                word[len++] = *c;
            }
        }
        word[len] = '\0';
        at = len > 0 ? strcasestr(text, word) : NULL;
        if (at != NULL && (first == NULL || at < first)) {
            first = at;
        }
    }
    return first != NULL ? (size_t)(first - text) : 0;
}

const char *search_snippet(const char *query, const char *text,
                           size_t max_bytes, struct arena *a)
{
    struct library_terms terms = {.n = 0};
    size_t at = library_query_terms(query, a, &terms) == RC_OK
                    ? first_word(&terms, text)
                    : 0;
    size_t before = at > max_bytes / 3 ? max_bytes / 3 : at;
    size_t from = at - before;
    size_t len;
    char *out;

    while (from > 0 && ((unsigned char)text[from] & 0xC0) == 0x80) {
        from--;
    }
    len = utf8_clip(text + from, strlen(text + from), max_bytes);
    out = arena_printf(a, "%s%.*s%s", from > 0 ? "\xe2\x80\xa6" : "", (int)len,
                       text + from,
                       text[from + len] != '\0' ? "\xe2\x80\xa6" : "");
    if (out != NULL) {
        utf8_one_line(out);
    }
    return out;
}
