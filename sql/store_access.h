/* store_access.h - who may ask, with auth = token: accounts, their tokens, and
 * the sessions that browsers open with them.
 *
 * A secret (sql/base/secret.h) never comes here, only its hash. A token is
 * revoked, never deleted; it and its sessions end in one transaction. A session
 * has its token's scope, and is gone when it ends.
 */
#ifndef ASIDE_SQL_STORE_ACCESS_H
#define ASIDE_SQL_STORE_ACCESS_H

#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/store.h"

/* How many an account may have at a time. A further session closes the oldest;
 * a further token is refused. */
#define ACCESS_MAX_TOKENS   100
#define ACCESS_MAX_SESSIONS 100

#define ACCESS_TOKEN_DAYS     365 /* unless said otherwise */
#define ACCESS_MAX_TOKEN_DAYS 3650
#define ACCESS_SESSION_DAYS   30
#define ACCESS_DAY_MS         ((int64_t)86400000)

/* That it was used is written down at most this often. */
#define ACCESS_USED_EVERY_MS ((int64_t)60000)

/* --- who asks ------------------------------------------------------------ */

struct access_holder {
    enum actor_kind kind; /* ACTOR_TOKEN or ACTOR_SESSION */
    int64_t id;
    int64_t account_id;
    const char *account;
    enum access_scope scope;
    int64_t expires_ms;
    int64_t used_ms; /* 0: never */
};

/* Who has the secret with this hash, as token or as session. RC_NOT_FOUND:
 * nobody, or not any more. */
enum rc store_access_find(struct store *, enum actor_kind,
                          const uint8_t hash[HASH_BYTES], int64_t now_ms,
                          struct arena *, struct access_holder *) RC_MUST_CHECK;

/* Whether a token or session still stands. RC_NOT_FOUND: not any more. Other
 * kinds of actors always do. */
enum rc store_access_stands(struct store *, const struct store_actor *,
                            int64_t now_ms) RC_MUST_CHECK;

/* It was used; inside a transaction. Nothing happens within
 * ACCESS_USED_EVERY_MS, or when it is gone. */
enum rc store_access_used(struct store *, const struct store_actor *,
                          int64_t now_ms) RC_MUST_CHECK;

/* --- accounts ------------------------------------------------------------ */

struct account {
    int64_t id;
    const char *name;
    int64_t created_ms;
};

/* Make call->account; RC_CONFLICT: there is one. */
enum rc store_account_create(struct store *, const struct store_call *,
                             struct account *) RC_MUST_CHECK;
enum rc store_account_list(struct store *, int64_t limit, struct arena *,
                           struct account **, size_t *n) RC_MUST_CHECK;

/* --- tokens -------------------------------------------------------------- */

struct token {
    int64_t id;
    int64_t account_id;
    const char *name;
    enum access_scope scope;
    int64_t created_ms;
    int64_t expires_ms;
    int64_t last_used_ms; /* 0: never */
    int64_t revoked_ms;   /* 0: it is not */
};

struct token_new {
    const char *name;
    enum access_scope scope;
    int64_t days; /* until it expires */
    uint8_t hash[HASH_BYTES];
};

/* Make a token of call->account. RC_NOT_FOUND: there is no such account.
 * RC_NOT_ELIGIBLE: it has ACCESS_MAX_TOKENS. With call->replayed the hash was
 * not taken: the secret is that of the first time. */
enum rc store_token_create(struct store *, struct store_call *,
                           const struct token_new *,
                           struct token *) RC_MUST_CHECK;
/* Those that are not revoked, the newest first. */
enum rc store_token_list(struct store *, int64_t account_id, struct arena *,
                         struct token **, size_t *n) RC_MUST_CHECK;
/* The name of the account that has it; RC_NOT_FOUND. */
enum rc store_token_owner(struct store *, int64_t id, struct arena *,
                          const char **account) RC_MUST_CHECK;
/* Revoke it and close its sessions. RC_NOT_FOUND: the account has none of this
 * id. One that is revoked stays as it is. */
enum rc store_token_revoke(struct store *, struct store_call *, int64_t id,
                           struct token *) RC_MUST_CHECK;

/* {id, name, scope, created_at, expires_at, last_used_at, revoked_at}; what has
 * not happened is null. */
void store_token_put(struct json_out *, const struct token *);

/* --- sessions ------------------------------------------------------------ */

struct session {
    int64_t id;
    int64_t account_id;
    int64_t token_id;
    const char *token; /* its name */
    enum access_scope scope;
    int64_t created_ms;
    int64_t expires_ms;
    int64_t seen_ms;
    const char *agent;
    const char *address;
};

struct session_new {
    int64_t token_id;
    uint8_t hash[HASH_BYTES];
    const char *agent;
};

/* Open one for call->account, from call->actor's address. RC_NOT_FOUND: the
 * token does not stand any more. */
enum rc store_session_open(struct store *, struct store_call *,
                           const struct session_new *,
                           struct session *) RC_MUST_CHECK;
/* Those that stand, the newest first. */
enum rc store_session_list(struct store *, int64_t account_id, int64_t now_ms,
                           struct arena *, struct session **,
                           size_t *n) RC_MUST_CHECK;
/* RC_NOT_FOUND: the account has none of this id. */
enum rc store_session_close(struct store *, struct store_call *,
                            int64_t id) RC_MUST_CHECK;

#endif
