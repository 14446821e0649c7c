/* policy.h - what the model may do with a tool: facts in, verdict out.
 *
 * policy_decide is pure. Each planned call passes policy_rule before it becomes
 * sent, and a call that is made again after a crash passes it once more; there
 * is no other way to be sent. What was allowed before is read from rows, never
 * remembered.
 */
#ifndef ASIDE_RUNTIME_POLICY_H
#define ASIDE_RUNTIME_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/base/conf.h"
#include "sql/base/rc.h"
#include "sql/states.h"

struct step;
struct tool_call;

enum policy_verdict {
    POLICY_ALLOW = 0,
    POLICY_ASK,
    POLICY_FORBID,     /* by the configuration */
    POLICY_DENY,       /* by the person */
    POLICY_UNANSWERED, /* nobody came in the time allowed */
    POLICY_CHANGED,    /* its server has made another tool of it */
    POLICY_RUN_LIMIT,
    POLICY_DAY_LIMIT,
    POLICY_VERDICT__MAX
};

/* Calls that may be made, and that were. */
struct policy_limit {
    int64_t most; /* -1: no limit */
    int64_t made; /* with most >= 0, without this call */
};

struct policy_facts {
    enum conf_verdict of_tool;   /* policy.<tool> */
    enum conf_verdict of_server; /* policy.<server>; CONF_UNSET: Aside's own */
    bool own;                    /* one of Aside's own tools */
    bool acts;                   /* does more than read, by its server's word */
    bool admitted;               /* this call was let through before */
    bool asked;                  /* the person was asked about this call */
    enum approval_state approval; /* with asked */
    bool expired;                 /* with asked: denied, since nobody came */
    bool for_run;    /* approved for all calls of the tool in this Run */
    bool unanswered; /* a call of this Run was left without an answer */
    bool changed;    /* its server says something else of the tool than when it
                      * was called */
    struct policy_limit run[2]; /* of the tool, of its server */
    struct policy_limit day[2];
};

/* Pure. */
enum policy_verdict policy_decide(const struct policy_facts *);
/* Is a tool of this name forbidden by the configuration? It is not offered. */
bool policy_forbids(const struct conf *, const char *name);

enum policy_outcome {
    POLICY_GOES = 0, /* let through, its row says so: it becomes sent now */
    POLICY_NO_ROOM,  /* it may go, but not now */
    POLICY_WAITS,    /* for the person, who is or will be asked */
    POLICY_SETTLED   /* refused: its row has its outcome */
};
/* What becomes of a call that is to be sent, planned or made again; inside the
 * step's transaction. room: it would be sent at once. */
enum rc policy_rule(struct step *, struct tool_call *, bool room,
                    enum policy_outcome *) RC_MUST_CHECK;
/* What the tool must still be when a call that goes reaches its server; NULL:
 * whatever it is, since the configuration allows it. Valid in this turn. */
const char *policy_digest(struct step *, const struct tool_call *);

#endif
