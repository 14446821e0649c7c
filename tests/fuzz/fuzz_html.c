/* fuzz_html.c - HTML as readable blocks: whatever the page is, blocks of the
 * form that passages.h states, with nothing of its scripts. The first line is
 * the charset that the server gave, or empty. */
#include <stdlib.h>
#include <string.h>

#include "runtime/document/html.h"
#include "tests/fuzz/blocks.h"
#include "tests/fuzz/fuzz.h"

static void take_link(void *arg, const char *words, const char *href)
{
    (void)arg;
    FUZZ_CHECK(words[0] != '\0' && href[0] != '\0' && href[0] != '#');
    FUZZ_CHECK(fuzz_is_text(words, strlen(words)));
    FUZZ_CHECK(fuzz_is_text(href, strlen(href)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool ready;
    struct fuzz_input in = {(const char *)data, len};
    char *charset = fuzz_line(&in);
    char *bytes = fuzz_rest(&in);
    struct fuzz_blocks with, without;
    enum rc rc;

    if (!ready) {
        html_init();
        ready = true;
    }
    fuzz_blocks_begin(&with);
    fuzz_blocks_begin(&without);
    rc = html_read_links(bytes, in.len, *charset == '\0' ? NULL : charset,
                         fuzz_blocks_add, take_link, &with);
    FUZZ_CHECK(rc == RC_OK);
    FUZZ_CHECK(html_read(bytes, in.len, *charset == '\0' ? NULL : charset,
                         fuzz_blocks_add, &without) == RC_OK);
    FUZZ_CHECK(with.n == without.n && with.bytes == without.bytes);
    fuzz_blocks_end(&with);
    fuzz_blocks_end(&without);
    free(charset);
    free(bytes);
    return 0;
}
