/* check_passages.c - files of words become blocks, and blocks passages that
 * can stand alone. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/document/markdown_text.h"
#include "runtime/document/passages.h"
#include "sql/base/utf8.h"
#include "tests/support/blocks.h"
#include "tests/support/suites.h"

#define OUT_BYTES ((size_t)32 << 20)
#define MAX_TEXTS 2000

static struct buf out;
static struct arena *arena;
static struct passages *passages;
static const char *title;
static const struct library_text *texts;
static size_t n;

static void set_up(void)
{
    buf_init(&out, OUT_BYTES);
    arena = arena_new(OUT_BYTES);
    passages = passages_new(arena, MAX_TEXTS);
}

static void tear_down(void)
{
    passages_free(passages);
    arena_free(arena);
    buf_free(&out);
}

/* --- Markdown and plain text ------------------------------------------- */

static const struct {
    const char *name;
    const char *file;
    const char *blocks;
} MARKDOWN[] = {
    {"headings of both kinds",
     "# One #\ntext\n\nTwo\n===\n\nThree\n---\n###### Six\n#no heading\n",
     "title One\nh1 One\nprose text\nh1 Two\nh2 Three\nh6 Six\n"
     "prose #no heading\n"},
    {"front matter names the title",
     "---\ntitle: \"A: b\"\ntags: x\n---\n# One\n", "title A: b\nh1 One\n"},
    {"paragraphs, marks of links and emphasis",
     "Some **bold** and `code_x *y*` with\na [link](http://x) and ![image](y)."
     "\n\nnext \\*star\\* [ref][1]\n\n[1]: http://z\n",
     "prose Some bold and code_x *y* with a link and image.\n"
     "prose next *star* ref\n"},
    {"lists", "- one\n- two\n  more\n    1. deep\n\nafter\n",
     "line - one\nline - two more\nline     1. deep\nprose after\n"},
    {"fenced and indented code",
     "```c\nint a;\n\n# no heading\n```\ntext\n\n    b = 1\n\n    c = 2\n\nend",
     "code int a;\\n\\n# no heading\nprose text\ncode b = 1\\n\\nc = 2\n"
     "prose end\n"},
    {"a fence without an end", "~~~\ncode\n", "code code\n"},
    {"tables", "| a | b |\n|---|:-:|\n| 1 | `x` |\n|2|3|\n",
     "head a | b\nrow 1 | x\nrow 2 | 3\n"},
    {"quotations, rules, comments",
     "> quoted\n> more\n\n***\n<!-- unseen\nunseen -->\nseen",
     "prose quoted more\nprose seen\n"},
    {"line ends of Windows", "# A\r\n\r\nb\r\nc\r\n",
     "title A\nh1 A\nprose b c\n"},
    {"links that are none, and those behind them",
     "[a] [b](c [d](e) [f][g [h]i] [j][k] `[l](m)` [n](o\n",
     "prose [a] b fi] j [l](m) [n](o\n"},
    {"nothing", "", ""},
};

START_TEST(test_markdown)
{
    ck_assert_int_eq(markdown_text_read(MARKDOWN[_i].file,
                                        strlen(MARKDOWN[_i].file), blocks_write,
                                        &out),
                     RC_OK);
    ck_assert_msg(strcmp(buf_str(&out), MARKDOWN[_i].blocks) == 0, "%s:\n%s",
                  MARKDOWN[_i].name, buf_str(&out));
}
END_TEST

static const struct {
    const char *name;
    const char *file;
    const char *blocks;
} PLAIN[] = {
    {"paragraphs", "one\ntwo\n\nthree\n", "prose one two\nprose three\n"},
    {"headings",
     "Title\n=====\n\nwords\n\n2.1 Second Part\n\nwords\n\nNOTES\n\nwords\n",
     "title Title\nh1 Title\nprose words\nh2 2.1 Second Part\nprose words\n"
     "h1 NOTES\nprose words\n"},
    {"what is set in columns stays",
     "name:\n\n    a     1\n    b     2\n\nend\n",
     "prose name:\ncode     a     1\\n    b     2\nprose end\n"},
    {"no heading but a sentence", "1. Go home.\n\nOK\n",
     "prose 1. Go home.\nprose OK\n"},
    {"bytes of another encoding", "caf\xE9\n", "prose caf\u00e9\n"},
};

