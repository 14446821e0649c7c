#include "fcgi/route.h"

#include <stdio.h>
#include <string.h>

#include "fcgi/access.h"
#include "fcgi/handlers.h"
#include "fcgi/login.h"
#include "fcgi/reply.h"
#include "sql/base/id.h"

#define V1 "/api/v1"

static const struct route ROUTE[] = {
    {REQ_GET, V1 "/health", ROUTE_OPEN, h_health_get},
    {REQ_GET, V1 "/overview", ROUTE_READ, h_overview_get},
    {REQ_POST, V1 "/session", ROUTE_LOGIN, h_session_open},
    {REQ_DELETE, V1 "/session", ROUTE_LEAVE, h_session_leave},
    {REQ_GET, V1 "/sessions", ROUTE_ADMIN, h_session_list},
    {REQ_DELETE, V1 "/sessions/{sess}", ROUTE_ADMIN, h_session_close},
    {REQ_GET, V1 "/tokens", ROUTE_ADMIN, h_token_list},
    {REQ_POST, V1 "/tokens", ROUTE_ADMIN, h_token_create},
    {REQ_DELETE, V1 "/tokens/{tok}", ROUTE_ADMIN, h_token_revoke},
    {REQ_POST, V1 "/conversations", ROUTE_WRITE, h_conversation_create},
    {REQ_GET, V1 "/conversations/{conv}", ROUTE_READ, h_conversation_get},
    {REQ_PATCH, V1 "/conversations/{conv}", ROUTE_WRITE, h_conversation_update},
    {REQ_DELETE, V1 "/conversations/{conv}", ROUTE_WRITE,
     h_conversation_delete},
    {REQ_POST, V1 "/conversations/{conv}/messages", ROUTE_WRITE,
     h_message_send},
    {REQ_GET, V1 "/runs", ROUTE_READ, h_run_list},
    {REQ_GET, V1 "/runs/{run}", ROUTE_READ, h_run_get},
    {REQ_POST, V1 "/runs/{run}/adjustments", ROUTE_WRITE, h_handoff_adjust},
    {REQ_POST, V1 "/runs/{run}/stop", ROUTE_WRITE, h_run_stop},
    {REQ_POST, V1 "/runs/{run}/reply", ROUTE_WRITE, h_handoff_reply},
    {REQ_POST, V1 "/runs/{run}/continue", ROUTE_WRITE, h_run_continue},
    {REQ_POST, V1 "/approvals/{appr}", ROUTE_WRITE, h_approval_decide},
    {REQ_GET, V1 "/runs/{run}/report", ROUTE_READ, h_report_get},
    {REQ_GET, V1 "/requests/{req}/input", ROUTE_READ, h_request_input},
    {REQ_GET, V1 "/calls/{call}/arguments", ROUTE_READ, h_call_arguments},
    {REQ_GET, V1 "/sources/{src}/text", ROUTE_READ, h_source_text},
    {REQ_GET, V1 "/search", ROUTE_READ, h_search},
    {REQ_GET, V1 "/changes", ROUTE_READ, h_changes_get},
    {REQ_GET, V1 "/audit", ROUTE_READ, h_audit_list},
    {REQ_GET, V1 "/library", ROUTE_READ, h_library_get},
    {REQ_POST, V1 "/library/index", ROUTE_WRITE, h_library_index},
    {REQ_PUT, V1 "/library/files/{name...}", ROUTE_UPLOAD, h_library_add},
    {REQ_DELETE, V1 "/library/files/{name...}", ROUTE_WRITE, h_library_remove},
};

#define N_ROUTES (sizeof(ROUTE) / sizeof(ROUTE[0]))

/* --- finding ---------------------------------------------------------------
 */

