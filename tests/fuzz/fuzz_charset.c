/* fuzz_charset.c - bytes of any encoding become UTF-8. The first line is the
 * label that the server gave, or empty. */
#include <stdlib.h>
#include <string.h>

#include "runtime/document/charset.h"
#include "sql/base/utf8.h"
#include "tests/fuzz/fuzz.h"

static bool has_mark(const char *b, size_t len)
{
    return len >= 2 &&
           (memcmp(b, "\xef\xbb", 2) == 0 || memcmp(b, "\xff\xfe", 2) == 0 ||
            memcmp(b, "\xfe\xff", 2) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *label = fuzz_line(&in);
    char *bytes = fuzz_rest(&in);
    char told[40];
    struct buf out;
    enum rc rc;

    buf_init(&out, 3 * in.len + 16);
    charset_of_html(bytes, in.len, told, sizeof(told));
    FUZZ_CHECK(memchr(told, '\0', sizeof(told)) != NULL);
    (void)charset_is_binary(bytes, in.len);
    rc = charset_to_utf8(bytes, in.len, label[0] == '\0' ? NULL : label, &out);
    FUZZ_CHECK(rc == RC_OK || rc == RC_TOO_LARGE);
    FUZZ_CHECK(rc != RC_OK || fuzz_is_text(buf_str(&out), out.len));
    if (rc == RC_OK && !has_mark(bytes, in.len) &&
        fuzz_is_text(bytes, in.len)) {
        FUZZ_CHECK(out.len == in.len &&
                   memcmp(buf_str(&out), bytes, in.len) == 0);
    }
    buf_free(&out);
    free(label);
    free(bytes);
    return 0;
}
