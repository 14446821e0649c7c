/* model_error.c - providers agree neither on the shape of an error nor on its
 * words. What they name (code, type) counts before what they say, and both
 * before the status, which proxies make up. */
#include "runtime/model/model_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_text.h"
#include "sql/base/utf8.h"

#define BODY_MAX_BYTES ((size_t)64 * 1024)

struct sign {
    const char *words; /* found anywhere, in either case */
    enum model_error_kind kind;
};

/* In code or type. */
static const struct sign NAMED[] = {
    {"insufficient_quota", MODEL_ERROR_QUOTA},
    {"quota_exceeded", MODEL_ERROR_QUOTA},
    {"insufficient_balance", MODEL_ERROR_QUOTA},
    {"insufficient_credits", MODEL_ERROR_QUOTA},
    {"billing", MODEL_ERROR_QUOTA},
    {"context_length", MODEL_ERROR_CONTEXT},
    {"exceed_context_size", MODEL_ERROR_CONTEXT},
    {"rate_limit", MODEL_ERROR_RATE},
    {"overloaded", MODEL_ERROR_RATE},
    {"invalid_api_key", MODEL_ERROR_AUTH},
    {"authentication", MODEL_ERROR_AUTH},
    {"permission", MODEL_ERROR_AUTH},
};

/* In the message. The throttle of one provider names its billing page, so
 * "rate limit" comes first. */
static const struct sign SAID[] = {
    {"tools with stream", MODEL_ERROR_NO_STREAM},
    {"context length", MODEL_ERROR_CONTEXT},
    {"context window", MODEL_ERROR_CONTEXT},
    {"context size", MODEL_ERROR_CONTEXT},
    {"maximum context", MODEL_ERROR_CONTEXT},
    {"prompt is too long", MODEL_ERROR_CONTEXT},
    {"no user query found", MODEL_ERROR_CONTEXT},
    {"rate limit", MODEL_ERROR_RATE},
    {"insufficient quota", MODEL_ERROR_QUOTA},
    {"exceeded your current quota", MODEL_ERROR_QUOTA},
    {"insufficient balance", MODEL_ERROR_QUOTA},
    {"insufficient credits", MODEL_ERROR_QUOTA},
    {"overloaded", MODEL_ERROR_RATE},
};

static enum model_error_kind kind_by(const struct sign *signs, size_t n,
                                     const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasestr(text, signs[i].words) != NULL) {
            return signs[i].kind;
        }
    }
    return MODEL_ERROR_NONE;
}

static enum model_error_kind kind_by_status(long status)
{
    switch (status) {
    case 401:
    case 403:
        return MODEL_ERROR_AUTH;
    case 402:
        return MODEL_ERROR_QUOTA;
    case 413:
        return MODEL_ERROR_CONTEXT;
    case 429:
    case 503:
    case 529:
        return MODEL_ERROR_RATE;
    default:
        return MODEL_ERROR_OTHER;
    }
}

static void classify(struct model_error *e)
{
    const size_t n_named = sizeof(NAMED) / sizeof(NAMED[0]);
    const size_t n_said = sizeof(SAID) / sizeof(SAID[0]);

    e->kind = kind_by(NAMED, n_named, e->code);
    if (e->kind == MODEL_ERROR_NONE) {
        e->kind = kind_by(NAMED, n_named, e->type);
    }
    if (e->kind == MODEL_ERROR_NONE) {
        e->kind = kind_by(SAID, n_said, e->message);
    }
    if (e->kind == MODEL_ERROR_NONE) {
        e->kind = kind_by_status(e->status);
    }
}

/* One line of valid UTF-8, cut to fit without splitting a code point. */
static void copy_line(char *out, size_t out_len, const char *s, size_t len)
{
    size_t used = 0;

    /* Mending never makes it shorter than what fits of the original. */
    len = utf8_clip(s, len, out_len - 1);
    for (size_t i = 0; i < len;) {
        char mended[3 * 4 + 1];
        size_t n = 1;
        size_t got;

        while (n < 4 && i + n < len &&
               ((unsigned char)s[i + n] & 0xc0) == 0x80) {
            n++;
        }
        got = utf8_repair(s + i, n, mended);
        if (got >= out_len - used) {
            break;
        }
        memcpy(out + used, mended, got);
        used += got;
        i += n;
    }
    out[used] = '\0';
    for (char *p = out; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            *p = ' ';
        }
    }
}

