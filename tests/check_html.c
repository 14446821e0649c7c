/* check_html.c - pages become the text that a reader would see, and nothing
 * that a page does harms whoever reads it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/document/html.h"
#include "sql/base/utf8.h"
#include "tests/support/blocks.h"
#include "tests/support/suites.h"

#define OUT_BYTES    ((size_t)64 << 20)
#define CASE_SECONDS 60 /* under sanitizers, on a busy machine */

static struct buf out;

static void set_up(void)
{
    html_init();
    buf_init(&out, OUT_BYTES);
}

static void tear_down(void)
{
    buf_free(&out);
}

static const char *read_page(const char *page, size_t len)
{
    buf_clear(&out);
    ck_assert_int_eq(html_read(page, len, NULL, blocks_write, &out), RC_OK);
    ck_assert_int_eq(buf_rc(&out), RC_OK);
    ck_assert(utf8_valid(buf_str(&out), out.len));
    return buf_str(&out);
}

static const struct {
    const char *name;
    const char *page;
    const char *blocks;
} PAGES[] = {
    {"title, headings, paragraphs",
     "<html><head><title> A  Page </title></head><body><h1>First</h1>"
     "<p>Some <b>bold</b>\n words.</p><h2>Second</h2>Loose text",
     "title A Page\nh1 First\nprose Some bold words.\nh2 Second\n"
     "prose Loose text\n"},
    {"the first h1 is the title of a page without one",
     "<h1>Only this</h1><p>Text",
     "title Only this\nh1 Only this\nprose Text\n"},
    {"text that repeats the title", "<title>T</title><div>T</div><p>Text",
     "title T\nprose Text\n"},
    {"scripts and styles",
     "<p>a<script>if (a<b) { x('</p>') }</script><style>p{}</style>b"
     "<noscript>c</noscript>",
     "prose ab\n"},
    {"menus, forms and what the page itself leaves out",
     "<nav><a href=x>Home</a></nav><div class='x nosearch'>Menu<h2>M</h2></div>"
     "<div id=toc>1. A</div><form>Name <input></form><p hidden>h</p>"
     "<ul role=navigation><li>n</ul><footer>f</footer><p>Text",
     "prose Text\n"},
    {"a header within an article is the article's",
     "<header>Site</header><article><header><h1>T</h1></header><p>x</article>",
     "title T\nh1 T\nprose x\n"},
    {"lists",
     "<p>Before:<ul><li>one<li>two <p>more</p><ol><li>deep</ol></ul>after",
     "prose Before:\nline - one\nline - two\nline more\nline   - deep\n"
     "prose after\n"},
    {"definitions", "<dl><dt>WAL<dd>A log.<dt>VFS<dd>A layer.</dl>",
     "line WAL\nline - A log.\nline VFS\nline - A layer.\n"},
    {"code keeps its form",
     "<p>Say:<pre>\n\n  int a;\n\n    int b; <b>c</b>\n\n</pre>then",
     "prose Say:\ncode   int a;\\n\\n    int b; c\nprose then\n"},
    {"tables row by row",
     "<table><tr><th>Name<th>Size</tr><tr><td>a<td><p>one</p><p>two</p>"
     "<tr><td><td>b<br>c<tr><td>d<td></table>",
     "head Name | Size\nrow a | one two\nrow  | b c\nrow d\n"},
    {"headings within table cells",
     "<table><tr><td><h2>Side</h2>words<td>other</table>",
     "h2 Side\nprose words\nrow other\n"},
    {"entities", "<p>&lt;&amp;&nbsp;&eacute;&#x4e2d;&#0;&bogus;&",
     "prose <& \u00e9\u4e2d&bogus;&\n"},
    {"no entity but HTML's",
     "<!DOCTYPE html [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>"
     "<!ENTITY f SYSTEM 'file:///etc/passwd'>]><p>x &b; &f;",
     NULL},
    {"powers", "<p>2<sup>31</sup>-1 and x<sup>a</sup>",
     "prose 2^31-1 and xa\n"},
    {"characters that nobody sees",
     "<p>soft\u00adhyphen zero\u200bwidth</p><h2>Head\u00b6</h2>",
     "prose softhyphen zerowidth\nh2 Head\n"},
    {"unclosed and crossed tags",
     "<p><b>a<i>b</b>c</i><div>d</span></p></div></table>e<h2>f<h3>g",
     "prose abc\nprose d\nprose e\nh2 f\nh3 g\n"},
    {"cut within a tag", "<p>one</p><p cla", "prose one\n"},
    {"cut within a comment", "<p>one</p><!-- two", "prose one\n"},
    {"a page that leads on",
     "<title>Moved</title><meta http-equiv=Refresh content=\"0; URL='/a'\">",
     "title Moved\nprose This page leads on to another by itself.\n"},
    {"a page that leads on, with text",
     "<meta http-equiv=refresh content='5;url=/a'><p>one", "prose one\n"},
    {"a page that is only read again",
     "<meta http-equiv=refresh content='5'>"
     "<meta http-equiv=refresh content='0;url=javascript:x'>",
     ""},
    {"empty", "", ""},
    {"no markup at all", "just words", "prose just words\n"},
};

