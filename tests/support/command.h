/* command.h - run a command of the shell, as a test's last resort. */
#ifndef ASIDE_TESTS_COMMAND_H
#define ASIDE_TESTS_COMMAND_H

/* Run the formatted command; its output and errors together are returned,
 * NUL-terminated, cut at a few KiB, valid until the next call. *status is its
 * exit status. */
const char *command_run(int *status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
