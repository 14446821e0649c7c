/* check_moves.c - every move of every machine, tried on rows: what the table
 * has is committed, anything else changes nothing, also when the caller is
 * mistaken about the state that the row is in. */
#include <string.h>

#include "sql/base/clock.h"
#include "sql/store_effect.h"
#include "sql/store_handoff.h"
#include "sql/store_priv.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static struct store *st;
static struct arena *mem;
static struct conf conf;
static int64_t conv;
static int keys;

static struct store_call call(void)
{
    char *key = arena_printf(mem, "key %d", ++keys);
    struct store_call c = {.account = "me",
                           .key = key,
                           .now_ms = clock_unix_ms(),
                           .conf = &conf,
                           .arena = mem};

    hash_sha256(key, strlen(key), c.fingerprint);
    return c;
}

/* One try in one transaction: claimed -> to, on a row that is in from. */
struct
try {
    struct run run;
    struct request request;
    struct tool_call tool_call;
    struct handoff handoff;
    int from, claimed, to;
    enum rc result;
};

/* --- things to move ----------------------------------------------------- */

static enum rc begin(struct store *s, void *arg)
{
    struct try *t = arg;
    struct store_call c = call();
    struct conversation x;
    enum rc rc = store_conversation_create(s, &c, "", &x);

    (void)t;
    conv = x.id;
    return rc;
}

static enum rc new_run(struct store *s, void *arg)
{
    struct try *t = arg;
    struct store_call c = call();
    struct message m;
    const struct message_new in = {
        .conversation_id = conv, .body = "research", .background = true};

    return store_message_send(s, &c, &in, &m, &t->run);
}

static enum rc new_request(struct store *s, struct try *t)
{
    struct request_new in = {
        .purpose = PURPOSE_RESEARCH, .attempt = 1, .tail = "]}", .now_ms = 5};
    enum rc rc = store_segment_add(s, 0, 0, "{", 1, &in.segment_id);

    return rc == RC_OK ? store_request_plan(s, &t->run, &in, mem, &t->request)
                       : rc;
}

static enum rc new_call(struct store *s, struct try *t)
{
    enum rc rc = new_request(s, t);

    t->tool_call = (struct tool_call){.run_id = t->run.id,
                                      .request_id = t->request.id,
                                      .call_id = "c",
                                      .name = "note",
                                      .arguments = "{}",
                                      .summary = ""};
    return rc == RC_OK ? store_tool_call_plan(s, &t->run, &t->tool_call, 6)
                       : rc;
}

/* --- moving them -------------------------------------------------------- */

static enum rc move_request(struct store *s, struct try *t,
                            enum effect_state claimed, enum effect_state to)
{
    struct request q = t->request;

    if (claimed == EFFECT_PLANNED && to == EFFECT_SENT) {
        return store_request_send(s, &t->run, &q, 1000, 7);
    }
    q.state = to;
    return store_request_settle(s, &t->run, &q, claimed, 8);
}

static enum rc move_call(struct store *s, struct try *t,
                         enum effect_state claimed, enum effect_state to)
{
    struct tool_call c = t->tool_call;

    c.state = to;
    return store_tool_call_move(s, &t->run, &c, claimed, 8);
}

typedef enum rc new_effect(struct store *, struct try *);
typedef enum rc move_effect(struct store *, struct try *, enum effect_state,
                            enum effect_state);

/* Bring it to the state from by allowed moves, then try. */
static enum rc try_effect(struct store *s, struct try *t, new_effect *make,
                          move_effect *move)
{
    enum effect_state from = (enum effect_state)t->from;
    enum effect_state at = EFFECT_PLANNED;
    enum rc rc = make(s, t);

    if (rc == RC_OK && from != EFFECT_PLANNED && from != EFFECT_SKIPPED) {
        rc = move(s, t, at, EFFECT_SENT);
        at = EFFECT_SENT;
    }
    if (rc == RC_OK && from != at) {
        rc = move(s, t, at, from);
    }
    if (rc == RC_OK) {
        t->result =
            move(s, t, (enum effect_state)t->claimed, (enum effect_state)t->to);
    }
    return rc;
}

