/* check_conf.c - defaults, file, environment, and what is said about errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/conf.h"
#include "sql/base/log.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

extern char **environ;

static struct conf c;
static char err[512];

/* Without what the tests themselves were started with. */
static void set_up(void)
{
    char name[256];

    (void)tmp_make();
    for (size_t i = 0; environ[i] != NULL;) {
        size_t len = strcspn(environ[i], "=");
        if (strncmp(environ[i], "ASIDE_", 6) == 0 && len < sizeof(name)) {
            (void)snprintf(name, sizeof(name), "%.*s", (int)len, environ[i]);
            (void)unsetenv(name);
        } else {
            i++;
        }
    }
    memset(&c, 0, sizeof(c));
    err[0] = '\0';
}

static void tear_down(void)
{
    conf_free(&c);
    tmp_remove();
}

static enum rc load(const char *text)
{
    return conf_load(tmp_write("aside.conf", text), &c, err, sizeof(err));
}

START_TEST(defaults)
{
    ck_assert_int_eq(conf_load(NULL, &c, err, sizeof(err)), RC_OK);
    ck_assert_str_eq(c.data, "./var/data");
    ck_assert_str_eq(c.prefix, "");
    ck_assert_int_eq(c.auth, CONF_AUTH_NONE);
    ck_assert_int_eq(c.log_level, LOG_LEVEL_INFO);
    ck_assert_str_eq(c.model_key, "");
    ck_assert_int_eq(c.model_max_concurrent, 4);
    ck_assert_int_eq(c.short_limit, 3);
    ck_assert_int_eq(c.background_limit, 1);
    ck_assert_int_eq(c.normal.requests, 24);
    ck_assert_int_eq(c.normal.tool_calls, 60);
    ck_assert_int_eq(c.normal.seconds, 900);
    ck_assert_int_eq(c.normal.tokens, 400000);
    ck_assert_int_eq(c.deep.requests, 80);
    ck_assert_int_eq(c.deep.tool_calls, 200);
    ck_assert_int_eq(c.deep.seconds, 3600);
    ck_assert_int_eq(c.deep.tokens, 2000000);
    ck_assert_int_eq(c.busy_timeout_ms, 2000);
    ck_assert_int_eq(c.max_wait_seconds, 86400);
    ck_assert_int_eq(c.poll_max_parked, 8000);
    ck_assert_int_eq(c.poll_max_per_account, 256);
    ck_assert_int_eq(c.retention_days, 0);
    ck_assert_int_eq(c.retention_conversations, 0);
    ck_assert_int_eq(c.audit_days, 0);
    ck_assert_int_eq(c.offline_words_per_second, 40);
}
END_TEST

START_TEST(file)
{
    ck_assert_int_eq(load("# comment\n\n  short.limit =  7 \r\n"
                          "model.name=a b = c # d\n"
                          "auth = proxy\nlog.level = error\n"
                          "prefix = /a/b\nmodel.url = https://x/v1\n"
                          "hosts =\n\tbackground.limit\t=\t2"),
                     RC_OK);
    ck_assert_int_eq(c.short_limit, 7);
    ck_assert_str_eq(c.model_name, "a b = c # d");
    ck_assert_int_eq(c.auth, CONF_AUTH_PROXY);
    ck_assert_int_eq(c.log_level, LOG_LEVEL_ERROR);
    ck_assert_str_eq(c.prefix, "/a/b");
    ck_assert_str_eq(c.model_url, "https://x/v1");
    ck_assert_str_eq(c.hosts, "");
    ck_assert_int_eq(c.background_limit, 2);
}
END_TEST

START_TEST(environment_wins)
{
    ck_assert_int_eq(setenv("ASIDE_SHORT_LIMIT", "9", 1), 0);
    ck_assert_int_eq(setenv("ASIDE_MODEL_MAX_CONCURRENT", "11", 1), 0);
    ck_assert_int_eq(setenv("ASIDE_FAULT_COMMIT", "x", 1), 0);
    ck_assert_int_eq(setenv("ASIDE_TEST_ANY", "x", 1), 0);
    ck_assert_int_eq(load("short.limit = 7\nbackground.limit = 5\n"), RC_OK);
    ck_assert_int_eq(c.short_limit, 9);
    ck_assert_int_eq(c.model_max_concurrent, 11);
    ck_assert_int_eq(c.background_limit, 5);
}
END_TEST

