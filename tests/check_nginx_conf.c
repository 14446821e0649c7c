/* check_nginx_conf.c - the blanks of nginx's configuration. That nginx itself
 * takes it, and does as it says, is tested in tests/scenarios. */
#include <string.h>

#include "runtime/cmd/nginx_conf.h"
#include "sql/base/buf.h"
#include "tests/support/suites.h"

static struct buf text;

static void set_up(void)
{
    buf_init(&text, 65536);
}

static void tear_down(void)
{
    buf_free(&text);
}

static struct nginx_conf usual(void)
{
    const struct nginx_conf c = {
        .port = 8123,
        .prefix = "",
        .run_dir = "/a run/dir",
        .socket_dir = "/sockets",
        .static_dir = "/pages",
        .max_files = 20000,
    };

    return c;
}

/* Is there such a line, blanks at its start left aside? */
static bool has_line(const char *line)
{
    size_t len = strlen(line);

    for (const char *at = buf_str(&text); (at = strstr(at, line)) != NULL;
         at += len) {
        const char *before = at;

        while (before > buf_str(&text) && before[-1] == ' ') {
            before--;
        }
        if ((before == buf_str(&text) || before[-1] == '\n') &&
            at[len] == '\n') {
            return true;
        }
    }
    return false;
}

START_TEST(blanks_are_filled)
{
    struct nginx_conf c = usual();

    c.owner = "me mine";
    c.ipv6 = true;
    c.offline = true;
    ck_assert_int_eq(nginx_conf_render(&c, &text), RC_OK);
    ck_assert(has_line("user me mine;"));
    ck_assert(has_line("pid \"/a run/dir/nginx.pid\";"));
    ck_assert(has_line("worker_rlimit_nofile 20000;"));
    ck_assert(has_line("listen 127.0.0.1:8123;"));
    ck_assert(has_line("listen [::1]:8123;"));
    ck_assert(has_line("alias \"/pages/\";"));
    ck_assert(has_line("location /api/ {"));
    ck_assert(has_line("fastcgi_pass \"unix:/sockets/offline.sock\";"));
    ck_assert_msg(strpbrk(buf_str(&text), "@") == NULL,
                  "a blank is left: %.40s", strpbrk(buf_str(&text), "@"));
}
END_TEST

START_TEST(what_does_not_apply_is_a_comment)
{
    struct nginx_conf c = usual();

    ck_assert_int_eq(nginx_conf_render(&c, &text), RC_OK);
    ck_assert(has_line("#user nobody;"));
    ck_assert(has_line("#listen [::1]:8123;"));
    ck_assert(has_line("#location /offline/v1/ {"));
    ck_assert(!has_line("user nobody;"));
}
END_TEST

START_TEST(prefix)
{
    struct nginx_conf c = usual();

    c.prefix = "/aside";
    ck_assert_int_eq(nginx_conf_render(&c, &text), RC_OK);
    ck_assert(has_line("location /aside/ {"));
    ck_assert(has_line("location /aside/api/ {"));
    ck_assert(has_line("location = /aside { return 301 /aside/; }"));
}
END_TEST

static const char *const STRANGE[] = {
    "/a$b", "/a\"b", "/a\\b", "/a;b", "/a{b", "/a}b", "/a\nb", "/a\tb",
};

START_TEST(strange_paths_are_refused)
{
    struct nginx_conf c = usual();

    c.static_dir = STRANGE[_i];
    ck_assert_msg(nginx_conf_render(&c, &text) == RC_INVALID, "%s",
                  STRANGE[_i]);
    ck_assert_uint_eq(text.len, 0);
}
END_TEST

START_TEST(limit_of_the_buffer)
{
    struct nginx_conf c = usual();

    buf_free(&text);
    buf_init(&text, 100);
    ck_assert_int_eq(nginx_conf_render(&c, &text), RC_TOO_LARGE);
}
END_TEST

Suite *nginx_conf_suite(void)
{
    Suite *s = suite_create("nginx_conf");
    TCase *c = tcase_create("all");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, blanks_are_filled);
    tcase_add_test(c, what_does_not_apply_is_a_comment);
    tcase_add_test(c, prefix);
    tcase_add_loop_test(c, strange_paths_are_refused, 0,
                        sizeof(STRANGE) / sizeof(STRANGE[0]));
    tcase_add_test(c, limit_of_the_buffer);
    suite_add_tcase(s, c);
    return s;
}
