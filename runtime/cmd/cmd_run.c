#include "runtime/cmd/cmd_run.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/cmd/cmd.h"
#include "runtime/cmd/nginx_conf.h"
#include "runtime/place.h"
#include "runtime/cmd/supervise.h"
#include "sql/base/buf.h"
#include "sql/base/conf.h"
#include "sql/base/log.h"
#include "sql/base/rc.h"

#define PORT_DEFAULT     "8080"
#define DIR_DEFAULT      "./var"
#define WAIT_DEFAULT     "30"
#define FILES_MAX        32768 /* enough for 16,000 polls in nginx */
#define NGINX_CONF_BYTES 65536
#define OFFLINE_NAME     "offline"
#define N_PARTS          5

struct run {
    const char *conf_file; /* NULL: none */
    const char *dir;
    int port;
    int wait_s; /* how long the start may take */
    bool ipv6;
    bool offline;
    struct conf conf;
    bool conf_loaded;
    bool had_database; /* when everything was ready */
    struct place place;
    char owner[128];
    char health_path[256];
    char nginx_conf[PATH_MAX];
    char program[N_PARTS][PATH_MAX];
    char socket[N_PARTS][PATH_MAX];
    struct supervise_part parts[N_PARTS];
    size_t n_parts;
};

/* --- options and configuration ----------------------------------------- */

static enum rc number_parse(const char *what, const char *text, long most,
                            int *out)
{
    char *end;
    long n = text != NULL ? strtol(text, &end, 10) : 0;

    if (text == NULL || *text == '\0' || *end != '\0' || n < 1 || n > most) {
        log_error(NULL, "%s \"%s\": expected a number from 1 to %ld", what,
                  text != NULL ? text : "", most);
        return RC_INVALID;
    }
    *out = (int)n;
    return RC_OK;
}

static enum rc options_read(struct run *r, int argc, char **argv)
{
    const char *port = getenv("PORT");
    const char *dir = getenv("DATA");
    const char *wait = WAIT_DEFAULT;
    enum rc rc;
    int opt;

    optind = 1;
    while ((opt = getopt(argc, argv, "c:p:d:w:")) != -1) {
        if (opt == 'c') {
            r->conf_file = optarg;
        } else if (opt == 'p') {
            port = optarg;
        } else if (opt == 'd') {
            dir = optarg;
        } else if (opt == 'w') {
            wait = optarg;
        } else {
            return RC_INVALID;
        }
    }
    if (optind < argc) {
        log_error(NULL, "unexpected argument \"%s\"", argv[optind]);
        return RC_INVALID;
    }
    r->dir = dir != NULL && *dir != '\0' ? dir : DIR_DEFAULT;
    rc = number_parse("port",
                      port != NULL && *port != '\0' ? port : PORT_DEFAULT,
                      65535, &r->port);
    return rc == RC_OK ? number_parse("-w", wait, 3600, &r->wait_s) : rc;
}

/* The database lives in dir/data unless the configuration says otherwise, and
 * all parts learn it the same way: from ASIDE_DATA. */
static enum rc conf_read(struct run *r)
{
    char err[256];
    char data[PATH_MAX];
    enum rc rc = conf_load(r->conf_file, &r->conf, err, sizeof(err));

    if (rc != RC_OK) {
        log_error(NULL, "%s", err);
        return rc;
    }
    r->conf_loaded = true;
    log_open("aside", (enum log_level)r->conf.log_level);
    if (cmd_is_fallback("data", r->conf.data)) {
        if (place_join(data, r->dir, "/data") != RC_OK) {
            return RC_TOO_LARGE;
        }
    } else if (place_join(data, r->conf.data, "") != RC_OK) {
        return RC_TOO_LARGE;
    }
    r->offline = cmd_is_fallback("model.url", r->conf.model_url);
    rc = place_make_dir(data, 0700);
    if (rc == RC_OK && setenv("ASIDE_DATA", data, 1) != 0) {
        rc = RC_NOMEM;
    }
    return rc;
}

static enum rc model_choose(const struct run *r)
{
    char url[64];

