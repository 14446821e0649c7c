/* cmd_doctor.c - one function for each thing that is looked at, in a table. Each
 * says what it found; a fault says what to do.
 *
 *   aside doctor [-c file] [-u address] [-s socket] [-w seconds] [--json]
 *
 * -u is where browsers reach Aside: the web server in front is asked there. -w
 * holds a poll for so long, to see whether the server waits as long. */
#include "runtime/cmd/cmd_doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/cmd/doctor.h"
#include "sql/base/doorbell.h"
#include "sql/library_files.h"
#include "sql/store_access.h"
#include "sql/store_lease.h"
#include "sql/store_server.h"
#include "sql/store_storage.h"

#define USAGE        "[-c file] [-u address] [-s socket] [-w seconds] [--json]"
#define FREE_BYTES   ((uint64_t)256 << 20)
#define OTHER_FDS    384 /* descriptors of a responder beside its polls */
#define LIMITS_BYTES 4096

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *what,
                const char *text)
{
    if (d->n < DOCTOR_FINDINGS_MAX) {
        d->list[d->n++] = (struct doctor_finding){
            .what = what,
            .verdict = verdict,
            .text = text == NULL ? "no memory to say what" : text};
    }
}

/* --- this machine ------------------------------------------------------------ */

static void look_at_fts5(struct doctor *d)
{
    if (store_has_fts5()) {
        doctor_say(d, DOCTOR_FINE, "SQLite", "has FTS5");
    } else {
        doctor_say(
            d, DOCTOR_FAULT, "SQLite",
            "was built without FTS5, which library and search need: install "
            "the system's own libsqlite3, or build it with "
            "-DSQLITE_ENABLE_FTS5");
    }
}

/* The files that every part of Aside must be able to write. */
static const char *const FILES[] = {
    "aside.db",  "aside.db-wal", "aside.db-shm", "doorbell", "asided.lock",
    "search.db", "library.db",   "library.lock", "library"};

/* What root has started once, the account that it is for cannot write. */
static const char *stranger_in(const struct doctor *d, const struct stat *dir)
{
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        const char *path =
            arena_printf(d->cmd->arena, "%s/%s", d->cmd->conf.data, FILES[i]);
        struct stat st;

        if (path != NULL && stat(path, &st) == 0 && st.st_uid != dir->st_uid) {
            return path;
        }
    }
    return NULL;
}

/* NULL: nothing is wrong with what is there. */
static const char *data_fault(const struct doctor *d, const struct stat *dir)
{
    struct arena *arena = d->cmd->arena;
    const char *path = d->cmd->conf.data;
    const char *other = stranger_in(d, dir);
    struct statvfs fs;

    if (access(path, R_OK | W_OK | X_OK) != 0) {
        return arena_printf(arena,
                            "%s: %s; it must belong to the account that runs "
                            "Aside (and this command)",
                            path, strerror(errno));
    }
    if (other != NULL) {
        return arena_printf(arena,
                            "%s belongs to another account than its folder: "
                            "chown -R %lld %s",
                            other, (long long)dir->st_uid, path);
    }
    if ((dir->st_mode & (S_IROTH | S_IXOTH)) != 0) {
        return arena_printf(arena,
                            "%s: every account of this machine may look into "
                            "it: chmod o-rwx",
                            path);
    }
    if (statvfs(path, &fs) == 0 &&
        (uint64_t)fs.f_bavail * fs.f_frsize < FREE_BYTES) {
        return arena_printf(arena, "%s: less than %d MB are free", path,
                            (int)(FREE_BYTES >> 20));
    }
    return NULL;
}

static void look_at_data(struct doctor *d)
{
    const char *path = d->cmd->conf.data;
    const char *fault;
    struct stat dir;

    if (stat(path, &dir) != 0) {
        fault = arena_printf(d->cmd->arena,
                             "%s: %s; start Aside once, or name its "
                             "configuration with -c",
                             path, strerror(errno));
    } else {
        fault = data_fault(d, &dir);
    }
    doctor_say(d, fault == NULL ? DOCTOR_FINE : DOCTOR_FAULT, "data",
               fault == NULL ? path : fault);
}

/* Files that somebody has added, and nobody in the database: another one was
 * here, before the folder, the disk below it or the file was lost. */
static bool is_begun_anew(struct doctor *d)
{
    struct account *list = NULL;
    size_t n = 1;

    return store_account_list(d->cmd->store, 1, d->cmd->arena, &list, &n) ==
               RC_OK &&
           n == 0 && library_files_exist(d->cmd->conf.data);
}

