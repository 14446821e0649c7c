#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "fcgi/view.h"
#include "sql/store_lease.h"
#include "sql/store_server.h"

#define MAX_CONVERSATIONS 500
#define MAX_ACTIVE_RUNS   1000
#define MAX_UNSEEN        500

struct overview {
    struct read read;
    struct occupancy occupancy;
    struct conversation *conversations;
    size_t n_conversations;
    struct run *runs;
    size_t n_runs;
    struct notification *unseen;
    size_t n_unseen;
    struct server *servers;
    size_t n_servers;
};

static enum rc read_lists(const struct ask *ask, struct overview *o)
{
    const struct run_filter active = {.account_id = o->read.account_id,
                                      .limit = MAX_ACTIVE_RUNS,
                                      .state = -1,
                                      .kind = -1,
                                      .active_only = true};
    enum rc rc;

    rc = store_server_list(ask->store, ask->arena, &o->servers, &o->n_servers);
    if (rc != RC_OK || o->read.account_id == 0) {
        return rc;
    }
    rc = store_occupancy(ask->store, o->read.account_id, &o->occupancy);
    if (rc == RC_OK) {
        rc = store_conversation_list(ask->store, o->read.account_id,
                                     MAX_CONVERSATIONS, ask->arena,
                                     &o->conversations, &o->n_conversations);
    }
    if (rc == RC_OK) {
        rc = store_run_list(ask->store, &active, ask->arena, &o->runs,
                            &o->n_runs);
    }
    if (rc == RC_OK) {
        rc = store_notification_unseen(ask->store, o->read.account_id,
                                       MAX_UNSEEN, ask->arena, &o->unseen,
                                       &o->n_unseen);
    }
    return rc;
}

/* What nobody looks after is not known. */
static void put_server(struct json_out *json, const struct server *s, bool held)
{
    json_open_object(json);
    json_kstr(json, "kind", s->kind);
    json_kstr(json, "name", s->name);
    json_kstr(json, "state",
              states_text(LIST_ENDPOINT_STATE,
                          (int)(held ? s->state : ENDPOINT_UNKNOWN)));
    json_kstr(json, "detail", held ? s->detail : "");
    json_ki64(json, "tools", s->tools);
    json_ki64(json, "changed_at", s->changed_ms);
    json_close_object(json);
}

static void put_servers(const struct ask *ask, struct json_out *json,
                        const struct overview *o)
{
    bool held = o->n_servers > 0 && store_lease_held(ask->app->conf->data);

    json_key(json, "tools");
    json_open_array(json);
    for (size_t i = 0; i < o->n_servers; i++) {
        put_server(json, &o->servers[i], held);
    }
    json_close_array(json);
}

/* What whoever asks may do, and whether there is anything to log out of. */
static void put_access(const struct ask *ask, struct json_out *json)
{
    char id[ID_TEXT_BYTES];

    json_key(json, "access");
    json_open_object(json);
    json_kbool(json, "tokens", ask->app->conf->auth == CONF_AUTH_TOKEN);
    json_kstr(json, "scope", states_text(LIST_ACCESS_SCOPE, (int)ask->scope));
    json_kstr(json, "session",
              ask->actor.kind == ACTOR_SESSION
                  ? id_text(ID_SESSION, ask->actor.id, id)
                  : NULL);
    json_close_object(json);
}

static void put_overview(const struct ask *ask, struct json_out *json,
                         const struct overview *o)
{
    const struct conf *conf = ask->app->conf;

    read_put_view(json, &o->read);
    json_kstr(json, "account", ask->account);
    put_access(ask, json);
    json_key(json, "limits");
    json_open_object(json);
    json_ki64(json, "short", conf->short_limit);
    json_ki64(json, "background", conf->background_limit);
    json_close_object(json);
    json_key(json, "occupancy");
    view_occupancy(json, &o->occupancy, conf);
    json_key(json, "conversations");
    json_open_array(json);
    for (size_t i = 0; i < o->n_conversations; i++) {
        view_conversation(json, &o->conversations[i]);
    }
    json_close_array(json);
    json_key(json, "runs");
    json_open_array(json);
    for (size_t i = 0; i < o->n_runs; i++) {
        view_run(json, &o->runs[i]);
    }
    json_close_array(json);
    json_key(json, "notifications");
    json_open_array(json);
    for (size_t i = 0; i < o->n_unseen; i++) {
        view_notification(json, &o->unseen[i]);
    }
    json_close_array(json);
    put_servers(ask, json, o);
}

enum serve_then h_overview_get(struct ask *ask)
{
    struct overview o = {0};
    struct reply reply;
    enum rc rc = read_begin(ask, &o.read);

    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    rc = read_lists(ask, &o);
    read_end(ask);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    reply_open(&reply);
    put_overview(ask, &reply.json, &o);
    return reply_send(&reply, ask->req, 200);
}
