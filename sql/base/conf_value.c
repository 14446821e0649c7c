/* conf_value.c - see conf_value.h. */
#include "sql/base/conf_value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/base/address.h"
#include "sql/base/conf.h"
#include "sql/base/log.h"
#include "sql/base/mask.h"
#include "sql/base/utf8.h"

bool conf_value_is_text(enum conf_type t)
{
    return t == TYPE_TEXT || t == TYPE_SECRET || t == TYPE_URL ||
           t == TYPE_PLACE || t == TYPE_HEADER || t == TYPE_PREFIX ||
           t == TYPE_URL_OR_NONE || t == TYPE_ALLOWED || t == TYPE_PORTS;
}

bool conf_value_is_secret(enum conf_type t, const char *value)
{
    return t == TYPE_SECRET || t == TYPE_PLACE || t == TYPE_HEADER ||
           ((t == TYPE_URL || t == TYPE_URL_OR_NONE) &&
            strpbrk(value, "@?") != NULL);
}

static bool is_place(const char *s)
{
    size_t skip = strncmp(s, "https://", 8) == 0  ? 8
                  : strncmp(s, "http://", 7) == 0 ? 7
                                                  : 0;

    return skip > 0 && s[skip] != '\0' && s[skip] != '/' &&
           strpbrk(s, " #") == NULL;
}

static bool is_url(const char *s)
{
    return is_place(s) && s[strlen(s) - 1] != '/' && strchr(s, '?') == NULL;
}

/* RFC 9110 5.1 and 5.5. */
static bool is_header(const char *s)
{
    size_t name = strspn(s, "!#$%&'*+-.^_`|~0123456789"
                            "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return s[0] == '\0' || (name > 0 && s[name] == ':' &&
                            s[name + 1 + strspn(s + name + 1, " ")] != '\0');
}

