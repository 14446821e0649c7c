#include "runtime/place.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sql/base/log.h"

#define LONGEST_SOCKET "/responder-1.sock"

enum rc place_join(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s%s", dir, name);

    if (n < 0 || n >= PATH_MAX) {
        log_error(NULL, "path too long: %s%s", dir, name);
        return RC_TOO_LARGE;
    }
    return RC_OK;
}

enum rc place_make_dir(const char *path, mode_t mode)
{
    char part[PATH_MAX];

    if (place_join(part, path, "") != RC_OK) {
        return RC_TOO_LARGE;
    }
    for (char *at = part + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(part, 0755); /* what is wrong shows below */
            *at = '/';
        }
    }
    if (mkdir(part, mode) != 0 && errno != EEXIST) {
        log_error(NULL, "cannot make the folder %s: %s", path, strerror(errno));
        return RC_IO;
    }
    return RC_OK;
}

static enum rc bin_find(struct place *p)
{
    const char *given = getenv("ASIDE_BIN");
    char self[PATH_MAX];
    ssize_t n;

    if (given != NULL && *given != '\0') {
        if (realpath(given, p->bin) == NULL) {
            log_error(NULL, "ASIDE_BIN %s: %s", given, strerror(errno));
            return RC_NOT_FOUND;
        }
        return RC_OK;
    }
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0) {
        log_error(NULL, "/proc/self/exe: %s", strerror(errno));
        return RC_IO;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    return place_join(p->bin, self, "");
}

static enum rc pages_find(struct place *p)
{
    const char *given = getenv("ASIDE_STATIC");
    char dir[PATH_MAX];
    enum rc rc;

    if (given != NULL && *given != '\0') {
        rc = place_join(dir, given, "");
    } else {
        rc = place_join(dir, p->bin, "/../static");
    }
    if (rc == RC_OK && realpath(dir, p->pages) == NULL) {
        log_error(NULL, "the page is missing at %s: %s", dir, strerror(errno));
        rc = RC_NOT_FOUND;
    }
    return rc;
}

/* /usr/sbin is not in the PATH of an ordinary Debian user. */
static enum rc nginx_find(struct place *p)
{
    const char *path = getenv("PATH");
    char dirs[PATH_MAX];
    char *save = NULL;

    if (snprintf(dirs, sizeof(dirs), "%s:/usr/sbin:/usr/local/sbin",
                 path != NULL ? path : "/usr/bin") >= (int)sizeof(dirs)) {
        return RC_TOO_LARGE;
    }
    for (char *dir = strtok_r(dirs, ":", &save); dir != NULL;
         dir = strtok_r(NULL, ":", &save)) {
        if (place_join(p->nginx, dir, "/nginx") == RC_OK &&
            access(p->nginx, X_OK) == 0) {
            return RC_OK;
        }
    }
    log_error(NULL, "nginx is not installed (Debian: apt install nginx-light)");
    return RC_NOT_FOUND;
}

/* One supervisor per folder: a second one would take away the sockets. */
static enum rc dir_claim(struct place *p, const char *dir)
{
    char path[PATH_MAX];

    if (place_join(path, p->run_dir, "/lock") != RC_OK) {
        return RC_TOO_LARGE;
    }
    p->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (p->lock < 0) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    if (flock(p->lock, LOCK_EX | LOCK_NB) != 0) {
        log_error(NULL, "another `aside run` is at work in %s", dir);
        return RC_BUSY;
    }
    return RC_OK;
}

/* A Unix socket's path has 107 bytes at most, whatever the file system says. */
static enum rc sockets_choose(struct place *p)
{
    const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    const char *base = getenv("XDG_RUNTIME_DIR");

    if (strlen(p->run_dir) + strlen(LONGEST_SOCKET) <= most) {
        return place_join(p->sockets, p->run_dir, "");
    }
    if (base == NULL || strlen(base) > most / 2 || access(base, W_OK) != 0) {
        base = "/tmp";
    }
    if (place_join(p->sockets, base, "/aside-XXXXXX") != RC_OK) {
        return RC_TOO_LARGE;
    }
    if (mkdtemp(p->sockets) == NULL) {
        log_error(NULL, "cannot make a folder for sockets in %s: %s", base,
                  strerror(errno));
        return RC_IO;
    }
    p->sockets_made = true;
    log_info(NULL, "%s is too long a path for sockets; they are in %s",
             p->run_dir, p->sockets);
    return RC_OK;
}

enum rc place_find(struct place *p, const char *state_dir)
{
    char dir[PATH_MAX];
    enum rc rc;

    p->lock = -1;
    rc = bin_find(p);
    if (rc == RC_OK) {
        rc = pages_find(p);
    }
    if (rc == RC_OK) {
        rc = nginx_find(p);
    }
    if (rc == RC_OK) {
        rc = place_join(dir, state_dir, "/run");
    }
    if (rc == RC_OK) {
        rc = place_make_dir(dir, 0700);
    }
    if (rc == RC_OK && realpath(dir, p->run_dir) == NULL) {
        log_error(NULL, "%s: %s", dir, strerror(errno));
        rc = RC_IO;
    }
    if (rc == RC_OK) {
        rc = dir_claim(p, state_dir);
    }
    if (rc == RC_OK) {
        rc = sockets_choose(p);
    }
    return rc;
}

void place_leave(struct place *p)
{
    if (p->sockets_made) {
        (void)rmdir(p->sockets);
        p->sockets_made = false;
    }
    if (p->lock >= 0) {
        (void)close(p->lock);
        p->lock = -1;
    }
}

/* 0, or the errno with which nobody could listen there. */
static int port_trouble(const struct sockaddr *at, socklen_t len)
{
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    int trouble = 0;

    if (fd < 0) {
        return errno;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->sa_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    }
    if (bind(fd, at, len) != 0 || listen(fd, 1) != 0) {
        trouble = errno;
    }
    (void)close(fd);
    return trouble;
}

enum rc place_check_port(int port, bool *ipv6)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    int trouble;

    v4.sin_port = htons((uint16_t)port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v6.sin6_port = v4.sin_port;
    v6.sin6_addr = in6addr_loopback;
    trouble = port_trouble((const struct sockaddr *)&v4, sizeof(v4));
    if (trouble == 0) {
        int other = port_trouble((const struct sockaddr *)&v6, sizeof(v6));

        *ipv6 = other == 0;
        trouble = other == EADDRINUSE ? other : 0;
    }
    if (trouble != 0) {
        log_error(NULL, "port %d: %s; PORT=... chooses another", port,
                  strerror(trouble));
        return RC_IO;
    }
    return RC_OK;
}
