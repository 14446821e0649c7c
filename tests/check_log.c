/* check_log.c - the form of a line. */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/log.h"
#include "sql/base/utf8.h"
#include "tests/support/suites.h"

static int saved_stderr;
static int pipe_fd[2];

/* From here on, standard error goes into a pipe. */
static void set_up(void)
{
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_int_eq(pipe2(pipe_fd, O_NONBLOCK | O_CLOEXEC), 0);
    ck_assert_int_ge(dup2(pipe_fd[1], STDERR_FILENO), 0);
    log_open("checker", LOG_LEVEL_INFO);
}

static void tear_down(void)
{
    ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
    (void)close(saved_stderr);
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
    log_open("aside", LOG_LEVEL_INFO);
}

static const char *logged(void)
{
    static char text[8192];
    ssize_t n = read(pipe_fd[0], text, sizeof(text) - 1);

    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t re;
    int failed = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);

    ck_assert_int_eq(failed, 0);
    failed = regexec(&re, text, 0, NULL, 0);
    regfree(&re);
    ck_assert_msg(failed == 0, "\"%s\" does not match %s", text, pattern);
}

START_TEST(line)
{
    log_info("run_17", "running -> %s", "completed");
    assert_matches(logged(),
                   "^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
                   "\\.[0-9]{3}Z info checker\\[[0-9]+\\] run_17 "
                   "running -> completed\n$");
    log_error(NULL, "x");
    assert_matches(logged(), "Z error checker\\[[0-9]+\\] - x\n$");
}
END_TEST

START_TEST(levels)
{
    log_debug(NULL, "x");
    ck_assert_str_eq(logged(), "");
    log_open("checker", LOG_LEVEL_ERROR);
    log_warn(NULL, "x");
    ck_assert_str_eq(logged(), "");
    log_open("checker", LOG_LEVEL_DEBUG);
    log_debug(NULL, "x");
    assert_matches(logged(), "Z debug ");
}
END_TEST

START_TEST(control_characters_are_replaced)
{
    log_info(NULL, "a\nb\r\tc\x1b[2Jd\x7f"
                   "e\xc2\x9b"
                   "f\xc3\xa9");
    assert_matches(logged(), " a b  c\\?\\[2Jd\\?e\\?\\?f\xc3\xa9\n$");
    log_info("run_1\nforged", "x");
    assert_matches(logged(), " run_1 forged x\n$");
}
END_TEST

START_TEST(long_line_is_cut_between_code_points)
{
    char text[6001];
    const char *out;

    for (size_t i = 0; i + 1 < sizeof(text); i += 3) {
        memcpy(text + i, "\xe4\xb8\xad", 3);
    }
    text[6000] = '\0';
    log_info(NULL, "%s", text);
    out = logged();
    ck_assert_uint_le(strlen(out), 4096);
    ck_assert_uint_ge(strlen(out), 4090);
    ck_assert(utf8_valid(out, strlen(out)));
    ck_assert_int_eq(out[strlen(out) - 1], '\n');
}
END_TEST

START_TEST(errno_survives)
{
    errno = ENOENT;
    log_info(NULL, "%s", strerror(errno));
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(rarely)
{
    long long mark = 0, other = 0;

    for (int i = 0; i < 100; i++) {
        log_rarely(&mark, LOG_LEVEL_WARN, NULL, "x%d", i);
    }
    assert_matches(logged(), "^[^\n]* x0\n$");
    ck_assert_int_eq(log_due(&other), 1);
    ck_assert_int_eq(log_due(&other), 0);
    other -= 60001;
    ck_assert_int_eq(log_due(&other), 1);
}
END_TEST

Suite *log_suite(void)
{
    Suite *s = suite_create("log");
    TCase *t = tcase_create("log");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, line);
    tcase_add_test(t, levels);
    tcase_add_test(t, control_characters_are_replaced);
    tcase_add_test(t, long_line_is_cut_between_code_points);
    tcase_add_test(t, errno_survives);
    tcase_add_test(t, rarely);
    suite_add_tcase(s, t);
    return s;
}