    if (!r->offline) {
        return RC_OK;
    }
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/offline/v1", r->port);
    /* It reads any length of prompt; a limit of the person's own stays. */
    if (setenv("ASIDE_MODEL_URL", url, 1) != 0 ||
        setenv("ASIDE_MODEL_NAME", OFFLINE_NAME, 1) != 0 ||
        setenv("ASIDE_MODEL_CONTEXT_TOKENS", "1000000", 0) != 0 ||
        setenv("ASIDE_MODEL_PROMPT_TOKENS", "1000000", 0) != 0) {
        return RC_NOMEM;
    }
    return RC_OK;
}

/* --- the web server ---------------------------------------------------- */

/* As root, nginx would give its workers another account, for which neither
 * sockets nor pages need be open. */
static const char *owner_name(struct run *r)
{
    const struct passwd *pw = getpwuid(geteuid());
    const struct group *gr = getgrgid(getegid());

    if (geteuid() != 0 || pw == NULL || gr == NULL) {
        return NULL;
    }
    (void)snprintf(r->owner, sizeof(r->owner), "%s %s", pw->pw_name,
                   gr->gr_name);
    return r->owner;
}

/* As many descriptors as the system lets us have: every held poll takes two
 * of nginx and one of a responder, and the parts inherit the limit. */
static int64_t files_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 1024;
    }
    if (limit.rlim_max > FILES_MAX) {
        limit.rlim_max = FILES_MAX;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return (int64_t)limit.rlim_max;
}

static enum rc file_write(const char *path, const struct buf *b)
{
    FILE *f = fopen(path, "we");
    bool good;

    if (f == NULL) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    good = fwrite(b->data, 1, b->len, f) == b->len;
    good = fclose(f) == 0 && good;
    if (!good) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    return RC_OK;
}

static enum rc nginx_prepare(struct run *r)
{
    struct buf b;
    enum rc rc;
    const struct nginx_conf c = {
        .owner = owner_name(r),
        .port = r->port,
        .ipv6 = r->ipv6,
        .offline = r->offline,
        .prefix = r->conf.prefix,
        .run_dir = r->place.run_dir,
        .socket_dir = r->place.sockets,
        .static_dir = r->place.pages,
        .max_files = files_raise(),
    };

    buf_init(&b, NGINX_CONF_BYTES);
    rc = nginx_conf_render(&c, &b);
    if (rc != RC_OK) {
        log_error(NULL, "nginx cannot take a path with one of $ \" \\ ; { }");
    } else {
        rc = place_join(r->nginx_conf, r->place.run_dir, "/nginx.conf");
    }
    if (rc == RC_OK) {
        rc = file_write(r->nginx_conf, &b);
    }
    buf_free(&b);
    return rc;
}

/* --- the parts --------------------------------------------------------- */

/* The runtime goes first, so that nothing new reaches the model; then nginx
 * stops accepting and finishes, while the responders answer what they hold. */
static const struct {
    const char *name;
    const char *program; /* NULL: nginx */
    const char *socket;  /* NULL: none */
    int stage;
    bool offline; /* only with the offline model */
} PARTS[N_PARTS] = {
    {"nginx", NULL, NULL, 1, false},
    {"responder-1", "/aside.fcgi", "/responder-1.sock", 1, false},
    {"responder-2", "/aside.fcgi", "/responder-2.sock", 1, false},
    {"offline", "/aside-offline.fcgi", "/offline.sock", 1, true},
    {"asided", "/asided", NULL, 0, false},
};

/* An orphaned nginx gets a signal that it hands on to its workers. */
static void part_nginx(const struct run *r, struct supervise_part *p)
{
    const struct supervise_part nginx = {
        .argv = {r->place.nginx, "-e", "stderr", "-p", r->place.run_dir, "-c",
                 r->nginx_conf},
        .stop_signal = SIGQUIT,
        .orphan_signal = SIGTERM,
    };

    *p = nginx;
}

/* One of ours may die at any instruction, so an orphan is killed. */
static enum rc part_ours(struct run *r, size_t i, struct supervise_part *p)
{
    size_t n = 1;

