/* main.c - aside.fcgi: options, parts, threads, orderly end.
 *
 *   aside.fcgi [-c file] [-s socket] [-m mode] [-t threads] [-u user]
 *   aside.fcgi -R        print the routes and what each needs, and end
 *
 * Without -s it listens on descriptor 0, as spawn-fcgi and web servers start
 * FastCGI programs. SIGTERM, SIGINT and SIGUSR1 end it: requests in hand are
 * finished, parked polls answered.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/ask.h"
#include "fcgi/handlers.h"
#include "fcgi/limit.h"
#include "fcgi/route.h"
#include "fcgi/serve.h"
#include "sql/base/log.h"
#include "sql/base/random.h"
#include "sql/base/rights.h"
#include "sql/base/standard.h"

/* Descriptors that are no parked polls: what each process has, what each thread
 * has (two of its database, one of the request in hand), and writes on their
 * way. */
#define PROCESS_DESCRIPTORS 32
#define THREAD_DESCRIPTORS  3
#define WRITE_DESCRIPTORS   WRITER_MAX_PENDING

/* Heaps of the C library. One for each thread would keep the peak of each. */
#define HEAPS 2

struct options {
    const char *conf;
    const char *socket;
    const char *user; /* to become; NULL: stay who it is */
    mode_t mode;
    size_t threads;
    bool routes;
};

struct parts {
    struct conf conf;
    struct doorbell *bell;
    struct app app;
    struct req_listener *listener;
    struct serve *serve;
};

static bool parse_number(const char *text, int base, unsigned long max,
                         unsigned long *out)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, base);
    if (errno != 0 || end == text || *end != '\0' || n > max) {
        return false;
    }
    *out = n;
    return true;
}

static bool parse_options(int argc, char **argv, struct options *o)
{
    unsigned long n;
    int c;

    for (;;) {
        c = getopt(argc, argv, "c:s:m:t:u:R");
        switch (c) {
        case -1:
            return optind == argc;
        case 'c':
            o->conf = optarg;
            break;
        case 's':
            o->socket = optarg;
            break;
        case 'u':
            o->user = optarg;
            break;
        case 'R':
            o->routes = true;
            break;
        case 'm':
            if (!parse_number(optarg, 8, 0777, &n)) {
                return false;
            }
            o->mode = (mode_t)n;
            break;
        case 't':
            if (!parse_number(optarg, 10, 1024, &n)) {
                return false;
            }
            o->threads = n;
            break;
        default:
            return false;
        }
    }
}

/* Raise the limit of descriptors as far as allowed; how many polls may be
 * parked then. */
static size_t parked_limit(int64_t wanted, size_t threads)
{
    const rlim_t fixed = PROCESS_DESCRIPTORS + THREAD_DESCRIPTORS * threads;
    struct rlimit limit;
    rlim_t most;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 1;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    most = limit.rlim_cur > fixed ? limit.rlim_cur - fixed : 0;
    most -= most / 2 < WRITE_DESCRIPTORS ? most / 2 : WRITE_DESCRIPTORS;
    if (most == 0) {
        most = 1;
    }
    if ((rlim_t)wanted > most) {
        log_warn(NULL,
                 "poll.max_parked is %lld, but only %llu fit under the limit "
                 "of open files",
                 (long long)wanted, (unsigned long long)most);
        return (size_t)most;
    }
    return (size_t)wanted;
}

static void ring(void *bell)
{
    doorbell_ring(bell);
}

/* The database file is another one now, which only a new process opens. */
static void end_this(void *bell)
{
    (void)bell;
    (void)kill(getpid(), SIGTERM);
}

static enum rc open_store(void *shared, void **context)
{
    const struct app *app = shared;
    struct store *store;
    enum rc rc =
        store_open(app->conf->data, app->conf->busy_timeout_ms, &store);

    if (rc == RC_OK) {
        *context = store;
    }
    return rc;
}

static void close_store(void *context)
{
    store_close(context);
}

static enum rc start_writer(struct parts *p)
{
    const struct writer_options options = {
        .dir = p->conf.data,
        .busy_ms = p->conf.busy_timeout_ms,
        .committed = ring,
        .lost = end_this,
        .arg = p->bell,
    };

    return writer_start(&options, &p->app.writer);
}

