/* check_id.c - one thing has one name; and the small neighbours: outcomes,
 * clocks, hashes, random numbers. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "sql/base/clock.h"
#include "sql/base/hash.h"
#include "sql/base/id.h"
#include "sql/base/random.h"
#include "tests/support/suites.h"

START_TEST(every_kind_comes_back)
{
    static const char *const text[ID__MAX] = {
        "conv_17", "msg_17",  "run_17",   "hand_17", "req_17", "call_17",
        "src_17",  "note_17", "audit_17", "sess_17", "tok_17", "appr_17",
    };
    char out[ID_TEXT_BYTES];

    for (int kind = 0; kind < ID__MAX; kind++) {
        ck_assert_str_eq(id_text((enum id_kind)kind, 17, out), text[kind]);
        for (int other = 0; other < ID__MAX; other++) {
            int64_t n = 0;
            enum rc rc = id_parse((enum id_kind)other, out, &n);
            ck_assert_int_eq(rc, other == kind ? RC_OK : RC_INVALID);
            ck_assert_int_eq(n, other == kind ? 17 : 0);
        }
    }
}
END_TEST

START_TEST(range)
{
    char out[ID_TEXT_BYTES];
    int64_t n = 0;

    id_text(ID_CONVERSATION, INT64_MAX, out);
    ck_assert_str_eq(out, "conv_9223372036854775807");
    ck_assert_int_eq(id_parse(ID_CONVERSATION, out, &n), RC_OK);
    ck_assert_int_eq(n, INT64_MAX);
}
END_TEST

static const char *const BAD[] = {
    "",
    "run",
    "run_",
    "run_0",
    "run_01",
    "run_-1",
    "run_+1",
    "run_1 ",
    " run_1",
    "RUN_1",
    "run_1a",
    "run_1.0",
    "run_0x1",
    "run-1",
    "msg_1",
    "run_run_1",
    "run_9223372036854775808",
    "run_99999999999999999999999",
};

START_TEST(other_forms_are_refused)
{
    int64_t n = 5;

    ck_assert_msg(id_parse(ID_RUN, BAD[_i], &n) == RC_INVALID, "\"%s\"",
                  BAD[_i]);
    ck_assert_int_eq(n, 5);
}
END_TEST

START_TEST(null_is_no_id)
{
    int64_t n;

    ck_assert_int_eq(id_parse(ID_RUN, NULL, &n), RC_INVALID);
}
END_TEST

START_TEST(zero_has_no_id)
{
    char out[ID_TEXT_BYTES];

    id_text(ID_RUN, 0, out);
}
END_TEST

START_TEST(outcomes_have_names)
{
    for (int rc = 0; rc < RC__MAX; rc++) {
        ck_assert_str_ne(rc_name((enum rc)rc), "unknown");
    }
    ck_assert_str_eq(rc_name(RC_NOT_FOUND), "not_found");
    ck_assert_str_eq(rc_name(RC__MAX), "unknown");
}
END_TEST

START_TEST(clocks_agree)
{
    int64_t boot_ms = clock_boot_ms();
    int64_t boot_us = clock_boot_us();
    char id[37], again[37];

    ck_assert_int_gt(clock_unix_ms(), INT64_C(1700000000000));
    ck_assert_int_ge(boot_us / 1000, boot_ms);
    clock_nap_us(2000);
    ck_assert_int_ge(clock_boot_us(), boot_us + 2000);
    clock_boot_id(id);
    clock_boot_id(again);
    ck_assert_uint_eq(strlen(id), 36);
    ck_assert_str_eq(id, again);
}
END_TEST

START_TEST(sha256_is_sha256)
{
    /* FIPS 180-4's example. */
    uint8_t h[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];

    hash_sha256("abc", 3, h);
    hash_hex(h, hex);
    ck_assert_str_eq(
        hex,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

/* More beginnings than are kept, some alike but for a byte or in length, each
 * of them met again: the hash is the same as without. */
START_TEST(a_known_beginning_changes_no_hash)
{
    static const size_t LEN[] = {0, 1, 63, 64, 65, 4000, 32768, 40000};
    const size_t n = sizeof(LEN) / sizeof(LEN[0]);
    static char text[41000];
    struct hash_heads *heads = hash_heads_new();
    uint8_t plain[HASH_BYTES];
    uint8_t with[HASH_BYTES];

    ck_assert_ptr_nonnull(heads);
    for (size_t round = 0; round < 6 * n; round++) {
        size_t head_len = LEN[round % n];
        size_t len = head_len + round % 3 * 400;

        memset(text, 'a' + (int)(round % 5), sizeof(text));
        if (head_len > 0) {
            text[head_len - 1] = (char)('a' + round % 2);
        }
        hash_sha256(text, len, plain);
        for (int again = 0; again < 2; again++) {
            hash_heads_sha256(heads, text, len, head_len, with);
            ck_assert_int_eq(memcmp(with, plain, HASH_BYTES), 0);
        }
    }
    hash_heads_free(heads);
    hash_heads_free(NULL);
}
END_TEST

START_TEST(lists_of_parts_differ)
{
    static const struct {
        struct hash_part parts[3];
        size_t n;
    } list[] = {
        {{{"ab", 2}, {"c", 1}}, 2},
        {{{"a", 1}, {"bc", 2}}, 2},
        {{{"abc", 3}}, 1},
        {{{"abc", 3}, {"", 0}}, 2},
        {{{"abc", 3}, {NULL, 0}}, 2},
        {{{"", 0}, {"abc", 3}}, 2},
    };
    const size_t n = sizeof(list) / sizeof(list[0]);
    uint8_t h[sizeof(list) / sizeof(list[0])][HASH_BYTES];
    uint8_t again[HASH_BYTES];

    for (size_t i = 0; i < n; i++) {
        hash_parts(list[i].parts, list[i].n, h[i]);
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_ne(memcmp(h[i], h[k], HASH_BYTES), 0);
        }
    }
    hash_parts(list[0].parts, list[0].n, again);
    ck_assert_int_eq(memcmp(again, h[0], HASH_BYTES), 0);
}
END_TEST