START_TEST(test_plain)
{
    ck_assert_int_eq(markdown_text_read_plain(PLAIN[_i].file,
                                              strlen(PLAIN[_i].file),
                                              blocks_write, &out),
                     RC_OK);
    ck_assert_msg(strcmp(buf_str(&out), PLAIN[_i].blocks) == 0, "%s:\n%s",
                  PLAIN[_i].name, buf_str(&out));
}
END_TEST

/* Marks of links that are never closed, or only far away. */
static const char *const OPENING[] = {"[", "[a](", "[a][", "![a](b", "[[]"};

START_TEST(test_open_marks_do_not_hold_up_the_reader)
{
    size_t step = strlen(OPENING[_i]);
    size_t len = (size_t)3 << 20;
    char *file = malloc(len + step + 1);
    clock_t before;

    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < len; i += step) {
        memcpy(file + i, OPENING[_i], step);
    }
    before = clock();
    ck_assert_int_eq(markdown_text_read(file, len, blocks_write, &out), RC_OK);
    /* It takes a tenth of a second, and took twenty. */
    ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 5);
    ck_assert_uint_gt(out.len, 0);
    free(file);
}
END_TEST

START_TEST(test_binary_is_no_text)
{
    static const char BYTES[] = "\x7f"
                                "ELF\0\0\0\0\0\0\0\0\0";

    ck_assert_int_eq(
        markdown_text_read(BYTES, sizeof(BYTES), blocks_write, &out),
        RC_INVALID);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

/* --- passages ---------------------------------------------------------- */

static void add(enum block_kind kind, int level, const char *text)
{
    passages_add(passages, &(struct block){.kind = kind,
                                           .level = level,
                                           .text = text,
                                           .len = strlen(text)});
}

static void finish(void)
{
    ck_assert_int_eq(passages_end(passages, &title, &texts, &n), RC_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert(utf8_valid(texts[i].text, strlen(texts[i].text)));
        ck_assert_uint_gt(strlen(texts[i].text), 0);
    }
}

/* A paragraph of count times text. */
static const char *much(const char *text, int count)
{
    buf_clear(&out);
    for (int i = 0; i < count; i++) {
        buf_puts(&out, text);
    }
    return buf_str(&out);
}

START_TEST(test_passages_begin_at_headings)
{
    add(BLOCK_TITLE, 0, "The title");
    add(BLOCK_HEADING, 1, "One");
    add(BLOCK_PROSE, 0, much("Words of the first. ", 20));
    add(BLOCK_HEADING, 2, "Inner");
    add(BLOCK_PROSE, 0, much("Words of the second. ", 20));
    add(BLOCK_HEADING, 1, "Two");
    add(BLOCK_PROSE, 0, "Short.");
    finish();
    ck_assert_str_eq(title, "The title");
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(texts[0].heading, "One");
    ck_assert_str_eq(texts[1].heading, "One > Inner");
    ck_assert_str_eq(texts[2].heading, "Two");
    ck_assert_str_eq(texts[2].text, "Short.");
}
END_TEST

START_TEST(test_a_few_words_before_a_subsection_join_it)
{
    add(BLOCK_HEADING, 1, "One");
    add(BLOCK_PROSE, 0, "About this.");
    add(BLOCK_HEADING, 2, "Inner");
    add(BLOCK_PROSE, 0, "More.");
    finish();
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(texts[0].heading, "One > Inner");
    ck_assert_str_eq(texts[0].text, "About this.\n\nMore.");
}
END_TEST

START_TEST(test_prose_is_cut_between_sentences)
{
    add(BLOCK_PROSE, 0, much("This is e.g. a sentence of words. ", 100));
    finish();
    ck_assert_uint_ge(n, 3);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(texts[i].text);

        ck_assert_uint_le(len, PASSAGES_MOST_BYTES + 250);
        ck_assert_str_eq(texts[i].text + len - 6, "words.");
        ck_assert_int_eq(strncmp(texts[i].text, "This ", 5), 0);
        ck_assert(i + 1 == n || len >= PASSAGES_LEAST_BYTES);
    }
}
END_TEST

