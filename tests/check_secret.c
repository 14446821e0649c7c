/* check_secret.c - secrets have one form, are never the same, and are found by
 * their hash alone. */
#include <string.h>

#include "sql/base/secret.h"
#include "tests/support/suites.h"

START_TEST(what_is_made_is_found_by_its_hash)
{
    char text[SECRET_TEXT_BYTES];
    char other[SECRET_TEXT_BYTES];
    uint8_t made[HASH_BYTES];
    uint8_t found[HASH_BYTES];

    secret_make(text, made);
    ck_assert_uint_eq(strlen(text), SECRET_TEXT_BYTES - 1);
    ck_assert_int_eq(strncmp(text, "aside_", 6), 0);
    ck_assert_int_eq(secret_hash(text, found), RC_OK);
    ck_assert(secret_same(made, found));

    secret_make(other, found);
    ck_assert_str_ne(text, other);
    ck_assert(!secret_same(made, found));
    found[0] ^= 1;
    ck_assert_int_eq(secret_hash(other, made), RC_OK);
    ck_assert(!secret_same(made, found));
}
END_TEST

START_TEST(another_form_is_refused)
{
    static const char *const BAD[] = {
        NULL,
        "",
        "aside_",
        "secret",
        "aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "Aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
        "aside_AAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAA",
        " aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    uint8_t hash[HASH_BYTES];

    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        ck_assert_int_eq(secret_hash(BAD[i], hash), RC_INVALID);
    }
    ck_assert_int_eq(
        secret_hash("aside_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", hash),
        RC_OK);
}
END_TEST

Suite *secret_suite(void)
{
    Suite *suite = suite_create("secret");
    TCase *tcase = tcase_create("secret");

    tcase_add_test(tcase, what_is_made_is_found_by_its_hash);
    tcase_add_test(tcase, another_form_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
