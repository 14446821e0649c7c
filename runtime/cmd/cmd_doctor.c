/* cmd_doctor.c - one function for each thing that is looked at, in a table. Each
 * says what it found; a fault says what to do.
 *
 *   aside doctor [-c file] [-u address] [-s socket] [-w seconds] [--json]
 *
 * -u is where browsers reach Aside: the web server in front is asked there. -w
 * holds a poll for so long, to see whether the server waits as long. */
#include "runtime/cmd/cmd_doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "runtime/http/http.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/store_lease.h"

#define ASK_MS      10000
#define REPLY_BYTES ((size_t)256 << 10)
#define BODY_BYTES  ((size_t)200 << 10)
#define FREE_BYTES  ((uint64_t)256 << 20)
#define LATE_MS     15000 /* that a held poll may come back later */
#define OTHER_FDS   128   /* descriptors of a responder beside its polls */

enum verdict { FINE = 0, NOT_TRIED, FAULT };

struct finding {
    const char *what;
    enum verdict verdict;
    const char *text;
};

#define FINDINGS_MAX 16

struct doctor {
    struct cmd *cmd;
    struct http *http;
    int64_t started_ms;
    struct finding list[FINDINGS_MAX];
    size_t n;
};

static void say(struct doctor *d, enum verdict verdict, const char *what,
                const char *text)
{
    if (d->n < FINDINGS_MAX) {
        d->list[d->n++] = (struct finding){
            .what = what,
            .verdict = verdict,
            .text = text == NULL ? "no memory to say what" : text};
    }
}

/* --- this machine ------------------------------------------------------------ */

static void look_at_fts5(struct doctor *d)
{
    if (store_has_fts5()) {
        say(d, FINE, "SQLite", "has FTS5");
    } else {
        say(d, FAULT, "SQLite",
            "was built without FTS5, which library and search need: install "
            "the system's own libsqlite3, or build it with "
            "-DSQLITE_ENABLE_FTS5");
    }
}

static void look_at_data(struct doctor *d)
{
    const char *dir = d->cmd->conf.data;
    struct statvfs fs;

    if (access(dir, R_OK | W_OK | X_OK) != 0) {
        say(d, FAULT, "data",
            arena_printf(d->cmd->arena,
                         "%s: %s; it must belong to the account that runs "
                         "Aside (and this command)",
                         dir, strerror(errno)));
    } else if (statvfs(dir, &fs) == 0 &&
               (uint64_t)fs.f_bavail * fs.f_frsize < FREE_BYTES) {
        say(d, FAULT, "data",
            arena_printf(d->cmd->arena, "%s: less than %d MB are free", dir,
                         (int)(FREE_BYTES >> 20)));
    } else {
        say(d, FINE, "data", dir);
    }
}

static void look_at_doorbell(struct doctor *d)
{
    struct doorbell *bell = NULL;
    enum rc rc = doorbell_open(d->cmd->conf.data, &bell);

    if (rc == RC_OK && !doorbell_is_deaf(bell)) {
        say(d, FINE, "inotify", "watches the data folder");
    } else {
        say(d, FAULT, "inotify",
            "cannot watch the data folder, so that everything comes up to 5 s "
            "late: raise fs.inotify.max_user_instances, and keep the data on a "
            "local disk");
    }
    doorbell_close(bell);
}

static void look_at_descriptors(struct doctor *d)
{
    struct rlimit limit;
    /* A poll takes two: of nginx, and of the responder. */
    int64_t want = d->cmd->conf.poll_max_parked + OTHER_FDS;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_max != RLIM_INFINITY && (int64_t)limit.rlim_max < want) {
        say(d, FAULT, "descriptors",
            arena_printf(d->cmd->arena,
                         "a process may have %lld; poll.max_parked = %lld "
                         "needs %lld: raise LimitNOFILE (ulimit -Hn), or lower "
                         "the key",
                         (long long)limit.rlim_max,
                         (long long)d->cmd->conf.poll_max_parked,
                         (long long)want));
    } else {
        say(d, FINE, "descriptors", "enough for poll.max_parked");
    }
}

