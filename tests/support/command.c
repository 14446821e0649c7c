#include "tests/support/command.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

const char *command_run(int *status, const char *fmt, ...)
{
    static char text[16384];
    char wanted[4096], command[4096 + 8];
    size_t len = 0, n;
    va_list args;
    FILE *f;
    int wstatus;

    va_start(args, fmt);
    (void)vsnprintf(wanted, sizeof(wanted), fmt, args);
    va_end(args);
    (void)snprintf(command, sizeof(command), "%s 2>&1", wanted);
    f = popen(command, "re");
    ck_assert_ptr_nonnull(f);
    do {
        n = fread(text + len, 1, sizeof(text) - 1 - len, f);
        len += n;
    } while (n > 0);
    text[len] = '\0';
    wstatus = pclose(f);
    ck_assert_msg(WIFEXITED(wstatus), "killed: %s", command);
    *status = WEXITSTATUS(wstatus);
    return text;
}