static const char *made_at(struct doctor *d, char at[CMD_TIME_BYTES])
{
    int64_t made_ms = 0;

    return store_storage_made(d->cmd->store, &made_ms) == RC_OK
               ? cmd_time(made_ms, at)
               : "a time that cannot be read";
}

static void look_at_database(struct doctor *d)
{
    enum rc rc = cmd_try_store(d->cmd, CMD_LOOK);
    char at[CMD_TIME_BYTES];
    enum storage storage;

    if (rc != RC_OK) {
        doctor_say(d, DOCTOR_FAULT, "database",
                   arena_printf(d->cmd->arena, "cannot be opened: %s",
                                cmd_why_no_store(rc)));
        return;
    }
    storage = store_storage_look(d->cmd->store);
    if (storage == STORAGE_OK && is_begun_anew(d)) {
        doctor_say(d, DOCTOR_FAULT, "database",
                   arena_printf(d->cmd->arena,
                                "was made anew at %s and has no account, but "
                                "library/ holds files: put aside.db back, or "
                                "restore a backup",
                                made_at(d, at)));
    } else if (storage == STORAGE_OK) {
        doctor_say(d, DOCTOR_FINE, "database",
                   arena_printf(d->cmd->arena, "opens; it was made at %s",
                                made_at(d, at)));
    } else {
        doctor_say(d, DOCTOR_FAULT, "database",
                   arena_printf(d->cmd->arena,
                                "%s: see docs/storage.md, and aside check",
                                store_storage_word(storage)));
    }
}

static void look_at_doorbell(struct doctor *d)
{
    struct doorbell *bell = NULL;
    enum rc rc;

    if (d->cmd->store == NULL) {
        doctor_say(d, DOCTOR_NOT_TRIED, "inotify", "there is nothing to watch");
        return;
    }
    rc = doorbell_open(d->cmd->conf.data, &bell);
    if (rc == RC_OK && !doorbell_is_deaf(bell)) {
        doctor_say(d, DOCTOR_FINE, "inotify", "watches the data folder");
    } else {
        doctor_say(
            d, DOCTOR_FAULT, "inotify",
            "cannot watch the data folder, so that everything comes up to 5 s "
            "late: raise fs.inotify.max_user_instances, and keep the data on a "
            "local disk");
    }
    doorbell_close(bell);
}

static int connect_to(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        int saved_errno = errno;

        (void)close(fd);
        errno = saved_errno;
        return -1;
    }
    return fd;
}

/* Who listens there? 0: nobody that can be told. */
static pid_t listener_of(const char *path)
{
    struct ucred who = {.pid = 0};
    socklen_t len = sizeof(who);
    int fd = path == NULL ? -1 : connect_to(path);

    if (fd < 0) {
        return 0;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0) {
        who.pid = 0;
    }
    (void)close(fd);
    return who.pid;
}

/* Descriptors that a process may have at most; -1: not known, or any number. */
static int64_t most_descriptors(pid_t pid)
{
    static const char LINE[] = "\nMax open files";
    char text[LIMITS_BYTES];
    char path[64];
    char *hard;
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "/proc/%lld/limits", (long long)pid);
    f = fopen(path, "re");
    if (f == NULL) {
        return -1;
    }
    n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    hard = strstr(text, LINE);
    if (hard == NULL) {
        return -1;
    }
    (void)strtoll(hard + strlen(LINE), &hard,
                  10); /* the soft one, which it raises */
    n = strspn(hard, " ");
    return hard[n] >= '0' && hard[n] <= '9' ? strtoll(hard + n, NULL, 10) : -1;
}

/* A responder under a supervisor has limits of its own, so that it is asked
 * about if it can be found. */
static void look_at_descriptors(struct doctor *d)
{
    pid_t responder = listener_of(d->cmd->socket);
    int64_t most = most_descriptors(responder > 0 ? responder : getpid());
    /* A poll takes two: of nginx, and of the responder. */
    int64_t want = d->cmd->conf.poll_max_parked + OTHER_FDS;

    if (most >= 0 && most < want) {
        doctor_say(d, DOCTOR_FAULT, "descriptors",
                   arena_printf(d->cmd->arena,
                                "%s may have %lld; poll.max_parked = %lld "
                                "needs %lld: raise LimitNOFILE (ulimit -Hn), "
                                "or lower the key",
                                responder > 0 ? "the responder"
                                              : "what is started from here",
                                (long long)most,
                                (long long)d->cmd->conf.poll_max_parked,
                                (long long)want));
    } else {
        doctor_say(d, DOCTOR_FINE, "descriptors", "enough for poll.max_parked");
    }
}

