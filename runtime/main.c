/* main.c - asided: the runtime. Takes the ownership of the database, or waits
 * for it as a stand-by, and runs the Runs. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/mcp/mcp.h"
#include "runtime/document/reader.h"
#include "runtime/runtime.h"
#include "runtime/tool/web_turns.h"
#include "runtime/standby.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/base/rights.h"
#include "sql/base/standard.h"
#include "sql/store_lease.h"

/* The loop does not wait longer for the write lock; it comes back. */
#define LOCK_WAIT_MS 100

static int usage(void)
{
    (void)fputs("usage: asided [-c file] [-u user]\n", stderr);
    return 2;
}

static bool read_options(int argc, char **argv, const char **file,
                         const char **user)
{
    int c;

    *file = NULL;
    *user = NULL;
    while ((c = getopt(argc, argv, "c:u:")) != -1) {
        if (c == 'c') {
            *file = optarg;
        } else if (c == 'u') {
            *user = optarg;
        } else {
            return false;
        }
    }
    return optind == argc;
}

/* Until the loop takes over, a signal only has to end the wait for the lock. */
static void catch_signals(void)
{
    struct sigaction sa;

    standby_catch_signals();
    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &sa, NULL);
    /* A limit on file sizes is a full disk, not an end. */
    (void)sigaction(SIGXFSZ, &sa, NULL);
}

static enum rc become_owner(struct runtime *rt)
{
    enum rc rc = store_lease_try(rt->conf.data, &rt->lock);

    if (rc != RC_BUSY) {
        return rc;
    }
    log_info(NULL, "another runtime owns %s: standing by", rt->conf.data);
    return standby_wait(&rt->conf, &rt->lock);
}

static bool make_url(struct runtime *rt)
{
    size_t len = strlen(rt->conf.model_url) + sizeof("/chat/completions");

    rt->chat_url = malloc(len);
    if (rt->chat_url == NULL) {
        return false;
    }
    (void)snprintf(rt->chat_url, len, "%s/chat/completions",
                   rt->conf.model_url);
    return true;
}

static enum rc open_web(struct runtime *rt)
{
    enum rc rc = reader_new(&rt->reader);

    if (!address_list_parse_named(rt->conf.web_allow, &rt->web_allowed) ||
        !address_ports_parse(rt->conf.web_ports, &rt->web_ports)) {
        return RC_INVALID; /* conf.c has checked it */
    }
    if (rc == RC_OK) {
        rc = web_turns_new(&rt->web_turns);
    }
    if (rc == RC_NOT_FOUND) {
        log_warn(NULL, "the program aside is not beside asided: no page of "
                       "the web can be read");
        return RC_OK;
    }
    return rc;
}

static enum rc open_parts(struct runtime *rt)
{
    enum rc rc =
        store_open(rt->conf.data, rt->conf.busy_timeout_ms, &rt->store);

    if (rc == RC_OK) {
        rc = store_lease_take(rt->store, rt->lock);
    }
    if (rc == RC_OK) {
        store_set_busy(rt->store, LOCK_WAIT_MS);
    }
    if (rc == RC_OK) {
        rc = doorbell_open(rt->conf.data, &rt->bell);
    }
    if (rc == RC_OK) {
        rc = http_new(&rt->http);
    }
    if (rc == RC_OK && !make_url(rt)) {
        rc = RC_NOMEM;
    }
    if (rc == RC_OK) {
        rt->profile =
            model_chat_profile_for(rt->conf.model_url, rt->conf.model_name);
        rc = indexer_new(&(struct indexer_options){.conf_file = rt->conf_file,
                                                   .dir = rt->conf.data,
                                                   .folders = rt->conf.library},
                         &rt->indexer);
    }
    if (rc == RC_OK) {
        rc = mcp_new(&rt->conf, rt->http, &rt->mcp);
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    if (rc == RC_OK && rt->conf.web_fetch != 0) {
        rc = open_web(rt);
    }
    return rc;
}

static void close_parts(struct runtime *rt)
{
    indexer_free(rt->indexer);
    reader_free(rt->reader);
    web_turns_free(rt->web_turns);
    library_close(rt->library);
    mcp_free(rt->mcp);
    http_free(rt->http);
    doorbell_close(rt->bell);
    store_close(rt->store);
    free(rt->chat_url);
    if (rt->sig_fd >= 0) {
        (void)close(rt->sig_fd);
    }
}

static enum rc serve(struct runtime *rt)
{
    enum rc rc = become_owner(rt);

    if (rc == RC_CONFLICT) {
        return RC_OK; /* told to end while standing by */
    }
    if (rc != RC_OK) {
        return rc;
    }
    /* Before any child is started, and before anything that may take long. */
    rc = loop_open_signals(rt);
    if (rc == RC_OK && !standby_told_to_end()) {
        rc = open_parts(rt);
    }
    if (rc == RC_OK && !standby_told_to_end()) {
        rt->endpoint = ENDPOINT_UNKNOWN;
        rt->endpoint_told = true;
        flight_probe(rt);
        log_info(NULL, "running on %s", rt->conf.data);
        rc = loop_run(rt);
    }
    close_parts(rt);
    store_lease_release(rt->lock);
    return rc;
}

int main(int argc, char **argv)
{
    static struct runtime rt = {.sig_fd = -1};
    const char *user;
    char err[300];
    enum rc rc = standard_files();

    if (rc != RC_OK) {
        return 1;
    }
    if (!read_options(argc, argv, &rt.conf_file, &user)) {
        return usage();
    }
    log_open("asided", LOG_LEVEL_INFO);
    /* libcurl reads names beyond ASCII by it; nothing else is. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (conf_load(rt.conf_file, &rt.conf, err, sizeof(err)) != RC_OK) {
        log_error(NULL, "%s", err);
        return 2;
    }
    log_open("asided", (enum log_level)rt.conf.log_level);
    if (rights_drop(user) != RC_OK) {
        return 1;
    }
    catch_signals();
    if (mkdir(rt.conf.data, 0700) != 0 && errno != EEXIST) {
        log_error(NULL, "data: %s: %s", rt.conf.data, strerror(errno));
        return 1;
    }
    rc = serve(&rt);
    conf_free(&rt.conf);
    if (rc == RC_FENCED) {
        log_error(NULL, "another runtime has taken over: ending");
    } else if (rc != RC_OK) {
        log_error(NULL, "ended: %s", rc_name(rc));
    } else {
        log_info(NULL, "ended as told");
    }
    return rc == RC_OK ? 0 : 1;
}
