/* check_mask.c - what the configuration keeps secret is masked wherever it
 * turns up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/conf.h"
#include "sql/base/mask.h"
#include "tests/support/suites.h"

static const struct {
    const char *text;
    const char *masked;
} MASKED[] = {
    {"", ""},
    {"nothing here", "nothing here"},
    {"the key sk-secret is wrong", "the key ********* is wrong"},
    {"sk-secretsk-secret", "******************"},
    {"sk-secre", "sk-secre"},
    {"sk-sk-secret", "sk-*********"},
    {"a\xc3\xa9sk-secret", "a\xc3\xa9*********"},
    {"short abc stays", "short abc stays"},
    /* In base64, wherever it begins in what was encoded. */
    {"Basic c2stc2VjcmV0", "Basic ************"},
    {"bWU6c2stc2VjcmV0IQ==", "bWU6************IQ=="},
    {"bTpzay1zZWNyZXQh", "bTp***********Qh"},
    {"bW1lOnNrLXNlY3JldA==", "bW1lOn***********A=="},
};

START_TEST(each_is_masked)
{
    char text[64];

    mask_clear();
    mask_add("sk-secret", 9);
    mask_add("abc", 3); /* would be found in anything */
    (void)snprintf(text, sizeof(text), "%s", MASKED[_i].text);
    ck_assert_int_eq(mask_has(text, strlen(text)),
                     strcmp(MASKED[_i].text, MASKED[_i].masked) != 0);
    mask_text(text, strlen(text));
    ck_assert_str_eq(text, MASKED[_i].masked);
    mask_clear();
    ck_assert(!mask_has("sk-secret", 9));
}
END_TEST

/* Where a key, a token, a header or an address has something to keep. */
static const struct {
    const char *name;
    const char *value;
    const char *secret;
} KEPT[] = {
    {"ASIDE_MODEL_KEY", "the-models-key", "the-models-key"},
    {"ASIDE_MODEL_URL", "http://me:password@127.0.0.1:9/v1", "password"},
    {"ASIDE_WEB_SEARCH_URL", "http://me:findme@127.0.0.1/search", "findme"},
    {"ASIDE_MCP_A_URL", "http://127.0.0.1/mcp?token=findme", "token=findme"},
    {"ASIDE_MCP_A_TOKEN", "the-servers-token", "the-servers-token"},
    {"ASIDE_MCP_A_HEADER", "X-Key:  the-servers-key", "the-servers-key"},
    {"ASIDE_MCP_A_URL", "http://only-a-name@127.0.0.1/mcp", "only-a-name"},
    {"ASIDE_MCP_A_URL", "http://127.0.0.1/mcp?a=b&Api_Key=findme7&c=d",
     "findme7"},
    {"ASIDE_MCP_A_HEADER",
     "Authorization: Basic bWU6aWRlbnRpZnk=", "bWU6aWRlbnRpZnk="},
};

/* One with letters that are written in several ways. */
START_TEST(each_way_to_write_it)
{
    static const char *const FORMS[] = {
        "p/a\"s?s>>",     "p%2Fa%22s%3Fs%3E%3E", "p%2fa%22s%3fs%3e%3e",
        "p\\/a\\\"s?s>>", "p/a\\\"s?s>>",        "cC9hInM/cz4+",
        "cC9hInM_cz4-",
    };

    mask_clear();
    mask_add("p/a\"s?s>>", 9);
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        ck_assert_msg(mask_has(FORMS[i], strlen(FORMS[i])), "%s", FORMS[i]);
    }
    mask_clear();
    mask_add("p%2Fa%22s%3f", 12); /* as a configuration may have it */
    ck_assert(mask_has("p/a\"s?", 7));
    mask_clear();
}
END_TEST

START_TEST(the_configuration_tells_which)
{
    struct conf conf;
    char err[200] = "";

    (void)setenv("ASIDE_MCP_A_URL", "http://127.0.0.1/mcp", 1);
    (void)setenv(KEPT[_i].name, KEPT[_i].value, 1);
    ck_assert_msg(conf_load(NULL, &conf, err, sizeof(err)) == RC_OK, "%s", err);
    ck_assert(mask_has(KEPT[_i].secret, strlen(KEPT[_i].secret)));
    ck_assert(!mask_has("127.0.0.1", 9));
    conf_free(&conf);
    ck_assert(!mask_has(KEPT[_i].secret, strlen(KEPT[_i].secret)));
    (void)unsetenv(KEPT[_i].name);
    (void)unsetenv("ASIDE_MCP_A_URL");
}
END_TEST

Suite *mask_suite(void)
{
    Suite *s = suite_create("mask");
    TCase *tc = tcase_create("mask");

    tcase_add_loop_test(tc, each_is_masked, 0,
                        sizeof(MASKED) / sizeof(MASKED[0]));
    tcase_add_test(tc, each_way_to_write_it);
    tcase_add_loop_test(tc, the_configuration_tells_which, 0,
                        sizeof(KEPT) / sizeof(KEPT[0]));
    suite_add_tcase(s, tc);
    return s;
}
