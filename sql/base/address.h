/* address.h - which network addresses may be reached on a stranger's word.
 *
 * A page or a model names where a fetch goes. Without a rule it could name the
 * machine itself, its neighbours, or the metadata service of a cloud.
 */
#ifndef ASIDE_BASE_ADDRESS_H
#define ASIDE_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Addresses and ranges ("10.0.0.0/8", "::1"), separated by spaces. */
#define ADDRESS_RANGES_MAX 64

struct address_range {
    unsigned char prefix[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;            /* of prefix that count */
};

struct address_list {
    struct address_range range[ADDRESS_RANGES_MAX];
    size_t n;
};

/* False: no address or range, host bits set, or more than ADDRESS_RANGES_MAX.
 */
bool address_list_parse(const char *text, struct address_list *out);

/* The same of a text that may also hold host names: they are passed over, and
 * asked for with address_names_has. */
bool address_list_parse_named(const char *text, struct address_list *out);
/* Does a text that was parsed so name this host? Case does not count. */
bool address_names_has(const char *text, const char *host);

/* An address of the public internet: global unicast, and none that the
 * special-purpose registries of RFC 6890 keep for anything else. An IPv4
 * address inside an IPv6 one counts as what it is. */
bool address_is_public(const struct sockaddr *);

/* In one of the ranges. */
bool address_is_in(const struct address_list *, const struct sockaddr *);

/* --- ports --------------------------------------------------------------- */

/* Numbers and ranges ("80", "8000-8999"), separated by spaces. */
#define ADDRESS_PORTS_MAX 32

struct address_ports {
    struct {
        uint16_t from;
        uint16_t to;
    } range[ADDRESS_PORTS_MAX];
    size_t n;
};

/* False: no port, or more than ADDRESS_PORTS_MAX. */
bool address_ports_parse(const char *text, struct address_ports *out);
/* Is the port of this address one of them? */
bool address_ports_has(const struct address_ports *, const struct sockaddr *);

#endif
