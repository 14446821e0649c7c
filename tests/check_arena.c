/* check_arena.c - memory that goes all at once. */
#include <stdint.h>
#include <string.h>

#include "sql/base/arena.h"
#include "tests/support/suites.h"

START_TEST(memory_is_zeroed_and_aligned)
{
    struct arena *a = arena_new(100000);

    for (size_t len = 0; len < 200; len++) {
        unsigned char *p = arena_alloc(a, len);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < len; i++) {
            ck_assert_uint_eq(p[i], 0);
        }
        memset(p, 0xff, len);
    }
    arena_reset(a);
    /* The block that was kept holds 0xff, what is handed out does not. */
    for (size_t i = 0; i < 50; i++) {
        unsigned char *p = arena_alloc(a, 64);
        ck_assert_uint_eq(p[0] | p[63], 0);
    }
    arena_free(a);
}
END_TEST

START_TEST(pieces_do_not_overlap)
{
    enum { N = 2000 };
    static unsigned char *piece[N];
    struct arena *a = arena_new(1 << 24);

    for (size_t i = 0; i < N; i++) {
        size_t len = 1 + i * 7 % 3000;
        piece[i] = arena_alloc(a, len);
        ck_assert_ptr_nonnull(piece[i]);
        memset(piece[i], (int)(i % 251), len);
    }
    for (size_t i = 0; i < N; i++) {
        size_t len = 1 + i * 7 % 3000;
        ck_assert_uint_eq(piece[i][0], i % 251);
        ck_assert_uint_eq(piece[i][len - 1], i % 251);
    }
    arena_free(a);
}
END_TEST

START_TEST(limit_holds_and_reset_gives_it_back)
{
    struct arena *a = arena_new(1000);

    ck_assert_ptr_nonnull(arena_alloc(a, 600));
    ck_assert_ptr_null(arena_alloc(a, 600));
    ck_assert_ptr_nonnull(arena_alloc(a, 300));
    ck_assert_ptr_null(arena_alloc(a, SIZE_MAX));
    ck_assert_ptr_null(arena_strndup(a, "x", SIZE_MAX));
    arena_reset(a);
    ck_assert_ptr_nonnull(arena_alloc(a, 1000));
    ck_assert_ptr_null(arena_alloc(a, 1));
    arena_free(a);
}
END_TEST

START_TEST(one_piece_may_be_larger_than_a_block)
{
    struct arena *a = arena_new(10 << 20);
    char *small = arena_strdup(a, "small");
    char *large = arena_alloc(a, 5 << 20);

    ck_assert_ptr_nonnull(large);
    memset(large, 'x', 5 << 20);
    ck_assert_str_eq(small, "small");
    arena_reset(a);
    ck_assert_ptr_nonnull(arena_alloc(a, 10));
    arena_free(a);
}
END_TEST

START_TEST(texts_are_copied)
{
    struct arena *a = arena_new(1000);
    char source[] = "ab\0cd";
    char *copy = arena_strndup(a, source, 5);

    source[0] = 'X';
    ck_assert_mem_eq(copy, "ab\0cd\0", 6);
    ck_assert_str_eq(arena_strndup(a, "", 0), "");
    ck_assert_str_eq(arena_printf(a, "%s-%d", "run", 17), "run-17");
    ck_assert_ptr_null(arena_printf(a, "%2000d", 1));
    arena_free(a);
    arena_free(NULL);
}
END_TEST

Suite *arena_suite(void)
{
    Suite *s = suite_create("arena");
    TCase *t = tcase_create("arena");

    tcase_add_test(t, memory_is_zeroed_and_aligned);
    tcase_add_test(t, pieces_do_not_overlap);
    tcase_add_test(t, limit_holds_and_reset_gives_it_back);
    tcase_add_test(t, one_piece_may_be_larger_than_a_block);
    tcase_add_test(t, texts_are_copied);
    suite_add_tcase(s, t);
    return s;
}
