/* check_store.c - the store against a real file: accepting, slots, keys,
 * receipts, ends, bodies, the feed. Tests name the rule they hold. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/store_change.h"
#include "sql/store_effect.h"
#include "sql/store_forget.h"
#include "sql/store_handoff.h"
#include "sql/store_lease.h"
#include "sql/store_page.h"
#include "sql/store_priv.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

static struct store *st;
static struct arena *mem;
static struct conf conf;
static const char *dir;
static int64_t conv;

static struct store_call call_of(const char *account, const char *key)
{
    struct store_call c = {.account = account,
                           .key = key,
                           .now_ms = clock_unix_ms(),
                           .conf = &conf,
                           .arena = mem};

    if (key != NULL) {
        hash_sha256(key, 1, c.fingerprint);
    }
    return c;
}

/* Every test step is one transaction: fn of (store, arg). */
struct step {
    struct store_call call;
    const char *text;
    int64_t id;
    bool background;
    struct conversation conversation;
    struct message message;
    struct run run;
    struct handoff handoff;
};

static enum rc do_create(struct store *s, void *arg)
{
    struct step *x = arg;

    return store_conversation_create(s, &x->call, x->text, &x->conversation);
}

static enum rc do_send(struct store *s, void *arg)
{
    struct step *x = arg;
    const struct message_new in = {
        .conversation_id = x->id, .body = x->text, .background = x->background};

    return store_message_send(s, &x->call, &in, &x->message, &x->run);
}

static enum rc do_stop(struct store *s, void *arg)
{
    struct step *x = arg;

    return store_run_stop(s, &x->call, x->id, &x->run);
}

static enum rc do_adjust(struct store *s, void *arg)
{
    struct step *x = arg;

    return store_run_adjust(s, &x->call, x->id, x->text, &x->message,
                            &x->handoff);
}

static enum rc do_delete(struct store *s, void *arg)
{
    struct step *x = arg;

    return store_conversation_delete(s, &x->call, x->id);
}

static struct step send_as(const char *account, const char *key,
                           const char *text, bool background, enum rc want)
{
    struct step x = {.call = call_of(account, key),
                     .text = text,
                     .id = conv,
                     .background = background};

    ck_assert_int_eq(store_tx(st, do_send, &x), want);
    return x;
}

static enum rc do_forget(struct store *s, void *arg)
{
    return store_old_delete(s, arg, clock_unix_ms(), mem);
}

static void set_up(void)
{
    char err[200];
    struct step x = {0};

    dir = tmp_make();
    mem = arena_new(64u << 20);
    ck_assert_int_eq(conf_load(NULL, &conf, err, sizeof(err)), RC_OK);
    ck_assert_int_eq(store_open(dir, 2000, &st), RC_OK);
    x.call = call_of("me", "create");
    x.text = "";
    ck_assert_int_eq(store_tx(st, do_create, &x), RC_OK);
    conv = x.conversation.id;
}

static void tear_down(void)
{
    store_close(st);
    arena_free(mem);
    conf_free(&conf);
    tmp_remove();
}

/* Between looking for what is old and removing it a person may write, and be
 * answered. */