START_TEST(test_page)
{
    const char *blocks = read_page(PAGES[_i].page, strlen(PAGES[_i].page));

    if (PAGES[_i].blocks == NULL) {
        ck_assert_ptr_null(strstr(blocks, "aaaa"));
        ck_assert_ptr_null(strstr(blocks, "root:"));
        return;
    }
    ck_assert_msg(strcmp(blocks, PAGES[_i].blocks) == 0, "%s:\n%s",
                  PAGES[_i].name, blocks);
}
END_TEST

/* What a page is written in, and the words that come out of it. */
static const struct {
    const char *name;
    const char *page;
    size_t len;
    const char *blocks;
} CHARSETS[] = {
#define BYTES(s) s, sizeof(s) - 1
    {"UTF-8, not declared", BYTES("<p>\xC3\xA9t\xC3\xA9"),
     "prose \u00e9t\u00e9\n"},
    {"windows-1252, not declared", BYTES("<p>\xE9t\xE9 \x93q\x94"),
     "prose \u00e9t\u00e9 \u201cq\u201d\n"},
    {"declared in a meta element",
     BYTES("<meta charset=\"iso-8859-2\"><p>\xB1"), "prose \u0105\n"},
    {"declared the old way",
     BYTES("<meta http-equiv=content-type content='text/html; "
           "charset=shift_jis'><p>\x93\xFA\x96\x7B"),
     "prose \u65e5\u672c\n"},
    {"a declaration that lies", BYTES("<meta charset=iso-8859-1><p>\xC3\xA9"),
     "prose \u00e9\n"},
    {"an unknown charset", BYTES("<meta charset=klingon><p>\xE9"),
     "prose \u00e9\n"},
    {"a byte order mark", BYTES("\xEF\xBB\xBF<p>a"), "prose a\n"},
    {"UTF-16", BYTES("\xFF\xFE<\0p\0>\0\xE9\0"), "prose \u00e9\n"},
    {"UTF-8 with broken bytes",
     BYTES("<meta charset=utf-8><p>a\xC3 b\xFF c\xED\xA0\x80"), NULL},
    {"NUL bytes", BYTES("<p>a\0b<di\0v>c"), NULL},
};

START_TEST(test_charset)
{
    const char *blocks = read_page(CHARSETS[_i].page, CHARSETS[_i].len);

    if (CHARSETS[_i].blocks != NULL) {
        ck_assert_msg(strcmp(blocks, CHARSETS[_i].blocks) == 0, "%s:\n%s",
                      CHARSETS[_i].name, blocks);
    } else {
        ck_assert_msg(strncmp(blocks, "prose a", 7) == 0, "%s:\n%s",
                      CHARSETS[_i].name, blocks);
    }
}
END_TEST

START_TEST(test_a_charset_from_outside_is_believed)
{
    ck_assert_int_eq(html_read("<p>\xB1", 4, "iso-8859-2", blocks_write, &out),
                     RC_OK);
    ck_assert_str_eq(buf_str(&out), "prose \u0105\n");
}
END_TEST

/* An old habit: the whole page within one form. */
START_TEST(test_a_page_within_a_form_is_read)
{
    struct buf page;

    buf_init(&page, 100000);
    buf_puts(&page, "<title>T</title><form>");
    for (int i = 0; i < 100; i++) {
        buf_printf(&page, "<p>Paragraph number %d of the page.</p>", i);
    }
    (void)read_page(page.data, page.len);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "number 99"));
    buf_free(&page);
}
END_TEST

