/* check_offline_words.c - words, sentences, quotes and topics, by themselves. */
#include <string.h>

#include "fcgi/offline/intent.h"
#include "fcgi/offline/quote.h"
#include "fcgi/offline/topic.h"
#include "fcgi/offline/words.h"
#include "tests/support/suites.h"
#include "tests/support/talk.h"

#define TIMEOUT_S 30

START_TEST(test_words_meet)
{
    static const char *const pairs[][2] = {
        {"durability", "durable"},
        {"concurrency", "concurrent"},
        {"concurrently", "concurrent"},
        {"journaling", "journals"},
        {"committed", "commits"},
        {"behaviour", "behavior"},
        {"writes", "writing"},
        {"indexes", "index"},
        {"WAL", "wal"},
        {"SQLite's", "sqlite"},
        {"checkpoints", "checkpointing"},
        {"replication", "replicate"},
    };
    static const char *const apart[][2] = {
        {"string", "str"},     {"class", "clas"}, {"need", "ned"},
        {"process", "proces"}, {"wal", "wall"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        ck_assert_msg(words_key(pairs[i][0], strlen(pairs[i][0])) ==
                          words_key(pairs[i][1], strlen(pairs[i][1])),
                      "%s, %s", pairs[i][0], pairs[i][1]);
    }
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
        ck_assert_msg(words_key(apart[i][0], strlen(apart[i][0])) !=
                          words_key(apart[i][1], strlen(apart[i][1])),
                      "%s, %s", apart[i][0], apart[i][1]);
    }
}
END_TEST

START_TEST(test_sentences)
{
    static const char text[] =
        "SQLite 3.7.0 added it, e.g. for readers. Dr. Hipp wrote it! Is it "
        "fast?\nYes it is.\n\nA heading\n\n- one item\n- another item\n";
    static const char *const expected[] = {
        "SQLite 3.7.0 added it, e.g. for readers.",
        "Dr. Hipp wrote it!",
        "Is it fast?",
        "Yes it is.",
        "A heading",
        "- one item",
        "- another item",
    };
    struct sentence_span s;
    size_t at = 0, n = 0;

    while (sentence_next(text, strlen(text), &at, &s)) {
        ck_assert_uint_lt(n, sizeof(expected) / sizeof(*expected));
        ck_assert_msg(
            s.end - s.start == strlen(expected[n]) &&
                memcmp(text + s.start, expected[n], s.end - s.start) == 0,
            "%.*s", (int)(s.end - s.start), text + s.start);
        n++;
    }
    ck_assert_uint_eq(n, sizeof(expected) / sizeof(*expected));
}
END_TEST

START_TEST(test_quotes_are_harmless)
{
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"See [12] and [3, 4].", "See (12) and (3, 4)."},
        {"<b>*bold*</b> `x`", "\\<b\\>\\*bold\\*\\</b\\> \\`x\\`"},
        {"[link](http://x)", "\\[link\\](http://x)"},
        {"sqlite3_step and _x_", "sqlite3_step and \\_x\\_"},
        {"# head\nnext\tline", "\\# head next line"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf b;
        buf_init(&b, 1024);
        quote_plain(&b, rows[i].in, strlen(rows[i].in), 500);
        ck_assert_str_eq(buf_str(&b), rows[i].out);
        buf_free(&b);
    }
}
END_TEST

START_TEST(test_topic_of_a_comparison)
{
    static const char text[] = QUESTION;
    struct arena *a = arena_new(65536);
    const char *queries[TOPIC_MAX_QUERIES];
    struct topic t;
    size_t n;

    ck_assert_int_eq(topic_read(a, text, strlen(text), &t), RC_OK);
    ck_assert_str_eq(t.side[0], "WAL mode");
    ck_assert_str_eq(t.side[1], "rollback journals");
    ck_assert_uint_eq(t.n_aspects, 2);
    ck_assert_str_eq(t.aspect[0], "concurrency");
    ck_assert_str_eq(t.aspect[1], "durability");
    ck_assert_int_eq(topic_queries(a, &t, NULL, queries, &n), RC_OK);
    ck_assert_uint_ge(n, 5);
    ck_assert_str_eq(queries[0],
                     "WAL mode concurrency durability rollback journals");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(queries[i], queries[k]);
        }
    }
    arena_free(a);
}
END_TEST

Suite *offline_words_suite(void)
{
    Suite *s = suite_create("offline_words");
    TCase *t = tcase_create("offline_words");

    tcase_set_timeout(t, TIMEOUT_S);
    tcase_add_test(t, test_words_meet);
    tcase_add_test(t, test_sentences);
    tcase_add_test(t, test_quotes_are_harmless);
    tcase_add_test(t, test_topic_of_a_comparison);
    suite_add_tcase(s, t);
    return s;
}
