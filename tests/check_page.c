/* check_page.c - what a fetched document is, and its passages and links. */
#include <locale.h>
#include <string.h>

#include "runtime/document/html.h"
#include "runtime/document/page.h"
#include "runtime/http/http.h"
#include "runtime/tool/web_part.h"
#include "sql/base/json.h"
#include "sql/base/utf8.h"
#include "tests/support/suites.h"

/* --- what it is ---------------------------------------------------------- */

static const struct {
    const char *type;
    const char *url;
    const char *bytes;
    int want; /* -1: refused */
    const char *charset;
} KINDS[] = {
    {"text/html", "http://a/", "x", PAGE_HTML, ""},
    {"TEXT/HTML ; Charset=\"UTF-8\"", "http://a/", "x", PAGE_HTML, "UTF-8"},
    {"text/html;charset=koi8-r;x=y", "http://a/", "x", PAGE_HTML, "koi8-r"},
    {"application/xhtml+xml", "http://a/", "x", PAGE_HTML, ""},
    {"application/pdf", "http://a/", "x", PAGE_PDF, ""},
    {"text/markdown", "http://a/", "x", PAGE_MARKDOWN, ""},
    {"text/plain", "http://a/b.md?x#y", "x", PAGE_MARKDOWN, ""},
    {"text/plain", "http://a/b?c=d.md", "x", PAGE_TEXT, ""},
    {"text/csv", "http://a/", "x", PAGE_TEXT, ""},
    {"application/json", "http://a/", "{}", PAGE_TEXT, ""},
    {"", "http://a/b.PDF", "x", PAGE_PDF, ""},
    {"", "http://a/b", "%PDF-1.7 x", PAGE_PDF, ""},
    {"", "http://a/b", "  <!DOCTYPE html>", PAGE_HTML, ""},
    {"", "http://a/b", "just words", PAGE_TEXT, ""},
    {"application/octet-stream", "http://a/b", "words", PAGE_TEXT, ""},
    {"", "http://a/b", "", -1, ""},
    {"image/png", "http://a/b.html", "<html>", -1, ""},
    {"text", "http://a/b.html", "<html>", -1, ""},
    {"video/mp4; charset=utf-8", "http://a/", "x", -1, "utf-8"},
    {";;;", "http://a/b", "", -1, ""},
};

START_TEST(a_document_is_what_its_server_says_or_what_it_looks_like)
{
    enum page_type type = PAGE_TYPE__MAX;
    char charset[20];
    enum rc rc =
        page_type_of(KINDS[_i].type, KINDS[_i].url, KINDS[_i].bytes,
                     strlen(KINDS[_i].bytes), &type, charset, sizeof(charset));

    ck_assert_msg((rc == RC_OK ? (int)type : -1) == KINDS[_i].want, "%s %s: %d",
                  KINDS[_i].type, KINDS[_i].url, (int)type);
    ck_assert_str_eq(charset, KINDS[_i].charset);
}
END_TEST

START_TEST(zeros_are_no_text_whatever_they_are_called)
{
    static const char zeros[400];
    enum page_type type;
    char charset[20];

    ck_assert_int_eq(page_type_of("text/plain", "http://a/", zeros,
                                  sizeof(zeros), &type, charset,
                                  sizeof(charset)),
                     RC_INVALID);
    ck_assert_int_eq(page_type_of("", "http://a/", zeros, sizeof(zeros), &type,
                                  charset, sizeof(charset)),
                     RC_INVALID);
}
END_TEST

START_TEST(types_have_names)
{
    enum page_type type;

    for (int i = 0; i < PAGE_TYPE__MAX; i++) {
        ck_assert_int_eq(
            page_type_named(page_type_name((enum page_type)i), &type), RC_OK);
        ck_assert_int_eq(type, i);
    }
    ck_assert_int_eq(page_type_named("exe", &type), RC_NOT_FOUND);
}
END_TEST

/* --- reading --------------------------------------------------------------- */

static cJSON *read_as(enum page_type type, const char *bytes, size_t len)
{
    const struct page_input in = {
        .type = type, .charset = "", .bytes = bytes, .len = len};
    struct buf out;
    cJSON *tree = NULL;

    html_init();
    buf_init(&out, PAGE_JSON_BYTES);
    ck_assert_int_eq(page_read(&in, &out), RC_OK);
    ck_assert_int_eq(json_parse(buf_str(&out), out.len, &tree, NULL), RC_OK);
    buf_free(&out);
    return tree;
}

