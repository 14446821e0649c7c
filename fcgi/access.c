#include "fcgi/access.h"

#include <string.h>
#include <strings.h>

#include "sql/base/utf8.h"

const char *const ACCESS_FORWARDING[] = {
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "X-Real-IP",
    "X-Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "Via",
    NULL,
};

static bool is_loopback(const char *address)
{
    static const char MAPPED[] = "::ffff:";

    if (address == NULL) {
        return false;
    }
    if (strncasecmp(address, MAPPED, sizeof(MAPPED) - 1) == 0) {
        address += sizeof(MAPPED) - 1;
    }
    return strcmp(address, "::1") == 0 || strncmp(address, "127.", 4) == 0;
}

/* Length of the name in "name:port" or "[address]:port"; 0 if what follows the
 * name is no port. */
static size_t host_name_len(const char *host)
{
    size_t len;

    if (*host == '[') {
        len = strcspn(host, "]");
        len += host[len] == ']';
    } else {
        len = strcspn(host, ":");
    }
    if (host[len] == '\0') {
        return len;
    }
    if (host[len] != ':' ||
        strspn(host + len + 1, "0123456789") != strlen(host + len + 1)) {
        return 0;
    }
    return len;
}

static bool same_name(const char *name, size_t len, const char *known,
                      size_t known_len)
{
    return len == known_len && len > 0 && strncasecmp(name, known, len) == 0;
}

/* Is the name one of conf.hosts, a list separated by spaces? */
static bool is_configured(const char *list, const char *name, size_t len)
{
    while (list != NULL && *list != '\0') {
        size_t n = strcspn(list, " \t");

        if (same_name(name, len, list, n)) {
            return true;
        }
        list += n;
        list += strspn(list, " \t");
    }
    return false;
}

static bool is_own_host(const struct conf *conf, const char *host)
{
    static const char *const OWN[] = {"localhost", "127.0.0.1", "[::1]"};
    size_t len = host == NULL ? 0 : host_name_len(host);

    if (len == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++) {
        if (same_name(host, len, OWN[i], strlen(OWN[i]))) {
            return true;
        }
    }
    return is_configured(conf->hosts, host, len);
}

static enum access_verdict check_local(const struct conf *conf,
                                       const struct access_facts *f)
{
    if (!is_loopback(f->remote_addr) || !is_loopback(f->server_addr)) {
        return ACCESS_NOT_LOCAL;
    }
    if (f->forwarded) {
        return ACCESS_FORWARDED;
    }
    return is_own_host(conf, f->host) ? ACCESS_GRANTED : ACCESS_FOREIGN_HOST;
}

enum access_verdict access_account(const struct conf *conf,
                                   const struct access_facts *f,
                                   const char **account)
{
    enum access_verdict verdict = ACCESS_GRANTED;

    switch (conf->auth) {
    case CONF_AUTH_NONE:
        verdict = check_local(conf, f);
        *account = "me";
        break;
    case CONF_AUTH_PROXY:
        *account = f->remote_user;
        if (f->remote_user == NULL || *f->remote_user == '\0' ||
            strlen(f->remote_user) > ACCESS_MAX_USER_BYTES ||
            !utf8_valid(f->remote_user, strlen(f->remote_user))) {
            verdict = ACCESS_NO_USER;
        }
        break;
    case CONF_AUTH_TOKEN:
        verdict = ACCESS_NO_TOKEN;
        break;
    }
    return verdict;
}

/* --- what a request carries ----------------------------------------------- */

/* The scheme's case does not matter (RFC 9110 11.1). */
static bool is_bearer(const char *authorization)
{
    static const char SCHEME[] = "Bearer";
    size_t len = sizeof(SCHEME) - 1;

    return authorization != NULL &&
           strncasecmp(authorization, SCHEME, len) == 0 &&
           (authorization[len] == ' ' || authorization[len] == '\0');
}

