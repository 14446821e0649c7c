#include "runtime/cmd/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cmd/probe.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"

#define BACKOFF_FIRST_MS 250
#define BACKOFF_LAST_MS  10000
#define SETTLED_MS       30000 /* a part that lived this long starts anew */
#define STAGE_MS         10000 /* for the orderly end of one stage */
#define PROBE_EVERY_MS   100
#define PROBE_LIMIT_MS   2000
#define EARLY_ENDS       4 /* ends of one part that make a start fail */
#define NEVER            INT64_MAX

struct child {
    pid_t pid;          /* 0 while it is not running */
    int64_t started_ms; /* boot time */
    int64_t due_ms;     /* when it is started again; NEVER */
    int64_t backoff_ms; /* the next pause */
    int ends;           /* how often it ended by itself */
    char last[64];      /* how it ended the last time */
};

struct supervisor {
    const struct supervise_options *opt;
    struct child child[SUPERVISE_MAX_PARTS];
    sigset_t mask; /* as it was, for the parts */
    int signals;
    struct probe probe;
    bool ready;
    int64_t ready_by_ms;
    int64_t probe_due_ms;
    bool stopping;
    int stage;
    int64_t stage_by_ms;
    int status;
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- starting ---------------------------------------------------------- */

static void child_become(const struct supervisor *s,
                         const struct supervise_part *part, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, part->orphan_signal);
    if (getppid() != parent) {
        _exit(0); /* the supervisor died before the line above */
    }
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
    /* execv takes the strings as they are and changes none. */
    (void)execv(part->argv[0], (char *const *)(uintptr_t)part->argv);
    log_error(part->name, "%s: %s", part->argv[0], strerror(errno));
    _exit(127);
}

static void child_end_noted(struct supervisor *s, size_t i, int64_t now_ms);

static void child_start(struct supervisor *s, size_t i, int64_t now_ms)
{
    const struct supervise_part *part = &s->opt->parts[i];
    struct child *c = &s->child[i];
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        child_become(s, part, parent);
    }
    c->due_ms = NEVER;
    c->started_ms = now_ms;
    if (pid < 0) {
        (void)snprintf(c->last, sizeof(c->last), "fork: %s", strerror(errno));
        child_end_noted(s, i, now_ms);
        return;
    }
    (void)setpgid(pid, pid); /* whoever of the two comes first */
    c->pid = pid;
    log_debug(part->name, "started as process %d", (int)pid);
}

static void start_due(struct supervisor *s, int64_t now_ms)
{
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        if (!s->stopping && s->child[i].due_ms <= now_ms) {
            child_start(s, i, now_ms);
        }
    }
}

/* --- stopping ---------------------------------------------------------- */

static bool stage_alive(const struct supervisor *s)
{
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        if (s->child[i].pid != 0 && s->opt->parts[i].stage == s->stage) {
            return true;
        }
    }
    return false;
}

static bool any_alive(const struct supervisor *s)
{
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        if (s->child[i].pid != 0) {
            return true;
        }
    }
    return false;
}

static void stage_begin(struct supervisor *s, int64_t now_ms)
{
    s->stage_by_ms = now_ms + STAGE_MS;
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        const struct supervise_part *part = &s->opt->parts[i];

        if (part->stage == s->stage && s->child[i].pid != 0) {
            (void)kill(s->child[i].pid, part->stop_signal);
        }
    }
}

static void stage_kill(struct supervisor *s)
{
    s->stage_by_ms = NEVER;
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        const struct supervise_part *part = &s->opt->parts[i];

        if (part->stage == s->stage && s->child[i].pid != 0) {
            log_warn(part->name, "did not end within %d s, killed",
                     STAGE_MS / 1000);
            (void)kill(-s->child[i].pid, SIGKILL);
        }
    }
}

static void stop_begin(struct supervisor *s, int status, int64_t now_ms)
{
    if (s->stopping) {
        return;
    }
    s->stopping = true;
    s->status = status;
    probe_close(&s->probe);
    s->stage = 0;
    stage_begin(s, now_ms);
}

