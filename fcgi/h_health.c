#include <string.h>

#include "fcgi/handlers.h"
#include "fcgi/reply.h"
#include "fcgi/writer.h"
#include "sql/base/version.h"
#include "sql/store_lease.h"
#include "sql/store_library.h"
#include "sql/store_storage.h"

/* The bundled offline model is served below this path, see docs. */
#define OFFLINE_PATH "/offline/v1"

/* What the rows tell. Where they cannot be read, that itself is the answer. */
struct seen {
    struct store_view view;
    enum endpoint_state endpoint;
    struct library_run indexer;
    bool read;
};

static enum rc look(struct ask *ask, struct seen *seen)
{
    enum rc rc = store_read_begin(ask->store, &seen->view);

    if (rc != RC_OK) {
        return rc;
    }
    rc = store_endpoint_get(ask->store, &seen->endpoint);
    if (rc == RC_OK) {
        rc = store_library_run_get(ask->store, ask->arena, &seen->indexer);
    }
    store_read_end(ask->store);
    seen->read = rc == RC_OK;
    return rc;
}

static enum storage storage_of(struct ask *ask, const struct seen *seen)
{
    enum storage storage = store_storage_look(ask->store);

    if (storage == STORAGE_OK && !seen->read) {
        storage = STORAGE_FAILING;
    }
    if (storage != STORAGE_OK) {
        writer_look(ask->app->writer);
    }
    return storage;
}

enum serve_then h_health_get(struct ask *ask)
{
    const struct conf *conf = ask->app->conf;
    struct seen seen = {.endpoint = ENDPOINT_UNKNOWN};
    enum storage storage;
    struct reply reply;

    if (look(ask, &seen) == RC_BUSY) {
        return reply_rc(ask->req, RC_BUSY);
    }
    storage = storage_of(ask, &seen);
    reply_open(&reply);
    json_kstr(&reply.json, "status",
              storage == STORAGE_OK || storage == STORAGE_LOG_LARGE
                  ? "ok"
                  : "degraded");
    json_kstr(&reply.json, "version", ASIDE_VERSION);
    json_kstr(&reply.json, "storage", store_storage_word(storage));
    json_kstr(&reply.json, "runtime",
              store_lease_held(conf->data) ? "ok" : "absent");
    json_kstr(&reply.json, "model",
              states_text(LIST_ENDPOINT_STATE, (int)seen.endpoint));
    json_kstr(&reply.json, "library",
              seen.indexer.failures == 0 ? "ok" : "failing");
    json_kstr(&reply.json, "model_name", conf->model_name);
    json_kbool(&reply.json, "offline",
               strstr(conf->model_url, OFFLINE_PATH) != NULL);
    if (seen.read) {
        json_ki64(&reply.json, "as_of", seen.view.as_of);
        json_kstr(&reply.json, "feed", seen.view.feed);
    }
    return reply_send(&reply, ask->req, 200);
}
