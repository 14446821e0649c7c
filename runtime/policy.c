/* policy.c - what the model may do with a tool.
 *
 * Precedence: what is forbidden stays forbidden; what was let through is not
 * asked about again; what the person denied is not asked about again; what a
 * person is to allow is the tool that was called, and none that its server has
 * put in its place; a limit that is reached spares the question; and only then
 * allow or ask. */
#include "runtime/policy.h"

#include <string.h>

#include "runtime/run_inside.h"
#include "sql/base/id.h"
#include "sql/base/log.h"
#include "sql/store_approval.h"

#define NAME_BYTES 128
/* Between a server's name and its tool's. */
#define BETWEEN "__"

/* --- the verdict ------------------------------------------------------- */

/* What is configured for a tool, or what counts where nothing is. Pure. */
static enum conf_verdict configured_for(const struct policy_facts *f)
{
    if (f->of_tool != CONF_UNSET) {
        return f->of_tool;
    }
    if (f->of_server != CONF_UNSET) {
        return f->of_server;
    }
    return f->own || !f->acts ? CONF_ALLOW : CONF_ASK;
}

static bool reached(const struct policy_limit limit[2])
{
    return (limit[0].most >= 0 && limit[0].made >= limit[0].most) ||
           (limit[1].most >= 0 && limit[1].made >= limit[1].most);
}

/* The answer of the person, or their silence. */
static enum policy_verdict answered(const struct policy_facts *f)
{
    switch (f->approval) {
    case APPROVAL_OPEN:
        return POLICY_ASK;
    case APPROVAL_ONCE:
    case APPROVAL_RUN:
        return POLICY_ALLOW;
    case APPROVAL_DENIED:
    case APPROVAL_VOID:
    case APPROVAL_STATE__MAX:
        break;
    }
    return f->expired ? POLICY_UNANSWERED : POLICY_DENY;
}

static enum policy_verdict asking(const struct policy_facts *f)
{
    if (f->asked) {
        return answered(f);
    }
    if (f->for_run) {
        return POLICY_ALLOW;
    }
    return f->unanswered ? POLICY_UNANSWERED : POLICY_ASK;
}

enum policy_verdict policy_decide(const struct policy_facts *f)
{
    enum conf_verdict configured = configured_for(f);
    bool changed = configured == CONF_ASK && f->changed;

    if (configured == CONF_DENY) {
        return POLICY_FORBID;
    }
    if (f->admitted && !changed) {
        return POLICY_ALLOW;
    }
    if (f->asked && f->approval == APPROVAL_DENIED) {
        return answered(f);
    }
    if (changed) {
        return POLICY_CHANGED;
    }
    if (reached(f->run)) {
        return POLICY_RUN_LIMIT;
    }
    if (reached(f->day)) {
        return POLICY_DAY_LIMIT;
    }
    return configured == CONF_ASK ? asking(f) : POLICY_ALLOW;
}

/* --- what is configured ------------------------------------------------- */

struct policies {
    const struct conf_policy *tool;   /* NULL: nothing */
    const struct conf_policy *server; /* NULL: nothing, or one of Aside's own */
    char prefix[NAME_BYTES];          /* of the server's tools; "": own */
};

static void find_policies(const struct conf *c, const char *name,
                          struct policies *out)
{
    const char *end = strstr(name, BETWEEN);
    size_t len = end != NULL ? (size_t)(end - name) : 0;
    char server[NAME_BYTES];

    *out = (struct policies){.tool = conf_policy_of(c, name)};
    if (len == 0 || len + sizeof(BETWEEN) > sizeof(server)) {
        return;
    }
    memcpy(server, name, len);
    server[len] = '\0';
    out->server = conf_policy_of(c, server);
    memcpy(out->prefix, name, len + strlen(BETWEEN));
    out->prefix[len + strlen(BETWEEN)] = '\0';
}

static enum conf_verdict verdict_of(const struct conf_policy *p)
{
    return p != NULL ? (enum conf_verdict)p->verdict : CONF_UNSET;
}

bool policy_forbids(const struct conf *c, const char *name)
{
    struct policies p;

    find_policies(c, name, &p);
    return verdict_of(p.tool) == CONF_DENY ||
           (verdict_of(p.tool) == CONF_UNSET &&
            verdict_of(p.server) == CONF_DENY);
}