START_TEST(what_was_touched_meanwhile_is_not_old)
{
    struct store_old *old = NULL;
    size_t n = 0;
    struct step x;

    ck_assert_int_eq(
        store_old_list(st, clock_unix_ms() + 1000, 9, 8, mem, &old, &n), RC_OK);
    ck_assert_uint_eq(n, 1);
    (void)usleep(2000);
    x = send_as("me", "k", "still here?", false, RC_OK);
    ck_assert_int_eq(store_tx(st, do_forget, old), RC_CONFLICT);
    (void)usleep(2000);
    x = (struct step){.call = call_of("me", NULL), .id = x.run.id};
    ck_assert_int_eq(store_tx(st, do_stop, &x), RC_OK);
    ck_assert_int_eq(store_tx(st, do_forget, old), RC_CONFLICT);
    /* The end of a Run touches its conversation too. */
    ck_assert_int_eq(store_old_list(st, x.run.ended_ms, 9, 8, mem, &old, &n),
                     RC_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(
        store_old_list(st, x.run.ended_ms + 1, 9, 8, mem, &old, &n), RC_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(store_tx(st, do_forget, old), RC_OK);
}
END_TEST

START_TEST(R02_a_replay_gives_the_same_ids)
{
    struct step a = send_as("me", "k1", "hello", false, RC_OK);
    struct step b = send_as("me", "k1", "hello", false, RC_OK);
    struct step c;

    ck_assert(!a.call.replayed);
    ck_assert(b.call.replayed);
    ck_assert_int_eq(a.message.id, b.message.id);
    ck_assert_int_eq(a.run.id, b.run.id);
    /* another content under the same key */
    c.call = call_of("me", "k1");
    c = a;
    c.call.fingerprint[0] ^= 1;
    ck_assert_int_eq(store_tx(st, do_send, &c), RC_KEY_REUSED);
    /* another account may use the same key, but not this conversation */
    (void)send_as("you", "k1", "hello", false, RC_NOT_FOUND);
}
END_TEST

START_TEST(R15_what_a_research_is_asked_has_a_bound)
{
    struct step x = {.call = call_of("me", "k2")};

    /* An ASCII byte is counted as a third of a token. */
    conf.model_context_tokens = 60;
    (void)send_as("me", "k0",
                  "This is a request of more than ninety bytes, "
                  "which is more than half of what the model has.",
                  true, RC_TOO_LONG);
    x.id = send_as("me", "k1", "a request of some thirty bytes", true, RC_OK)
               .run.id;
    x.text = "an adjustment that fills what was left, to the last token.";
    x.call.conf = &conf;
    ck_assert_int_eq(store_tx(st, do_adjust, &x), RC_OK);
    x.call = call_of("me", "k3");
    x.text = "or so";
    ck_assert_int_eq(store_tx(st, do_adjust, &x), RC_TOO_LONG);
    /* What is answered once has no such bound. */
    (void)send_as("me", "k4",
                  "This is a request of more than ninety bytes, "
                  "which is more than half of what the model has.",
                  false, RC_OK);
}
END_TEST

START_TEST(R16_slots_fill_and_are_freed_by_the_end)
{
    struct step first = send_as("me", "k1", "one", false, RC_OK);
    struct step x;
    struct occupancy o;

    (void)send_as("me", "k2", "two", false, RC_OK);
    (void)send_as("me", "k3", "three", false, RC_OK);
    x = send_as("me", "k4", "four", false, RC_FULL);
    ck_assert_int_eq(x.call.full, SLOT_SHORT);
    ck_assert_int_eq(x.call.occupancy.used[SLOT_SHORT], 3);
    /* R02: a replay succeeds at full capacity */
    x = send_as("me", "k1", "one", false, RC_OK);
    ck_assert(x.call.replayed);
    /* the other class has room */
    (void)send_as("me", "k5", "five", true, RC_OK);
    (void)send_as("me", "k6", "six", true, RC_FULL);
    /* R19: stopping needs no slot, and frees one, in the middle */
    x = first;
    x.id = first.run.id;
    x.call = call_of("me", NULL);
    ck_assert_int_eq(store_tx(st, do_stop, &x), RC_OK);
    ck_assert_int_eq(x.run.state, RUN_STOPPED);
    ck_assert_int_eq(x.run.reason, REASON_STOPPED_BY_USER);
    ck_assert_int_eq(store_occupancy(st, x.run.account_id, &o), RC_OK);
    ck_assert_int_eq(o.used[SLOT_SHORT], 2);
    (void)send_as("me", "k7", "seven", false, RC_OK);
    (void)send_as("me", "k8", "eight", false, RC_FULL);
}
END_TEST

START_TEST(R24_stop_settles_handoffs_and_is_final)
{
    struct step r = send_as("me", "k1", "research", true, RC_OK);
    struct step adj = {
        .call = call_of("me", "a1"), .id = r.run.id, .text = "also this"};
    struct step late = {
        .call = call_of("me", "a2"), .id = r.run.id, .text = "too late"};
    struct step stop = {.call = call_of("me", "s1"), .id = r.run.id};
    struct handoff h;

    ck_assert_int_eq(store_tx(st, do_adjust, &adj), RC_OK);
    ck_assert_int_eq(adj.handoff.state, HANDOFF_RECEIVED);
    ck_assert_int_eq(store_tx(st, do_stop, &stop), RC_OK);
    ck_assert_int_eq(store_handoff_get(st, 0, adj.handoff.id, &h), RC_OK);
    ck_assert_int_eq(h.state, HANDOFF_NOT_APPLIED);
    ck_assert_int_eq(h.reason, HANDOFF_RUN_STOPPED);
    /* R23: a late adjustment is kept as a message */
    ck_assert_int_eq(store_tx(st, do_adjust, &late), RC_OK);
    ck_assert_int_eq(late.handoff.state, HANDOFF_NOT_APPLIED);
    ck_assert_int_eq(late.handoff.reason, HANDOFF_RUN_STOPPED);
    ck_assert_str_eq(late.message.body, "too late");
    /* stopping again changes nothing */
    stop.call = call_of("me", NULL);
    ck_assert_int_eq(store_tx(st, do_stop, &stop), RC_OK);
    ck_assert_int_eq(stop.run.state, RUN_STOPPED);
}
END_TEST

static enum rc end_completed(struct store *s, void *arg)
{
    struct step *x = arg;
    const struct run_end end = {.state = RUN_COMPLETED, .now_ms = 1};

    return store_run_end(s, &x->run, &end);
}

START_TEST(R22_a_run_is_not_completed_past_an_adjustment)
{
    struct step r = send_as("me", "k1", "research", true, RC_OK);
    struct step adj = {
        .call = call_of("me", "a1"), .id = r.run.id, .text = "also this"};

    ck_assert_int_eq(store_tx(st, do_adjust, &adj), RC_OK);
    ck_assert_int_eq(store_tx(st, end_completed, &r), RC_CONFLICT);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, false, mem, &r.run), RC_OK);
    ck_assert_int_eq(r.run.state, RUN_RUNNING);
}
END_TEST

