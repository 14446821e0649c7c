/* ask.h - what a handler is given: the responder's shared parts, and one
 * request with what the router found out about it. */
#ifndef ASIDE_FCGI_ASK_H
#define ASIDE_FCGI_ASK_H

#include "fcgi/limit.h"
#include "fcgi/park.h"
#include "fcgi/req.h"
#include "fcgi/serve.h"
#include "fcgi/writer.h"
#include "sql/base/json.h"
#include "sql/store.h"

#define ASK_MAX_KEY_BYTES     255
#define ASK_MAX_BODY_BYTES    (256 * 1024) /* of a request */
#define ASK_MAX_MESSAGE_BYTES (64 * 1024)
#define ASK_MAX_TITLE_BYTES   255

/* Shared by all threads, set up before they start. */
struct app {
    const struct conf *conf;
    struct writer *writer;
    struct park *park;
    struct limit *limit; /* NULL: none */
};

/* Lies in the request's arena, so that it may outlive the handler. */
struct ask {
    struct app *app;
    struct store *store; /* the thread's own, for reading */
    struct req *req;
    struct arena *arena;     /* the request's */
    const char *account;     /* NULL where the route needs none */
    enum access_scope scope; /* what it may ask for */
    struct store_actor actor;
    int64_t id;          /* the one in the path, 0 if it has none */
    const char *rest;    /* what {name...} stands for, else "" */
    cJSON *body;         /* an object; NULL: none was sent */
    const char *pattern; /* of the route, for the log; NULL: none */
};

/* The request is answered: log it and free the body. The request itself is
 * still to be finished. */
void ask_end(struct ask *);

#endif