/* "Bearer <token>", RFC 6750 2.1. */
static void find_bearer(const char *field, struct access_secret *out)
{
    out->means = ACCESS_BY_BEARER;
    field += strcspn(field, " ");
    field += strspn(field, " ");
    out->text = field;
    out->len = strcspn(field, " ");
    if (out->len == 0 || field[out->len] != '\0') {
        out->text = NULL;
        out->len = 0;
    }
}

/* "name=value; name=value", RFC 6265 4.2.1. Of several of our name the first is
 * the one with the longest path. */
static void find_cookie(const char *field, const char *name,
                        struct access_secret *out)
{
    size_t len = strlen(name);

    while (*field != '\0') {
        field += strspn(field, "; ");
        if (strncmp(field, name, len) == 0 && field[len] == '=') {
            out->means = ACCESS_BY_COOKIE;
            out->text = field + len + 1;
            out->len = strcspn(out->text, "; ");
            return;
        }
        field += strcspn(field, ";");
    }
}

void access_secret(const struct access_facts *f, struct access_secret *out)
{
    *out = (struct access_secret){.means = ACCESS_BY_NOTHING};
    if (is_bearer(f->authorization)) {
        find_bearer(f->authorization, out);
    } else if (f->cookie != NULL) {
        find_cookie(f->cookie,
                    f->host_cookie ? ACCESS_HOST_COOKIE : ACCESS_COOKIE, out);
    }
}

/* --- for whom a browser asks ----------------------------------------------- */

static bool by_bearer(const struct conf *conf, const struct access_facts *f)
{
    return conf->auth == CONF_AUTH_TOKEN && is_bearer(f->authorization);
}

/* "none" is a person: what they typed, or go back to. "same-site" may be
 * somebody else's port or subdomain. */
enum access_verdict access_read(const struct conf *conf,
                                const struct access_facts *f)
{
    bool own = by_bearer(conf, f) || f->sec_fetch_site == NULL ||
               strcasecmp(f->sec_fetch_site, "same-origin") == 0 ||
               strcasecmp(f->sec_fetch_site, "none") == 0;

    return own ? ACCESS_GRANTED : ACCESS_CROSS_SITE;
}

/* --- writing --------------------------------------------------------------- */

/* An Origin is "scheme://host[:port]", without a default port, as is Host. A
 * configured name is own on any port: the web server may be told another Host
 * than the browser shows. */
static bool is_own_origin(const struct conf *conf, const struct access_facts *f)
{
    const char *authority = strstr(f->origin, "://");

    if (authority == NULL || (strncmp(f->origin, "http://", 7) != 0 &&
                              strncmp(f->origin, "https://", 8) != 0)) {
        return false;
    }
    authority += 3;
    if (f->host != NULL && strcasecmp(authority, f->host) == 0) {
        return true;
    }
    return is_configured(conf->hosts, authority, host_name_len(authority));
}

/* "application/json", with no parameter but charset=utf-8. */
static bool is_json(const char *type)
{
    static const char JSON[] = "application/json";
    static const char CHARSET[] = "charset=";

    if (type == NULL || strncasecmp(type, JSON, sizeof(JSON) - 1) != 0) {
        return false;
    }
    type += sizeof(JSON) - 1;
    type += strspn(type, " \t");
    if (*type == '\0') {
        return true;
    }
    if (*type != ';') {
        return false;
    }
    type++;
    type += strspn(type, " \t");
    if (strncasecmp(type, CHARSET, sizeof(CHARSET) - 1) != 0) {
        return false;
    }
    type += sizeof(CHARSET) - 1;
    return strcasecmp(type, "utf-8") == 0 || strcasecmp(type, "\"utf-8\"") == 0;
}

enum access_verdict access_write(const struct conf *conf,
                                 const struct access_facts *f)
{
    if (access_read(conf, f) != ACCESS_GRANTED) {
        return ACCESS_CROSS_SITE;
    }
    if (!by_bearer(conf, f) && f->origin != NULL && !is_own_origin(conf, f)) {
        return ACCESS_FOREIGN_ORIGIN;
    }
    if (f->has_body && !is_json(f->content_type)) {
        return ACCESS_MEDIA_TYPE;
    }
    return ACCESS_GRANTED;
}