START_TEST(servers)
{
    ck_assert_int_eq(setenv("ASIDE_MCP_B2_TIMEOUT_MS", "500", 1), 0);
    ck_assert_int_eq(setenv("ASIDE_MCP_A_URL", "http://a/mcp/?k=v", 1), 0);
    ck_assert_int_eq(load("mcp.c.url = https://c\nmcp.b2.url = http://b\n"
                          "mcp.c.header = X-Key:  a: b \n"
                          "mcp.c.token = secret\nmcp.b2.timeout_ms = 7000\n"),
                     RC_OK);
    ck_assert_uint_eq(c.n_mcp, 3);
    ck_assert_str_eq(c.mcp[0].name, "a");
    ck_assert_str_eq(c.mcp[0].url, "http://a/mcp/?k=v");
    ck_assert_str_eq(c.mcp[0].token, "");
    ck_assert_str_eq(c.mcp[0].header, "");
    ck_assert_int_eq(c.mcp[0].timeout_ms, 60000);
    ck_assert_str_eq(c.mcp[1].name, "b2");
    ck_assert_int_eq(c.mcp[1].timeout_ms, 500);
    ck_assert_str_eq(c.mcp[2].name, "c");
    ck_assert_str_eq(c.mcp[2].token, "secret");
    ck_assert_str_eq(c.mcp[2].header, "X-Key:  a: b");
}
END_TEST

START_TEST(more_servers_than_are_taken)
{
    char text[4096] = "";
    size_t len = 0;

    for (int i = 0; i <= CONF_MCP_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "mcp.s%d.url = http://x\n", i);
    }
    ck_assert_int_eq(load(text), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, ":33: more than 32 servers"));
}
END_TEST

/* What follows the directory of the file. */
static const struct {
    const char *text;
    const char *says;
} BAD[] = {
    {"\n\nmodle.url = x\n", ":3: unknown key \"modle.url\""},
    {"short.limit = x\n", ":1: short.limit: expected a whole number from 1 to "
                          "1000, found \"x\""},
    {"short.limit = 0\n", "found \"0\""},
    {"short.limit = 1001\n", "found \"1001\""},
    {"short.limit = 99999999999999999999\n", "expected a whole number"},
    {"short.limit = -1\n", "found \"-1\""},
    {"short.limit = +1\n", "found \"+1\""},
    {"short.limit = 1.5\n", "found \"1.5\""},
    {"short.limit = 0x10\n", "found \"0x10\""},
    {"short.limit =\n", "found \"\""},
    {"short.limit\n", ":1: expected \"key = value\""},
    {"= 3\n", ":1: unknown key \"\""},
    {"Short.limit = 3\n", ":1: unknown key \"Short.limit\""},
    {"short.limit = 3\n#\nshort.limit = 3\n",
     ":3: short.limit stands already in line 1"},
    {"auth = basic\n",
     ":1: auth: expected none, proxy or token, found \"basic\""},
    {"web.fetch = yes\n", "web.fetch: expected on or off, found \"yes\""},
    {"web.allow = 10.0.0.1/8\n", "web.allow: expected host names, addresses"},
    {"web.allow = http://a/\n", "web.allow: expected host names, addresses"},
    {"web.ports = 80,443\n", "web.ports: expected port numbers, and ranges"},
    {"web.search_url = searx\n", "web.search_url: expected nothing, or http"},
    {"web.max_bytes = 5242881\n", "a whole number from 1024 to 5242880"},
    {"log.level = all\n", "expected debug, info, warn or error"},
    {"prefix = aside\n", "prefix: expected nothing, or a path"},
    {"prefix = /aside/\n", "prefix: expected nothing, or a path"},
    {"prefix = /\n", "prefix: expected nothing, or a path"},
    {"prefix = /a//b\n", "prefix: expected nothing, or a path"},
    {"prefix = /a\"b\n", "prefix: expected nothing, or a path"},
    {"model.url = ftp://x\n", "model.url: expected http:// or https://"},
    {"model.url = https://\n", "model.url: expected http:// or https://"},
    {"model.url = https://x/v1/\n", "model.url: expected http:// or https://"},
    {"model.url = https://x/v1?a=b\n", "model.url: expected"},
    {"model.url =\n", "model.url: expected http:// or https://"},
    {"data =\n", "data: expected a directory"},
    {"hosts = a\x01z\n", ":1: hosts: expected UTF-8 text"},
    {"hosts = \xff\n", ":1: hosts: expected UTF-8 text"},
    {"mcp.files.link = x\n", ":1: unknown key \"mcp.files.link\""},
    {"mcp.Files.url = http://x\n", ":1: unknown key \"mcp.Files.url\""},
    {"mcp.a_b.url = http://x\n", ":1: unknown key"},
    {"mcp.1a.url = http://x\n", ":1: unknown key"},
    {"mcp..url = http://x\n", ":1: unknown key"},
    {"mcp.url = http://x\n", ":1: unknown key"},
    {"mcp.abcdefghijklmnopq.url = http://x\n", ":1: unknown key"},
    {"mcp.a.url = http://x\n\nmcp.a.url = http://y\n",
     ":3: mcp.a.url stands already in line 1"},
    {"mcp.a.url = ftp://x\n", "mcp.<name>.url: expected http:// or https://"},
    {"mcp.a.url =\n", "mcp.<name>.url: expected http:// or https://"},
    {"mcp.a.token = x\n", "mcp.a.url: expected, beside its other keys"},
    {"mcp.a.header = Name\n", "expected a header's \"Name: value\""},
    {"mcp.a.header = Na me: x\n", "expected a header's \"Name: value\""},
    {"mcp.a.header = Name:  \n", "expected a header's \"Name: value\""},
    {"mcp.a.timeout_ms = 99\n", "expected a whole number from 100 to"},
    {"policy.note = yes\n", "policy.<name>: expected allow, ask or deny"},
    {"policy.note =\n", "policy.<name>: expected allow, ask or deny"},
    {"policy.notes = deny\n", "policy.notes: no tool and no server"},
    {"policy.start_research = deny\n", "no tool and no server"},
    {"policy.files__remove = deny\n", "no tool and no server"},
    {"policy.a__ = deny\nmcp.a.url = http://x\n", "no tool and no server"},
    {"policy.note = deny\nmcp.note.url = http://x\n", "both a tool and"},
    {"policy.note.per_week = 1\n", ":1: unknown key"},
    {"policy.note.per_run = -1\n", "expected a whole number from 0 to"},
    {"policy. = deny\n", ":1: unknown key"},
    {"policy.note = deny\npolicy.note = deny\n",
     ":2: policy.note stands already in line 1"},
    {"model.context_tokens = 2000\nmodel.max_output_tokens = 2000\n",
     "expected less than model.context_tokens"},
    {"audit.days = 29\n", "audit.days (29): expected 0, or 30 or more"},
};

