#include <string.h>

#include "fcgi/handlers.h"
#include "fcgi/reply.h"
#include "sql/base/version.h"
#include "sql/store_lease.h"
#include "sql/store_library.h"

/* The bundled offline model is served below this path, see docs. */
#define OFFLINE_PATH "/offline/v1"

enum serve_then h_health_get(struct ask *ask)
{
    const struct conf *conf = ask->app->conf;
    enum endpoint_state endpoint = ENDPOINT_UNKNOWN;
    struct library_run indexer = {0};
    struct store_view view;
    struct reply reply;
    enum rc rc = store_read_begin(ask->store, &view);

    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc = store_endpoint_get(ask->store, &endpoint);
    if (rc == RC_OK) {
        rc = store_library_run_get(ask->store, ask->arena, &indexer);
    }
    store_read_end(ask->store);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    json_kstr(&reply.json, "status", "ok");
    json_kstr(&reply.json, "version", ASIDE_VERSION);
    json_kstr(&reply.json, "runtime",
              store_lease_held(conf->data) ? "ok" : "absent");
    json_kstr(&reply.json, "model",
              states_text(LIST_ENDPOINT_STATE, (int)endpoint));
    json_kstr(&reply.json, "library", indexer.failures == 0 ? "ok" : "failing");
    json_kstr(&reply.json, "model_name", conf->model_name);
    json_kbool(&reply.json, "offline",
               strstr(conf->model_url, OFFLINE_PATH) != NULL);
    json_ki64(&reply.json, "as_of", view.as_of);
    json_kstr(&reply.json, "feed", view.feed);
    return reply_send(&reply, ask->req, 200);
}