static enum rc try_request(struct store *s, void *arg)
{
    return try_effect(s, arg, new_request, move_request);
}

static enum rc try_call(struct store *s, void *arg)
{
    return try_effect(s, arg, new_call, move_call);
}

static enum effect_state request_now(struct try *t)
{
    ck_assert_int_eq(store_request_get(st, 0, t->request.id, mem, &t->request),
                     RC_OK);
    return t->request.state;
}

static enum effect_state call_now(struct try *t)
{
    ck_assert_int_eq(
        store_tool_call_get(st, 0, t->tool_call.id, mem, &t->tool_call), RC_OK);
    return t->tool_call.state;
}

static void each_effect_move(store_fn *try_it,
                             enum effect_state (*now)(struct try *))
{
    struct try t = {0};

    ck_assert_int_eq(store_tx(st, new_run, &t), RC_OK);
    for (t.from = 0; t.from < EFFECT_STATE__MAX; t.from++) {
        for (t.claimed = 0; t.claimed < EFFECT_STATE__MAX; t.claimed++) {
            for (t.to = 0; t.to < EFFECT_STATE__MAX; t.to++) {
                bool may = t.claimed == t.from &&
                           states_effect_may_move((enum effect_state)t.from,
                                                  (enum effect_state)t.to);

                ck_assert_int_eq(store_tx(st, try_it, &t), RC_OK);
                ck_assert_msg(t.result == (may ? RC_OK : RC_CONFLICT) &&
                                  (int)now(&t) == (may ? t.to : t.from),
                              "%d, claimed %d, to %d: %s, now %d", t.from,
                              t.claimed, t.to, rc_name(t.result), (int)now(&t));
                arena_reset(mem);
            }
        }
    }
}

START_TEST(model_requests)
{
    each_effect_move(try_request, request_now);
}
END_TEST

START_TEST(tool_calls)
{
    each_effect_move(try_call, call_now);
}
END_TEST

/* --- Runs --------------------------------------------------------------- */

static enum rc move_run(struct store *s, struct try *t, int claimed, int to)
{
    struct run r = t->run;
    const struct run_end end = {.state = (enum run_state)to,
                                .reason = to == RUN_COMPLETED ? REASON_NONE
                                                              : REASON_DEADLINE,
                                .now_ms = 9};

    r.state = (enum run_state)claimed;
    if (states_run_ended(end.state)) {
        return store_run_end(s, &r, &end);
    }
    if (states_run_ended(r.state)) {
        return RC_CONFLICT; /* there is no function for it */
    }
    r.state = end.state;
    r.waiting_since_ms = r.state == RUN_AWAITING_INPUT ? 9 : 0;
    return store_run_save(s, &r);
}

static enum rc try_run(struct store *s, void *arg)
{
    struct try *t = arg;
    enum rc rc = new_run(s, t);

    if (rc == RC_OK && t->from != RUN_RUNNING) {
        rc = move_run(s, t, RUN_RUNNING, t->from);
    }
    if (rc == RC_OK) {
        t->result = move_run(s, t, t->claimed, t->to);
    }
    return rc;
}

/* Staying is no move, and saving a Run that is active is allowed. */
static bool run_may(int from, int claimed, int to)
{
    if (from == to) {
        return !states_run_ended((enum run_state)from) &&
               !states_run_ended((enum run_state)claimed);
    }
    return claimed == from &&
           states_run_may_move((enum run_state)from, (enum run_state)to);
}

