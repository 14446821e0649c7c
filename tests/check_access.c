/* check_access.c - who may read and who may write, fact by fact. */
#include <string.h>

#include "fcgi/access.h"
#include "tests/support/suites.h"

/* A good request of each kind; a row changes one fact. */
#define LOCAL                                                                  \
    .remote_addr = "127.0.0.1", .server_addr = "127.0.0.1", .host = "localhost"

struct row {
    const char *name;
    enum conf_auth auth;
    struct access_facts facts;
    enum access_verdict verdict;
};

static const struct row READING[] = {
    {"loopback", CONF_AUTH_NONE, {LOCAL}, ACCESS_GRANTED},
    {"with a port",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "127.0.0.1",
      .host = "127.0.0.1:8080"},
     ACCESS_GRANTED},
    {"IPv6",
     CONF_AUTH_NONE,
     {.remote_addr = "::1", .server_addr = "::1", .host = "[::1]:8080"},
     ACCESS_GRANTED},
    {"IPv4 in IPv6",
     CONF_AUTH_NONE,
     {.remote_addr = "::ffff:127.0.0.1",
      .server_addr = "::ffff:127.0.0.1",
      .host = "LOCALHOST"},
     ACCESS_GRANTED},
    {"a configured name",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "127.0.0.1",
      .host = "Second.Example:81"},
     ACCESS_GRANTED},
    {"from elsewhere",
     CONF_AUTH_NONE,
     {.remote_addr = "192.0.2.7",
      .server_addr = "127.0.0.1",
      .host = "localhost"},
     ACCESS_NOT_LOCAL},
    {"to elsewhere",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "192.0.2.1",
      .host = "localhost"},
     ACCESS_NOT_LOCAL},
    {"from nowhere",
     CONF_AUTH_NONE,
     {.server_addr = "127.0.0.1", .host = "localhost"},
     ACCESS_NOT_LOCAL},
    {"from a mapped foreign address",
     CONF_AUTH_NONE,
     {.remote_addr = "::ffff:192.0.2.7",
      .server_addr = "127.0.0.1",
      .host = "localhost"},
     ACCESS_NOT_LOCAL},
    {"forwarded", CONF_AUTH_NONE, {LOCAL, .forwarded = true}, ACCESS_FORWARDED},
    {"a rebound name",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "127.0.0.1",
      .host = "evil.example"},
     ACCESS_FOREIGN_HOST},
    {"a name that begins well",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "127.0.0.1",
      .host = "localhost.evil.example"},
     ACCESS_FOREIGN_HOST},
    {"a port that is none",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1",
      .server_addr = "127.0.0.1",
      .host = "localhost:80@evil.example"},
     ACCESS_FOREIGN_HOST},
    {"no Host",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1", .server_addr = "127.0.0.1"},
     ACCESS_FOREIGN_HOST},
    {"an empty Host",
     CONF_AUTH_NONE,
     {.remote_addr = "127.0.0.1", .server_addr = "127.0.0.1", .host = ""},
     ACCESS_FOREIGN_HOST},
    {"a user through a proxy",
     CONF_AUTH_PROXY,
     {.remote_addr = "192.0.2.7", .remote_user = "ada", .forwarded = true},
     ACCESS_GRANTED},
    {"nobody through a proxy", CONF_AUTH_PROXY, {LOCAL}, ACCESS_NO_USER},
    {"an empty user",
     CONF_AUTH_PROXY,
     {LOCAL, .remote_user = ""},
     ACCESS_NO_USER},
    {"a user that is no UTF-8",
     CONF_AUTH_PROXY,
     {LOCAL, .remote_user = "\xff"},
     ACCESS_NO_USER},
};