struct plan {
    struct run run;
    struct request first, second;
    int64_t root;
};

static enum rc plan_two(struct store *s, void *arg)
{
    struct plan *p = arg;
    struct request_new in = {
        .purpose = PURPOSE_RESEARCH, .attempt = 1, .tail = "]}", .now_ms = 5};
    enum rc rc = store_segment_add(s, 0, 0, "{\"m\":[", 6, &p->root);

    if (rc == RC_OK) {
        rc = store_segment_add(s, p->run.id, p->root, "1", 1, &in.segment_id);
    }
    if (rc == RC_OK) {
        rc = store_request_plan(s, &p->run, &in, mem, &p->first);
    }
    if (rc == RC_OK) {
        rc = store_segment_add(s, p->run.id, in.segment_id, ",2", 2,
                               &in.segment_id);
    }
    if (rc == RC_OK) {
        rc = store_request_plan(s, &p->run, &in, mem, &p->second);
    }
    return rc;
}

static enum rc send_second(struct store *s, void *arg)
{
    struct plan *p = arg;
    enum rc rc = store_request_send(s, &p->run, &p->second, 4, 6);

    return rc == RC_OK ? store_request_first(s, &p->run, &p->second, 7) : rc;
}

START_TEST(R13_a_body_is_what_was_planned)
{
    struct step r = send_as("me", "k1", "research", true, RC_OK);
    struct plan p = {.run = r.run};
    struct plan q;
    struct buf body;

    ck_assert_int_eq(store_tx(st, plan_two, &p), RC_OK);
    buf_init(&body, 1000);
    ck_assert_int_eq(store_request_input(st, p.first.id, &body), RC_OK);
    ck_assert_str_eq(buf_str(&body), "{\"m\":[1]}");
    buf_clear(&body);
    ck_assert_int_eq(store_request_input(st, p.second.id, &body), RC_OK);
    ck_assert_str_eq(buf_str(&body), "{\"m\":[1,2]}");
    buf_free(&body);
    /* the shared root is found again */
    q = p;
    ck_assert_int_eq(store_tx(st, plan_two, &q), RC_OK);
    ck_assert_int_eq(p.root, q.root);
}
END_TEST

