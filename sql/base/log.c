#include "sql/base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sql/base/clock.h"
#include "sql/base/mask.h"
#include "sql/base/utf8.h"

/* A pipe takes a write of this size in one piece (PIPE_BUF). */
#define LINE_BYTES 4096

#define RARELY_MS 60000

static const char *const LEVEL[LOG_LEVEL__MAX] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_ERROR] = "error",
};

/* Set once, before there are threads. */
static const char *program = "aside";
static enum log_level least_level = LOG_LEVEL_INFO;

void log_open(const char *name, enum log_level least)
{
    assert(least < LOG_LEVEL__MAX);
    program = name;
    least_level = least;
}

static size_t put_head(char *line, size_t size, enum log_level level,
                       const char *about)
{
    int64_t now_ms = clock_unix_ms();
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm;
    char when[32];
    int len;

    (void)gmtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    len = snprintf(line, size, "%s.%03dZ %s %s[%ld] %s ", when,
                   (int)(now_ms % 1000), LEVEL[level], program, (long)getpid(),
                   about == NULL ? "-" : about);
    if (len < 0) {
        return 0;
    }
    return (size_t)len < size ? (size_t)len : size - 1;
}

void log_at(enum log_level level, const char *about, const char *fmt, ...)
{
    char line[LINE_BYTES];
    int saved_errno = errno;
    size_t used, room;
    va_list args;
    int len;

    assert(level < LOG_LEVEL__MAX);
    if (level < least_level) {
        return;
    }
    /* One byte stays for the line end. */
    used = put_head(line, sizeof(line) - 1, level, about);
    room = sizeof(line) - 1 - used;
    /* The text may hold what strerror(errno) says. */
    errno = saved_errno;
    va_start(args, fmt);
    len = vsnprintf(line + used, room, fmt, args);
    va_end(args);
    if (len > 0) {
        size_t text_len = (size_t)len < room ? (size_t)len : room - 1;
        mask_text(line + used, text_len);
        used += utf8_complete_len(line + used, text_len);
    }
    utf8_tame(line, used);
    line[used++] = '\n';
    /* There is nowhere left to report a failing log. */
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
    errno = saved_errno;
}

int log_due(long long *last_ms)
{
    long long now_ms = (long long)clock_boot_ms() + 1;
    long long last = __atomic_load_n(last_ms, __ATOMIC_RELAXED);

    if (last != 0 && now_ms - last < RARELY_MS) {
        return 0;
    }
    /* Of several threads, the one that moves the mark writes the line. */
    return __atomic_compare_exchange_n(last_ms, &last, now_ms, 0,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
