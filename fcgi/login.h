/* login.h - with auth = token: whose secret a request carries, and the cookie
 * that carries a session's. */
#ifndef ASIDE_FCGI_LOGIN_H
#define ASIDE_FCGI_LOGIN_H

#include "fcgi/access.h"
#include "fcgi/ask.h"

/* Find who asks, and fill in the ask's account, scope and actor: one read. That
 * the token or session was used is handed to the writer, at most once a minute.
 * What is carried but stands for nobody is logged, without it. */
enum rc login_find(struct ask *, const struct access_facts *,
                   enum access_verdict *) RC_MUST_CHECK;

/* The header line of a refusal (RFC 6750 3); NULL: none, or the usual one. */
const char *login_challenge(const struct ask *, enum access_verdict,
                            const struct access_facts *, enum access_scope);

/* Without auth = token there is nobody to log in: 404. */
bool login_is_used_or_reply(const struct ask *);

/* Whether the session's cookie has ACCESS_HOST_COOKIE for its name. */
bool login_host_cookie(const struct req *, const struct conf *);

/* The Set-Cookie line for a session's secret and its seconds; for 0 seconds
 * the browser drops it. Secure, where the request came by HTTPS. */
const char *login_cookie(const struct ask *, const char *secret,
                         int64_t seconds);

#endif