/* An id as a placeholder names it: "{run}" takes "run_17". */
static bool match_id(const char *name, size_t name_len, const char *text,
                     size_t len, int64_t *id)
{
    static const struct {
        const char *name;
        enum id_kind kind;
    } KIND[] = {
        {"{conv}", ID_CONVERSATION}, {"{run}", ID_RUN},
        {"{req}", ID_REQUEST},       {"{sess}", ID_SESSION},
        {"{tok}", ID_TOKEN},         {"{appr}", ID_APPROVAL},
        {"{call}", ID_TOOL_CALL},    {"{src}", ID_SOURCE},
    };
    char copy[ID_TEXT_BYTES];

    if (len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (size_t i = 0; i < sizeof(KIND) / sizeof(KIND[0]); i++) {
        if (strlen(KIND[i].name) == name_len &&
            strncmp(KIND[i].name, name, name_len) == 0) {
            return id_parse(KIND[i].kind, copy, id) == RC_OK;
        }
    }
    return false;
}

/* At the end of a pattern: the path's rest, slashes and all. */
#define REST "{name...}"

static bool match_path(const char *pattern, const char *path, int64_t *id)
{
    while (*pattern == '/' && *path == '/') {
        size_t want = strcspn(pattern + 1, "/");
        size_t have = strcspn(path + 1, "/");

        if (strcmp(pattern + 1, REST) == 0) {
            return path[1] != '\0';
        }
        if (pattern[1] == '{') {
            if (!match_id(pattern + 1, want, path + 1, have, id)) {
                return false;
            }
        } else if (want != have || strncmp(pattern + 1, path + 1, want) != 0) {
            return false;
        }
        pattern += 1 + want;
        path += 1 + have;
    }
    return *pattern == '\0' && *path == '\0';
}

static void add_allowed(char allow[ROUTE_ALLOW_BYTES], enum req_method method)
{
    static const char *const NAME[REQ__MAX] = {
        [REQ_GET] = "GET, HEAD", [REQ_HEAD] = "",       [REQ_POST] = "POST",
        [REQ_PUT] = "PUT",       [REQ_PATCH] = "PATCH", [REQ_DELETE] = "DELETE",
        [REQ_OTHER] = "",
    };
    size_t len = strlen(allow);

    (void)snprintf(allow + len, ROUTE_ALLOW_BYTES - len, "%s%s",
                   len == 0 ? "" : ", ", NAME[method]);
}

enum route_match route_find(enum req_method method, const char *path,
                            const struct route **out, int64_t *id,
                            char allow[ROUTE_ALLOW_BYTES])
{
    enum route_match match = ROUTE_NO_PATH;

    allow[0] = '\0';
    *id = 0;
    if (method == REQ_HEAD) {
        method = REQ_GET;
    }
    for (size_t i = 0; path != NULL && i < N_ROUTES; i++) {
        if (!match_path(ROUTE[i].pattern, path, id)) {
            continue;
        }
        if (ROUTE[i].method == method) {
            *out = &ROUTE[i];
            return ROUTE_FOUND;
        }
        add_allowed(allow, ROUTE[i].method);
        match = ROUTE_NO_METHOD;
    }
    return match;
}

/* --- walking ---------------------------------------------------------------
 */

void route_print(FILE *to)
{
    static const char *const METHOD[REQ__MAX] = {
        [REQ_GET] = "GET",     [REQ_HEAD] = "HEAD",   [REQ_POST] = "POST",
        [REQ_PUT] = "PUT",     [REQ_PATCH] = "PATCH", [REQ_DELETE] = "DELETE",
        [REQ_OTHER] = "OTHER",
    };
    static const char *const NEED[ROUTE_NEED__MAX] = {
        [ROUTE_OPEN] = "open",   [ROUTE_LOGIN] = "login",
        [ROUTE_READ] = "read",   [ROUTE_LEAVE] = "leave",
        [ROUTE_WRITE] = "write", [ROUTE_UPLOAD] = "upload",
        [ROUTE_ADMIN] = "admin",
    };

    for (size_t i = 0; i < N_ROUTES; i++) {
        (void)fprintf(to, "%s\t%s\t%s\n", METHOD[ROUTE[i].method],
                      ROUTE[i].pattern, NEED[ROUTE[i].need]);
    }
}

/* --- handling --------------------------------------------------------------
 */

/* Whether it was forwarded is a dozen headers to look for, and matters only
 * where no web server vouches for the user. */
static void gather_facts(struct req *r, const struct conf *conf, bool has_body,
                         struct access_facts *f)
{
    *f = (struct access_facts){
        .remote_addr = req_param(r, "REMOTE_ADDR"),
        .server_addr = req_param(r, "SERVER_ADDR"),
        .remote_user = req_param(r, "REMOTE_USER"),
        .host = req_header(r, "Host"),
        .origin = req_header(r, "Origin"),
        .sec_fetch_site = req_header(r, "Sec-Fetch-Site"),
        .content_type = req_header(r, "Content-Type"),
        .authorization = req_header(r, "Authorization"),
        .cookie = req_header(r, "Cookie"),
        .host_cookie = login_host_cookie(r, conf),
        .has_body = has_body,
    };
    for (size_t i = 0;
         conf->auth == CONF_AUTH_NONE && ACCESS_FORWARDING[i] != NULL; i++) {
        if (req_header(r, ACCESS_FORWARDING[i]) != NULL) {
            f->forwarded = true;
        }
    }
}

/* What is needed beside the route itself. */
struct demand {
    bool account;
    enum access_scope scope;
    bool write; /* the checks of access_write */
    bool json;  /* the body, if there is one */
};

static const struct demand DEMAND[ROUTE_NEED__MAX] = {
    [ROUTE_OPEN] = {false, SCOPE_READ, false, false},
    [ROUTE_LOGIN] = {false, SCOPE_READ, true, true},
    [ROUTE_READ] = {true, SCOPE_READ, false, false},
    [ROUTE_LEAVE] = {true, SCOPE_READ, true, true},
    [ROUTE_WRITE] = {true, SCOPE_WRITE, true, true},
    [ROUTE_UPLOAD] = {true, SCOPE_WRITE, true, false},
    [ROUTE_ADMIN] = {true, SCOPE_ADMIN, true, true},
};

static bool refuse(const struct ask *ask, enum access_verdict verdict,
                   const struct access_facts *facts, enum access_scope scope)
{
    static const struct {
        enum reply_code code;
        const char *detail;
    } REFUSAL[ACCESS__MAX] = {
        [ACCESS_NO_USER] = {REPLY_UNAUTHORIZED,
                            "The web server names no user."},
        [ACCESS_NOT_LOCAL] = {REPLY_FORBIDDEN,
                              "Without a login this serves its own machine "
                              "alone."},
        [ACCESS_FORWARDED] = {REPLY_FORBIDDEN,
                              "Without a login this takes no forwarded "
                              "request."},
        [ACCESS_FOREIGN_HOST] = {REPLY_FORBIDDEN,
                                 "The Host is not one of this machine's names; "
                                 "see the key hosts."},
        [ACCESS_FOREIGN_ORIGIN] = {REPLY_FOREIGN_ORIGIN, NULL},
        [ACCESS_CROSS_SITE] = {REPLY_FOREIGN_ORIGIN, NULL},
        [ACCESS_MEDIA_TYPE] = {REPLY_MEDIA_TYPE, NULL},
        [ACCESS_NO_TOKEN] = {REPLY_LOGIN_REQUIRED, NULL},
        [ACCESS_BAD_TOKEN] = {REPLY_LOGIN_REQUIRED,
                              "The token or session has expired, was revoked, "
                              "or is none."},
        [ACCESS_SCOPE] = {REPLY_SCOPE, NULL},
    };

    if (verdict == ACCESS_GRANTED) {
        return true;
    }
    (void)reply_problem_with(ask->req, REFUSAL[verdict].code,
                             REFUSAL[verdict].detail,
                             login_challenge(ask, verdict, facts, scope));
    return false;
}

static bool grant_or_reply(struct ask *ask, enum route_need need, bool has_body)
{
    const struct demand *demand = &DEMAND[need];
    const struct conf *conf = ask->app->conf;
    enum access_verdict verdict = ACCESS_GRANTED;
    struct access_facts facts;
    enum rc rc = RC_OK;

    gather_facts(ask->req, conf, has_body, &facts);
    ask->actor =
        (struct store_actor){.kind = ACTOR_USER, .address = facts.remote_addr};
    ask->scope = SCOPE_ADMIN;
    if (demand->account && conf->auth == CONF_AUTH_TOKEN) {
        rc = login_find(ask, &facts, &verdict);
    } else if (demand->account) {
        verdict = access_account(conf, &facts, &ask->account);
    }
    if (rc != RC_OK) {
        (void)reply_rc(ask->req, rc);
        return false;
    }
    if (verdict == ACCESS_GRANTED && ask->scope < demand->scope) {
        verdict = ACCESS_SCOPE;
    }
    if (verdict == ACCESS_GRANTED && demand->write) {
        verdict = access_write(conf, &facts);
    } else if (verdict == ACCESS_GRANTED && demand->account) {
        verdict = access_read(conf, &facts);
    }
    return refuse(ask, verdict, &facts, demand->scope);
}

static bool parse_or_reply(struct ask *ask, const char *text, size_t len)
{
    enum json_flaw flaw = JSON_FLAW_NONE;
    enum rc rc = json_parse(text, len, &ask->body, &flaw);

    if (rc == RC_INVALID) {
        (void)reply_problem(
            ask->req,
            flaw == JSON_FLAW_DUPLICATE ? REPLY_DUPLICATE_MEMBER
                                        : REPLY_INVALID_JSON,
            arena_printf(ask->arena, "The body %s.", json_flaw_text(flaw)));
        return false;
    }
    if (rc != RC_OK) {
        (void)reply_rc(ask->req, rc);
        return false;
    }
    if (!cJSON_IsObject(ask->body)) {
        (void)reply_problem(ask->req, REPLY_NOT_AN_OBJECT, NULL);
        return false;
    }
    return true;
}

/* Take the body in, whatever becomes of the request then; but say 401 or 403
 * before anything about the body. */
static bool admit_or_reply(struct ask *ask, const struct route *route)
{
    const char *text = "";
    size_t len = 0;
    enum rc rc;

    if (route->need == ROUTE_UPLOAD) {
        return grant_or_reply(ask, route->need, false);
    }
    rc = req_body(ask->req, ASK_MAX_BODY_BYTES, &text, &len);
    if (!grant_or_reply(ask, route->need, rc == RC_OK && len > 0)) {
        return false;
    }
    if (rc == RC_IO) {
        (void)reply_problem(ask->req, REPLY_MALFORMED_BODY, NULL);
        return false;
    }
    if (rc == RC_TOO_LARGE) {
        (void)reply_problem(ask->req, REPLY_BODY_TOO_LARGE, NULL);
        return false;
    }
    if (rc != RC_OK) {
        (void)reply_rc(ask->req, rc);
        return false;
    }
    if (req_query_malformed(ask->req)) {
        (void)reply_problem(ask->req, REPLY_MALFORMED_TARGET, NULL);
        return false;
    }
    return !DEMAND[route->need].json || len == 0 ||
           parse_or_reply(ask, text, len);
}

static enum serve_then reply_no_route(struct req *r, enum route_match match,
                                      const char *allow)
{
    char header[ROUTE_ALLOW_BYTES + 16];

    if (match == ROUTE_NO_PATH) {
        return reply_problem(r, REPLY_NOT_FOUND,
                             req_path_malformed(r)
                                 ? "The address has a wrong escape or a NUL, "
                                   "or is not UTF-8."
                                 : NULL);
    }
    (void)snprintf(header, sizeof(header), "Allow: %s\r\n", allow);
    return reply_problem_with(r, REPLY_METHOD_NOT_ALLOWED, NULL, header);
}

/* What the path has in the place of a pattern's REST; no other placeholder
 * stands before it. */
static const char *rest_of(const char *pattern, const char *path)
{
    const char *rest = strstr(pattern, REST);

    return rest == NULL ? "" : path + (rest - pattern);
}

enum serve_then route_handle(struct req *r, void *app, void *store)
{
    struct ask *ask = arena_alloc(req_arena(r), sizeof(*ask));
    enum serve_then then = SERVE_FINISH;
    const struct route *route = NULL;
    char allow[ROUTE_ALLOW_BYTES];
    enum route_match match;

    if (ask == NULL) {
        return reply_rc(r, RC_NOMEM);
    }
    ask->app = app;
    ask->store = store;
    ask->req = r;
    ask->arena = req_arena(r);
    match = route_find(req_method(r), req_path(r), &route, &ask->id, allow);
    if (match != ROUTE_FOUND) {
        return reply_no_route(r, match, allow);
    }
    ask->pattern = route->pattern;
    ask->rest = rest_of(route->pattern, req_path(r));
    if (admit_or_reply(ask, route)) {
        then = route->handle(ask);
    }
    if (then == SERVE_FINISH) {
        ask_end(ask);
    }
    return then;
}
