/* store_audit.h - the audit log: what was done to an account's things, by whom,
 * when, and from where.
 *
 * Append-only, until lines are older than is to be kept: 30 days at least. Control actions are appended by the functions that carry them
 * out, in their transaction; requests, tool calls and the ends of Runs by the
 * database itself, when their rows move. A line holds words, ids and numbers,
 * never what a person or a model wrote.
 */
#ifndef ASIDE_SQL_STORE_AUDIT_H
#define ASIDE_SQL_STORE_AUDIT_H

#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/store.h"

struct audit_new {
    struct store_actor actor;
    enum audit_action action;
    int64_t account_id; /* 0: of no account */
    enum id_kind subject_kind;
    int64_t subject_id;  /* 0: none */
    const char *outcome; /* a state's word; NULL: none */
    const char *detail;  /* NULL: none */
    int64_t at_ms;
};

/* Append a line; inside a transaction. */
enum rc store_audit_add(struct store *, const struct audit_new *) RC_MUST_CHECK;
/* The same for a call that was carried out. */
enum rc store_audit_call(struct store *, const struct store_call *,
                         int64_t account_id, enum audit_action, enum id_kind,
                         int64_t subject_id) RC_MUST_CHECK;

struct audit {
    int64_t id;
    int64_t at_ms;
    int64_t account_id;
    enum actor_kind actor;
    int64_t actor_id;
    const char *address; /* "": inside */
    enum audit_action action;
    const char *subject; /* "run_17"; "": none */
    const char *outcome;
    const char *detail;
};

/* The newest lines before one (INT64_MAX: of all), newest first, at most limit.
 * account_id 0: of all accounts, and of none. */
enum rc store_audit_page(struct store *, int64_t account_id, int64_t before,
                         int64_t limit, struct arena *, struct audit **,
                         size_t *n) RC_MUST_CHECK;

/* Remove lines from before that time, and say so in the log; in a transaction.
 * *n: so many, at most limit; 0: no more. */
enum rc store_audit_prune(struct store *, int64_t before_ms, int64_t limit,
                          int64_t now_ms, int64_t *n) RC_MUST_CHECK;

/* A line as an object: {id, at, actor, actor_id, address, action, subject,
 * outcome, detail}; what is empty is null. */
void store_audit_put(struct json_out *, const struct audit *);

#endif