static const struct row WRITING[] = {
    {"a program", CONF_AUTH_NONE, {LOCAL}, ACCESS_GRANTED},
    {"JSON",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true, .content_type = "application/json"},
     ACCESS_GRANTED},
    {"JSON in UTF-8",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true,
      .content_type = "Application/JSON ; charset=UTF-8"},
     ACCESS_GRANTED},
    {"JSON in another charset",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true,
      .content_type = "application/json; charset=utf-16"},
     ACCESS_MEDIA_TYPE},
    {"a form",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true,
      .content_type = "application/x-www-form-urlencoded"},
     ACCESS_MEDIA_TYPE},
    {"text that mentions JSON",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true, .content_type = "text/plain; application/json"},
     ACCESS_MEDIA_TYPE},
    {"a type that begins like JSON",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true, .content_type = "application/jsonp"},
     ACCESS_MEDIA_TYPE},
    {"a body without a type",
     CONF_AUTH_NONE,
     {LOCAL, .has_body = true},
     ACCESS_MEDIA_TYPE},
    {"its own page",
     CONF_AUTH_NONE,
     {.host = "localhost:8080",
      .origin = "http://localhost:8080",
      .sec_fetch_site = "same-origin"},
     ACCESS_GRANTED},
    {"its own page over TLS",
     CONF_AUTH_PROXY,
     {.host = "aside.example", .origin = "https://aside.example"},
     ACCESS_GRANTED},
    {"a configured origin",
     CONF_AUTH_PROXY,
     {.host = "inner", .origin = "https://second.example"},
     ACCESS_GRANTED},
    {"another site",
     CONF_AUTH_NONE,
     {LOCAL, .origin = "http://evil.example"},
     ACCESS_FOREIGN_ORIGIN},
    {"another port of this machine",
     CONF_AUTH_NONE,
     {.host = "localhost:8080", .origin = "http://localhost:9090"},
     ACCESS_FOREIGN_ORIGIN},
    {"an opaque origin",
     CONF_AUTH_NONE,
     {LOCAL, .origin = "null"},
     ACCESS_FOREIGN_ORIGIN},
    {"an extension",
     CONF_AUTH_NONE,
     {LOCAL, .origin = "moz-extension://localhost"},
     ACCESS_FOREIGN_ORIGIN},
    {"a browser that says cross-site",
     CONF_AUTH_NONE,
     {LOCAL, .sec_fetch_site = "cross-site"},
     ACCESS_CROSS_SITE},
    {"a browser that says same-site",
     CONF_AUTH_NONE,
     {LOCAL, .sec_fetch_site = "same-site"},
     ACCESS_CROSS_SITE},
    {"a browser that says what nobody knows",
     CONF_AUTH_NONE,
     {LOCAL, .sec_fetch_site = ""},
     ACCESS_CROSS_SITE},
    {"typed by hand",
     CONF_AUTH_NONE,
     {LOCAL, .sec_fetch_site = "none"},
     ACCESS_GRANTED},
    {"a page's own",
     CONF_AUTH_NONE,
     {LOCAL, .sec_fetch_site = "same-origin"},
     ACCESS_GRANTED},
    {"another scheme, which a browser sends by itself",
     CONF_AUTH_TOKEN,
     {LOCAL, .origin = "https://evil.example", .authorization = "Basic YTpi"},
     ACCESS_FOREIGN_ORIGIN},
    {"a bearer token of another origin",
     CONF_AUTH_TOKEN,
     {LOCAL, .origin = "https://evil.example", .sec_fetch_site = "cross-site",
      .authorization = "Bearer x"},
     ACCESS_GRANTED},
    {"a bearer token with a form",
     CONF_AUTH_TOKEN,
     {LOCAL, .has_body = true, .content_type = "text/plain",
      .authorization = "Bearer x"},
     ACCESS_MEDIA_TYPE},
    {"a cookie of another origin",
     CONF_AUTH_TOKEN,
     {LOCAL, .origin = "https://evil.example", .cookie = "aside=x"},
     ACCESS_FOREIGN_ORIGIN},
    {"a bearer token where none is asked for",
     CONF_AUTH_PROXY,
     {LOCAL, .origin = "https://evil.example", .authorization = "Bearer x"},
     ACCESS_FOREIGN_ORIGIN},
};

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

START_TEST(reading_is_granted_by_the_facts)
{
    const struct row *row = &READING[_i];
    const struct conf conf = {.auth = row->auth,
                              .hosts = "first.example second.example"};
    const char *account = NULL;
    enum access_verdict verdict = access_account(&conf, &row->facts, &account);

    ck_assert_msg(verdict == row->verdict, "%s: %d, not %d", row->name,
                  (int)verdict, (int)row->verdict);
    if (verdict == ACCESS_GRANTED) {
        ck_assert_str_eq(account, row->auth == CONF_AUTH_NONE
                                      ? "me"
                                      : row->facts.remote_user);
    }
}
END_TEST