/* Stages without a living part are passed over; the last one is known by
 * nothing being alive at all. */
static void stop_step(struct supervisor *s, int64_t now_ms)
{
    if (!s->stopping) {
        return;
    }
    if (now_ms >= s->stage_by_ms) {
        stage_kill(s);
    }
    while (!stage_alive(s) && any_alive(s)) {
        s->stage++;
        stage_begin(s, now_ms);
    }
}

/* --- what ended -------------------------------------------------------- */

/* A part is not running, against our will: start it again later. */
static void child_end_noted(struct supervisor *s, size_t i, int64_t now_ms)
{
    struct child *c = &s->child[i];
    const char *name = s->opt->parts[i].name;

    c->ends++;
    if (now_ms - c->started_ms >= SETTLED_MS) {
        c->backoff_ms = BACKOFF_FIRST_MS;
    }
    if (!s->ready && c->ends >= EARLY_ENDS) {
        log_error(name, "%s, %d times before the start was complete: giving up",
                  c->last, c->ends);
        stop_begin(s, 1, now_ms);
        return;
    }
    if (s->ready && !s->opt->may_go_on(s->opt->arg)) {
        log_error(name, "%s, and is not started again", c->last);
        stop_begin(s, 1, now_ms);
        return;
    }
    log_warn(name, "%s, starts again in %lld ms", c->last,
             (long long)c->backoff_ms);
    c->due_ms = now_ms + c->backoff_ms;
    c->backoff_ms = earlier(2 * c->backoff_ms, BACKOFF_LAST_MS);
}

static void child_ended(struct supervisor *s, size_t i, const siginfo_t *info,
                        int64_t now_ms)
{
    struct child *c = &s->child[i];

    /* What the part left behind (nginx its workers) goes too. The part is
     * not reaped yet, so its number still means this group. */
    (void)kill(-c->pid, SIGKILL);
    (void)waitpid(c->pid, NULL, 0);
    c->pid = 0;
    if (info->si_code == CLD_EXITED) {
        (void)snprintf(c->last, sizeof(c->last), "ended with status %d",
                       info->si_status);
    } else {
        (void)snprintf(c->last, sizeof(c->last), "was ended by signal %d (%s)",
                       info->si_status, strsignal(info->si_status));
    }
    if (s->stopping) {
        log_debug(s->opt->parts[i].name, "%s", c->last);
    } else {
        child_end_noted(s, i, now_ms);
    }
}

static void reap(struct supervisor *s, int64_t now_ms)
{
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        siginfo_t info = {0};

        if (s->child[i].pid != 0 &&
            waitid(P_PID, (id_t)s->child[i].pid, &info,
                   WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0) {
            child_ended(s, i, &info, now_ms);
        }
    }
}

static void take_signals(struct supervisor *s, int64_t now_ms)
{
    struct signalfd_siginfo got;

    while (read(s->signals, &got, sizeof(got)) == (ssize_t)sizeof(got)) {
        if (got.ssi_signo == SIGCHLD) {
            reap(s, now_ms);
        } else {
            log_info(NULL, "%s: stopping", strsignal((int)got.ssi_signo));
            stop_begin(s, 0, now_ms);
        }
    }
}

/* --- ready? --------------------------------------------------------------- */

static void start_failed(struct supervisor *s, int64_t now_ms)
{
    log_error(NULL, "not everything answers after %lld s; %s",
              (long long)(s->opt->ready_ms / 1000), s->probe.why);
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        if (s->child[i].ends > 0) {
            log_error(s->opt->parts[i].name, "%s", s->child[i].last);
        }
    }
    stop_begin(s, 1, now_ms);
}