/* Much of one thing: what a hostile page may be. */
static const struct {
    const char *name;
    const char *first;
    const char *piece;
    size_t bytes;
} MUCH[] = {
    {"10,000 nested elements", "<p>first</p>", "<div>", 50000},
    {"nested to the limit of size", "<p>first</p>", "<div>", HTML_MAX_BYTES},
    {"nested lists", "<p>first</p>", "<ul><li>", 1000000},
    {"nested tables", "<p>first</p>", "<table><tr><td>x", 1000000},
    {"end tags without a start", "<p>first</p>", "</b>", 1000000},
    {"deep, then end tags of others", NULL, "</b>", 1000000},
    {"one endless attribute", "<p>first</p><a title='", "x", 1000000},
    {"one endless name", "<p>first</p><", "x", 1000000},
    {"many attributes", "<p>first</p><a ", "b=c ", 1000000},
    {"angle brackets", "<p>first</p>", "<", 1000000},
    {"ampersands", "<p>first</p>", "&", 1000000},
    {"comments", "<p>first</p>", "<!--", 1000000},
    {"one word", "<p>first</p>", "x", HTML_MAX_BYTES},
    {"bytes that are no text", "<p>first</p>", "\xFF", 1000000},
    {"headings", "<p>first</p>", "<h1>a</h1>b", 1000000},
};

START_TEST(test_much_of_one_thing)
{
    size_t piece = strlen(MUCH[_i].piece);
    struct buf page;

    buf_init(&page, HTML_MAX_BYTES);
    buf_puts(&page, MUCH[_i].first == NULL ? "<p>first</p>" : MUCH[_i].first);
    for (int i = 0; MUCH[_i].first == NULL && i < HTML_MAX_DEPTH - 10; i++) {
        buf_puts(&page, "<i>");
    }
    while (page.len + piece <= MUCH[_i].bytes) {
        buf_add(&page, MUCH[_i].piece, piece);
    }
    (void)read_page(page.data, page.len);
    ck_assert_msg(strncmp(buf_str(&out), "prose first", 11) == 0, "%s",
                  MUCH[_i].name);
    buf_free(&page);
}
END_TEST

START_TEST(test_too_large)
{
    char *page = calloc(1, HTML_MAX_BYTES + 1);

    ck_assert_ptr_nonnull(page);
    ck_assert_int_eq(
        html_read(page, HTML_MAX_BYTES + 1, NULL, blocks_write, &out),
        RC_TOO_LARGE);
    free(page);
}
END_TEST

/* Every beginning of a page is a page. */
START_TEST(test_cut_anywhere)
{
    static const char PAGE[] =
        "<!DOCTYPE html><html><head><meta charset=utf-8><title>T\u00e9</title>"
        "<script>x</script></head><body class=a><h1 id='b'>H &amp; I</h1><p>a"
        "<a href=\"c\">d</a></p><!-- e --><ul><li>f</ul><table><tr><td>g"
        "</table><pre>h</pre></body></html>";

    for (size_t len = 0; len < sizeof(PAGE); len++) {
        char *copy = malloc(len + 1); /* so that a sanitizer sees the end */

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, PAGE, len);
        (void)read_page(copy, len);
        free(copy);
    }
}
END_TEST

Suite *html_suite(void)
{
    Suite *suite = suite_create("html");
    TCase *pages = tcase_create("pages");
    TCase *hostile = tcase_create("hostile");

    tcase_add_checked_fixture(pages, set_up, tear_down);
    tcase_set_timeout(pages, CASE_SECONDS);
    tcase_add_loop_test(pages, test_page, 0, sizeof(PAGES) / sizeof(PAGES[0]));
    tcase_add_loop_test(pages, test_charset, 0,
                        sizeof(CHARSETS) / sizeof(CHARSETS[0]));
    tcase_add_test(pages, test_a_charset_from_outside_is_believed);
    tcase_add_test(pages, test_a_page_within_a_form_is_read);
    suite_add_tcase(suite, pages);

    tcase_add_checked_fixture(hostile, set_up, tear_down);
    tcase_set_timeout(hostile, CASE_SECONDS);
    tcase_add_loop_test(hostile, test_much_of_one_thing, 0,
                        sizeof(MUCH) / sizeof(MUCH[0]));
    tcase_add_test(hostile, test_too_large);
    tcase_add_test(hostile, test_cut_anywhere);
    suite_add_tcase(suite, hostile);
    return suite;
}
