/* fuzz_json.c - JSON bodies: what is taken is well-formed, bounded, and the
 * same when it is printed and read again. */
#include <stdlib.h>
#include <string.h>

#include "sql/base/json.h"
#include "tests/fuzz/fuzz.h"

static int depth_of(const cJSON *value)
{
    int deepest = 0;

    for (const cJSON *c = value->child; c != NULL; c = c->next) {
        int depth = depth_of(c);

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (cJSON_IsArray(value) || cJSON_IsObject(value) ? 1 : 0);
}

static void check_members(const cJSON *tree)
{
    const cJSON *c;
    int64_t n = 0;

    cJSON_ArrayForEach(c, tree)
    {
        if (c->string == NULL) {
            continue;
        }
        FUZZ_CHECK(json_get(tree, c->string) == c);
        FUZZ_CHECK(fuzz_is_text(c->string, strlen(c->string)));
        FUZZ_CHECK(fuzz_is_text(json_str(tree, c->string, ""),
                                strlen(json_str(tree, c->string, ""))));
        if (json_i64(tree, c->string, &n) == RC_OK) {
            FUZZ_CHECK(n >= -(INT64_C(1) << 53) && n <= INT64_C(1) << 53);
        }
    }
}

static void check_tree(const cJSON *tree, size_t len)
{
    struct buf first, second;
    cJSON *again = NULL;

    FUZZ_CHECK(depth_of(tree) <= JSON_MAX_DEPTH);
    check_members(tree);
    buf_init(&first, 64 * len + 64);
    buf_init(&second, 64 * len + 64);
    FUZZ_CHECK(json_print(tree, &first) == RC_OK);
    FUZZ_CHECK(json_parse(buf_str(&first), first.len, &again, NULL) == RC_OK);
    FUZZ_CHECK(json_print(again, &second) == RC_OK);
    FUZZ_CHECK(fuzz_same(&first, &second));
    FUZZ_CHECK(len > 4096 || json_same(tree, tree));
    json_free(again);
    buf_free(&first);
    buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *text = fuzz_rest(&in);
    enum json_flaw flaw = JSON_FLAW_NONE;
    cJSON *tree = NULL;
    enum rc rc = json_parse(text, len, &tree, &flaw);

    if (rc == RC_OK) {
        FUZZ_CHECK(fuzz_is_text(text, len));
        check_tree(tree, len);
    } else {
        FUZZ_CHECK(rc == RC_INVALID && tree == NULL);
        FUZZ_CHECK(flaw > JSON_FLAW_NONE && flaw < JSON_FLAW__MAX);
        FUZZ_CHECK(fuzz_is_line(json_flaw_text(flaw)));
    }
    json_free(tree);
    free(text);
    return 0;
}