/* Asking nginx before the parts serve would only fill its log. */
static bool parts_serve(struct supervisor *s)
{
    for (size_t i = 0; i < s->opt->n_parts; i++) {
        const struct supervise_part *part = &s->opt->parts[i];

        if (s->child[i].pid == 0 ||
            (part->appears != NULL && access(part->appears, F_OK) != 0)) {
            (void)snprintf(
                s->probe.why, sizeof(s->probe.why), "%s: %s", part->name,
                s->child[i].pid == 0 ? s->child[i].last : "has no socket yet");
            return false;
        }
    }
    return true;
}

static void ready_step(struct supervisor *s, int64_t now_ms)
{
    if (s->ready || s->stopping) {
        return;
    }
    if (s->probe.state == PROBE_IDLE && now_ms >= s->probe_due_ms) {
        if (parts_serve(s)) {
            probe_start(&s->probe, s->opt->port, s->opt->health_path, now_ms,
                        PROBE_LIMIT_MS);
        } else {
            s->probe_due_ms = now_ms + PROBE_EVERY_MS;
        }
    }
    probe_step(&s->probe, now_ms);
    if (s->probe.state == PROBE_DONE && parts_serve(s)) {
        s->ready = true;
        probe_close(&s->probe);
        s->opt->ready(s->opt->arg);
    } else if (now_ms >= s->ready_by_ms) {
        start_failed(s, now_ms);
    } else if (s->probe.state == PROBE_FAILED || s->probe.state == PROBE_DONE) {
        probe_close(&s->probe);
        s->probe_due_ms = now_ms + PROBE_EVERY_MS;
    }
}

/* --- the loop ---------------------------------------------------------- */

/* Milliseconds until something is due; -1: nothing is. */
static int pause_ms(const struct supervisor *s, int64_t now_ms)
{
    int64_t at = NEVER;

    if (s->stopping) {
        at = s->stage_by_ms;
    } else {
        for (size_t i = 0; i < s->opt->n_parts; i++) {
            at = earlier(at, s->child[i].due_ms);
        }
        if (!s->ready) {
            at = earlier(at, s->ready_by_ms);
            at =
                earlier(at, s->probe.state == PROBE_IDLE ? s->probe_due_ms
                                                         : s->probe.give_up_ms);
        }
    }
    if (at == NEVER) {
        return -1;
    }
    return at <= now_ms ? 0 : (int)earlier(at - now_ms, 60000);
}

static void loop(struct supervisor *s)
{
    for (;;) {
        int64_t now_ms = clock_boot_ms();
        struct pollfd fds[2] = {{.fd = s->signals, .events = POLLIN}};

        start_due(s, now_ms);
        ready_step(s, now_ms);
        stop_step(s, now_ms);
        if (s->stopping && !any_alive(s)) {
            return;
        }
        fds[1].fd = s->probe.fd;
        fds[1].events = probe_events(&s->probe);
        (void)poll(fds, 2, pause_ms(s, now_ms));
        if (fds[0].revents != 0) {
            take_signals(s, clock_boot_ms());
        }
    }
}

int supervise_run(const struct supervise_options *opt)
{
    struct supervisor s = {.opt = opt, .stage_by_ms = NEVER};
    sigset_t mine;
    int64_t now_ms = clock_boot_ms();

    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGCHLD);
    (void)sigaddset(&mine, SIGINT);
    (void)sigaddset(&mine, SIGTERM);
    (void)sigaddset(&mine, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &mine, &s.mask);
    (void)signal(SIGPIPE, SIG_IGN); /* the terminal may go before us */
    s.signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s.signals < 0) {
        log_error(NULL, "signalfd: %s", strerror(errno));
        return 1;
    }
    probe_init(&s.probe);
    s.ready_by_ms = now_ms + opt->ready_ms;
    s.probe_due_ms = now_ms;
    for (size_t i = 0; i < opt->n_parts; i++) {
        s.child[i].due_ms = now_ms;
        s.child[i].backoff_ms = BACKOFF_FIRST_MS;
    }
    loop(&s);
    (void)close(s.signals);
    return s.status;
}