static const cJSON *item(const cJSON *tree, const char *list, int i)
{
    const cJSON *found = cJSON_GetArrayItem(json_get(tree, list), i);

    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(links_stand_where_their_words_do)
{
    struct buf page;
    cJSON *tree;
    int64_t at = -1;

    buf_init(&page, 1u << 20);
    buf_puts(&page, "<title>T</title><nav><a href=/menu>Menu</a></nav>"
                    "<p><a href=' one '>First &amp; <b>best</b></a> "
                    "<a href='#x'>here</a> <a href='mailto:a@b'>mail</a> "
                    "<a href='javascript:x'>no</a> <a>none</a> "
                    "<a href=empty></a> <a href='HTTPS://b/c?d=e&amp;f'>x</a>");
    for (int i = 0; i < 400; i++) {
        buf_printf(&page, "<p>The sea of day %d is deep and wide.", i);
    }
    buf_puts(&page, "<p>At last <a href=two>another</a>");
    tree = read_as(PAGE_HTML, buf_str(&page), page.len);
    ck_assert_str_eq(json_str(tree, "title", ""), "T");
    ck_assert_int_eq(cJSON_GetArraySize(json_get(tree, "links")), 3);
    ck_assert_str_eq(json_str(item(tree, "links", 0), "text", ""),
                     "First & best");
    ck_assert_str_eq(json_str(item(tree, "links", 1), "href", ""),
                     "HTTPS://b/c?d=e&f");
    ck_assert_int_eq(json_i64(item(tree, "links", 1), "at", &at), RC_OK);
    ck_assert_int_eq(at, 0);
    ck_assert_str_eq(json_str(item(tree, "links", 2), "text", ""), "another");
    ck_assert_int_eq(json_i64(item(tree, "links", 2), "at", &at), RC_OK);
    ck_assert_int_ge(at, cJSON_GetArraySize(json_get(tree, "passages")) - 2);
    json_free(tree);
    buf_free(&page);
}
END_TEST

START_TEST(no_more_text_is_kept_than_has_room_and_that_is_said)
{
    struct buf page;
    cJSON *tree;
    const cJSON *p = NULL;
    size_t bytes = 0;

    buf_init(&page, 5u << 20);
    while (page.len < 3 * PAGE_TEXT_BYTES) {
        buf_puts(&page, "Das Meer ist tief und \xc3\xbc"
                        "berall salzig. ");
    }
    tree = read_as(PAGE_TEXT, buf_str(&page), page.len);
    cJSON_ArrayForEach(p, json_get(tree, "passages"))
    {
        bytes += strlen(json_str(p, "text", ""));
    }
    ck_assert_uint_le(bytes, PAGE_TEXT_BYTES);
    ck_assert_uint_ge(bytes, PAGE_TEXT_BYTES / 2);
    ck_assert(cJSON_IsTrue(json_get(tree, "cut")));
    json_free(tree);
    buf_free(&page);
}
END_TEST

/* More passages than are told, more blocks than are kept, and so much to escape
 * that the text of a page would be longer than what is printed of it. */
static const struct {
    const char *first;
    const char *piece;
    size_t bytes;
    int least; /* passages */
} MANY[] = {
    {"<h1>Sea</h1>", "<h2>Bay </h2><p><a href=\"/\">Salt</a> there.</p>",
     3u << 20, 4000},
    {"", "<p>a", 4u << 20, 500},
    {"<h1>\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"</h1>",
     "<h2>"
     "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"%"
     "d</h2>"
     "<h3>\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\</h3><p>x</p>",
     4u << 20, 4000},
};

START_TEST(what_is_too_much_to_tell_is_cut_and_that_is_said)
{
    struct buf page;
    cJSON *tree;
    const cJSON *link = NULL;
    int n;
    int64_t at = 0;

    buf_init(&page, 5u << 20);
    buf_puts(&page, MANY[_i].first);
    while (page.len < MANY[_i].bytes) {
        buf_puts(&page, MANY[_i].piece);
    }
    tree = read_as(PAGE_HTML, buf_str(&page), page.len);
    n = cJSON_GetArraySize(json_get(tree, "passages"));
    ck_assert_int_ge(n, MANY[_i].least);
    ck_assert(cJSON_IsTrue(json_get(tree, "cut")));
    cJSON_ArrayForEach(link, json_get(tree, "links"))
    {
        ck_assert_int_eq(json_i64(link, "at", &at), RC_OK);
        ck_assert_int_lt(at, n);
    }
    json_free(tree);
    buf_free(&page);
}
END_TEST

START_TEST(pages_of_a_pdf_are_told_apart)
{
    static const char text[] = "The sea is deep.\n\n\fSalt of the sea.\n\f";
    cJSON *tree = read_as(PAGE_PDF, text, strlen(text));

    ck_assert_int_eq(cJSON_GetArraySize(json_get(tree, "passages")), 2);
    ck_assert_str_eq(json_str(item(tree, "passages", 0), "heading", ""),
                     "Page 1");
    ck_assert_str_eq(json_str(item(tree, "passages", 1), "heading", ""),
                     "Page 2");
    ck_assert_str_eq(json_str(item(tree, "passages", 1), "text", ""),
                     "Salt of the sea.");
    json_free(tree);
}
END_TEST

START_TEST(what_has_no_text_says_so)
{
    static const char *const empty[] = {"", " \n", "<p> <br>",
                                        "<script>x</script>"};
    struct buf out;

    html_init();
    buf_init(&out, PAGE_JSON_BYTES);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        const struct page_input in = {.type = PAGE_HTML,
                                      .charset = "",
                                      .bytes = empty[i],
                                      .len = strlen(empty[i])};

        ck_assert_int_eq(page_read(&in, &out), RC_NOT_FOUND);
    }
    buf_free(&out);
}
END_TEST

