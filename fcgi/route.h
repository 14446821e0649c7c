/* route.h - the one table of what can be asked: method, path, what access
 * it needs, handler. Bodies may have ASK_MAX_BODY_BYTES everywhere. */
#ifndef ASIDE_FCGI_ROUTE_H
#define ASIDE_FCGI_ROUTE_H

#include <stdio.h>

#include "fcgi/ask.h"
#include "fcgi/serve.h"

enum route_need {
    ROUTE_OPEN = 0, /* nothing: no login */
    ROUTE_LOGIN,    /* no account yet, but the checks of access_write */
    ROUTE_READ,     /* an account, and scope read */
    ROUTE_LEAVE,    /* the same, and the checks of access_write */
    ROUTE_WRITE,    /* an account, scope write, and these checks */
    ROUTE_UPLOAD,   /* the same, but the handler takes the body, of any type */
    ROUTE_ADMIN,    /* an account, scope admin, and these checks */
    ROUTE_NEED__MAX
};

struct route {
    enum req_method method;
    const char *pattern; /* "/api/v1/runs/{run}/stop" */
    enum route_need need;
    enum serve_then (*handle)(struct ask *);
};

enum route_match {
    ROUTE_FOUND = 0,
    ROUTE_NO_PATH,  /* 404: no such path, or an id of the wrong form in it */
    ROUTE_NO_METHOD /* 405 */
};

/* Find the route of a path below the prefix (NULL: none). HEAD finds what GET
 * does. *id is the number in the path, 0 if it has none. allow (ROUTE_ALLOW_
 * BYTES) takes the methods of the path, "GET, HEAD". Pure. */
#define ROUTE_ALLOW_BYTES 64
enum route_match route_find(enum req_method, const char *path,
                            const struct route **out, int64_t *id,
                            char allow[ROUTE_ALLOW_BYTES]);

/* A line for each: "GET\t/api/v1/health\topen". */
void route_print(FILE *);

/* Handle one request: find the route, the account and the body, call the
 * handler; whatever is wrong is answered here. For struct serve_options. */
enum serve_then route_handle(struct req *, void *app, void *store);

#endif
