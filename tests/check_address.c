/* check_address.c - which addresses a fetch may reach. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "sql/base/address.h"
#include "tests/support/suites.h"

static const struct sockaddr *address(const char *text)
{
    static struct sockaddr_storage at;

    memset(&at, 0, sizeof(at));
    if (strchr(text, ':') == NULL) {
        struct sockaddr_in *four = (struct sockaddr_in *)&at;

        four->sin_family = AF_INET;
        ck_assert_int_eq(inet_pton(AF_INET, text, &four->sin_addr), 1);
    } else {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&at;

        six->sin6_family = AF_INET6;
        ck_assert_int_eq(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
    }
    return (const struct sockaddr *)&at;
}

START_TEST(only_the_public_internet_is_public)
{
    static const struct {
        const char *text;
        bool is_public;
    } rows[] = {
        {"1.1.1.1", true},
        {"9.255.255.255", true},
        {"10.0.0.0", false},
        {"10.255.255.255", false},
        {"11.0.0.0", true},
        {"0.0.0.0", false},
        {"100.63.255.255", true},
        {"100.64.0.0", false},
        {"100.127.255.255", false},
        {"100.128.0.0", true},
        {"127.0.0.1", false},
        {"127.255.0.9", false},
        {"169.254.169.254", false}, /* metadata of clouds */
        {"172.15.255.255", true},
        {"172.16.0.1", false},
        {"172.31.255.255", false},
        {"172.32.0.0", true},
        {"192.168.1.1", false},
        {"192.169.0.0", true},
        {"198.19.255.255", false},
        {"224.0.0.1", false},
        {"255.255.255.255", false},
        {"2606:4700::1111", true},
        {"::", false},
        {"::1", false},
        {"::7f00:1", false},           /* once meant 127.0.0.1 */
        {"::ffff:127.0.0.1", false},   /* mapped */
        {"::ffff:192.168.1.1", false}, /* mapped */
        {"::ffff:1.1.1.1", true},
        {"64:ff9b::7f00:1", false},    /* NAT64 */
        {"2002:7f00:1::", false},      /* 6to4 of 127.0.0.1 */
        {"2001:0:1:2:3:4:5:6", false}, /* Teredo */
        {"2001:db8::1", false},        /* documentation */
        {"2001:4860:4860::8888", true},
        {"fc00::1", false},
        {"fd00:ec2::254", false}, /* metadata of clouds */
        {"fe80::1", false},
        {"ff02::1", false},
        {"4000::1", false},
    };
    static const struct sockaddr_storage other = {.ss_family = AF_UNIX};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(address_is_public(address(rows[i].text)) ==
                          rows[i].is_public,
                      "%s", rows[i].text);
    }
    ck_assert(!address_is_public((const struct sockaddr *)&other));
}
END_TEST

START_TEST(ranges_open_what_is_not_public)
{
    struct address_list l;

    ck_assert(address_list_parse(" 127.0.0.1  10.1.0.0/16 fd00::/8 ", &l));
    ck_assert_uint_eq(l.n, 3);
    ck_assert(address_is_in(&l, address("127.0.0.1")));
    ck_assert(address_is_in(&l, address("::ffff:127.0.0.1")));
    ck_assert(!address_is_in(&l, address("127.0.0.2")));
    ck_assert(address_is_in(&l, address("10.1.255.255")));
    ck_assert(!address_is_in(&l, address("10.2.0.0")));
    ck_assert(address_is_in(&l, address("fdff::1")));
    ck_assert(!address_is_in(&l, address("fc00::1")));
    ck_assert(!address_is_in(&l, address("1.1.1.1")));
    ck_assert(address_list_parse("0.0.0.0/0", &l));
    ck_assert(address_is_in(&l, address("169.254.169.254")));
    ck_assert(!address_is_in(&l, address("::1")));
    ck_assert(address_list_parse("", &l));
    ck_assert(!address_is_in(&l, address("127.0.0.1")));
}
END_TEST

static const struct sockaddr *with_port(const char *text, uint16_t port)
{
    static struct sockaddr_storage at;

    memcpy(&at, address(text), sizeof(at));
    if (at.ss_family == AF_INET) {
        ((struct sockaddr_in *)&at)->sin_port = htons(port);
    } else {
        ((struct sockaddr_in6 *)&at)->sin6_port = htons(port);
    }
    return (const struct sockaddr *)&at;
}

