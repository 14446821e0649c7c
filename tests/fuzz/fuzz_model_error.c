/* fuzz_model_error.c - an error of a provider: always an error, told in one
 * line. The first line of the input is the HTTP status. */
#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_chat.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *status = fuzz_line(&in);
    char *body = fuzz_rest(&in);
    struct model_error e;

    model_chat_error(body, in.len, strtol(status, NULL, 10), &e);
    FUZZ_CHECK(e.kind > MODEL_ERROR_NONE && e.kind < MODEL_ERROR_KIND__MAX);
    FUZZ_CHECK(e.prompt_tokens >= -1 && e.context_tokens >= -1);
    FUZZ_CHECK(memchr(e.code, '\0', sizeof(e.code)) != NULL &&
               memchr(e.type, '\0', sizeof(e.type)) != NULL &&
               memchr(e.message, '\0', sizeof(e.message)) != NULL);
    FUZZ_CHECK(fuzz_is_line(e.code) && fuzz_is_line(e.type) &&
               fuzz_is_line(e.message));
    free(status);
    free(body);
    return 0;
}