static void copy_str(char *out, size_t out_len, const char *s)
{
    copy_line(out, out_len, s, strlen(s));
}

/* A code is a word or a number; a number that is a status is both. */
static void read_code(const cJSON *object, struct model_error *e)
{
    const cJSON *code = json_get(object, "code");
    int64_t n;

    if (cJSON_IsString(code)) {
        copy_str(e->code, sizeof(e->code), code->valuestring);
    } else if (json_i64(object, "code", &n) == RC_OK) {
        (void)snprintf(e->code, sizeof(e->code), "%lld", (long long)n);
        if (e->status < 400 && n >= 400 && n < 600) {
            e->status = (long)n;
        }
    }
}

static void read_message(const cJSON *object, struct model_error *e)
{
    const char *message = json_str(object, "message", "");
    /* What the provider behind a router said. */
    const char *raw = json_str(json_get(object, "metadata"), "raw", NULL);
    const cJSON *detail = json_get(object, "detail");
    char *text = NULL;

    if (message[0] == '\0' && cJSON_IsString(detail)) {
        message = detail->valuestring;
    } else if (message[0] == '\0' && detail != NULL) {
        text = cJSON_PrintUnformatted(detail);
        message = text == NULL ? "" : text;
    }
    copy_str(e->message, sizeof(e->message), message);
    if (raw != NULL) {
        size_t used = strlen(e->message);
        if (used + 3 < sizeof(e->message)) {
            memcpy(e->message + used, ": ", 3);
            copy_str(e->message + used + 2, sizeof(e->message) - used - 2, raw);
        }
    }
    cJSON_free(text);
}

static void read_object(const cJSON *object, struct model_error *e)
{
    const cJSON *inner = json_get(object, "error");

    if (cJSON_IsString(inner)) {
        copy_str(e->message, sizeof(e->message), inner->valuestring);
        return;
    }
    if (cJSON_IsObject(inner)) {
        object = inner;
    }
    copy_str(e->type, sizeof(e->type), json_str(object, "type", ""));
    read_code(object, e);
    read_message(object, e);
    if (json_i64(object, "n_prompt_tokens", &e->prompt_tokens) != RC_OK) {
        e->prompt_tokens = -1;
    }
    if (json_i64(object, "n_ctx", &e->context_tokens) != RC_OK) {
        e->context_tokens = -1;
    }
}

void model_error_read(const cJSON *json, long status, struct model_error *out)
{
    *out = (struct model_error){
        .status = status, .prompt_tokens = -1, .context_tokens = -1};
    if (cJSON_IsArray(json)) {
        json = cJSON_GetArrayItem(json, 0);
    }
    if (json != NULL) {
        read_object(json, out);
    }
    if (out->message[0] == '\0') {
        (void)snprintf(out->message, sizeof(out->message),
                       out->status > 0 ? "HTTP %ld" : "no message",
                       out->status);
    }
    classify(out);
}

void model_error_from_body(const char *body, size_t len, long status,
                           struct model_error *out)
{
    cJSON *tree = NULL;
    size_t skip = 0;
    char *copy;

    if (len > BODY_MAX_BYTES) {
        len = BODY_MAX_BYTES;
    }
    copy = malloc(len + 1);
    if (copy != NULL) {
        memcpy(copy, body, len);
        copy[len] = '\0';
        if (strncmp(copy, "data:", 5) == 0) {
            skip = 5;
            len = strcspn(copy, "\r\n");
        }
        tree = model_text_parse(copy + skip, len - skip);
    }
    model_error_read(tree, status, out);
    if (tree == NULL && copy != NULL && len > 0 && copy[0] != '<') {
        /* Not JSON, and no page of a proxy either: likely some words. */
        copy_line(out->message, sizeof(out->message), copy, len);
        classify(out);
    }
    json_free(tree);
    free(copy);
}

void model_error_set(struct model_error *out, const char *code,
                     const char *message)
{
    *out = (struct model_error){.kind = MODEL_ERROR_OTHER,
                                .ours = true,
                                .prompt_tokens = -1,
                                .context_tokens = -1};
    copy_str(out->code, sizeof(out->code), code);
    copy_str(out->message, sizeof(out->message), message);
}
