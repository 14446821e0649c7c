/* access.h - which account is asking, and whether a browser was tricked into
 * asking.
 *
 * Pure: facts of the request in, a verdict out. See DESIGN 6, end:
 *   auth = none    one account "me"; the request must come from and to a
 *                  loopback address, unforwarded, with a Host that names this
 *                  machine (against DNS rebinding)
 *   auth = proxy   the web server has set REMOTE_USER
 *   auth = token   the request carries the secret of a token, as bearer (RFC
 *                  6750), or of a session, in a cookie (RFC 6265); whose it
 *                  is, login.h finds out
 * Where the browser says from where it asks (Sec-Fetch-Site), reads and writes
 * are the page's own or a person's: another site must not even measure how long
 * an answer takes. A write needs application/json and an own Origin (RFC 6454)
 * as well; with a bearer token, which no browser sends by itself,
 * application/json alone.
 */
#ifndef ASIDE_FCGI_ACCESS_H
#define ASIDE_FCGI_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/conf.h"

#define ACCESS_MAX_USER_BYTES 255

struct access_facts { /* NULL: the request has none */
    const char *remote_addr;
    const char *server_addr;
    const char *remote_user;
    const char *host;
    const char *origin;
    const char *sec_fetch_site;
    const char *content_type;
    const char *authorization; /* this and the cookie: where auth = token */
    const char *cookie;
    bool host_cookie; /* the session is in ACCESS_HOST_COOKIE */
    bool forwarded;   /* it carries a header of a forwarding proxy; looked for
                     * where auth = none alone */
    bool has_body;
};

enum access_verdict {
    ACCESS_GRANTED = 0,
    ACCESS_NO_USER,      /* auth = proxy and nobody logged in */
    ACCESS_NOT_LOCAL,    /* auth = none and from or to elsewhere */
    ACCESS_FORWARDED,    /* auth = none and through a proxy */
    ACCESS_FOREIGN_HOST, /* auth = none and another Host */
    ACCESS_FOREIGN_ORIGIN,
    ACCESS_CROSS_SITE, /* a browser asks for another site or origin */
    ACCESS_MEDIA_TYPE, /* a write whose body is no application/json */
    ACCESS_NO_TOKEN,   /* auth = token and the request carries nothing */
    ACCESS_BAD_TOKEN,  /* what it carries is no token, or not any more */
    ACCESS_SCOPE,      /* its scope does not reach that far */
    ACCESS__MAX
};

/* Names of the header fields that make a request "forwarded", ended by NULL. */
extern const char *const ACCESS_FORWARDING[];

/* The account of a request that reads, with auth = none or proxy. *account is
 * "me" or remote_user. */
enum access_verdict access_account(const struct conf *,
                                   const struct access_facts *,
                                   const char **account);

/* What a request carries with auth = token. A bearer token goes before a
 * cookie, also one that is malformed: ACCESS_BY_BEARER with text NULL. Another
 * scheme of Authorization is not for us: a web server in front may have asked
 * for it.
 *
 * Under the second name a browser takes a cookie from this very host by HTTPS
 * alone (RFC 6265bis 4.1.3.2), so that no other host of the domain, and nobody
 * on the way, can put a session of their own in the place of a person's. It
 * needs the path "/". */
#define ACCESS_COOKIE      "aside"
#define ACCESS_HOST_COOKIE "__Host-aside"
enum access_means { ACCESS_BY_NOTHING = 0, ACCESS_BY_BEARER, ACCESS_BY_COOKIE };
struct access_secret {
    enum access_means means;
    const char *text; /* in the facts, not NUL-terminated */
    size_t len;
};
void access_secret(const struct access_facts *, struct access_secret *);

/* Whether a read may be: ACCESS_GRANTED or ACCESS_CROSS_SITE. */
enum access_verdict access_read(const struct conf *,
                                const struct access_facts *);

/* Whether a write may be what its account's user wanted. */
enum access_verdict access_write(const struct conf *,
                                 const struct access_facts *);

#endif
