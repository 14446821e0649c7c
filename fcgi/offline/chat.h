/* chat.h - a Chat Completions request, checked and opened.
 *
 * Pure: bytes in, struct out. The tree keeps all texts; chat_free frees it.
 */
#ifndef ASIDE_OFFLINE_CHAT_H
#define ASIDE_OFFLINE_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/hash.h"
#include "sql/base/json.h"
#include "sql/base/rc.h"

#define CHAT_BODY_BYTES   ((size_t)4 * 1024 * 1024)
#define CHAT_MAX_MESSAGES 4096
#define CHAT_MAX_TOOLS    128

struct chat {
    cJSON *root;
    const cJSON *messages; /* a non-empty array of objects with a role */
    const cJSON *tools;    /* an array, or NULL */
    bool stream;
    bool include_usage;
    bool may_call;      /* tools are offered and tool_choice is not "none" */
    int64_t max_tokens; /* of the reply; 0: no limit given */
    const char *model;  /* as asked for, or "offline" */
    size_t body_len;
    char hash[2 * HASH_BYTES + 1]; /* of the request's bytes */
};

/* What is wrong with a request, for wire_error. */
struct chat_flaw {
    const char *message;
    const char *param; /* or NULL */
};

/* RC_INVALID: *flaw says why. RC_NOMEM. */
enum rc chat_parse(const char *body, size_t len, struct chat *out,
                   struct chat_flaw *flaw) RC_MUST_CHECK;
void chat_free(struct chat *);

/* A tool of this name is offered (it may be called if may_call). */
bool chat_offers(const struct chat *, const char *name);
/* True if the tool's parameters have this property, or none are listed. */
bool chat_takes(const struct chat *, const char *name, const char *property);

/* A message's text: a string, or the text parts of an array, joined. "" if
 * there is none. NULL without memory. */
const char *chat_text(struct arena *, const cJSON *message);

/* The usual estimate: four bytes a token, rounded up. */
int64_t chat_tokens(size_t bytes);

#endif