static void look_at_runtime(struct doctor *d)
{
    if (store_lease_held(d->cmd->conf.data)) {
        doctor_say(d, DOCTOR_FINE, "runtime", "is there");
    } else {
        doctor_say(
            d, DOCTOR_FAULT, "runtime",
            "is not there: messages are kept but not answered. Start asided "
            "with this configuration");
    }
}

/* What the runtime has found out about the tools that policies name. */
static void look_at_policies(struct doctor *d)
{
    struct server *list = NULL;
    const char *bad = NULL;
    size_t n = 0;

    if (d->cmd->conf.n_policy == 0 || d->cmd->store == NULL ||
        store_server_list(d->cmd->store, d->cmd->arena, &list, &n) != RC_OK) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].detail, "policy_unknown_tool") == 0) {
            bad = list[i].name;
        }
    }
    if (bad != NULL) {
        doctor_say(d, DOCTOR_FAULT, "policies",
                   arena_printf(d->cmd->arena,
                                "one names a tool that the server %s does not "
                                "offer: it forbids and limits nothing. The "
                                "runtime's log says which",
                                bad));
    } else {
        doctor_say(d, DOCTOR_FINE, "policies",
                   "name no tool that is known not to be there");
    }
}

static void look_at_socket(struct doctor *d)
{
    const char *path = d->cmd->socket;
    int fd;

    if (path == NULL) {
        doctor_say(d, DOCTOR_NOT_TRIED, "socket",
                   "name the responder's socket with -s");
        return;
    }
    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
        doctor_say(d, DOCTOR_FAULT, "socket",
                   "a path so long cannot be a socket's");
        return;
    }
    fd = connect_to(path);
    if (fd >= 0) {
        doctor_say(d, DOCTOR_FINE, "socket",
                   "takes connections from this account");
        (void)close(fd);
    } else if (errno == EACCES) {
        doctor_say(
            d, DOCTOR_FAULT, "socket",
            arena_printf(d->cmd->arena,
                         "%s: this account may not write to it: start "
                         "aside.fcgi with -m 0660 and a group that the web "
                         "server is in, which may also enter its folder",
                         path));
    } else {
        doctor_say(d, DOCTOR_FAULT, "socket",
                   arena_printf(d->cmd->arena, "%s: %s; is aside.fcgi running?",
                                path, strerror(errno)));
    }
}

/* --- all of it --------------------------------------------------------------- */

static void look_at_all(struct doctor *d)
{
    static void (*const LOOK[])(struct doctor *) = {
        look_at_fts5,        look_at_data,        look_at_database,
        look_at_doorbell,    look_at_descriptors, look_at_runtime,
        look_at_policies,    look_at_socket,      doctor_look_at_model,
        doctor_look_at_front};

    for (size_t i = 0; i < sizeof(LOOK) / sizeof(LOOK[0]); i++) {
        LOOK[i](d);
    }
}

static const char *const VERDICT[] = {"ok", "not tried", "FAULT"};

static enum rc put(struct json_out *json, void *arg)
{
    const struct doctor *d = arg;

    json_key(json, "findings");
    json_open_array(json);
    for (size_t i = 0; i < d->n; i++) {
        const struct doctor_finding *f = &d->list[i];

        json_open_object(json);
        json_kstr(json, "what", f->what);
        json_kstr(json, "verdict",
                  f->verdict == DOCTOR_FAULT ? "fault" : VERDICT[f->verdict]);
        cmd_kstr(json, "text", f->text);
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
                         d.list[i].what, cmd_shown(cmd->arena, d.list[i].text));
        }
        status = d.list[i].verdict == DOCTOR_FAULT ? CMD_FAILED : status;
    }
    return status;
}

int cmd_doctor(int argc, char **argv)
{
    struct cmd cmd;
    int status = cmd_open(&cmd, argc, argv, USAGE);

    if (status == CMD_DONE && cmd.n_words > 0) {
        status = cmd_misuse(argv[0], USAGE);
    }
    if (status == CMD_DONE) {
        status = examine(&cmd);
    }
    cmd_close(&cmd);
    return status;
}