static void look_at_runtime(struct doctor *d)
{
    if (store_lease_held(d->cmd->conf.data)) {
        say(d, FINE, "runtime", "is there");
    } else {
        say(d, FAULT, "runtime",
            "is not there: messages are kept but not answered. Start asided "
            "with this configuration");
    }
}

static void look_at_socket(struct doctor *d)
{
    const char *path = d->cmd->socket;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd;

    if (path == NULL) {
        say(d, NOT_TRIED, "socket", "name the responder's socket with -s");
        return;
    }
    if (strlen(path) >= sizeof(to.sun_path)) {
        say(d, FAULT, "socket", "a path so long cannot be a socket's");
        return;
    }
    (void)memcpy(to.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0) {
        say(d, FINE, "socket", "takes connections from this account");
    } else if (errno == EACCES) {
        say(d, FAULT, "socket",
            arena_printf(d->cmd->arena,
                         "%s: this account may not write to it: start "
                         "aside.fcgi with -m 0660 and a group that the web "
                         "server is in",
                         path));
    } else {
        say(d, FAULT, "socket",
            arena_printf(d->cmd->arena, "%s: %s; is aside.fcgi running?", path,
                         strerror(errno)));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* --- what is asked over HTTP --------------------------------------------------- */

struct asking {
    struct buf body;
    struct http_result result; /* without the texts of its pointers */
    bool done;
    int64_t took_ms;
};

static void take(void *ctx, long status, const char *data, size_t len)
{
    struct asking *a = ctx;

    (void)status;
    buf_add(&a->body, data, len);
}

static void took(void *ctx, const struct http_result *result)
{
    struct asking *a = ctx;

    a->result = *result;
    a->done = true;
}

/* Ask and wait. RC_INVALID: the address cannot be asked. */
static enum rc ask(struct doctor *d, struct http_options *o, int64_t limit_ms,
                   struct asking *a)
{
    struct http_call *call = NULL;
    int64_t start_ms = clock_boot_ms();
    enum rc rc;

    *a = (struct asking){.done = false};
    buf_init(&a->body, REPLY_BYTES);
    o->connect_timeout_ms = ASK_MS;
    o->first_byte_timeout_ms = limit_ms;
    o->silence_timeout_ms = limit_ms;
    o->total_timeout_ms = limit_ms + ASK_MS;
    o->max_reply_bytes = REPLY_BYTES;
    rc = http_start(d->http, o, take, took, a, &call);
    while (rc == RC_OK && !a->done) {
        rc = http_wait(d->http, NULL, 0, ASK_MS);
    }
    a->took_ms = clock_boot_ms() - start_ms;
    return rc;
}

static void look_at_model(struct doctor *d)
{
    const struct conf *conf = &d->cmd->conf;
    struct http_options o = {.method = "GET", .bearer = conf->model_key};
    struct asking a;
    enum rc rc;

    o.url = arena_printf(d->cmd->arena, "%s/models", conf->model_url);
    rc = ask(d, &o, ASK_MS, &a);
    if (rc != RC_OK) {
        say(d, FAULT, "model", "model.url is no address that can be asked");
    } else if (a.result.end != HTTP_END_DONE) {
        say(d, FAULT, "model",
            arena_printf(d->cmd->arena,
                         "is not reached (%s); look at model.url",
                         a.result.detail));
    } else if (a.result.status == 401 || a.result.status == 403) {
        say(d, FAULT, "model", "does not take model.key (HTTP 401 or 403)");
    } else {
        say(d, FINE, "model", "answers");
    }
    buf_free(&a.body);
}

/* Is it the JSON that Aside's own health is? */
static bool is_health(const struct asking *a, const char **feed,
                      struct arena *arena)
{
    cJSON *json = NULL;
    bool is = false;

    if (a->result.end == HTTP_END_DONE && a->result.status == 200 &&
        json_parse(buf_str(&a->body), a->body.len, &json, NULL) == RC_OK) {
        is = json_str(json, "version", NULL) != NULL;
        *feed = arena_strdup(arena, json_str(json, "feed", ""));
    }
    json_free(json);
    return is;
}

static const char *why_no_health(struct doctor *d, const struct asking *a)
{
    if (a->result.end != HTTP_END_DONE) {
        return arena_printf(d->cmd->arena, "cannot be reached: %s",
                            a->result.detail);
    }
    if (a->result.status == 502 || a->result.status == 503) {
        return "does not reach the responder: is aside.fcgi running, is the "
               "path of its socket the one in fastcgi_pass, and may the web "
               "server's account write to it?";
    }
    if (a->result.status == 404) {
        return "knows no such path: the location must be the key prefix and "
               "/api/, and -u must name the prefix too";
    }
    return arena_printf(d->cmd->arena,
                        "answers HTTP %ld, and not with Aside's health: is "
                        "another program at this address, or a login in front "
                        "of api/v1/health?",
                        a->result.status);
}

static bool look_at_front(struct doctor *d)
{
    struct http_options o = {.method = "GET"};
    struct store_view view = {.as_of = 0};
    const char *feed = "";
    struct asking a;
    bool fine = false;
    enum rc rc;

    o.url = arena_printf(d->cmd->arena, "%s/api/v1/health", d->cmd->url);
    rc = ask(d, &o, ASK_MS, &a);
    if (rc != RC_OK) {
        say(d, FAULT, "web server", "-u is no address that can be asked");
    } else if (!is_health(&a, &feed, d->cmd->arena)) {
        say(d, FAULT, "web server", why_no_health(d, &a));
    } else if (store_read_begin(d->cmd->store, &view) != RC_OK) {
        say(d, FAULT, "web server", "the database here cannot be read");
    } else {
        store_read_end(d->cmd->store);
        fine = strcmp(feed, view.feed) == 0;
        say(d, fine ? FINE : FAULT, "web server",
            fine ? "passes requests on"
                 : "leads to an Aside with another database: its responder has "
                   "another configuration than this command");
    }
    buf_free(&a.body);
    return fine;
}

/* Sent without a key, so that nothing is stored whatever it says. */
static void look_at_body_limit(struct doctor *d)
{
    static const char *const JSON[] = {"Content-Type: application/json", NULL};
    struct http_options o = {.method = "POST", .headers = JSON};
    char *body = arena_alloc(d->cmd->arena, BODY_BYTES);
    struct asking a;
    enum rc rc;

    if (body == NULL) {
        say(d, NOT_TRIED, "large bodies", "no memory");
        return;
    }
    (void)memset(body, ' ', BODY_BYTES);
    body[0] = '{';
    body[BODY_BYTES - 1] = '}';
    o.url = arena_printf(d->cmd->arena, "%s/api/v1/conversations", d->cmd->url);
    o.body = body;
    o.body_len = BODY_BYTES;
    rc = ask(d, &o, ASK_MS, &a);
    if (rc != RC_OK || a.result.end != HTTP_END_DONE ||
        a.result.status == 413) {
        say(d, FAULT, "large bodies",
            "the web server refuses 200 KB, and Aside takes 256: "
            "client_max_body_size 256k, and 5m for library/files/");
    } else {
        say(d, FINE, "large bodies", "are passed on");
    }
    buf_free(&a.body);
}

static const char *poll_fault(struct doctor *d, const struct asking *a,
                              int64_t wait_ms)
{
    if (a->result.end == HTTP_END_DONE && a->result.status == 504) {
        return arena_printf(d->cmd->arena,
                            "the web server gave up after %lld s: polls are "
                            "held for 55, so fastcgi_read_timeout (and that of "
                            "any proxy in front) must be 75s",
                            (long long)(a->took_ms / 1000));
    }
    if (a->result.end != HTTP_END_DONE) {
        return arena_printf(d->cmd->arena,
                            "the connection was ended after %lld s (%s): some "
                            "server in front has a time-out below 75 s",
                            (long long)(a->took_ms / 1000), a->result.detail);
    }
    if (a->took_ms > wait_ms + LATE_MS) {
        return "came much too late: something in front holds replies back";
    }
    return NULL;
}

static void look_at_polls(struct doctor *d)
{
    struct http_options o = {.method = "GET"};
    int64_t newest = 0;
    const char *fault;
    struct asking a;
    enum rc rc;

    if (d->cmd->wait_seconds == 0) {
        say(d, NOT_TRIED, "held polls", "-w 55 holds one for 55 s");
        return;
    }
    rc = store_newest(d->cmd->store, &newest);
    o.url = arena_printf(d->cmd->arena,
                         "%s/api/v1/changes?after=%" PRId64 "&wait=%" PRId64,
                         d->cmd->url, newest, d->cmd->wait_seconds);
    if (rc == RC_OK) {
        rc = ask(d, &o, d->cmd->wait_seconds * 1000 + 2 * LATE_MS, &a);
    } else {
        a = (struct asking){.done = false};
    }
    fault = rc != RC_OK ? rc_name(rc)
                        : poll_fault(d, &a, d->cmd->wait_seconds * 1000);
    if (fault != NULL) {
        say(d, FAULT, "held polls", fault);
    } else if (a.result.status != 200) {
        say(d, NOT_TRIED, "held polls",
            "a login is asked for; polls are only held for one");
    } else {
        say(d, FINE, "held polls", "come back");
    }
    buf_free(&a.body);
}

/* --- all of it --------------------------------------------------------------- */

static void look_at_all(struct doctor *d)
{
    static void (*const LOOK[])(struct doctor *) = {
        look_at_fts5,    look_at_data,   look_at_doorbell, look_at_descriptors,
        look_at_runtime, look_at_socket, look_at_model};

    for (size_t i = 0; i < sizeof(LOOK) / sizeof(LOOK[0]); i++) {
        LOOK[i](d);
    }
    if (d->cmd->url == NULL) {
        say(d, NOT_TRIED, "web server", "name its address with -u");
    } else if (look_at_front(d)) {
        look_at_body_limit(d);
        look_at_polls(d);
    }
}

static const char *const VERDICT[] = {"ok", "not tried", "FAULT"};

static enum rc put(struct json_out *json, void *arg)
{
    const struct doctor *d = arg;

    json_key(json, "findings");
    json_open_array(json);
    for (size_t i = 0; i < d->n; i++) {
        const struct finding *f = &d->list[i];

        json_open_object(json);
        json_kstr(json, "what", f->what);
        json_kstr(json, "verdict",
                  f->verdict == FAULT ? "fault" : VERDICT[f->verdict]);
        json_kstr(json, "text", f->text);
        json_close_object(json);
    }
    json_close_array(json);
    return RC_OK;
}

static int examine(struct cmd *cmd)
{
    struct doctor d = {.cmd = cmd};
    int status = CMD_DONE;
    enum rc rc = http_new(&d.http);

    if (rc != RC_OK) {
        return cmd_fail_rc("doctor", rc);
    }
    look_at_all(&d);
    http_free(d.http);
    if (cmd->json) {
        status = cmd_print_json(put, &d);
    }
    for (size_t i = 0; i < d.n; i++) {
        if (!cmd->json) {
            (void)printf("%-9s %s: %s\n", VERDICT[d.list[i].verdict],
                         d.list[i].what, d.list[i].text);
        }
        status = d.list[i].verdict == FAULT ? CMD_FAILED : status;
    }
    return status;
}

int cmd_doctor(int argc, char **argv)
{
    return cmd_on_store(argc, argv,
                        "[-c file] [-u address] [-s socket] [-w seconds] "
                        "[--json]",
                        0, examine);
}
