/* standby.c - a runtime that waits for its turn.
 *
 * It sleeps in the wait for the file lock, which the system ends at once when
 * the owner dies. Two signals get it out of there: while the owner is at work,
 * a timer, at whose every tick it looks whether the owner has renewed its
 * lease; while nothing is at work, the doorbell (by SIGIO), so that nobody
 * wakes at rest. Ticks are counted, not time: a machine that slept has not
 * given its owner the chance to renew.
 *
 * A signal that comes between a look and the wait would be lost on it. Every
 * handler therefore asks for an alarm a second later, until it is noticed. */
#include "runtime/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/fault.h"
#include "sql/base/conf.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "sql/store_lease.h"

/* Looks in a row at a lease that was not renewed, with work in hand. */
#define LOOKS_MAX 6
/* The owner's own wait for the write lock comes first. */
#define LOCK_WAIT_MS 50

static volatile sig_atomic_t told_to_end;
static volatile sig_atomic_t ticked;

static void note_signal(int sig)
{
    if (sig == SIGTERM || sig == SIGINT) {
        told_to_end = 1;
    } else if (sig == SIGALRM) {
        ticked = 1;
    }
    (void)alarm(1);
}

static void handle(int sig, void (*how)(int))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = how;
    (void)sigaction(sig, &sa, NULL);
}

static void note_end(int sig)
{
    (void)sig;
    told_to_end = 1;
}

void standby_catch_signals(void)
{
    handle(SIGTERM, note_end);
    handle(SIGINT, note_end);
}

bool standby_told_to_end(void)
{
    return told_to_end != 0;
}

struct standby {
    const struct conf *conf;
    struct store *store; /* NULL: not opened yet */
    struct doorbell *bell;
    struct lease_seen seen;
    int looks; /* at the lease as seen */
};

/* --- being woken ------------------------------------------------------- */

static void set_tick(int64_t ms)
{
    struct itimerval t;

    memset(&t, 0, sizeof(t));
    t.it_interval.tv_sec = ms / 1000;
    t.it_interval.tv_usec = ms % 1000 * 1000;
    t.it_value = t.it_interval;
    (void)setitimer(ITIMER_REAL, &t, NULL);
}

static void listen_to_bell(struct standby *s, bool on)
{
    int fd = doorbell_fd(s->bell);
    int flags = fcntl(fd, F_GETFL);

    flags = on ? flags | O_ASYNC : flags & ~O_ASYNC;
    if (fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETFL, flags) != 0) {
        log_warn(NULL, "doorbell: %s", strerror(errno));
    }
}

/* --- judging the owner ------------------------------------------------- */

static enum rc look(struct standby *s, struct lease_seen *now)
{
    enum rc rc = RC_OK;

    if (s->store == NULL) {
        rc = store_open(s->conf->data, LOCK_WAIT_MS, &s->store);
    }
    return rc == RC_OK ? store_lease_look(s->store, now) : rc;
}

/* True if it is time to look again soon. */
static bool judge(struct standby *s, bool tick)
{
    struct lease_seen now;

    if (look(s, &now) != RC_OK) {
        return true;
    }
    if (!now.at_work || !s->seen.at_work || now.epoch != s->seen.epoch ||
        now.renewed_boot_ms != s->seen.renewed_boot_ms) {
        s->looks = 0;
    } else if (tick) {
        s->looks++;
    }
    s->seen = now;
    return now.at_work;
}

/* Arrange for the next wake-up, then look: what comes after is not missed. */
static void arm(struct standby *s)
{
    bool tick = ticked != 0;

    ticked = 0;
    set_tick(0); /* from here on an alarm that a handler asked for stays */
    listen_to_bell(s, true);
    (void)doorbell_drain(s->bell);
    if (judge(s, tick) || doorbell_is_deaf(s->bell)) {
        listen_to_bell(s, false);
        set_tick(fault_look_ms(LEASE_LOOK_MS));
    }
}

static enum rc displace(struct standby *s, struct lease_lock **lock)
{
    enum rc rc = store_lease_displace(s->store, s->conf->data, &s->seen, lock);

    s->looks = 0;
    if (rc == RC_OK) {
        log_warn(NULL,
                 "the owner of %s has work and has not renewed its lease "
                 "for %d looks: taking over",
                 s->conf->data, LOOKS_MAX);
    }
    return rc;
}

static enum rc wait_for_lock(struct standby *s, struct lease_lock **lock)
{
    for (;;) {
        enum rc rc;

        arm(s);
        if (told_to_end) {
            return RC_CONFLICT;
        }
        if (s->looks >= LOOKS_MAX) {
            rc = displace(s, lock);
            /* It came back, or the write lock is not to be had. */
            if (rc != RC_CONFLICT && rc != RC_BUSY) {
                return rc;
            }
        }
        rc = store_lease_wait(s->conf->data, lock);
        if (rc != RC_CONFLICT && rc != RC_BUSY) {
            return rc;
        }
    }
}

enum rc standby_wait(const struct conf *conf, struct lease_lock **lock)
{
    struct standby s = {.conf = conf};
    enum rc rc = doorbell_open(conf->data, &s.bell);

    if (rc != RC_OK) {
        return rc;
    }
    handle(SIGTERM, note_signal);
    handle(SIGINT, note_signal);
    handle(SIGALRM, note_signal);
    handle(SIGIO, note_signal);
    rc = wait_for_lock(&s, lock);
    handle(SIGIO, SIG_IGN);
    handle(SIGALRM, SIG_IGN);
    standby_catch_signals();
    set_tick(0);
    doorbell_close(s.bell);
    store_close(s.store);
    return rc;
}