START_TEST(handed_when_the_first_chunk_of_a_request_with_it_came)
{
    struct step r = send_as("me", "k1", "research", true, RC_OK);
    struct step early = {
        .call = call_of("me", "a1"), .id = r.run.id, .text = "early"};
    struct step late = {
        .call = call_of("me", "a2"), .id = r.run.id, .text = "late"};
    struct plan p = {.run = r.run};
    struct handoff h;

    ck_assert_int_eq(store_tx(st, do_adjust, &early), RC_OK);
    ck_assert_int_eq(store_tx(st, plan_two, &p), RC_OK);
    ck_assert_int_eq(store_tx(st, do_adjust, &late), RC_OK);
    ck_assert_int_eq(store_tx(st, send_second, &p), RC_OK);
    ck_assert_int_eq(store_handoff_get(st, 0, early.handoff.id, &h), RC_OK);
    ck_assert_int_eq(h.state, HANDOFF_HANDED);
    ck_assert_int_eq(h.request_id, p.second.id);
    ck_assert_int_eq(store_handoff_get(st, 0, late.handoff.id, &h), RC_OK);
    ck_assert_int_eq(h.state, HANDOFF_RECEIVED);
}
END_TEST

static enum rc add_parts(struct store *s, void *arg)
{
    struct step *x = arg;
    enum rc rc = store_answer_open(s, &x->run);

    if (rc == RC_OK) {
        rc = store_answer_add(s, &x->run, "Hel", 3);
    }
    return rc == RC_OK ? store_answer_add(s, &x->run, "lo", 2) : rc;
}

START_TEST(R05_parts_make_the_answer_and_outlive_the_end)
{
    struct step r = send_as("me", "k1", "hi", false, RC_OK);

    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_OK);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, true, mem, &r.run), RC_OK);
    ck_assert_str_eq(r.run.answer_body, "Hello");
    ck_assert_int_eq(r.run.answer_parts, 2);
    ck_assert(!r.run.answer_complete);
    ck_assert_int_eq(store_tx(st, end_completed, &r), RC_OK);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, true, mem, &r.run), RC_OK);
    ck_assert_str_eq(r.run.answer_body, "Hello");
    ck_assert(r.run.answer_complete);
    /* nothing is written to an ended Run */
    ck_assert_int_ne(store_tx(st, add_parts, &r), RC_OK);
}
END_TEST

static enum rc publish(struct store *s, void *arg)
{
    struct step *x = arg;
    enum rc rc = store_answer_open_draft(s, &x->run);

    return rc == RC_OK ? store_answer_add(s, &x->run, "So far", 6) : rc;
}

START_TEST(R05_a_draft_is_a_revision_until_another_takes_its_place)
{
    struct step r = send_as("me", "k1", "hi", true, RC_OK);

    ck_assert_int_eq(store_tx(st, publish, &r), RC_OK);
    ck_assert_int_eq(store_tx(st, publish, &r), RC_OK);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, true, mem, &r.run), RC_OK);
    ck_assert_str_eq(r.run.answer_body, "So far");
    ck_assert_int_eq(r.run.answer_revision, 2);
    ck_assert(r.run.answer_draft);
    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_OK);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, true, mem, &r.run), RC_OK);
    ck_assert_str_eq(r.run.answer_body, "Hello");
    ck_assert_int_eq(r.run.answer_revision, 3);
    ck_assert(!r.run.answer_draft);
}
END_TEST

static struct change_page page_from(int64_t account, int64_t after)
{
    struct change_page page = {0};
    struct store_view view;

    ck_assert_int_eq(store_read_begin(st, &view), RC_OK);
    ck_assert_int_eq(store_change_page(st, account, after, view.as_of, 200,
                                       128 * 1024, mem, &page),
                     RC_OK);
    store_read_end(st);
    return page;
}

START_TEST(the_feed_goes_on_from_a_cursor)
{
    struct step r = send_as("me", "k1", "hi", false, RC_OK);
    struct change_page all = page_from(r.run.account_id, 0);
    struct change_page rest;

    ck_assert_uint_gt(all.n, 3);
    ck_assert(!all.reset);
    ck_assert_int_eq(all.next, r.call.as_of);
    rest = page_from(r.run.account_id, all.changes[1].seq);
    ck_assert_uint_eq(rest.n, all.n - 2);
    ck_assert_uint_eq(page_from(r.run.account_id, all.next).n, 0);
    ck_assert(page_from(r.run.account_id, all.next + 1).reset);
    /* another account sees nothing, but its cursor moves */
    ck_assert_uint_eq(page_from(r.run.account_id + 1, 0).n, 0);
    ck_assert_int_eq(page_from(r.run.account_id + 1, 0).next, all.next);
}
END_TEST

