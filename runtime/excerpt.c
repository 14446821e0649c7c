/* excerpt.c - results that are too large for a prompt are cut where it hurts
 * least: at their end, passage by passage, and never silently. */
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/tokens.h"

#define CUT_SEARCH                                                             \
    "passages are left out here for want of room; search more narrowly, or "   \
    "read on from one with library_read"
#define CUT_READ                                                               \
    "the rest of this part is left out here for want of room; read on with "   \
    "library_read and a larger from"
#define CUT_TEXT "\n[cut here for want of room]"

static int64_t size_of(const cJSON *tree)
{
    struct buf text;
    int64_t size = INT64_MAX;

    buf_init(&text, 16u << 20);
    if (json_print(tree, &text) == RC_OK) {
        size = tokens_estimate(buf_str(&text), text.len);
    }
    buf_free(&text);
    return size;
}

/* The one passage that is left gets the beginning of its text. */
static void shorten(cJSON *passage, int64_t excess)
{
    cJSON *text = cJSON_GetObjectItemCaseSensitive(passage, "text");
    int64_t keep;

    if (!cJSON_IsString(text)) {
        return;
    }
    keep =
        tokens_estimate(text->valuestring, strlen(text->valuestring)) - excess;
    text->valuestring[tokens_clip(text->valuestring, strlen(text->valuestring),
                                  keep)] = '\0';
}

static void cut_passages(cJSON *tree, cJSON *passages, int64_t max_tokens)
{
    bool read = json_get(tree, "location") != NULL;
    int64_t size;

    (void)cJSON_AddStringToObject(tree, "cut", read ? CUT_READ : CUT_SEARCH);
    size = size_of(tree);
    while (size > max_tokens && cJSON_GetArraySize(passages) > 1) {
        cJSON_DeleteItemFromArray(passages, cJSON_GetArraySize(passages) - 1);
        size = size_of(tree);
    }
    if (size > max_tokens) {
        shorten(cJSON_GetArrayItem(passages, 0), size - max_tokens);
    }
}

static void cut_text(const char *text, int64_t max_tokens, struct buf *out)
{
    int64_t keep = max_tokens - tokens_estimate(CUT_TEXT, strlen(CUT_TEXT));

    buf_add(out, text, tokens_clip(text, strlen(text), keep));
    buf_puts(out, CUT_TEXT);
}

enum rc excerpt_result(const char *result, int64_t max_tokens, struct buf *out)
{
    size_t len = strlen(result);
    cJSON *tree = NULL;
    cJSON *passages;
    enum rc rc = RC_OK;

    if (tokens_estimate(result, len) <= max_tokens) {
        buf_add(out, result, len);
        return buf_rc(out);
    }
    if (json_parse(result, len, &tree, NULL) != RC_OK) {
        cut_text(result, max_tokens, out);
        return buf_rc(out);
    }
    passages = cJSON_GetObjectItemCaseSensitive(tree, "passages");
    if (cJSON_GetArraySize(passages) > 0) {
        cut_passages(tree, passages, max_tokens);
        rc = json_print(tree, out);
    } else {
        cut_text(result, max_tokens, out);
    }
    json_free(tree);
    return rc == RC_OK ? buf_rc(out) : rc;
}
