/* http_reply.c - what a reply's header lines say. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/http/http_inside.h"
#include "sql/base/clock.h"

#define HEADERS_MAX_BYTES ((size_t)64 * 1024)
#define HEADER_MAX_BYTES  ((size_t)4 * 1024) /* of one that is wanted */
#define RETRY_AFTER_MAX_S ((int64_t)10 * 365 * 86400)

/* Copies the value if line is this header. A value that does not fit is of no
 * use cut short and is left out. */
static bool header_value(const char *line, size_t len, const char *name,
                         char *out, size_t out_len)
{
    size_t skip = strlen(name);

    if (len <= skip || line[skip] != ':' ||
        strncasecmp(line, name, skip) != 0) {
        return false;
    }
    skip++;
    while (skip < len && (line[skip] == ' ' || line[skip] == '\t')) {
        skip++;
    }
    while (len > skip && (unsigned char)line[len - 1] <= ' ') {
        len--;
    }
    if (len - skip >= out_len || memchr(line + skip, '\0', len - skip)) {
        return false;
    }
    memcpy(out, line + skip, len - skip);
    out[len - skip] = '\0';
    return true;
}

/* The last of several counts. */
static bool keep_wanted(struct http_call *c, const char *line, size_t len)
{
    char value[HEADER_MAX_BYTES];

    for (size_t i = 0; c->want != NULL && c->want[i] != NULL; i++) {
        if (header_value(line, len, c->want[i], value, sizeof(value))) {
            free(c->values[i]);
            c->values[i] = strdup(value);
            return c->values[i] != NULL;
        }
    }
    return true;
}

/* What an interim reply (1xx) said is over. */
static void forget_all(struct http_call *c)
{
    c->retry_after[0] = '\0';
    c->date[0] = '\0';
    c->result.reply_id[0] = '\0';
    http_reply_free(c);
}

void http_reply_free(struct http_call *c)
{
    for (size_t i = 0; i < HTTP_WANT_MAX; i++) {
        free(c->values[i]);
        c->values[i] = NULL;
    }
}

size_t http_reply_header(char *line, size_t size, size_t n, void *ctx)
{
    struct http_call *c = ctx;
    struct http_result *r = &c->result;
    size_t len = size * n;
    char id[sizeof(r->reply_id)];

    c->header_bytes += len;
    if (c->header_bytes > HEADERS_MAX_BYTES) {
        c->too_large = true;
        return CURL_WRITEFUNC_ERROR;
    }
    if (len > 5 && memcmp(line, "HTTP/", 5) == 0) {
        forget_all(c);
        return len;
    }
    (void)header_value(line, len, "Retry-After", c->retry_after,
                       sizeof(c->retry_after));
    (void)header_value(line, len, "Date", c->date, sizeof(c->date));
    if (header_value(line, len, "X-Generation-Id", id, sizeof(id)) ||
        (r->reply_id[0] == '\0' &&
         header_value(line, len, "X-Request-Id", id, sizeof(id)))) {
        memcpy(r->reply_id, id, sizeof(id));
    }
    if (!keep_wanted(c, line, len)) {
        c->no_memory = true;
        return CURL_WRITEFUNC_ERROR;
    }
    return len;
}

/* Seconds, or a date; that is set against the reply's own Date, if it has one,
 * since the two clocks may differ. */
int64_t http_reply_retry_after_ms(const struct http_call *c)
{
    const char *value = c->retry_after;
    const char *date = c->date;
    int64_t seconds = 0;
    time_t at, from;

    if (value[0] == '\0') {
        return -1;
    }
    if (strspn(value, "0123456789") == strlen(value)) {
        for (const char *p = value; *p != '\0'; p++) {
            seconds = seconds * 10 + (*p - '0');
            if (seconds > RETRY_AFTER_MAX_S) {
                seconds = RETRY_AFTER_MAX_S;
                break;
            }
        }
        return seconds * 1000;
    }
    /* Each form of an HTTP date begins with a day's name; curl_getdate takes
     * much more than that. */
    at = value[0] >= 'A' && value[0] <= 'Z' ? curl_getdate(value, NULL) : -1;
    if (at == -1) {
        return -1;
    }
    from = date[0] == '\0' ? -1 : curl_getdate(date, NULL);
    if (from == -1) {
        from = (time_t)(clock_unix_ms() / 1000);
    }
    return at > from ? (int64_t)(at - from) * 1000 : 0;
}
