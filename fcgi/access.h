/* access.h - which account is asking, and whether a browser was tricked into
 * asking.
 *
 * Pure: facts of the request in, a verdict out. See DESIGN 6, end:
 *   auth = none    one account "me"; the request must come from and to a
 *                  loopback address, unforwarded, with a Host that names this
 *                  machine (against DNS rebinding)
 *   auth = proxy   the web server has set REMOTE_USER
 * In both, a write needs application/json, an own Origin (RFC 6454) and no
 * cross-site Sec-Fetch-Site, where the browser sends them.
 */
#ifndef ASIDE_FCGI_ACCESS_H
#define ASIDE_FCGI_ACCESS_H

#include <stdbool.h>

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
    bool forwarded; /* it carries a header of a forwarding proxy; looked for
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
    ACCESS_CROSS_SITE,
    ACCESS_MEDIA_TYPE, /* a write whose body is no application/json */
    ACCESS__MAX
};

/* Names of the header fields that make a request "forwarded", ended by NULL. */
extern const char *const ACCESS_FORWARDING[];

/* The account of a request that reads. *account is "me" or remote_user. */
enum access_verdict access_account(const struct conf *,
                                   const struct access_facts *,
                                   const char **account);

/* Whether a write may be what its account's user wanted. */
enum access_verdict access_write(const struct conf *,
                                 const struct access_facts *);

#endif
