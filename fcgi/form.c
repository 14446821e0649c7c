#include "fcgi/form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/reply.h"
#include "sql/base/utf8.h"

/* Of a name that was sent, a problem shows this much. */
#define SHOWN_BYTES 64

static bool refuse(const struct ask *ask, enum reply_code code,
                   const char *detail)
{
    (void)reply_problem(ask->req, code, detail);
    return false;
}

static bool invalid(const struct ask *ask, const char *name, const char *what)
{
    return refuse(ask, REPLY_INVALID_FIELD,
                  arena_printf(ask->arena, "%s %s.", name, what));
}

static bool is_one_of(const char *name, const char *const names[])
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool form_known_or_reply(const struct ask *ask, const char *const names[])
{
    const cJSON *member = ask->body == NULL ? NULL : ask->body->child;

    for (; member != NULL; member = member->next) {
        const char *name = member->string;

        if (!is_one_of(name, names)) {
            size_t len = utf8_clip(name, strlen(name), SHOWN_BYTES);

            return refuse(ask, REPLY_INVALID_FIELD,
                          arena_printf(ask->arena,
                                       "There is no field \"%.*s\" here.",
                                       (int)len, name));
        }
    }
    return true;
}

/* The member, or NULL if it is left out. */
static const cJSON *member_of(const struct ask *ask, const char *name)
{
    const cJSON *member = json_get(ask->body, name);

    return member == NULL || cJSON_IsNull(member) ? NULL : member;
}

static bool has_content(const char *text)
{
    return text[strspn(text, " \t\r\n\v\f")] != '\0';
}

static bool is_one_line(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

bool form_text_or_reply(const struct ask *ask, const struct form_text *rule,
                        const char **out)
{
    const cJSON *member = member_of(ask, rule->name);
    const char *text;

    if (member == NULL) {
        *out = NULL;
        return !rule->required || invalid(ask, rule->name, "is missing");
    }
    if (!cJSON_IsString(member)) {
        return invalid(ask, rule->name, "is no text");
    }
    text = member->valuestring;
    if (!rule->may_be_empty && !has_content(text)) {
        return invalid(ask, rule->name, "is empty");
    }
    if (strlen(text) > rule->max_bytes) {
        return refuse(ask,
                      rule->too_large_is_413 ? REPLY_MESSAGE_TOO_LARGE
                                             : REPLY_INVALID_FIELD,
                      arena_printf(ask->arena, "%s is longer than %zu bytes.",
                                   rule->name, rule->max_bytes));
    }
    if (rule->one_line && !is_one_line(text)) {
        return invalid(ask, rule->name, "holds control characters");
    }
    *out = text;
    return true;
}

static int index_of(const char *word, const char *const words[], int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

bool form_word_or_reply(const struct ask *ask, const char *name,
                        const char *const words[], int n, int fallback,
                        int *out)
{
    const cJSON *member = member_of(ask, name);
    int i = fallback;

    if (member != NULL) {
        if (!cJSON_IsString(member)) {
            return invalid(ask, name, "is no text");
        }
        i = index_of(member->valuestring, words, n);
        if (i < 0) {
            return invalid(ask, name, "is none of the known words");
        }
    }
    *out = i;
    return true;
}

bool form_flag_or_reply(const struct ask *ask, const char *name, bool *out)
{
    const cJSON *member = member_of(ask, name);

    if (member != NULL && !cJSON_IsBool(member)) {
        return invalid(ask, name, "is neither true nor false");
    }
    *out = member != NULL && cJSON_IsTrue(member);
    return true;
}

bool form_i64_or_reply(const struct ask *ask, const char *name, int64_t min,
                       int64_t max, int64_t fallback, int64_t *out)
{
    const cJSON *member = member_of(ask, name);
    double value = (double)fallback;

    if (member != NULL) {
        if (!cJSON_IsNumber(member)) {
            return invalid(ask, name, "is no number");
        }
        value = member->valuedouble;
        /* Also false for what is no number at all. */
        if (!(value >= (double)min && value <= (double)max)) {
            return invalid(ask, name, "is out of range");
        }
        if (value != (double)(int64_t)value) {
            return invalid(ask, name, "is no whole number");
        }
    }
    *out = (int64_t)value;
    return true;
}

bool form_query_text_or_reply(const struct ask *ask, const char *name,
                              size_t max_bytes, const char **out)
{
    const char *text = req_query(ask->req, name);

    if (text == NULL || text[strspn(text, " ")] == '\0') {
        return invalid(ask, name, "is missing");
    }
    if (strlen(text) > max_bytes) {
        return invalid(ask, name, "is too long");
    }
    *out = text;
    return true;
}

bool form_query_i64_or_reply(const struct ask *ask, const char *name,
                             int64_t min, int64_t max, int64_t fallback,
                             int64_t *out)
{
    const char *text = req_query(ask->req, name);
    long long n;

    if (text == NULL) {
        *out = fallback;
        return true;
    }
    /* Digits alone: strtoll takes white space and signs too. */
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return invalid(ask, name, "is no number");
    }
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (errno != 0 || n < min || n > max) {
        return invalid(ask, name, "is out of range");
    }
    *out = n;
    return true;
}

bool form_query_id_or_reply(const struct ask *ask, const char *name,
                            enum id_kind kind, int64_t *out)
{
    const char *text = req_query(ask->req, name);

    *out = 0;
    if (text != NULL && id_parse(kind, text, out) != RC_OK) {
        return invalid(ask, name, "is no such id");
    }
    return true;
}

bool form_query_word_or_reply(const struct ask *ask, const char *name,
                              const char *const words[], int n, int *out)
{
    const char *text = req_query(ask->req, name);

    *out = text == NULL ? -1 : index_of(text, words, n);
    return text == NULL || *out >= 0 ||
           invalid(ask, name, "is none of the known words");
}

bool form_key_or_reply(const struct ask *ask, bool required, const char **out)
{
    const char *key = req_header(ask->req, "Idempotency-Key");
    size_t len = key == NULL ? 0 : strlen(key);

    *out = key;
    if (key == NULL) {
        return !required || refuse(ask, REPLY_KEY_MISSING, NULL);
    }
    for (size_t i = 0; i < len; i++) {
        if (key[i] < 0x21 || key[i] > 0x7e) {
            len = 0;
        }
    }
    if (len == 0 || len > ASK_MAX_KEY_BYTES) {
        return refuse(ask, REPLY_INVALID_KEY,
                      "It must be 1 to 255 visible ASCII characters.");
    }
    return true;
}
