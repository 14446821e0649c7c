#include "sql/base/rights.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sql/base/log.h"

static enum rc become(const struct passwd *p)
{
    if (initgroups(p->pw_name, p->pw_gid) != 0 || setgid(p->pw_gid) != 0 ||
        setuid(p->pw_uid) != 0) {
        log_error(NULL, "cannot become %s: %s", p->pw_name, strerror(errno));
        return RC_IO;
    }
    /* Who can go back has not given anything up. */
    if (p->pw_uid != 0 && setuid(0) == 0) {
        log_error(NULL, "cannot become %s for good", p->pw_name);
        return RC_IO;
    }
    return RC_OK;
}

enum rc rights_drop(const char *user)
{
    const struct passwd *p;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        log_error(NULL, "no_new_privs: %s", strerror(errno));
        return RC_IO;
    }
    if (user == NULL) {
        return RC_OK;
    }
    errno = 0;
    p = getpwnam(user);
    if (p == NULL) {
        log_error(NULL, "-u: there is no account %s", user);
        return RC_INVALID;
    }
    if (geteuid() == p->pw_uid) {
        return RC_OK;
    }
    if (geteuid() != 0) {
        log_error(NULL, "-u: only root can become %s", user);
        return RC_INVALID;
    }
    return become(p);
}
