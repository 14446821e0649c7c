#include "tests/fuzz/stage.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/run_inside.h"
#include "sql/base/clock.h"
#include "tests/fuzz/fuzz.h"

#define MEM_BYTES ((size_t)64 << 20)

struct stage {
    struct runtime rt;
    int64_t short_id;
    int64_t research_id;
};

/* One step of one Run in one transaction. */
struct stride {
    struct stage *stage;
    enum request_purpose purpose;
    const struct model_reply *reply; /* NULL: none has come */
    stage_look_fn *look;
    void *arg;
};

static struct step step_of(struct stage *stage, bool research)
{
    struct step s = {.rt = &stage->rt,
                     .mem = stage->rt.mem,
                     .now_ms = clock_unix_ms(),
                     .boot_ms = clock_boot_ms()};

    s.live =
        live_find(&stage->rt, research ? stage->research_id : stage->short_id);
    return s;
}

static enum rc load(struct step *s)
{
    arena_reset(s->mem);
    live_clear_effects(s->live);
    return store_run_get(s->rt->store, 0, s->live->id, false, s->mem, &s->run);
}

/* The closeout takes the place of the request under way. */
static enum rc plan_closeout(struct step *s, struct request *q)
{
    struct request old = *q;
    enum rc rc;

    old.state = EFFECT_INTERRUPTED;
    old.cause = CAUSE_DEADLINE;
    rc = store_request_settle(s->rt->store, &s->run, &old, EFFECT_SENT,
                              s->now_ms);
    if (rc == RC_OK) {
        rc = context_plan(s, PURPOSE_CLOSEOUT, &old, 1, 0, q);
    }
    return rc == RC_OK
               ? store_request_send(s->rt->store, &s->run, q,
                                    s->rt->conf.model_max_concurrent, s->now_ms)
               : rc;
}

static enum rc take(struct step *s, struct request *q,
                    const struct model_reply *reply)
{
    struct buf text;
    enum rc rc;

    buf_init(&text, (size_t)16 << 20);
    rc = model_reply_print(reply, &text);
    if (rc == RC_OK) {
        q->state = EFFECT_DONE;
        q->reply = buf_str(&text);
        q->finish = "stop";
        q->usage = (struct usage){.known = true, .cached_tokens = -1};
        rc = store_request_settle(s->rt->store, &s->run, q, EFFECT_SENT,
                                  s->now_ms);
    }
    if (rc == RC_OK) {
        run_count_usage(s, &q->usage);
        rc = run_is_research(s) ? research_take_reply(s, q, reply)
                                : entry_take_reply(s, q, reply);
    }
    buf_free(&text);
    return rc;
}

static enum rc stride(struct store *st, void *arg)
{
    struct stride *w = arg;
    struct step s = step_of(w->stage, w->purpose != PURPOSE_ENTRY);
    struct request q;
    enum rc rc = load(&s);

    if (rc == RC_OK && w->reply != NULL) {
        rc = store_request_last(st, s.run.id, s.mem, &q);
        if (rc == RC_OK && w->purpose == PURPOSE_CLOSEOUT) {
            rc = plan_closeout(&s, &q);
        }
        if (rc == RC_OK) {
            rc = take(&s, &q, w->reply);
        }
    }
    if (rc == RC_OK) {
        rc = decide_next(&s);
    }
    if (rc == RC_OK && s.save && !run_over(&s)) {
        rc = run_save(&s);
    }
    if (rc == RC_OK && w->look != NULL) {
        w->look(&s, w->arg);
    }
    return rc;
}

enum rc stage_try(struct stage *stage, enum request_purpose purpose,
                  const struct model_reply *reply, stage_look_fn *look,
                  void *arg, enum rc *result)
{
    struct stride w = {stage, purpose, reply, look, arg};
    enum rc rc = store_batch_begin(stage->rt.store);

    if (rc == RC_OK) {
        rc = store_batch_call(stage->rt.store, stride, &w, result);
        store_batch_abort(stage->rt.store);
    }
    return rc;
}

/* --- how it comes about -------------------------------------------------- */

static struct store_call call_of(struct stage *stage, const char *key)
{
    struct store_call c = {.account = "me",
                           .key = key,
                           .now_ms = clock_unix_ms(),
                           .conf = &stage->rt.conf,
                           .arena = stage->rt.mem};

    hash_sha256(key, strlen(key), c.fingerprint);
    return c;
}

static enum rc begin(struct store *st, void *arg)
{
    struct stage *stage = arg;
    struct store_call create = call_of(stage, "create");
    struct store_call ask = call_of(stage, "ask");
    struct store_call order = call_of(stage, "order");
    struct message_new in = {.body = "How far is the moon?"};
    struct conversation c;
    struct message m;
    struct run r;
    enum rc rc = store_conversation_create(st, &create, "", &c);

