#include "sql/base/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/json_text.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* RC_INVALID if two of n members have one name. Sorted, because a body may
 * hold tens of thousands. */
static enum rc check_members(const cJSON *object, size_t n)
{
    const char *few[16];
    const char **names = few;
    enum rc rc = RC_OK;
    const cJSON *m;
    size_t i = 0;

    if (n > sizeof(few) / sizeof(few[0])) {
        names = calloc(n, sizeof(*names));
        if (names == NULL) {
            return RC_NOMEM;
        }
    }
    cJSON_ArrayForEach(m, object)
    {
        names[i++] = m->string;
    }
    qsort(names, n, sizeof(*names), by_name);
    for (i = 1; i < n && rc == RC_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            rc = RC_INVALID;
        }
    }
    if (names != few) {
        free(names);
    }
    return rc;
}

/* No deeper than JSON_MAX_DEPTH: json_text_flaw has seen to it. */
static enum rc check_tree(const cJSON *value)
{
    const cJSON *m;
    size_t n = 0;

    cJSON_ArrayForEach(m, value)
    {
        enum rc rc = check_tree(m);
        if (rc != RC_OK) {
            return rc;
        }
        n++;
    }
    return cJSON_IsObject(value) && n > 1 ? check_members(value, n) : RC_OK;
}

enum rc json_parse(const char *text, size_t len, cJSON **out,
                   enum json_flaw *flaw)
{
    enum json_flaw ignored;
    cJSON *tree;
    enum rc rc;

    if (flaw == NULL) {
        flaw = &ignored;
    }
    *flaw = json_text_flaw(text, len);
    if (*flaw != JSON_FLAW_NONE) {
        return RC_INVALID;
    }
    tree = cJSON_ParseWithLengthOpts(text, len, NULL, 0);
    if (tree == NULL) {
        /* The grammar holds, so only memory can be missing. */
        return RC_NOMEM;
    }
    rc = check_tree(tree);
    if (rc != RC_OK) {
        *flaw = rc == RC_INVALID ? JSON_FLAW_DUPLICATE : JSON_FLAW_NONE;
        cJSON_Delete(tree);
        return rc;
    }
    *out = tree;
    return RC_OK;
}

void json_free(cJSON *tree)
{
    cJSON_Delete(tree);
}

const char *json_flaw_text(enum json_flaw flaw)
{
    static const char *const text[JSON_FLAW__MAX] = {
        [JSON_FLAW_NONE] = "is well-formed",
        [JSON_FLAW_EMPTY] = "is empty",
        [JSON_FLAW_UTF8] = "is not valid UTF-8",
        [JSON_FLAW_NUL] = "holds a NUL character",
        [JSON_FLAW_SYNTAX] = "is not JSON",
        [JSON_FLAW_DEPTH] = "is nested too deeply",
        [JSON_FLAW_DUPLICATE] = "names a member twice",
        [JSON_FLAW_SURROGATE] = "holds half of a surrogate pair",
    };

    assert(flaw < JSON_FLAW__MAX);
    return text[flaw];
}

/* --- members -------------------------------------------------------------- */

const cJSON *json_get(const cJSON *object, const char *name)
{
    if (!cJSON_IsObject(object)) {
        return NULL;
    }
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *json_str(const cJSON *object, const char *name,
                     const char *fallback)
{
    const cJSON *m = json_get(object, name);

    return cJSON_IsString(m) ? m->valuestring : fallback;
}

enum rc json_i64(const cJSON *object, const char *name, int64_t *out)
{
    const double largest = 9007199254740992.0; /* 2^53 */
    const cJSON *m = json_get(object, name);

    if (m == NULL || cJSON_IsNull(m)) {
        return RC_NOT_FOUND;
    }
    /* Infinity fails the range, and so would NaN. */
    if (!cJSON_IsNumber(m) || !(fabs(m->valuedouble) <= largest) ||
        floor(m->valuedouble) < m->valuedouble) {
        return RC_INVALID;
    }
    *out = (int64_t)m->valuedouble;
    return RC_OK;
}

bool json_same(const cJSON *a, const cJSON *b)
{
    return cJSON_Compare(a, b, true) != 0;
}

enum rc json_print(const cJSON *tree, struct buf *out)
{
    char *text = cJSON_PrintUnformatted(tree);

    if (text == NULL) {
        return RC_NOMEM;
    }
    buf_puts(out, text);
    cJSON_free(text);
    return buf_rc(out);
}
