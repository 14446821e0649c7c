#include "sql/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define V4_BITS 96 /* of ::ffff:0:0/96, where IPv4 addresses stand */

/* Not of the public internet, or leading back into what is not. What is not in
 * 2000::/3 is never public, so that loopback, link-local, unique local,
 * multicast and NAT64 need no row. */
static const char KEPT[] =
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 "
    "172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 "
    "198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
    "2001::/23 2001:db8::/32 2002::/16 3fff::/20";

static bool is_within(const struct address_range *r,
                      const unsigned char address[16])
{
    unsigned whole = r->bits / 8;
    unsigned rest = r->bits % 8;

    return memcmp(r->prefix, address, whole) == 0 &&
           (rest == 0 ||
            (unsigned)(r->prefix[whole] ^ address[whole]) >> (8 - rest) == 0);
}

static bool is_in(const struct address_list *l, const unsigned char address[16])
{
    for (size_t i = 0; i < l->n; i++) {
        if (is_within(&l->range[i], address)) {
            return true;
        }
    }
    return false;
}

static void from_v4(const void *four, unsigned char out[16])
{
    memset(out, 0, 10);
    memset(out + 10, 0xff, 2);
    memcpy(out + 12, four, 4);
}

/* --- lists ------------------------------------------------------------- */

static bool parse_bits(const char *text, unsigned max, unsigned *out)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    *out = (unsigned)n;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && n <= max;
}

static bool parse_range(char *text, struct address_range *r)
{
    char *slash = strchr(text, '/');
    struct in_addr four;
    unsigned bits;

    if (slash != NULL) {
        *slash = '\0';
    }
    if (inet_pton(AF_INET, text, &four) == 1) {
        bits = 32;
        from_v4(&four, r->prefix);
    } else if (inet_pton(AF_INET6, text, r->prefix) == 1) {
        bits = 128;
    } else {
        return false;
    }
    if (slash != NULL && !parse_bits(slash + 1, bits, &r->bits)) {
        return false;
    }
    if (slash == NULL) {
        r->bits = bits;
    }
    r->bits += bits == 32 ? V4_BITS : 0;
    for (unsigned i = r->bits; i < 128; i++) {
        if ((r->prefix[i / 8] >> (7 - i % 8) & 1) != 0) {
            return false; /* 10.0.0.1/8: what was meant? */
        }
    }
    return true;
}

/* RFC 1123 2.1: letters, digits, hyphens and dots; a last label of digits
 * alone is a broken address. */
static bool is_name(const char *word)
{
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    const char *last = strrchr(word, '.');

    last = last == NULL ? word : last + 1;
    return word[strspn(word, in_names)] == '\0' && word[0] != '.' &&
           word[0] != '-' && strstr(word, "..") == NULL &&
           last[strspn(last, "0123456789")] != '\0';
}

static bool parse_list(const char *text, bool named, struct address_list *out)
{
    char word[256]; /* the longest name has 253 bytes */
    size_t len;

    out->n = 0;
    for (; text[0] != '\0'; text += len) {
        len = strcspn(text, " ");
        if (len == 0) {
            len = 1;
            continue;
        }
        if (len >= sizeof(word)) {
            return false;
        }
        memcpy(word, text, len);
        word[len] = '\0';
        if (named && is_name(word)) {
            continue;
        }
        if (out->n == ADDRESS_RANGES_MAX) {
            return false;
        }
        if (!parse_range(word, &out->range[out->n++])) {
            return false;
        }
    }
    return true;
}

bool address_list_parse(const char *text, struct address_list *out)
{
    return parse_list(text, false, out);
}

bool address_list_parse_named(const char *text, struct address_list *out)
{
    return parse_list(text, true, out);
}

bool address_names_has(const char *text, const char *host)
{
    size_t host_len = strlen(host);
    size_t len;

    if (!is_name(host)) {
        return false;
    }
    for (; text[0] != '\0'; text += len) {
        text += strspn(text, " ");
        len = strcspn(text, " ");
        if (len == host_len && strncasecmp(text, host, len) == 0) {
            return true;
        }
    }
    return false;
}

/* --- addresses --------------------------------------------------------- */

/* The sixteen bytes; false: neither IPv4 nor IPv6. */
static bool bytes_of(const struct sockaddr *at, unsigned char out[16])
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (at->sa_family == AF_INET) {
        memcpy(&four, at, sizeof(four));
        from_v4(&four.sin_addr, out);
        return true;
    }
    if (at->sa_family == AF_INET6) {
        memcpy(&six, at, sizeof(six));
        memcpy(out, &six.sin6_addr, 16);
        return true;
    }
    return false;
}

static bool is_public(const unsigned char address[16])
{
    const unsigned char zero[10] = {0};
    struct address_list kept;
    bool v4 = memcmp(address, zero, 10) == 0 && address[10] == 0xff &&
              address[11] == 0xff;

    return (v4 || (address[0] & 0xe0) == 0x20) &&
           address_list_parse(KEPT, &kept) && !is_in(&kept, address);
}

bool address_is_public(const struct sockaddr *at)
{
    unsigned char address[16];

    return bytes_of(at, address) && is_public(address);
}

bool address_is_in(const struct address_list *l, const struct sockaddr *at)
{
    unsigned char address[16];

    return bytes_of(at, address) && is_in(l, address);
}

/* --- ports ------------------------------------------------------------- */

/* A port number at *p, which is left behind it. */
static bool read_port(const char **p, uint16_t *out)
{
    size_t digits = strspn(*p, "0123456789");
    unsigned long n = 0;

    if (digits == 0 || digits > 5) {
        return false;
    }
    n = strtoul(*p, NULL, 10);
    *p += digits;
    *out = (uint16_t)n;
    return n >= 1 && n <= UINT16_MAX;
}

bool address_ports_parse(const char *text, struct address_ports *out)
{
    out->n = 0;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        uint16_t from;
        uint16_t to;

        if (out->n == ADDRESS_PORTS_MAX || !read_port(&text, &from)) {
            return false;
        }
        to = from;
        if (*text == '-') {
            text++;
            if (!read_port(&text, &to) || to < from) {
                return false;
            }
        }
        if (*text != ' ' && *text != '\0') {
            return false;
        }
        out->range[out->n].from = from;
        out->range[out->n++].to = to;
    }
    return true;
}

static uint16_t port_of(const struct sockaddr *at)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (at->sa_family == AF_INET) {
        memcpy(&four, at, sizeof(four));
        return ntohs(four.sin_port);
    }
    if (at->sa_family == AF_INET6) {
        memcpy(&six, at, sizeof(six));
        return ntohs(six.sin6_port);
    }
    return 0;
}

bool address_ports_has(const struct address_ports *ports,
                       const struct sockaddr *at)
{
    uint16_t port = port_of(at);

    for (size_t i = 0; i < ports->n; i++) {
        if (port >= ports->range[i].from && port <= ports->range[i].to) {
            return true;
        }
    }
    return false;
}