    in.conversation_id = c.id;
    if (rc == RC_OK) {
        rc = store_message_send(st, &ask, &in, &m, &r);
        stage->short_id = r.id;
    }
    in.body = "Research the tides.";
    in.background = true;
    if (rc == RC_OK) {
        rc = store_message_send(st, &order, &in, &m, &r);
        stage->research_id = r.id;
    }
    return rc;
}

static enum rc adjust(struct store *st, void *arg)
{
    struct stage *stage = arg;
    struct store_call call = call_of(stage, "adjust");
    struct message m;
    struct handoff h;

    return store_run_adjust(st, &call, stage->research_id, "Only spring tides.",
                            &m, &h);
}

/* The look-up's result, and the adjustment in the model's hands. */
static enum rc find(struct store *st, void *arg)
{
    static const struct passage found[] = {
        {"1", "Tides", "tides.md", "Spring", "The moon pulls the sea."},
        {"2", "Tides", "tides.md", "Neap", "The sun pulls less."}};
    const struct tool_result result = {
        .passages = found, .n_passages = 2, .summary = "2 passages"};
    struct step s = step_of(arg, true);
    struct tool_call *calls = NULL;
    struct tool_call call = {0};
    size_t n = 0;
    enum rc rc = load(&s);

    if (rc == RC_OK) {
        rc = store_tool_call_of_run(st, s.run.id, s.mem, &calls, &n);
    }
    FUZZ_CHECK(n == 3);
    if (rc == RC_OK) {
        rc = store_tool_call_get(st, 0, calls[0].id, s.mem, &call);
    }
    return rc == RC_OK ? tool_settle(&s, &call, &result) : rc;
}

static enum rc hand(struct store *st, void *arg)
{
    struct step s = step_of(arg, true);
    struct request q;
    enum rc rc = load(&s);

    if (rc == RC_OK) {
        rc = store_request_last(st, s.run.id, s.mem, &q);
    }
    return rc == RC_OK ? store_request_first(st, &s.run, &q, s.now_ms) : rc;
}

static void go(struct stage *stage, enum request_purpose purpose,
               const struct model_reply *reply)
{
    struct stride w = {.stage = stage, .purpose = purpose, .reply = reply};

    FUZZ_CHECK(store_tx(stage->rt.store, stride, &w) == RC_OK);
}

static void open_parts(struct stage *stage, const char *dir)
{
    struct runtime *rt = &stage->rt;
    char err[300];
    struct live *live = NULL;

    FUZZ_CHECK(conf_load(NULL, &rt->conf, err, sizeof(err)) == RC_OK);
    rt->mem = arena_new(MEM_BYTES);
    FUZZ_CHECK(rt->mem != NULL);
    FUZZ_CHECK(store_open(dir, 2000, &rt->store) == RC_OK);
    FUZZ_CHECK(indexer_new(&(struct indexer_options){.dir = dir, .folders = ""},
                           &rt->indexer) == RC_OK);
    rt->profile = model_chat_profile_for("http://localhost/v1", "any");
    FUZZ_CHECK(store_tx(rt->store, begin, stage) == RC_OK);
    FUZZ_CHECK(live_add(rt, stage->short_id, &live) == RC_OK);
    FUZZ_CHECK(live_add(rt, stage->research_id, &live) == RC_OK);
    FUZZ_CHECK(live != NULL);
    live->known = true;
}

struct stage *stage_new(const char *dir)
{
    static const struct model_call calls[] = {
        {"a", "library_search", "{\"query\":\"tides\"}", true},
        {"b", "note", "{\"text\":\"the moon pulls\"}", true},
        {"c", "publish_draft", "{\"report\":\"Tides so far.\"}", true}};
    static const struct model_reply reply = {.text = "Looking.",
                                             .calls = calls,
                                             .n_calls = 3,
                                             .finish = "tool_calls",
                                             .generation_id = ""};
    struct stage *stage = calloc(1, sizeof(*stage));

    FUZZ_CHECK(stage != NULL);
    open_parts(stage, dir);
    go(stage, PURPOSE_ENTRY, NULL);
    go(stage, PURPOSE_RESEARCH, NULL);
    go(stage, PURPOSE_RESEARCH, &reply);
    FUZZ_CHECK(store_tx(stage->rt.store, find, stage) == RC_OK);
    FUZZ_CHECK(store_tx(stage->rt.store, adjust, stage) == RC_OK);
    go(stage, PURPOSE_RESEARCH, NULL);
    FUZZ_CHECK(store_tx(stage->rt.store, hand, stage) == RC_OK);
    return stage;
}

void stage_free(struct stage *stage)
{
    live_free_all(&stage->rt);
    indexer_free(stage->rt.indexer);
    store_close(stage->rt.store);
    arena_free(stage->rt.mem);
    conf_free(&stage->rt.conf);
    free(stage);
}
