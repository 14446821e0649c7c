#include "sql/base/id.h"

#include <assert.h>
#include <string.h>

#include "sql/base/decimal.h"

static const char *const PREFIX[ID__MAX] = {
    [ID_CONVERSATION] = "conv_", [ID_MESSAGE] = "msg_",
    [ID_RUN] = "run_",           [ID_HANDOFF] = "hand_",
    [ID_REQUEST] = "req_",       [ID_TOOL_CALL] = "call_",
    [ID_SOURCE] = "src_",        [ID_NOTIFICATION] = "note_",
    [ID_AUDIT] = "audit_",       [ID_SESSION] = "sess_",
    [ID_TOKEN] = "tok_",         [ID_APPROVAL] = "appr_",
};

const char *id_text(enum id_kind kind, int64_t n, char out[ID_TEXT_BYTES])
{
    char digits[DECIMAL_BYTES];
    char *end = digits + sizeof(digits);
    const char *first;
    size_t prefix_len;

    assert(kind < ID__MAX && n > 0);
    prefix_len = strlen(PREFIX[kind]);
    first = decimal_before(end, n);
    memcpy(out, PREFIX[kind], prefix_len);
    memcpy(out + prefix_len, first, (size_t)(end - first));
    out[prefix_len + (size_t)(end - first)] = '\0';
    return out;
}

enum rc id_parse(enum id_kind kind, const char *text, int64_t *n)
{
    size_t prefix_len;
    int64_t value = 0;

    assert(kind < ID__MAX);
    prefix_len = strlen(PREFIX[kind]);
    if (text == NULL || strncmp(text, PREFIX[kind], prefix_len) != 0) {
        return RC_INVALID;
    }
    text += prefix_len;
    /* No sign, no leading zero, at least one digit. */
    if (*text < '1' || *text > '9') {
        return RC_INVALID;
    }
    for (; *text != '\0'; text++) {
        int digit = *text - '0';
        if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) {
            return RC_INVALID;
        }
        value = value * 10 + digit;
    }
    *n = value;
    return RC_OK;
}