/* --- addresses --------------------------------------------------------------- */

static const struct {
    const char *base;
    const char *ref;
    const char *want; /* NULL: refused */
} URLS[] = {
    {NULL, "http://a.example/b?c=d#e", "http://a.example/b?c=d"},
    {NULL, "HTTP://A.Example", "http://A.Example/"},
    {NULL, "a.example/b", "https://a.example/b"},
    {NULL, "http://a.example/b c/\xc3\xbc", "http://a.example/b%20c/%c3%bc"},
    {NULL, "http://m\xc3\xbcnchen.example/", "http://xn--mnchen-3ya.example/"},
    {NULL, "http://2130706433/", "http://127.0.0.1/"},
    {NULL, "http://0x7f.1/", "http://127.0.0.1/"},
    {"http://a.example/b/c?d", "e", "http://a.example/b/e"},
    {"http://a.example/b/c?d", "../e", "http://a.example/e"},
    {"http://a.example/b/c?d", "?f", "http://a.example/b/c?f"},
    {"http://a.example/b/c?d", "#f", "http://a.example/b/c?d"},
    {"https://a.example/b", "//c.example/d", "https://c.example/d"},
    {"http://a.example/b", "https://c.example/", "https://c.example/"},
    {NULL, "", NULL},
    {NULL, "http://", NULL},
    {NULL, "http://a.example:99999/", NULL},
    {NULL, "http://user@a.example/", NULL},
    {NULL, "http://user:x@a.example/", NULL},
    {NULL, "http://:x@a.example/", NULL},
    {NULL, "file:///etc/passwd", NULL},
    {NULL, "ftp://a.example/", NULL},
    {NULL, "http://a.example/\r\nX: y", NULL},
    {NULL, "http://a b/", NULL},
    {NULL, "http://a%ff.example/", NULL},
    {NULL, "http://a%40b.example/", NULL},
    {NULL, "http://a%2eexample/", "http://a.example/"},
    {"http://a.example/", "//a\xff.example/", NULL},
    {"http://a.example/", "javascript:x", NULL},
    {"http://a.example/", "data:text/html,x", NULL},
    {"http://a.example/", "//u:p@c.example/", NULL},
};

START_TEST(an_address_has_one_spelling_or_is_refused)
{
    char out[HTTP_URL_BYTES] = "";
    const char *why;

    ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
    why = http_url_clean(URLS[_i].base, URLS[_i].ref, out);

    ck_assert_msg((why == NULL) == (URLS[_i].want != NULL), "%s: %s %s",
                  URLS[_i].ref, why != NULL ? why : "taken", out);
    if (URLS[_i].want != NULL) {
        ck_assert_str_eq(out, URLS[_i].want);
    }
}
END_TEST