START_TEST(runs)
{
    struct try t = {0};

    for (t.from = 0; t.from < RUN_STATE__MAX; t.from++) {
        for (t.to = 0; t.to < RUN_STATE__MAX; t.to++) {
            bool may = run_may(t.from, t.from, t.to);

            t.claimed = t.from;
            ck_assert_int_eq(store_tx(st, try_run, &t), RC_OK);
            ck_assert_int_eq(store_run_get(st, 0, t.run.id, false, mem, &t.run),
                             RC_OK);
            ck_assert_msg(t.result == (may ? RC_OK : RC_CONFLICT) &&
                              (int)t.run.state == (may ? t.to : t.from),
                          "%d to %d: %s, now %d", t.from, t.to,
                          rc_name(t.result), (int)t.run.state);
            arena_reset(mem);
        }
    }
}
END_TEST

/* An end that somebody else has come to before: whoever is late is told. */
START_TEST(an_end_that_came_first_stays)
{
    struct try t = {.from = RUN_STOPPED, .claimed = RUN_RUNNING};

    for (t.to = 0; t.to < RUN_STATE__MAX; t.to++) {
        ck_assert_int_eq(store_tx(st, try_run, &t), RC_OK);
        ck_assert_int_eq(t.result, RC_CONFLICT);
        ck_assert_int_eq(store_run_get(st, 0, t.run.id, false, mem, &t.run),
                         RC_OK);
        ck_assert_int_eq(t.run.state, RUN_STOPPED);
    }
}
END_TEST

/* --- handoffs ----------------------------------------------------------- */

static enum rc new_handoff(struct store *s, void *arg)
{
    struct try *t = arg;
    struct store_call c = call();
    struct message m;
    enum rc rc = store_run_adjust(s, &c, t->run.id, "more", &m, &t->handoff);

    if (rc == RC_OK) {
        rc = new_request(s, t);
    }
    return rc == RC_OK ? store_handoff_plan(s, t->run.id, t->request.id) : rc;
}

static enum rc hand(struct store *s, void *arg)
{
    struct try *t = arg;

    return store_handoff_hand(s, &t->run, t->request.id, 9);
}

static enum rc drop(struct store *s, void *arg)
{
    struct try *t = arg;

    return store_handoff_drop(s, &t->run, HANDOFF_BUDGET);
}

START_TEST(handoffs)
{
    store_fn *const moves[] = {hand, drop};
    const enum handoff_state to[] = {HANDOFF_HANDED, HANDOFF_NOT_APPLIED};
    struct try t = {0};
    struct handoff h;

    ck_assert_int_eq(store_tx(st, new_run, &t), RC_OK);
    for (int first = 0; first < 2; first++) {
        for (int second = 0; second < 2; second++) {
            ck_assert_int_eq(store_tx(st, new_handoff, &t), RC_OK);
            ck_assert_int_eq(t.handoff.state, HANDOFF_RECEIVED);
            ck_assert_int_eq(store_tx(st, moves[first], &t), RC_OK);
            ck_assert_int_eq(store_tx(st, moves[second], &t), RC_OK);
            ck_assert_int_eq(store_handoff_get(st, 0, t.handoff.id, &h), RC_OK);
            ck_assert_int_eq(h.state, to[first]);
        }
    }
}
END_TEST

static void set_up(void)
{
    struct try t = {0};
    char err[200];
    const char *dir = tmp_make();

    mem = arena_new(64u << 20);
    keys = 0;
    ck_assert_int_eq(conf_load(NULL, &conf, err, sizeof(err)), RC_OK);
    conf.background_limit = 1000;
    ck_assert_int_eq(store_open(dir, 2000, &st), RC_OK);
    ck_assert_int_eq(store_tx(st, begin, &t), RC_OK);
}

static void tear_down(void)
{
    store_close(st);
    arena_free(mem);
    conf_free(&conf);
    tmp_remove();
}

Suite *moves_suite(void)
{
    Suite *s = suite_create("moves");
    TCase *t = tcase_create("moves");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, model_requests);
    tcase_add_test(t, tool_calls);
    tcase_add_test(t, runs);
    tcase_add_test(t, an_end_that_came_first_stays);
    tcase_add_test(t, handoffs);
    suite_add_tcase(s, t);
    return s;
}