static bool is_prefix(const char *s)
{
    if (s[0] == '\0') {
        return true;
    }
    /* What may stand in a path without being escaped. */
    return s[0] == '/' && s[strlen(s) - 1] != '/' && strstr(s, "//") == NULL &&
           s[strspn(s, "/-._~0123456789abcdefghijklmnopqrstuvwxyz"
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

bool conf_value_is_plain(const char *s)
{
    for (size_t i = 0; s[i] != '\0'; i++) {
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) {
            return false;
        }
    }
    return utf8_valid(s, strlen(s));
}

static bool to_number(const char *s, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    long long n;

    if (!isdigit((unsigned char)s[0])) {
        return false;
    }
    errno = 0;
    n = strtoll(s, &end, 10);
    if (errno != 0 || *end != '\0' || n < min || n > max) {
        return false;
    }
    *out = n;
    return true;
}

/* The place of s among n words, or -1. */
static int word_of(const char *s, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(s, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static const char *const AUTH[] = {"none", "proxy", "token"};
static const char *const SWITCH[] = {"off", "on"};
static const char *const LEVEL[] = {"debug", "info", "warn", "error"};
static const char *const VERDICT[] = {"", "allow", "ask", "deny"};

static_assert(CONF_AUTH_NONE == 0 && CONF_AUTH_PROXY == 1, "order of AUTH");
static_assert(CONF_UNSET == 0 && CONF_DENY == 3, "order of VERDICT");
static_assert(LOG_LEVEL_DEBUG == 0 && LOG_LEVEL__MAX == 4, "order of LEVEL");

void conf_value_expected(enum conf_type type, int64_t min, int64_t max,
                         char *out, size_t len)
{
    static const char *const text[TYPE__MAX] = {
        [TYPE_TEXT] = "UTF-8 text without control characters",
        [TYPE_SECRET] = "UTF-8 text without control characters",
        [TYPE_URL] = "http:// or https://, a host, and no / at the end",
        [TYPE_PLACE] = "http:// or https:// and a host",
        [TYPE_HEADER] = "a header's \"Name: value\"",
        [TYPE_PREFIX] = "nothing, or a path that starts, not ends, with /",
        [TYPE_AUTH] = "none, proxy or token",
        [TYPE_LEVEL] = "debug, info, warn or error",
        [TYPE_SWITCH] = "on or off",
        [TYPE_URL_OR_NONE] =
            "nothing, or http:// or https://, a host, and no / at the end",
        [TYPE_ALLOWED] = "host names, addresses, and ranges like 10.0.0.0/8",
        [TYPE_PORTS] = "port numbers, and ranges like 8000-8999",
        [TYPE_VERDICT] = "allow, ask or deny",
    };

    if (type == TYPE_NUMBER) {
        (void)snprintf(out, len, "a whole number from %lld to %lld",
                       (long long)min, (long long)max);
    } else {
        (void)snprintf(out, len, "%s", text[type]);
    }
}

static bool is_allowed(const char *value)
{
    struct address_list list;

    return address_list_parse_named(value, &list);
}

static bool is_ports(const char *value)
{
    struct address_ports ports;

    return address_ports_parse(value, &ports);
}

bool conf_value_take(enum conf_type type, const char *value, int64_t min,
                     int64_t max, void *out)
{
    int word;

    switch (type) {
    case TYPE_TEXT:
    case TYPE_SECRET:
        return conf_value_is_plain(value);
    case TYPE_URL:
        return conf_value_is_plain(value) && is_url(value);
    case TYPE_PLACE:
        return conf_value_is_plain(value) && is_place(value);
    case TYPE_HEADER:
        return conf_value_is_plain(value) && is_header(value);
    case TYPE_PREFIX:
        return is_prefix(value);
    case TYPE_NUMBER:
        return to_number(value, min, max, out);
    case TYPE_AUTH:
        word = word_of(value, AUTH, 3);
        if (word >= 0) {
            *(enum conf_auth *)out = (enum conf_auth)word;
        }
        return word >= 0;
    case TYPE_LEVEL:
        word = word_of(value, LEVEL, LOG_LEVEL__MAX);
        if (word >= 0) {
            *(int64_t *)out = word;
        }
        return word >= 0;
    case TYPE_SWITCH:
        word = word_of(value, SWITCH, 2);
        if (word >= 0) {
            *(int64_t *)out = word;
        }
        return word >= 0;
    case TYPE_VERDICT:
        word = word_of(value, VERDICT, 4);
        if (word > 0) {
            *(int64_t *)out = word;
        }
        return word > 0;
    case TYPE_URL_OR_NONE:
        return conf_value_is_plain(value) &&
               (value[0] == '\0' || is_url(value));
    case TYPE_ALLOWED:
        return conf_value_is_plain(value) && is_allowed(value);
    case TYPE_PORTS:
        return conf_value_is_plain(value) && is_ports(value);
    case TYPE__MAX:
        break;
    }
    assert(!"a type that there is not");
    return false;
}

/* Is this the name of a parameter that has a secret? */
static bool names_secret(const char *name, size_t len)
{
    static const char *const PARTS[] = {"key",  "token", "secret",
                                        "pass", "auth",  "sig"};

    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        const size_t part = strlen(PARTS[i]);

        for (size_t k = 0; k + part <= len; k++) {
            if (strncasecmp(name + k, PARTS[i], part) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Each value by itself, where its name says what it is: others are words. */
static void hide_in_query(const char *query)
{
    while (*query != '\0') {
        size_t len = strcspn(query, "&#");
        const char *value = memchr(query, '=', len);

        if (value != NULL && names_secret(query, (size_t)(value - query))) {
            mask_add(value + 1, len - (size_t)(value + 1 - query));
        }
        query += len + (query[len] != '\0');
    }
}

/* What may be secret in an address: name and password, and the query. */
static void hide_in_url(const char *url)
{
    const char *host = strstr(url, "://");
    const char *query = strchr(url, '?');
    size_t len;

    if (host == NULL) {
        return;
    }
    host += 3;
    len = strcspn(host, "/?#");
    for (size_t i = len; i > 0; i--) {
        if (host[i - 1] == '@') {
            const char *colon = memchr(host, ':', i - 1);
            const char *from = colon == NULL ? host : colon + 1;

            mask_add(from, (size_t)(host + i - 1 - from));
            break;
        }
    }
    if (query != NULL) {
        mask_add(query + 1, strlen(query + 1));
        hide_in_query(query + 1);
    }
}

void conf_value_hide(enum conf_type type, const char *value)
{
    const char *text = value;

    if (type == TYPE_HEADER) {
        text += strcspn(text, ":");
        text += strspn(text, ": ");
        /* "Basic ...": what stands behind the last space, by itself. */
        if (strrchr(text, ' ') != NULL) {
            mask_add(strrchr(text, ' ') + 1, strlen(strrchr(text, ' ') + 1));
        }
    }
    if (type == TYPE_HEADER || type == TYPE_SECRET) {
        mask_add(text, strlen(text));
    } else if (type == TYPE_PLACE || type == TYPE_URL ||
               type == TYPE_URL_OR_NONE) {
        hide_in_url(text);
    }
}