START_TEST(deleting_a_conversation_leaves_no_answer)
{
    struct step r = send_as("me", "k1", "hi", false, RC_OK);
    struct step x = {.call = call_of("me", NULL), .id = conv};
    struct change_page page;

    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_OK);
    ck_assert_int_eq(store_tx(st, do_delete, &x), RC_CONFLICT);
    ck_assert_int_eq(store_tx(st, end_completed, &r), RC_OK);
    ck_assert_int_eq(store_tx(st, do_delete, &x), RC_OK);
    ck_assert_int_eq(store_run_get(st, 0, r.run.id, true, mem, &r.run),
                     RC_NOT_FOUND);
    page = page_from(r.run.account_id, 0);
    for (size_t i = 0; i < page.n; i++) {
        ck_assert_int_ne(page.changes[i].kind, CHANGE_ANSWER_PART);
    }
    ck_assert_int_eq(page.changes[page.n - 1].kind,
                     CHANGE_CONVERSATION_DELETED);
    ck_assert_int_eq(page.changes[page.n - 1].conversation_id, conv);
}
END_TEST

START_TEST(a_fenced_runtime_writes_nothing)
{
    struct step r = send_as("me", "k1", "hi", false, RC_OK);
    struct store *other;

    ck_assert_int_eq(store_lease_take(st, NULL), RC_OK);
    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_OK);
    ck_assert_int_eq(store_open(dir, 2000, &other), RC_OK);
    ck_assert_int_eq(store_lease_take(other, NULL), RC_OK);
    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_FENCED);
    store_close(other);
}
END_TEST

START_TEST(one_runtime_holds_the_lock)
{
    struct lease_lock *a = NULL;
    struct lease_lock *b = NULL;

    ck_assert(!store_lease_held(dir));
    ck_assert_int_eq(store_lease_try(dir, &a), RC_OK);
    ck_assert(store_lease_held(dir));
    ck_assert_int_eq(store_lease_try(dir, &b), RC_BUSY);
    store_lease_release(a);
    ck_assert(!store_lease_held(dir));
    ck_assert_int_eq(store_lease_try(dir, &b), RC_OK);
    store_lease_release(b);
}
END_TEST

static int64_t crashes_of(int64_t run_id)
{
    struct run run;

    ck_assert_int_eq(store_run_get(st, 0, run_id, false, mem, &run), RC_OK);
    return run.crashes;
}

/* A runtime that comes to its end while it works at the Run (0: at none). */
static void die_at(int64_t run_id)
{
    struct lease_lock *lock = NULL;
    pid_t child = fork();
    int status = 0;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct store *own = NULL;
        bool ok = store_open(dir, 2000, &own) == RC_OK &&
                  store_lease_wait(dir, &lock) == RC_OK &&
                  store_lease_take(own, lock) == RC_OK;

        store_lease_mark(lock, run_id);
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static void take_over(void)
{
    struct lease_lock *lock = NULL;

    ck_assert_int_eq(store_lease_try(dir, &lock), RC_OK);
    ck_assert_int_eq(store_lease_take(st, lock), RC_OK);
    store_lease_release(lock);
}

START_TEST(R29_a_crash_counts_once_and_for_the_run_at_work)
{
    int64_t bad = send_as("me", "k1", "hi", false, RC_OK).run.id;
    int64_t good = send_as("me", "k2", "hi", false, RC_OK).run.id;
    struct step end = {0};

    die_at(bad);
    take_over();
    take_over(); /* that one ended in order */
    ck_assert_int_eq(crashes_of(bad), 1);
    die_at(0);
    take_over();
    ck_assert_int_eq(crashes_of(bad), 1);
    ck_assert_int_eq(crashes_of(good), 0);
    /* Somebody else took the lease since: the mark is no longer news. */
    die_at(bad);
    ck_assert_int_eq(store_lease_take(st, NULL), RC_OK);
    take_over();
    ck_assert_int_eq(crashes_of(bad), 1);
    /* It counts as well while a Run that has ended is settled. */
    end.call = call_of("me", "stop");
    end.id = bad;
    ck_assert_int_eq(store_tx(st, do_stop, &end), RC_OK);
    die_at(bad);
    take_over();
    ck_assert_int_eq(crashes_of(bad), 2);
}
END_TEST

START_TEST(a_hung_owner_is_displaced_only_as_seen)
{
    struct lease_seen seen = {0};
    struct lease_lock *old = NULL;
    struct lease_lock *lock = NULL;
    struct store *other = NULL;
    struct step r = send_as("me", "k1", "hi", false, RC_OK);

    ck_assert_int_eq(store_lease_try(dir, &old), RC_OK);
    ck_assert_int_eq(store_lease_take(st, old), RC_OK);
    store_lease_mark(old, r.run.id);
    ck_assert_int_eq(store_open(dir, 2000, &other), RC_OK);
    ck_assert_int_eq(store_lease_look(other, &seen), RC_OK);
    ck_assert(seen.at_work);
    seen.renewed_boot_ms--;
    ck_assert_int_eq(store_lease_displace(other, dir, &seen, &lock),
                     RC_CONFLICT);
    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_OK);
    ck_assert_int_eq(store_lease_look(other, &seen), RC_OK);
    ck_assert_int_eq(store_lease_displace(other, dir, &seen, &lock), RC_OK);
    ck_assert_int_eq(store_tx(st, add_parts, &r), RC_FENCED);
    ck_assert_int_eq(crashes_of(r.run.id), 1);
    /* The lock of the displaced owner opens nothing. */
    store_lease_release(old);
    ck_assert_int_eq(store_lease_try(dir, &old), RC_BUSY);
    store_lease_release(lock);
    store_close(other);
}
END_TEST

