/* log.h - one line per event, on standard error.
 *
 *   2026-03-01T12:00:00.123Z info asided[4711] run_17 running -> completed
 *
 * level, UTC time with milliseconds, process, the thing it concerns, text.
 * A line is written by one write(2), so lines of threads never mix. Control
 * characters and line ends in the text are replaced. Never pass secrets or
 * what users wrote.
 */
#ifndef ASIDE_BASE_LOG_H
#define ASIDE_BASE_LOG_H

enum log_level {
    LOG_LEVEL_DEBUG = 0,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
    LOG_LEVEL__MAX
};

/* Once, at the start. name is kept by reference. */
void log_open(const char *name, enum log_level least);

/* about: the id of the Run, request or thing ("run_17"), or NULL. */
void log_at(enum log_level, const char *about, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(about, ...) log_at(LOG_LEVEL_DEBUG, about, __VA_ARGS__)
#define log_info(about, ...)  log_at(LOG_LEVEL_INFO, about, __VA_ARGS__)
#define log_warn(about, ...)  log_at(LOG_LEVEL_WARN, about, __VA_ARGS__)
#define log_error(about, ...) log_at(LOG_LEVEL_ERROR, about, __VA_ARGS__)

/* One line per kind per minute: for failures that come by the thousand.
 * *last_ms belongs to the call site and starts at 0. */
#define log_rarely(last_ms, level, about, ...)                                 \
    do {                                                                       \
        if (log_due(last_ms)) {                                                \
            log_at(level, about, __VA_ARGS__);                                 \
        }                                                                      \
    } while (0)
int log_due(long long *last_ms);

#endif