START_TEST(test_no_character_is_cut)
{
    add(BLOCK_PROSE, 0, much("\u4e2d\u6587\u5b57\U0001F600", 1000));
    finish();
    ck_assert_uint_ge(n, 11); /* finish checks that each one is valid */
}
END_TEST

START_TEST(test_code_is_kept_together)
{
    add(BLOCK_PROSE, 0, much("Words before. ", 20));
    add(BLOCK_CODE, 0, much("a line of code;\n", 200));
    add(BLOCK_CODE, 0, much("a line of code;\n", 800));
    finish();
    ck_assert_uint_ge(n, 6);
    ck_assert_uint_eq(strlen(texts[1].text), (size_t)200 * 16);
    for (size_t i = 2; i < n; i++) { /* cut at line ends */
        ck_assert_int_eq(strncmp(texts[i].text, "a line", 6), 0);
        ck_assert_uint_le(strlen(texts[i].text), PASSAGES_MAX_CODE_BYTES);
    }
}
END_TEST

START_TEST(test_a_cut_table_repeats_its_head)
{
    add(BLOCK_HEAD_ROW, 0, "Name | Meaning");
    for (int i = 0; i < 60; i++) {
        add(BLOCK_ROW, 0, "SOME_NAME | what this name does mean");
    }
    add(BLOCK_PROSE, 0, "After.");
    finish();
    ck_assert_uint_ge(n, 2);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(
            strncmp(texts[i].text, "Name | Meaning\nSOME_NAME", 24), 0);
    }
}
END_TEST

START_TEST(test_an_index_is_told_from_text)
{
    static const struct block LINK = {
        .kind = BLOCK_LINE, .text = "- Page", .len = 6, .link_len = 4};

    add(BLOCK_HEADING, 1, "Index");
    for (int i = 0; i < 20; i++) {
        passages_add(passages, &LINK);
    }
    add(BLOCK_HEADING, 1, "Text");
    add(BLOCK_PROSE, 0, "Words without links.");
    passages_add(passages, &LINK);
    finish();
    ck_assert_uint_eq(n, 2);
    ck_assert(texts[0].links);
    ck_assert(!texts[1].links);
}
END_TEST

START_TEST(test_limits)
{
    for (int i = 0; i <= MAX_TEXTS; i++) {
        add(BLOCK_HEADING, 1, "Head");
        add(BLOCK_PROSE, 0, "Words.");
    }
    ck_assert_int_eq(passages_end(passages, &title, &texts, &n), RC_TOO_LARGE);
}
END_TEST

START_TEST(test_nothing)
{
    add(BLOCK_HEADING, 1, "Head");
    add(BLOCK_PROSE, 0, "  \n ");
    finish();
    ck_assert_uint_eq(n, 0);
    ck_assert_str_eq(title, "");
}
END_TEST

Suite *passages_suite(void)
{
    Suite *suite = suite_create("passages");
    TCase *files = tcase_create("files");
    TCase *cuts = tcase_create("cuts");

    tcase_add_checked_fixture(files, set_up, tear_down);
    tcase_add_loop_test(files, test_markdown, 0,
                        sizeof(MARKDOWN) / sizeof(MARKDOWN[0]));
    tcase_add_loop_test(files, test_plain, 0, sizeof(PLAIN) / sizeof(PLAIN[0]));
    tcase_set_timeout(files, 60);
    tcase_add_loop_test(files, test_open_marks_do_not_hold_up_the_reader, 0,
                        sizeof(OPENING) / sizeof(OPENING[0]));
    tcase_add_test(files, test_binary_is_no_text);
    suite_add_tcase(suite, files);

    tcase_add_checked_fixture(cuts, set_up, tear_down);
    tcase_add_test(cuts, test_passages_begin_at_headings);
    tcase_add_test(cuts, test_a_few_words_before_a_subsection_join_it);
    tcase_add_test(cuts, test_prose_is_cut_between_sentences);
    tcase_add_test(cuts, test_no_character_is_cut);
    tcase_add_test(cuts, test_code_is_kept_together);
    tcase_add_test(cuts, test_a_cut_table_repeats_its_head);
    tcase_add_test(cuts, test_an_index_is_told_from_text);
    tcase_add_test(cuts, test_limits);
    tcase_add_test(cuts, test_nothing);
    suite_add_tcase(suite, cuts);
    return suite;
}
