/* fuzz_url.c - addresses of the web: what is taken is in one spelling, has a
 * host, and is taken again unchanged. The first line is the page's own address,
 * the second what stands on it. The third, a list of hosts and ranges. */
#include <stdlib.h>
#include <string.h>

#include "runtime/http/http.h"
#include "sql/base/address.h"
#include "sql/base/buf.h"
#include "tests/fuzz/fuzz.h"

static void check_clean(const char *base, const char *ref)
{
    char url[HTTP_URL_BYTES] = "";
    char again[HTTP_URL_BYTES] = "";
    char host[256] = "";
    const char *why = http_url_clean(base, ref, url);

    if (why != NULL) {
        FUZZ_CHECK(why[0] != '\0' && fuzz_is_line(why));
        return;
    }
    FUZZ_CHECK(memchr(url, '\0', sizeof(url)) != NULL);
    FUZZ_CHECK(strncmp(url, "http://", 7) == 0 ||
               strncmp(url, "https://", 8) == 0);
    FUZZ_CHECK(strchr(url, '#') == NULL);
    for (const char *p = url; *p != '\0'; p++) {
        FUZZ_CHECK((unsigned char)*p > 0x20 && (unsigned char)*p < 0x7f);
    }
    http_url_host(url, host, sizeof(host));
    FUZZ_CHECK(host[0] != '\0');
    FUZZ_CHECK(http_url_clean(NULL, url, again) == NULL);
    FUZZ_CHECK(strcmp(url, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *base = fuzz_line(&in);
    char *ref = fuzz_line(&in);
    char *allow = fuzz_line(&in);
    struct address_list list;
    struct buf out;

    check_clean(NULL, base);
    check_clean(base[0] == '\0' ? NULL : base, ref);
    (void)address_list_parse_named(allow, &list);
    buf_init(&out, 4 * len + 64);
    http_url_escape(&out, ref);
    FUZZ_CHECK(buf_rc(&out) == RC_OK && fuzz_is_line(buf_str(&out)));
    buf_free(&out);
    free(base);
    free(ref);
    free(allow);
    return 0;
}
