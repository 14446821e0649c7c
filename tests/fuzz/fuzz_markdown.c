/* fuzz_markdown.c - Markdown, plain text, and the text of a PDF as readable
 * blocks. */
#include <stdlib.h>
#include <string.h>

#include "runtime/document/markdown_text.h"
#include "runtime/document/pdf.h"
#include "sql/base/utf8.h"
#include "tests/fuzz/blocks.h"
#include "tests/fuzz/fuzz.h"

typedef enum rc read_fn(const char *bytes, size_t len, block_fn *, void *arg);

static void read_as(read_fn *read, const char *bytes, size_t len)
{
    struct fuzz_blocks blocks;
    enum rc rc;

    fuzz_blocks_begin(&blocks);
    rc = read(bytes, len, fuzz_blocks_add, &blocks);
    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    /* Marks are taken out, and nothing is added but what joins. */
    FUZZ_CHECK(blocks.bytes <= 8 * len + 256);
    fuzz_blocks_end(&blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *bytes = fuzz_rest(&in);
    char *valid = fuzz_valid_text(&in);

    read_as(markdown_text_read, bytes, len);
    read_as(markdown_text_read_plain, bytes, len);
    read_as(pdf_read, valid, strlen(valid));
    free(bytes);
    free(valid);
    return 0;
}