/* --- facts, from rows --------------------------------------------------- */

static enum rc count(struct step *s, int64_t most, struct tool_calls_made *of,
                     struct policy_limit *out)
{
    out->most = most;
    return most >= 0 ? store_tool_call_made(s->rt->store, of, &out->made)
                     : RC_OK;
}

/* of: whose calls; its limits into the n-th of each. */
static enum rc count_both(struct step *s, const struct conf_policy *p,
                          struct tool_calls_made of, struct policy_facts *f,
                          size_t n)
{
    enum rc rc;

    f->run[n].most = f->day[n].most = -1;
    if (p == NULL) {
        return RC_OK;
    }
    of.run_id = s->run.id;
    rc = count(s, p->per_run, &of, &f->run[n]);
    if (rc != RC_OK) {
        return rc;
    }
    of.run_id = 0;
    of.account_id = s->run.account_id;
    of.day_of_ms = s->now_ms;
    return count(s, p->per_day, &of, &f->day[n]);
}

/* What the server says of the tool: now, or as far as is known. */
static const char *digest_now(const struct tool *tool,
                              const struct tool_call *t)
{
    return tool != NULL ? tool->digest : t->tool;
}

/* One that only read when it was called, and does more by now, acts. */
static enum rc find_facts(struct step *s, const struct tool_call *t,
                          struct policy_facts *f, bool *asked_anew)
{
    const struct tool *tool = tool_find(s->rt, t->name);
    const char *now = digest_now(tool, t);
    struct approval_standing standing = {.for_run = false};
    struct policies p;
    enum rc rc;

    find_policies(&s->rt->conf, t->name, &p);
    *f = (struct policy_facts){.of_tool = verdict_of(p.tool),
                               .of_server = verdict_of(p.server),
                               .own = p.prefix[0] == '\0',
                               .acts = t->acts || (tool != NULL && tool->acts),
                               .changed = t->tool != NULL && now != NULL &&
                                          strcmp(now, t->tool) != 0,
                               .admitted = t->admitted_ms != 0,
                               .asked = t->approval_id != 0,
                               .approval = t->approval,
                               .expired = t->unanswered};
    rc = count_both(s, p.tool, (struct tool_calls_made){.name = t->name}, f, 0);
    if (rc == RC_OK) {
        rc = count_both(
            s, p.server,
            (struct tool_calls_made){.name = p.prefix, .prefix = true}, f, 1);
    }
    if (rc == RC_OK && configured_for(f) == CONF_ASK && !f->admitted) {
        rc = store_approval_standing(s->rt->store, s->run.id, t->name, now,
                                     &standing);
    }
    f->for_run = standing.for_run;
    f->unanswered = standing.unanswered;
    *asked_anew = standing.changed;
    return rc;
}

const char *policy_digest(struct step *s, const struct tool_call *t)
{
    struct policies p;

    find_policies(&s->rt->conf, t->name, &p);
    return verdict_of(p.tool) == CONF_ALLOW ||
                   (verdict_of(p.tool) == CONF_UNSET &&
                    verdict_of(p.server) == CONF_ALLOW)
               ? NULL
               : digest_now(tool_find(s->rt, t->name), t);
}

/* --- what follows from it ------------------------------------------------ */

/* What the model is told, and the person. */
static const struct {
    const char *result;
    const char *summary;
} REFUSAL[POLICY_VERDICT__MAX] = {
    [POLICY_FORBID] = {"{\"error\":\"not allowed by the policy of this "
                       "Aside\"}",
                       "not allowed by the policy"},
    [POLICY_DENY] = {"{\"error\":\"the person did not allow this call\"}",
                     "not allowed by you"},
    [POLICY_UNANSWERED] = {"{\"error\":\"no_reply: the person was asked to "
                           "allow it, and did not answer in the time "
                           "allowed\"}",
                           "not made: nobody allowed it in time"},
    [POLICY_CHANGED] = {"{\"error\":\"not made: the server says something "
                        "else of this tool than when it was called. Look at "
                        "it as it is now, and call it again if need be\"}",
                        "not made: its server has changed the tool since it "
                        "was called"},
    [POLICY_RUN_LIMIT] = {"{\"error\":\"limit reached: no more calls of this "
                          "tool are allowed here\"}",
                          "limit of the policy reached"},
    [POLICY_DAY_LIMIT] = {"{\"error\":\"limit reached: no more calls of this "
                          "tool are allowed today\"}",
                          "limit of the policy for today reached"},
};