START_TEST(random_numbers_spread)
{
    bool seen[10] = {false};
    char a[18], b[18];

    for (int i = 0; i < 1000; i++) {
        uint32_t n = random_below(10);
        ck_assert_uint_lt(n, 10);
        seen[n] = true;
    }
    for (int i = 0; i < 10; i++) {
        ck_assert(seen[i]);
    }
    ck_assert_uint_eq(random_below(1), 0);
    memset(a, 'x', sizeof(a));
    random_hex(a, 16);
    random_hex(b, 16);
    ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 16);
    ck_assert_int_eq(a[16], '\0');
    ck_assert_int_eq(a[17], 'x');
    ck_assert_str_ne(a, b);
    random_hex(a, 0);
    ck_assert_str_eq(a, "");
}
END_TEST

Suite *id_suite(void)
{
    Suite *s = suite_create("id");
    TCase *t = tcase_create("id");

    tcase_add_test(t, every_kind_comes_back);
    tcase_add_test(t, range);
    tcase_add_loop_test(t, other_forms_are_refused, 0,
                        (int)(sizeof(BAD) / sizeof(BAD[0])));
    tcase_add_test(t, null_is_no_id);
    if (suite_may_abort()) {
        tcase_add_test_raise_signal(t, zero_has_no_id, SIGABRT);
    }
    tcase_add_test(t, outcomes_have_names);
    tcase_add_test(t, clocks_agree);
    tcase_add_test(t, sha256_is_sha256);
    tcase_add_test(t, a_known_beginning_changes_no_hash);
    tcase_add_test(t, lists_of_parts_differ);
    tcase_add_test(t, random_numbers_spread);
    suite_add_tcase(s, t);
    return s;
}