    if (place_join(r->program[i], r->place.bin, PARTS[i].program) != RC_OK) {
        return RC_TOO_LARGE;
    }
    if (access(r->program[i], X_OK) != 0) {
        log_error(NULL, "%s: %s", r->program[i], strerror(errno));
        return RC_NOT_FOUND;
    }
    p->argv[0] = r->program[i];
    if (PARTS[i].socket != NULL) {
        if (place_join(r->socket[i], r->place.sockets, PARTS[i].socket) !=
            RC_OK) {
            return RC_TOO_LARGE;
        }
        p->argv[n++] = "-s";
        p->argv[n++] = r->socket[i];
        p->appears = r->socket[i];
        (void)unlink(r->socket[i]); /* of one that was killed */
    }
    if (r->conf_file != NULL) {
        p->argv[n++] = "-c";
        p->argv[n++] = r->conf_file;
    }
    p->stop_signal = SIGTERM;
    p->orphan_signal = SIGKILL;
    return RC_OK;
}

static enum rc parts_list(struct run *r)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        struct supervise_part *p = &r->parts[r->n_parts];

        if (PARTS[i].offline && !r->offline) {
            continue;
        }
        if (PARTS[i].program == NULL) {
            part_nginx(r, p);
        } else {
            enum rc rc = part_ours(r, i, p);

            if (rc != RC_OK) {
                return rc;
            }
        }
        p->name = PARTS[i].name;
        p->stage = PARTS[i].stage;
        r->n_parts++;
    }
    return RC_OK;
}

/* --- the verb ---------------------------------------------------------- */

/* Is aside.db gone? Its path is left in path. */
static bool is_gone(char path[PATH_MAX])
{
    const char *dir = getenv("ASIDE_DATA");

    return dir != NULL && place_join(path, dir, "/aside.db") == RC_OK &&
           access(path, F_OK) != 0 && errno == ENOENT;
}

static void say_ready(void *arg)
{
    struct run *r = arg;
    char path[PATH_MAX];

    r->had_database = !is_gone(path);
    (void)printf("\nAside is at http://localhost:%d%s/   (Ctrl-C ends it)\n",
                 r->port, r->conf.prefix);
    if (r->offline) {
        (void)printf(
            "Answers come from the bundled offline model, which "
            "searches and quotes; ASIDE_MODEL_URL=... uses another.\n");
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

/* What is started again where the database was would make an empty one. */
static bool has_database(void *arg)
{
    const struct run *r = arg;
    char path[PATH_MAX];

    if (!r->had_database || !is_gone(path)) {
        return true;
    }
    log_error(NULL,
              "%s is gone, and was there: put it back, or restore a backup "
              "with `aside restore`; a start now would begin with an empty one",
              path);
    return false;
}

static enum rc prepare(struct run *r, int argc, char **argv)
{
    enum rc rc = options_read(r, argc, argv);

    if (rc != RC_OK) {
        return rc;
    }
    rc = conf_read(r);
    if (rc == RC_OK) {
        rc = model_choose(r);
    }
    if (rc == RC_OK) {
        rc = place_find(&r->place, r->dir);
    }
    if (rc == RC_OK) {
        rc = place_check_port(r->port, &r->ipv6);
    }
    if (rc == RC_OK) {
        rc = nginx_prepare(r);
    }
    if (rc == RC_OK) {
        rc = parts_list(r);
    }
    if (rc == RC_OK &&
        snprintf(r->health_path, sizeof(r->health_path), "%s/api/v1/health",
                 r->conf.prefix) >= (int)sizeof(r->health_path)) {
        rc = RC_TOO_LARGE;
    }
    return rc;
}

static void clean_up(struct run *r)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        if (r->socket[i][0] != '\0') {
            (void)unlink(r->socket[i]);
        }
    }
    place_leave(&r->place);
    if (r->conf_loaded) {
        conf_free(&r->conf);
    }
    free(r);
}

int cmd_run(int argc, char **argv)
{
    struct run *r = calloc(1, sizeof(*r));
    int status = 2;

    if (r == NULL) {
        return 1;
    }
    r->place.lock = -1;
    log_open("aside", LOG_LEVEL_INFO);
    if (prepare(r, argc, argv) == RC_OK) {
        const struct supervise_options opt = {
            .parts = r->parts,
            .n_parts = r->n_parts,
            .port = r->port,
            .health_path = r->health_path,
            .ready_ms = r->wait_s * INT64_C(1000),
            .ready = say_ready,
            .may_go_on = has_database,
            .arg = r,
        };

        status = supervise_run(&opt);
    }
    clean_up(r);
    return status;
}