START_TEST(faults_in_the_file)
{
    struct conf before = {.short_limit = 123};

    c = before;
    ck_assert_int_eq(load(BAD[_i].text), RC_INVALID);
    ck_assert_msg(strstr(err, BAD[_i].says) != NULL, "%s: %s", BAD[_i].text,
                  err);
    ck_assert_ptr_null(strchr(err, '\n'));
    ck_assert_int_eq(c.short_limit, 123);
    if (BAD[_i].says[0] == ':') {
        ck_assert_ptr_nonnull(strstr(err, "/aside.conf:"));
    }
}
END_TEST

START_TEST(faults_in_the_environment)
{
    ck_assert_int_eq(setenv("ASIDE_SHORT_LIMIT", "many", 1), 0);
    ck_assert_int_eq(load(""), RC_INVALID);
    ck_assert_str_eq(err, "ASIDE_SHORT_LIMIT: short.limit: expected a whole "
                          "number from 1 to 1000, found \"many\"");
    ck_assert_int_eq(unsetenv("ASIDE_SHORT_LIMIT"), 0);
    ck_assert_int_eq(setenv("ASIDE_MODLE_URL", "x", 1), 0);
    ck_assert_int_eq(load(""), RC_INVALID);
    ck_assert_str_eq(err, "ASIDE_MODLE_URL: no key has this variable");
    ck_assert_int_eq(unsetenv("ASIDE_MODLE_URL"), 0);
    ck_assert_int_eq(setenv("ASIDE_SHORT_LIMIT_THAT_IS_LONGER_THAN_ANY_NAME_"
                            "OF_A_KEY_COULD_EVER_BE_IN_THIS_PROGRAM",
                            "1", 1),
                     0);
    ck_assert_int_eq(load(""), RC_INVALID);
}
END_TEST

START_TEST(a_secret_is_never_shown)
{
    ck_assert_int_eq(setenv("ASIDE_MODEL_KEY",
                            "sk-se\x02"
                            "cret",
                            1),
                     0);
    ck_assert_int_eq(load(""), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, "model.key"));
    ck_assert_ptr_null(strstr(err, "sk-"));
    ck_assert_ptr_null(strstr(err, "cret"));
}
END_TEST

START_TEST(nor_is_that_of_a_server)
{
    static const char *const keys[] = {"url", "token", "header"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char text[100];

        (void)snprintf(text, sizeof(text), "mcp.a.%s = se\x02 cret\n", keys[i]);
        ck_assert_int_eq(load(text), RC_INVALID);
        ck_assert_ptr_null(strstr(err, "cret"));
    }
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    char *large = malloc(70000);
    FILE *f;

    ck_assert_int_eq(conf_load(tmp_path("none"), &c, err, sizeof(err)),
                     RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, "none: cannot be opened: "));
    ck_assert_int_eq(conf_load(tmp_path("."), &c, err, sizeof(err)),
                     RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, "cannot be read: "));
    memset(large, '#', 69999);
    large[69999] = '\0';
    ck_assert_int_eq(load(large), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, "longer than 65536 bytes"));
    large[65536] = '\0';
    ck_assert_int_eq(load(large), RC_OK);
    conf_free(&c);
    f = fopen(tmp_path("nul"), "we");
    ck_assert_uint_eq(fwrite("auth = none\n#\0\n", 1, 15, f), 15);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(conf_load(tmp_path("nul"), &c, err, sizeof(err)),
                     RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err, "nul:2: a NUL character"));
    free(large);
}
END_TEST

