#include "fcgi/target.h"

#include <string.h>

#include "sql/base/utf8.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

/* Percent-decode text[0..len). plus_is_space: as form data has it.
 * RC_INVALID: malformed. RC_NOMEM. */
static enum rc decode(struct arena *a, const char *text, size_t len,
                      int plus_is_space, const char **out)
{
    char *to = arena_alloc(a, len + 1);
    size_t n = 0;

    if (to == NULL) {
        return RC_NOMEM;
    }
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%') {
            int high = len - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = len - i > 2 ? hex_value(text[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return RC_INVALID;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (c == '\0') {
            return RC_INVALID;
        }
        to[n++] = c;
    }
    if (!utf8_valid(to, n)) {
        return RC_INVALID;
    }
    *out = to;
    return RC_OK;
}

enum rc target_path(struct arena *a, const char *target, const char *prefix,
                    const char **out)
{
    size_t prefix_len = strlen(prefix);
    const char *path;
    enum rc rc;

    rc = decode(a, target, strcspn(target, "?#"), 0, &path);
    if (rc != RC_OK) {
        return rc;
    }
    if (strncmp(path, prefix, prefix_len) != 0 || path[prefix_len] != '/') {
        return RC_NOT_FOUND;
    }
    *out = path + prefix_len;
    return RC_OK;
}

static enum rc decode_pair(struct arena *a, const char *text, size_t len,
                           struct target_pair *out)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals == NULL ? len : (size_t)(equals - text);
    enum rc rc = decode(a, text, name_len, 1, &out->name);

    out->value = "";
    if (rc == RC_OK && equals != NULL) {
        rc = decode(a, equals + 1, len - name_len - 1, 1, &out->value);
    }
    return rc;
}

enum rc target_query(struct arena *a, const char *query,
                     const struct target_pair **out, size_t *n)
{
    struct target_pair *pairs;
    size_t count = 0;

    pairs = arena_alloc(a, TARGET_MAX_QUERY * sizeof(*pairs));
    if (pairs == NULL) {
        return RC_NOMEM;
    }
    while (*query != '\0') {
        size_t len = strcspn(query, "&");

        if (len > 0) {
            enum rc rc;

            if (count == TARGET_MAX_QUERY) {
                return RC_INVALID;
            }
            rc = decode_pair(a, query, len, &pairs[count]);
            if (rc != RC_OK) {
                return rc;
            }
            count++;
        }
        query += len;
        query += *query == '&';
    }
    *out = pairs;
    *n = count;
    return RC_OK;
}