START_TEST(ports_are_those_that_are_named)
{
    static const char *const bad[] = {"0",   "65536", "80,443", "http",
                                      "80-", "90-80", "-80",    "080080",
                                      "80x", "+80"};
    struct address_ports p;

    ck_assert(address_ports_parse(" 80  443 8000-8999 ", &p));
    ck_assert_uint_eq(p.n, 3);
    ck_assert(address_ports_has(&p, with_port("1.1.1.1", 80)));
    ck_assert(!address_ports_has(&p, with_port("1.1.1.1", 81)));
    ck_assert(address_ports_has(&p, with_port("2606:4700::1111", 443)));
    ck_assert(!address_ports_has(&p, with_port("2606:4700::1111", 22)));
    ck_assert(address_ports_has(&p, with_port("1.1.1.1", 8999)));
    ck_assert(!address_ports_has(&p, with_port("1.1.1.1", 9000)));
    ck_assert(address_ports_parse("1-65535", &p));
    ck_assert(address_ports_has(&p, with_port("1.1.1.1", 65535)));
    ck_assert(address_ports_parse("", &p));
    ck_assert(!address_ports_has(&p, with_port("1.1.1.1", 80)));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!address_ports_parse(bad[i], &p), "%s", bad[i]);
    }
}
END_TEST

START_TEST(what_is_no_range_is_refused)
{
    static const char *const bad[] = {
        "localhost", "10.0.0.1/8",  "10.0.0.0/33", "10.0.0.0/",
        "::/129",    "10.0.0.0/-1", "1.2.3",       "10.0.0.0/8x",
        "fe80::1%0", "/8",          "10.0.0.0/ 8", "::1/64",
    };
    char many[8 * (ADDRESS_RANGES_MAX + 1) + 1] = "";
    struct address_list l;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!address_list_parse(bad[i], &l), "%s", bad[i]);
    }
    for (size_t i = 0; i <= ADDRESS_RANGES_MAX; i++) {
        ck_assert_msg(address_list_parse(many, &l), "%zu", i);
        (void)snprintf(many + 8 * i, sizeof(many) - 8 * i, "1.2.3.4 ");
    }
    ck_assert(!address_list_parse(many, &l));
}
END_TEST

START_TEST(names_stand_among_ranges)
{
    static const char list[] = "wiki 10.0.0.0/8  Docs.Intranet a-b.c1 ::1";
    static const char *const bad[] = {
        "10.0.0.1/8", "1.2.3",    "a..b",      "-a", ".a",    "a_b",
        "a:80",       "http://a", "1.2.3.4.5", "*",  "wiki/", "a,b",
    };
    struct address_list l;

    ck_assert(!address_list_parse(list, &l));
    ck_assert(address_list_parse_named(list, &l));
    ck_assert_uint_eq(l.n, 2);
    ck_assert(address_is_in(&l, address("10.9.8.7")));
    ck_assert(address_is_in(&l, address("::1")));
    ck_assert(!address_is_in(&l, address("127.0.0.1")));
    ck_assert(address_names_has(list, "wiki"));
    ck_assert(address_names_has(list, "docs.intranet"));
    ck_assert(address_names_has(list, "A-B.C1"));
    ck_assert(!address_names_has(list, "docs"));
    ck_assert(!address_names_has(list, "intranet"));
    ck_assert(!address_names_has(list, ""));
    ck_assert(!address_names_has(list, "::1"));
    ck_assert(!address_names_has(list, "wiki "));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!address_list_parse_named(bad[i], &l), "%s", bad[i]);
    }
}
END_TEST

Suite *address_suite(void)
{
    Suite *s = suite_create("address");
    TCase *t = tcase_create("address");

    tcase_add_test(t, only_the_public_internet_is_public);
    tcase_add_test(t, ranges_open_what_is_not_public);
    tcase_add_test(t, ports_are_those_that_are_named);
    tcase_add_test(t, what_is_no_range_is_refused);
    tcase_add_test(t, names_stand_among_ranges);
    suite_add_tcase(s, t);
    return s;
}