START_TEST(a_long_address_is_refused)
{
    char ref[HTTP_URL_BYTES + 20];
    char out[HTTP_URL_BYTES];

    memset(ref, 'a', sizeof(ref));
    memcpy(ref, "http://a.example/", strlen("http://a.example/"));
    ref[sizeof(ref) - 1] = '\0';
    ck_assert_ptr_nonnull(http_url_clean(NULL, ref, out));
    ref[HTTP_URL_BYTES - 1] = '\0';
    ck_assert_ptr_null(http_url_clean(NULL, ref, out));
    ck_assert_str_eq(out, ref);
}
END_TEST

START_TEST(hosts_and_values)
{
    char host[40];
    struct buf out;

    http_url_host("http://A.Example:80/b", host, sizeof(host));
    ck_assert_str_eq(host, "a.example");
    http_url_host("http://[::1]:80/b", host, sizeof(host));
    ck_assert_str_eq(host, "::1");
    http_url_host("nothing at all", host, sizeof(host));
    ck_assert_str_eq(host, "");
    buf_init(&out, 100);
    http_url_escape(&out, "a b&c=\xc3\xbc+~");
    ck_assert_str_eq(buf_str(&out), "a%20b%26c%3D%C3%BC%2B~");
    buf_free(&out);
}
END_TEST

/* Each address costs the loop time to read. */
START_TEST(links_that_lead_nowhere_are_tried_within_a_bound)
{
    static const int useless[] = {10, 1000};

    for (size_t i = 0; i < 2; i++) {
        struct arena *a = arena_new(1 << 20);
        struct tool_result r = {.n_links = 0};
        struct page page = {.url = "http://a/", .location = "http://a/"};
        struct buf body;

        ck_assert_ptr_nonnull(a);
        buf_init(&body, 1 << 20);
        buf_puts(&body, "{\"title\":\"t\",\"passages\":[{\"heading\":\"\","
                        "\"text\":\"x\"}],\"links\":[");
        for (int k = 0; k < useless[i]; k++) {
            buf_puts(&body, "{\"at\":0,\"text\":\"u\",\"href\":\"#top\"},");
        }
        buf_puts(&body, "{\"at\":0,\"text\":\"b\",\"href\":\"b\"}]}");
        page.body = buf_str(&body);
        ck_assert_ptr_null(web_part_take(a, &page, 0, &r));
        ck_assert_uint_eq(r.n_passages, 1);
        ck_assert_uint_eq(r.n_links, i == 0 ? 1 : 0);
        buf_free(&body);
        arena_free(a);
    }
}
END_TEST

Suite *page_suite(void)
{
    Suite *s = suite_create("page");
    TCase *c = tcase_create("types");

    tcase_add_loop_test(
        c, a_document_is_what_its_server_says_or_what_it_looks_like, 0,
        (int)(sizeof(KINDS) / sizeof(KINDS[0])));
    tcase_add_test(c, zeros_are_no_text_whatever_they_are_called);
    tcase_add_test(c, types_have_names);
    suite_add_tcase(s, c);
    c = tcase_create("reading");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, links_stand_where_their_words_do);
    tcase_add_test(c, no_more_text_is_kept_than_has_room_and_that_is_said);
    tcase_add_loop_test(c, what_is_too_much_to_tell_is_cut_and_that_is_said, 0,
                        sizeof(MANY) / sizeof(MANY[0]));
    tcase_add_test(c, pages_of_a_pdf_are_told_apart);
    tcase_add_test(c, what_has_no_text_says_so);
    tcase_add_test(c, links_that_lead_nowhere_are_tried_within_a_bound);
    suite_add_tcase(s, c);
    c = tcase_create("addresses");
    tcase_add_loop_test(c, an_address_has_one_spelling_or_is_refused, 0,
                        (int)(sizeof(URLS) / sizeof(URLS[0])));
    tcase_add_test(c, a_long_address_is_refused);
    tcase_add_test(c, hosts_and_values);
    suite_add_tcase(s, c);
    return s;
}