static enum rc start_park(struct parts *p, size_t threads)
{
    const struct park_options options = {
        .dir = p->conf.data,
        .busy_ms = p->conf.busy_timeout_ms,
        .bell = p->bell,
        .max = parked_limit(p->conf.poll_max_parked, threads),
        .max_each = p->conf.auth == CONF_AUTH_NONE
                        ? 0
                        : (size_t)p->conf.poll_max_per_account,
        .read = h_changes_read,
        .stands = h_changes_stands,
        .reply = h_changes_reply,
    };

    return park_start(&options, &p->app.park);
}

static enum rc start_limit(struct parts *p)
{
    const int64_t per_minute[LIMIT__MAX] = {
        [LIMIT_ACCOUNT] = p->conf.limit_account_per_minute,
        [LIMIT_ADDRESS] = p->conf.limit_address_per_minute,
        [LIMIT_LOGIN] = p->conf.limit_login_per_minute,
    };
    uint64_t seed = (uint64_t)random_below(UINT32_MAX) << 32;

    return limit_new(per_minute, seed | random_below(UINT32_MAX),
                     &p->app.limit);
}

static enum rc start_serving(struct parts *p, const struct options *o)
{
    const struct req_listen_options where = {
        .path = o->socket, .mode = o->mode, .prefix = p->conf.prefix};
    struct serve_options options = {
        .n_threads = o->threads,
        .open = open_store,
        .close = close_store,
        .handle = route_handle,
        .shared = &p->app,
    };
    enum rc rc = req_listen(&where, &p->listener);

    if (rc == RC_OK) {
        options.listener = p->listener;
        rc = serve_start(&options, &p->serve);
    }
    return rc;
}

/* The database first: a folder or file that cannot be used must be said before
 * anybody can connect. */
static enum rc start(struct parts *p, const struct options *o)
{
    void *first = NULL;
    enum rc rc;

    p->app.conf = &p->conf;
    if (mkdir(p->conf.data, 0700) != 0 && errno != EEXIST) {
        log_error(NULL, "data: cannot make %s: %s", p->conf.data,
                  strerror(errno));
        return RC_IO;
    }
    rc = open_store(&p->app, &first);
    if (rc != RC_OK) {
        return rc;
    }
    close_store(first);
    rc = doorbell_open(p->conf.data, &p->bell);
    if (rc == RC_OK) {
        /* One before it may have died between its commit and its ring. */
        doorbell_ring(p->bell);
        rc = start_writer(p);
    }
    if (rc == RC_OK) {
        rc = start_park(p, serve_threads(o->threads));
    }
    if (rc == RC_OK) {
        rc = start_limit(p);
    }
    if (rc == RC_OK) {
        rc = start_serving(p, o);
    }
    return rc;
}

/* Requests in hand may still write and park, so those parts end later. */
static void stop(struct parts *p)
{
    serve_end(p->serve);
    writer_end(p->app.writer);
    park_end(p->app.park);
    limit_free(p->app.limit);
    doorbell_close(p->bell);
    req_listener_free(p->listener);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct parts parts = {0};
    char error[512];
    enum rc rc = standard_files();

    if (rc != RC_OK) {
        return EXIT_FAILURE;
    }
    log_open("aside.fcgi", LOG_LEVEL_INFO);
    if (!parse_options(argc, argv, &options)) {
        (void)fprintf(stderr, "usage: aside.fcgi [-c file] [-s socket] "
                              "[-m mode] [-t threads] [-u user] | -R\n");
        return EXIT_FAILURE;
    }
    if (options.routes) {
        route_print(stdout);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (conf_load(options.conf, &parts.conf, error, sizeof(error)) != RC_OK) {
        (void)fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    log_open("aside.fcgi", (enum log_level)parts.conf.log_level);
    (void)mallopt(M_ARENA_MAX, HEAPS);
    serve_block_signals();
    rc = rights_drop(options.user);
    if (rc == RC_OK) {
        rc = req_setup();
    }
    if (rc == RC_OK) {
        rc = start(&parts, &options);
    }
    if (rc == RC_OK) {
        log_info(NULL, "serving%s%s", options.socket == NULL ? "" : " on ",
                 options.socket == NULL ? "" : options.socket);
        serve_wait_signal();
        log_info(NULL, "ending");
    } else {
        log_error(NULL, "cannot start: %s", rc_name(rc));
    }
    stop(&parts);
    conf_free(&parts.conf);
    return rc == RC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
