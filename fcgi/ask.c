#include "fcgi/ask.h"

#include "sql/base/log.h"

static void log_outcome(const struct ask *ask)
{
    int status = req_status(ask->req);

    if (status >= 500) {
        log_warn(NULL, "%s %s, id %lld: %d", req_method_name(ask->req),
                 ask->pattern, (long long)ask->id, status);
    } else {
        log_debug(NULL, "%s %s, id %lld: %d", req_method_name(ask->req),
                  ask->pattern, (long long)ask->id, status);
    }
}

void ask_end(struct ask *ask)
{
    json_free(ask->body);
    ask->body = NULL;
    log_outcome(ask);
}
