/* fuzz_excerpt.c - results cut to fit a prompt: never longer than was allowed,
 * still JSON or text, and page by page without a gap. The first line holds the
 * tokens allowed, and the passages to skip. */
#include <stdlib.h>
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/tokens.h"
#include "tests/fuzz/fuzz.h"

#define LEAST_TOKENS 100
#define MOST_TOKENS  2000

static void check_result(const char *text, int64_t tokens, size_t from)
{
    struct excerpt e = {
        .result = text, .max_tokens = tokens, .number = 7, .from = from};
    struct buf out;

    buf_init(&out, 1u << 20);
    FUZZ_CHECK(excerpt_result(&e, &out) == RC_OK);
    FUZZ_CHECK(tokens_estimate(buf_str(&out), out.len) <= tokens);
    FUZZ_CHECK(fuzz_is_text(buf_str(&out), out.len));
    buf_free(&out);
}

/* From a place on, as often as there is more: each page goes on further. */
static void check_text(const char *text, int64_t tokens)
{
    size_t from = 0;

    do {
        struct buf out;
        size_t next;

        buf_init(&out, 1u << 20);
        next = excerpt_text(text, from, tokens, &out);
        FUZZ_CHECK(buf_rc(&out) == RC_OK);
        FUZZ_CHECK(fuzz_is_text(buf_str(&out), out.len));
        FUZZ_CHECK(tokens_estimate(buf_str(&out), out.len) <= tokens);
        FUZZ_CHECK(next == 0 || (next > from && next < strlen(text)));
        buf_free(&out);
        from = next;
    } while (from != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *line = fuzz_line(&in);
    char *rest = line;
    int64_t tokens = strtol(line, &rest, 10);
    size_t from = strtoul(rest, NULL, 10);
    char *text = fuzz_valid_text(&in);

    tokens = tokens < LEAST_TOKENS  ? LEAST_TOKENS
             : tokens > MOST_TOKENS ? MOST_TOKENS
                                    : tokens;
    check_result(text, tokens, from);
    check_text(text, tokens);
    free(line);
    free(text);
    return 0;
}