START_TEST(nothing_at_work_displaces_nobody)
{
    struct lease_seen seen = {0};
    struct lease_lock *lock = NULL;

    ck_assert_int_eq(store_lease_look(st, &seen), RC_OK);
    ck_assert(!seen.at_work);
    ck_assert_int_eq(store_lease_displace(st, dir, &seen, &lock), RC_CONFLICT);
    ck_assert(!store_lease_held(dir));
}
END_TEST

/* Cut between words, with an ellipsis; Chinese anywhere between characters. */
START_TEST(a_title_is_cut_between_words)
{
#define HAN(n) n n n n n n n
    static const char *const CASES[][2] = {
        {"Short", "Short"},
        {"  \n one\t two  \nand more", "one two"},
        {"research: How does WAL mode work?", "How does WAL mode work?"},
        {" Deep Research:\n\n  tea", "tea"},
        {"调研：茶", "茶"},
        {"Research: ", "Research:"},
        {"Research on tea: a report", "Research on tea: a report"},
        {"How does WAL mode change concurrency and durability compared with "
         "rollback journals?",
         "How does WAL mode change concurrency and durability compared with…"},
        {"Seventy bytes of text in one line that ends just where a title ends "
         "ab",
         "Seventy bytes of text in one line that ends just where a title ends "
         "ab"},
        {"Seventy bytes of text in one line that ends just where a title ends "
         "ab  \nmore",
         "Seventy bytes of text in one line that ends just where a title ends "
         "ab"},
        {"Seventy bytes of text in one line that ends just where a title ends "
         "ab c",
         "Seventy bytes of text in one line that ends just where a title ends "
         "ab…"},
        {"Read https://example.com/a/very/long/address/without/any/space/at/"
         "all/in/it",
         "Read https://example.com/a/very/long/address/without/any/space/at/"
         "all/…"},
        {HAN("数据库") HAN("数据库"), HAN("数据库") "数据…"},
        {"Was Datenbanksysteme und Übertragungsprotokolle gemeinsam haben, "
         "und was nicht",
         "Was Datenbanksysteme und Übertragungsprotokolle gemeinsam haben, "
         "und…"},
        {"ééééééééééééééééééééééééééééééééééééé",
         "ééééééééééééééééééééééééééééééééééé…"},
    };
    char out[78];

    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        store_title_of(CASES[i][0], out, sizeof(out));
        ck_assert_str_eq(out, CASES[i][1]);
    }
}
END_TEST

/* --- pages of the web ----------------------------------------------------- */

struct put {
    const struct run *run;
    struct page page;
};

static enum rc put_page(struct store *store, void *arg)
{
    const struct put *p = arg;

    return store_page_put(store, p->run, &p->page);
}

