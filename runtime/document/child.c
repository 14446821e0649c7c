#include "runtime/document/child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <libgen.h>
#include <stdio.h>
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

bool child_give_up_rights(size_t most_bytes)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           limit(RLIMIT_CPU, CPU_SECONDS) && limit(RLIMIT_CORE, 0) &&
           limit(RLIMIT_NOFILE, FILES_MAX) && limit(RLIMIT_FSIZE, most_bytes);
}
