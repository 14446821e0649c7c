/* loop.c - the daemon's one loop.
 *
 * A turn: wait for traffic, the doorbell, a signal or the nearest timer; the
 * callbacks leave facts with their Runs, and changes of others mark theirs
 * (changes.c). Then everything of the turn is committed together, and only what
 * the commit has made true reaches outside (commit.c).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/document/reader.h"
#include "runtime/loop_inside.h"
#include "runtime/mcp/mcp.h"
#include "runtime/tool/web_turns.h"
#include "sql/base/clock.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_lease.h"

/* At the end, servers are told of it, and waited for so long. */
#define MCP_CLOSE_MS 1000
#define TURN_BYTES   (256u << 20)
/* --- time -------------------------------------------------------------- */

static void fire_timers(struct runtime *rt, int64_t now)
{
    for (size_t i = 0; i < rt->n_lives; i++) {
        struct live *l = rt->lives[i];

        if (l->wake_ms != 0 && l->wake_ms <= now) {
            l->wake_ms = 0;
            l->dirty = true;
        }
        if (l->works != NULL) {
            store_lease_mark(rt->lock, l->id);
            tool_expire(l, now);
            store_lease_mark(rt->lock, 0);
        }
    }
}

void loop_earlier(int64_t *at, int64_t other)
{
    if (other != 0 && (*at == 0 || other < *at)) {
        *at = other;
    }
}

/* Milliseconds until the loop wants to run without being called; -1: never. */
static int64_t patience_ms(const struct runtime *rt, int64_t now)
{
    int64_t at = commit_due_ms(rt, now);

    loop_earlier(&at, changes_due_ms(rt));
    loop_earlier(&at, retention_due_ms(rt));
    loop_earlier(&at, mcp_deadline_ms(rt->mcp));
    loop_earlier(&at, web_turns_deadline_ms(rt->web_turns));
    if (rt->indexer != NULL) {
        loop_earlier(&at, indexer_due_ms(rt->indexer));
    }
    if (at == 0) {
        return -1;
    }
    return at > now ? at - now : 0;
}

/* --- signals ----------------------------------------------------------- */

enum rc loop_open_signals(struct runtime *rt)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    rt->sig_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (rt->sig_fd < 0) {
        log_error(NULL, "signalfd: %s", strerror(errno));
        return RC_IO;
    }
    return RC_OK;
}

static void take_signals(struct runtime *rt)
{
    struct signalfd_siginfo info;

    while (read(rt->sig_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            if (indexer_reap(rt->indexer)) {
                tool_resume(rt);
                rt->unread = changes_find_wants(rt) != RC_OK || rt->unread;
            }
            reader_reap(rt->reader);
        } else {
            rt->stopping = true;
        }
    }
}

/* --- start and end ----------------------------------------------------- */

/* All Runs at work, and those that ended while something of theirs was under
 * way: what a runtime that died has left (R29). */
static enum rc find_work(struct runtime *rt)
{
    int64_t *lists[3] = {NULL, NULL, NULL};
    size_t n[3] = {0, 0, 0};
    struct store_view view;
    enum rc rc = store_read_begin(rt->store, &view);

    if (rc != RC_OK) {
        return rc;
    }
    rt->cursor = view.as_of;
    rt->read_ms = clock_boot_ms();
    rc = store_run_active_ids(rt->store, rt->mem, &lists[0], &n[0]);
    if (rc == RC_OK) {
        rc = store_request_sent_runs(rt->store, rt->mem, &lists[1], &n[1]);
    }
    if (rc == RC_OK) {
        rc = store_tool_call_sent_runs(rt->store, rt->mem, &lists[2], &n[2]);
    }
    store_read_end(rt->store);
    for (int k = 0; k < 3 && rc == RC_OK; k++) {
        for (size_t i = 0; i < n[k] && rc == RC_OK; i++) {
            struct live *l;

            rc = live_add(rt, lists[k][i], &l);
        }
    }
    if (rc == RC_OK && rt->n_lives > 0) {
        log_info(NULL, "going on with %zu Runs", rt->n_lives);
    }
    return rc;
}

static enum rc turn(struct runtime *rt)
{
    struct http_fd fds[2] = {{.fd = doorbell_fd(rt->bell)}, {.fd = rt->sig_fd}};
    int64_t now = clock_boot_ms();
    bool due;
    enum rc rc = http_wait(rt->http, fds, 2, patience_ms(rt, now));

    if (rc != RC_OK) {
        return rc;
    }
    now = clock_boot_ms();
    if (fds[1].readable) {
        take_signals(rt);
    }
    due = changes_are_due(rt, now);
    if ((fds[0].readable || due) && (doorbell_drain(rt->bell) || due)) {
        changes_read(rt, now);
    }
    if (rt->indexer != NULL && indexer_tick(rt->indexer, now)) {
        tool_resume(rt);
    }
    mcp_tick(rt->mcp, now);
    web_turns_tick(rt->web_turns, now);
    fire_timers(rt, now);
    rc = commit_turn(rt, now);
    return rc == RC_OK ? retention_tick(rt, now) : rc;
}

enum rc loop_run(struct runtime *rt)
{
    enum rc rc;

    rt->mem = arena_new(TURN_BYTES);
    rc = rt->mem == NULL ? RC_NOMEM : find_work(rt);
    if (rc == RC_OK) {
        rc =
            changes_find_wants(rt); /* the ring for them may have been missed */
    }
    if (rc == RC_OK) {
        rc = commit_turn(rt, clock_boot_ms());
    }
    while (rc == RC_OK && !rt->stopping) {
        rc = turn(rt);
    }
    if (rc == RC_OK) {
        commit_shutdown(rt);
    }
    live_free_all(rt);
    if (rc == RC_OK) {
        mcp_close(rt->mcp, MCP_CLOSE_MS);
    }
    arena_free(rt->mem);
    return rc;
}
