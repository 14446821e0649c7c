/* fuzz_page.c - a fetched document of any kind: its passages and links are
 * JSON of the bounds that page.h states. Three lines stand before it: the
 * Content-Type, the address, and "cut" if it is not whole. */
#include <stdlib.h>
#include <string.h>

#include "runtime/document/html.h"
#include "runtime/document/page.h"
#include "sql/base/json.h"
#include "tests/fuzz/fuzz.h"

static void check_links(const cJSON *tree, int n_passages)
{
    const cJSON *links = json_get(tree, "links");
    const cJSON *link;

    FUZZ_CHECK(cJSON_GetArraySize(links) <= PAGE_LINKS_MAX);
    cJSON_ArrayForEach(link, links)
    {
        int64_t at = -1;

        FUZZ_CHECK(json_i64(link, "at", &at) == RC_OK);
        FUZZ_CHECK(at >= 0 && at < n_passages);
        FUZZ_CHECK(json_str(link, "text", "")[0] != '\0');
        FUZZ_CHECK(json_str(link, "href", "")[0] != '\0');
    }
}

static void check_json(const struct buf *out)
{
    cJSON *tree = NULL;
    const cJSON *passages;
    const cJSON *p;
    size_t bytes = 0;

    FUZZ_CHECK(out->len <= PAGE_JSON_BYTES);
    FUZZ_CHECK(json_parse(buf_str(out), out->len, &tree, NULL) == RC_OK);
    passages = json_get(tree, "passages");
    FUZZ_CHECK(cJSON_IsBool(json_get(tree, "cut")));
    FUZZ_CHECK(cJSON_IsString(json_get(tree, "title")));
    FUZZ_CHECK(cJSON_GetArraySize(passages) > 0);
    cJSON_ArrayForEach(p, passages)
    {
        const char *text = json_str(p, "text", "");

        FUZZ_CHECK(text[0] != '\0');
        FUZZ_CHECK(strlen(text) <= PASSAGES_LONGEST_BYTES);
        bytes += strlen(text);
    }
    FUZZ_CHECK(bytes <= PAGE_TEXT_BYTES);
    check_links(tree, cJSON_GetArraySize(passages));
    json_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool ready;
    struct fuzz_input in = {(const char *)data, len};
    char *type = fuzz_line(&in);
    char *url = fuzz_line(&in);
    char *cut = fuzz_line(&in);
    char *bytes = fuzz_rest(&in);
    char charset[40];
    struct page_input page = {.charset = charset,
                              .bytes = bytes,
                              .len = in.len,
                              .is_cut = *cut == 'c'};
    struct buf out;
    enum rc rc;

    if (!ready) {
        html_init();
        ready = true;
    }
    buf_init(&out, PAGE_JSON_BYTES);
    rc = page_type_of(type, url, bytes, in.len, &page.type, charset,
                      sizeof(charset));
    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    if (rc == RC_OK) {
        enum page_type named = PAGE_TYPE__MAX;

        FUZZ_CHECK(page_type_named(page_type_name(page.type), &named) == RC_OK);
        FUZZ_CHECK(named == page.type);
        rc = page_read(&page, &out);
        FUZZ_CHECK(rc == RC_OK || rc == RC_NOT_FOUND || rc == RC_INVALID);
    }
    if (rc == RC_OK) {
        check_json(&out);
    }
    buf_free(&out);
    free(type);
    free(url);
    free(cut);
    free(bytes);
    return 0;
}