/* The person's words beside a denial. */
static enum rc told(struct step *s, const struct tool_call *t,
                    enum policy_verdict v, const char **out)
{
    struct json_out j;
    struct buf text;
    enum rc rc;

    *out = REFUSAL[v].result;
    if (v != POLICY_DENY || t->approval_note == NULL) {
        return RC_OK;
    }
    buf_init(&text, 1u << 20);
    json_begin(&j, &text);
    json_open_object(&j);
    json_kstr(&j, "error", "the person did not allow this call");
    json_kstr(&j, "the_person_says", t->approval_note);
    json_close_object(&j);
    rc = json_end(&j);
    if (rc == RC_OK) {
        *out = arena_strdup(s->mem, buf_str(&text));
        rc = *out == NULL ? RC_TOO_LARGE : RC_OK;
    }
    buf_free(&text);
    return rc;
}

/* One that was sent before may have been carried out: it is not made again, and
 * that is all that is known. One that was not uses nothing up. */
static enum rc refuse(struct step *s, struct tool_call *t,
                      enum policy_verdict v)
{
    const char *result = NULL;
    char id[ID_TEXT_BYTES];
    enum rc rc = told(s, t, v, &result);

    if (rc != RC_OK) {
        return rc;
    }
    log_info(id_text(ID_TOOL_CALL, t->id, id), "%s: %s", t->name,
             REFUSAL[v].summary);
    if (t->state == EFFECT_SENT) {
        return settle_tool(s, t, EFFECT_UNKNOWN, CAUSE_NONE, settle_unknown);
    }
    if (s->run.tool_calls.used > 0) {
        s->run.tool_calls.used--;
        s->save = true;
    }
    return tool_settle_inside(s, t, true, result, REFUSAL[v].summary);
}

/* One at a time: the next is asked about when this one is decided. */
static enum rc ask(struct step *s, struct tool_call *t,
                   const struct policy_facts *f, bool anew)
{
    const struct approval_question q = {
        .reason = f->of_tool == CONF_ASK || f->of_server == CONF_ASK
                      ? APPROVAL_CONFIGURED
                      : APPROVAL_ACTS,
        .changed = anew};

    return s->run.approval != NULL
               ? RC_OK
               : store_approval_ask(s->rt->store, &s->run, t, &q, s->now_ms,
                                    s->mem);
}

static enum rc let_through(struct step *s, struct tool_call *t)
{
    if (t->admitted_ms != 0) {
        return RC_OK;
    }
    t->admitted_ms = s->now_ms;
    return store_tool_call_admit(s->rt->store, &s->run, t, s->now_ms);
}

/* What was open about this call is to be asked no more. */
static enum rc withdraw(struct step *s, struct tool_call *t)
{
    bool open = t->approval_id != 0 && t->approval == APPROVAL_OPEN;

    if (!open) {
        return RC_OK;
    }
    t->approval = APPROVAL_VOID;
    s->save = true; /* the Run is told anew */
    return store_approval_void(s->rt->store, &s->run, s->now_ms);
}

enum rc policy_rule(struct step *s, struct tool_call *t, bool room,
                    enum policy_outcome *out)
{
    struct policy_facts f;
    bool anew = false;
    enum policy_verdict v;
    enum rc rc = find_facts(s, t, &f, &anew);

    if (rc != RC_OK) {
        return rc;
    }
    v = policy_decide(&f);
    if (v == POLICY_ASK) {
        *out = POLICY_WAITS;
        return ask(s, t, &f, anew);
    }
    rc = withdraw(s, t);
    if (v == POLICY_ALLOW) {
        *out = room ? POLICY_GOES : POLICY_NO_ROOM;
        return rc == RC_OK && room ? let_through(s, t) : rc;
    }
    *out = POLICY_SETTLED;
    return rc == RC_OK ? refuse(s, t, v) : rc;
}