START_TEST(a_short_error_buffer_is_respected)
{
    char small[9];

    memset(small, 'x', sizeof(small));
    ck_assert_int_eq(conf_load(tmp_write("a", "x"), &c, small, 8), RC_INVALID);
    ck_assert_uint_eq(strlen(small), 7);
    ck_assert_int_eq(small[8], 'x');
}
END_TEST

START_TEST(policies)
{
    const struct conf_policy *p;

    (void)setenv("ASIDE_POLICY_FILES__REMOVE_PER_DAY", "7", 1);
    (void)setenv("ASIDE_POLICY_WEB_FETCH", "ask", 1);
    ck_assert_int_eq(load("policy.web_fetch = deny\n"
                          "policy.files = allow\npolicy.files.per_run = 0\n"
                          "policy.files__Re-move = deny\n"
                          "mcp.files.url = http://x\n"),
                     RC_OK);
    ck_assert_uint_eq(c.n_policy, 4);
    p = conf_policy_of(&c, "web_fetch");
    ck_assert_int_eq(p->verdict, CONF_ASK);
    ck_assert_int_eq(p->per_run, -1);
    ck_assert_int_eq(p->per_day, -1);
    p = conf_policy_of(&c, "files");
    ck_assert_int_eq(p->verdict, CONF_ALLOW);
    ck_assert_int_eq(p->per_run, 0);
    ck_assert_int_eq(conf_policy_of(&c, "files__Re-move")->verdict, CONF_DENY);
    p = conf_policy_of(&c, "files__remove");
    ck_assert_int_eq(p->verdict, CONF_UNSET);
    ck_assert_int_eq(p->per_day, 7);
    ck_assert_ptr_null(conf_policy_of(&c, "note"));
}
END_TEST

/* docs/configuration.md has exactly one row for each key, in order. */
START_TEST(documentation)
{
    char *text = tmp_read("docs/configuration.md");
    const char *at = strstr(text, "\n| `");
    const struct conf_key *k;
    char row[1024];

    for (size_t i = 0; (k = conf_key_at(i)) != NULL; i++) {
        const char *tick = k->fallback[0] == '\0' ? "" : "`";
        (void)snprintf(row, sizeof(row), "\n| `%s` | %s%s%s | %s |\n", k->name,
                       tick, tick[0] == '\0' ? "(empty)" : k->fallback, tick,
                       k->help);
        ck_assert_msg(at != NULL && strncmp(at, row, strlen(row)) == 0,
                      "docs/configuration.md, expected: %s", row);
        at += strlen(row) - 1;
    }
    ck_assert_msg(strncmp(at, "\n|", 2) != 0, "a row without key: %s", at);
    free(text);
}
END_TEST

/* The part of a key's variable after ASIDE_, in small letters. */
static const char *variable(const char *key, char out[128])
{
    (void)snprintf(out, 128, "%s", key);
    for (char *dot = strchr(out, '.'); dot != NULL; dot = strchr(dot, '.')) {
        *dot = '_';
    }
    return out;
}

/* Two keys must not share a variable, nor one pass for a variable of the
 * tests. */
START_TEST(variables_are_distinct)
{
    char a[128], b[128];

    for (size_t i = 0; conf_key_at(i) != NULL; i++) {
        const char *name = conf_key_at(i)->name;
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_.<>"),
                          strlen(name));
        variable(name, a);
        ck_assert(strncmp(a, "test_", 5) != 0 && strncmp(a, "fault_", 6) != 0);
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(a, variable(conf_key_at(j)->name, b));
        }
    }
}
END_TEST

Suite *conf_suite(void)
{
    Suite *s = suite_create("conf");
    TCase *t = tcase_create("conf");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, defaults);
    tcase_add_test(t, file);
    tcase_add_test(t, environment_wins);
    tcase_add_test(t, servers);
    tcase_add_test(t, more_servers_than_are_taken);
    tcase_add_loop_test(t, faults_in_the_file, 0,
                        (int)(sizeof(BAD) / sizeof(BAD[0])));
    tcase_add_test(t, faults_in_the_environment);
    tcase_add_test(t, a_secret_is_never_shown);
    tcase_add_test(t, nor_is_that_of_a_server);
    tcase_add_test(t, files_that_cannot_be_read);
    tcase_add_test(t, a_short_error_buffer_is_respected);
    tcase_add_test(t, policies);
    tcase_add_test(t, documentation);
    tcase_add_test(t, variables_are_distinct);
    suite_add_tcase(s, t);
    return s;
}