START_TEST(a_page_is_kept_by_run_and_found_by_account)
{
    struct step a = send_as("me", "k1", "one", true, RC_OK);
    struct step you = {.call = call_of("you", "create"), .text = ""};
    struct step b;
    struct put p = {.run = &a.run,
                    .page = {.url = "http://a/",
                             .location = "http://a/b",
                             .etag = "\"1\"",
                             .last_modified = "",
                             .body = "{}",
                             .fetched_ms = 7}};
    struct page got;

    ck_assert_int_eq(store_tx(st, do_create, &you), RC_OK);
    conv = you.conversation.id;
    b = send_as("you", "k2", "two", true, RC_OK);
    ck_assert_int_eq(store_page_of_run(st, a.run.id, "http://a/", mem, &got),
                     RC_NOT_FOUND);
    ck_assert_int_eq(store_tx(st, put_page, &p), RC_OK);
    p.page.body = "{\"new\":1}";
    ck_assert_int_eq(store_tx(st, put_page, &p), RC_OK);
    ck_assert_int_eq(store_page_of_run(st, a.run.id, "http://a/", mem, &got),
                     RC_OK);
    ck_assert_str_eq(got.body, "{\"new\":1}");
    ck_assert_int_eq(got.fetched_ms, 7);
    ck_assert_int_eq(store_page_newest(st, a.run.id, "http://a/b", mem, &got),
                     RC_OK);
    ck_assert_str_eq(got.etag, "\"1\"");
    /* not by where it was asked for, and not by others */
    ck_assert_int_eq(store_page_newest(st, a.run.id, "http://a/", mem, &got),
                     RC_NOT_FOUND);
    ck_assert_int_eq(store_page_newest(st, b.run.id, "http://a/b", mem, &got),
                     RC_NOT_FOUND);
    ck_assert_int_eq(store_page_of_run(st, b.run.id, "http://a/", mem, &got),
                     RC_NOT_FOUND);
}
END_TEST

START_TEST(the_oldest_pages_of_an_account_go)
{
    struct step a = send_as("me", "k1", "one", true, RC_OK);
    struct put p = {.run = &a.run,
                    .page = {.etag = "", .last_modified = "", .body = "{}"}};
    char url[40];
    struct page got;

    p.page.url = url;
    p.page.location = url;
    for (int i = 0; i < STORE_PAGES_MAX + 2; i++) {
        (void)snprintf(url, sizeof(url), "http://a/%d", i);
        ck_assert_int_eq(store_tx(st, put_page, &p), RC_OK);
    }
    ck_assert_int_eq(store_page_of_run(st, a.run.id, "http://a/1", mem, &got),
                     RC_NOT_FOUND);
    ck_assert_int_eq(store_page_of_run(st, a.run.id, "http://a/2", mem, &got),
                     RC_OK);
    ck_assert_int_eq(store_page_of_run(st, a.run.id, url, mem, &got), RC_OK);
}
END_TEST

Suite *store_suite(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("rules");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, R02_a_replay_gives_the_same_ids);
    tcase_add_test(t, R15_what_a_research_is_asked_has_a_bound);
    tcase_add_test(t, R16_slots_fill_and_are_freed_by_the_end);
    tcase_add_test(t, R24_stop_settles_handoffs_and_is_final);
    tcase_add_test(t, R22_a_run_is_not_completed_past_an_adjustment);
    tcase_add_test(t, R13_a_body_is_what_was_planned);
    tcase_add_test(t, handed_when_the_first_chunk_of_a_request_with_it_came);
    tcase_add_test(t, R05_parts_make_the_answer_and_outlive_the_end);
    tcase_add_test(t, R05_a_draft_is_a_revision_until_another_takes_its_place);
    tcase_add_test(t, the_feed_goes_on_from_a_cursor);
    tcase_add_test(t, deleting_a_conversation_leaves_no_answer);
    tcase_add_test(t, a_fenced_runtime_writes_nothing);
    tcase_add_test(t, one_runtime_holds_the_lock);
    tcase_add_test(t, R29_a_crash_counts_once_and_for_the_run_at_work);
    tcase_add_test(t, a_hung_owner_is_displaced_only_as_seen);
    tcase_add_test(t, nothing_at_work_displaces_nobody);
    tcase_add_test(t, what_was_touched_meanwhile_is_not_old);
    tcase_add_test(t, a_title_is_cut_between_words);
    tcase_add_test(t, a_page_is_kept_by_run_and_found_by_account);
    tcase_add_test(t, the_oldest_pages_of_an_account_go);
    suite_add_tcase(s, t);
    return s;
}