START_TEST(writing_is_granted_by_the_facts)
{
    const struct row *row = &WRITING[_i];
    const struct conf conf = {.auth = row->auth,
                              .hosts = "first.example second.example"};
    enum access_verdict verdict = access_write(&conf, &row->facts);

    ck_assert_msg(verdict == row->verdict, "%s: %d, not %d", row->name,
                  (int)verdict, (int)row->verdict);
}
END_TEST

/* What a request carries; NULL: nothing that could be a secret. */
static const struct {
    const char *authorization;
    const char *cookie;
    bool host_cookie;
    enum access_means means;
    const char *text;
} CARRIED[] = {
    {NULL, NULL, false, ACCESS_BY_NOTHING, NULL},
    {NULL, "", false, ACCESS_BY_NOTHING, NULL},
    {NULL, "other=1", false, ACCESS_BY_NOTHING, NULL},
    {NULL, "asides=1; xaside=2; aside", false, ACCESS_BY_NOTHING, NULL},
    {NULL, "aside=abc", false, ACCESS_BY_COOKIE, "abc"},
    {NULL, "other=1; aside=abc; more=2", false, ACCESS_BY_COOKIE, "abc"},
    {NULL, "aside=first; aside=second", false, ACCESS_BY_COOKIE, "first"},
    {NULL, "aside=", false, ACCESS_BY_COOKIE, ""},
    {"Bearer abc", NULL, false, ACCESS_BY_BEARER, "abc"},
    {"bEARER   abc", NULL, false, ACCESS_BY_BEARER, "abc"},
    {"Bearer abc", "aside=def", false, ACCESS_BY_BEARER, "abc"},
    {"Bearer", "aside=def", false, ACCESS_BY_BEARER, NULL},
    {"Bearer ", NULL, false, ACCESS_BY_BEARER, NULL},
    {"Bearer abc def", NULL, false, ACCESS_BY_BEARER, NULL},
    {"Bearerabc", NULL, false, ACCESS_BY_NOTHING, NULL},
    {"Bearer\tabc", NULL, false, ACCESS_BY_NOTHING, NULL},
    {" Bearer abc", NULL, false, ACCESS_BY_NOTHING, NULL},
    {"Basic YTpi", NULL, false, ACCESS_BY_NOTHING, NULL},
    {"Basic YTpi", "aside=def", false, ACCESS_BY_COOKIE, "def"},
    {"", NULL, false, ACCESS_BY_NOTHING, NULL},
    {NULL, "aside=evil; __Host-aside=abc", true, ACCESS_BY_COOKIE, "abc"},
    {NULL, "aside=evil", true, ACCESS_BY_NOTHING, NULL},
    {NULL, "__Host-aside=evil", false, ACCESS_BY_NOTHING, NULL},
    {NULL, "__host-aside=evil", true, ACCESS_BY_NOTHING, NULL},
    {NULL, "aside=\"abc\"", false, ACCESS_BY_COOKIE, "\"abc\""},
    {NULL, ";;; ;aside=a\xff\x01", false, ACCESS_BY_COOKIE, "a\xff\x01"},
};

START_TEST(a_secret_is_found_where_it_may_be)
{
    const struct access_facts facts = {.authorization =
                                           CARRIED[_i].authorization,
                                       .cookie = CARRIED[_i].cookie,
                                       .host_cookie = CARRIED[_i].host_cookie};
    const char *want = CARRIED[_i].text;
    struct access_secret secret;

    access_secret(&facts, &secret);
    ck_assert_int_eq(secret.means, CARRIED[_i].means);
    ck_assert(want == NULL
                  ? secret.text == NULL
                  : secret.text != NULL && secret.len == strlen(want) &&
                        strncmp(secret.text, want, secret.len) == 0);
}
END_TEST

Suite *access_suite(void)
{
    Suite *suite = suite_create("access");
    TCase *tcase = tcase_create("access");

    tcase_add_loop_test(tcase, reading_is_granted_by_the_facts, 0,
                        ROWS(READING));
    tcase_add_loop_test(tcase, writing_is_granted_by_the_facts, 0,
                        ROWS(WRITING));
    tcase_add_loop_test(tcase, a_secret_is_found_where_it_may_be, 0,
                        ROWS(CARRIED));
    suite_add_tcase(suite, tcase);
    return suite;
}
