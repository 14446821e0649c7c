#include "runtime/document/child.h"

#include <errno.h>
#include <libgen.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPU_SECONDS  10
#define MEMORY_BYTES (512u << 20)
#define FILES_MAX    16

bool child_program(char out[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int len;

    if (n <= 0) {
        return false;
    }
    self[n] = '\0';
    len = snprintf(out, PATH_MAX, "%s/aside", dirname(self));
    return len > 0 && len < PATH_MAX && access(out, X_OK) == 0;
}

static bool limit(int what, rlim_t most)
{
    const struct rlimit l = {.rlim_cur = most, .rlim_max = most};

    return setrlimit(what, &l) == 0;
}

bool child_limit_memory(void)
{
    return limit(RLIMIT_AS, MEMORY_BYTES);
}

/* Documents are read without a network: what is in one can send nothing. A
 * ring of io_uring could make sockets past this filter. */
static bool give_up_network(void)
{
    static const int CALLS[] = {SCMP_SYS(socket), SCMP_SYS(io_uring_setup)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool done = filter != NULL;

    for (size_t i = 0; done && i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        done =
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), CALLS[i], 0) == 0;
    }
    done = done && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return done;
}

bool child_give_up_rights(size_t most_bytes)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           limit(RLIMIT_CPU, CPU_SECONDS) && limit(RLIMIT_CORE, 0) &&
           limit(RLIMIT_NOFILE, FILES_MAX) && limit(RLIMIT_FSIZE, most_bytes) &&
           give_up_network();
}
