/* nginx_conf.h - nginx/run.conf.in with its blanks filled in. */
#ifndef ASIDE_RUNTIME_NGINX_CONF_H
#define ASIDE_RUNTIME_NGINX_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/base/buf.h"
#include "sql/base/rc.h"

struct nginx_conf {
    const char *owner; /* "user group" of the workers if nginx starts as root,
                        * else NULL */
    int port;
    bool ipv6;              /* listen on [::1] too */
    bool offline;           /* serve the offline model on loopback */
    const char *prefix;     /* "" or "/aside" */
    const char *run_dir;    /* pid and temporary files */
    const char *socket_dir; /* responder-1.sock, responder-2.sock, ... */
    const char *static_dir; /* the page */
    int64_t max_files;      /* descriptors that a worker may open */
};

/* Append the configuration to out. RC_INVALID: a text that nginx could not
 * take as it is ('$', '"', '\\', ';', braces or a control character); or the
 * rc of out. */
enum rc nginx_conf_render(const struct nginx_conf *,
                          struct buf *out) RC_MUST_CHECK;

#endif
