/* model_chat.h - the Chat Completions dialect: builds request bodies.
 *
 * A body grows by appending: a head (which holds the system text), any number
 * of message fragments, MODEL_CHAT_TAIL. Every fragment begins with its comma,
 * so that head + fragments + tail is one JSON text wherever it is cut between
 * fragments; a stored prefix can be shared by many bodies.
 *
 * There is no late system message: some endpoints pull them to the front and
 * lose their place. What is said later is said as the user.
 *
 * Texts must be UTF-8; ill-formed bytes and NUL become U+FFFD. A failure stays
 * in the buf: ask buf_rc at the end. Pure: no I/O.
 */
#ifndef ASIDE_RUNTIME_MODEL_CHAT_H
#define ASIDE_RUNTIME_MODEL_CHAT_H

#include "runtime/model/model.h"
#include "runtime/model/model_stream.h"

enum model_chat_role { MODEL_CHAT_USER = 0, MODEL_CHAT_ASSISTANT };

/* What an endpoint wants different from the reference. */
struct model_chat_profile {
    const char *name;
    const char *max_tokens_key; /* member that limits the output */
    bool no_stream_options;     /* refuses the member; counts unasked */
    bool nine_char_ids;         /* call ids are exactly 9 of [A-Za-z0-9] */
    bool no_user_after_tool;    /* nor two user messages in a row */
    bool always_reasoning;      /* wants reasoning_content back beside calls,
                                 * "" where none came. Others get reasoning
                                 * back only if they sent it */
};

/* The profile for an endpoint; static, never NULL. model may be "". */
const struct model_chat_profile *model_chat_profile_for(const char *url,
                                                        const char *model);

struct model_chat_head_options {
    const char *model;
    const char *system;        /* the system text, one for the whole body */
    int64_t max_output_tokens; /* 0: not limited here */
    const char *tools_json;    /* JSON array of tools, or NULL */
    const char *tool_choice;   /* "auto", "none", "required", or NULL */
    bool whole;                /* ask for one JSON reply instead of a stream */
};

/* {"model":...,"messages":[{"role":"system",...} */
void model_chat_head(struct buf *, const struct model_chat_profile *,
                     const struct model_chat_head_options *);

/* ,{"role":"user","content":...} */
void model_chat_message(struct buf *, enum model_chat_role,
                        const char *content);

/* Before a user message that follows a tool result or another user message:
 * writes a short assistant message if the endpoint refuses that order, else
 * nothing. */
void model_chat_bridge(struct buf *, const struct model_chat_profile *);

/* A reply of the model, given back: text and calls verbatim. Arguments that
 * are no JSON object would make some endpoints refuse every later request;
 * they go as {"unparsable_arguments":"<text>"}, and as {} if empty. Reasoning
 * goes only beside calls. Each call must then be answered by one
 * model_chat_tool_result before anything else follows. */
void model_chat_assistant(struct buf *, const struct model_chat_profile *,
                          const struct model_reply *);

/* ,{"role":"tool","tool_call_id":...,"content":...} */
void model_chat_tool_result(struct buf *, const struct model_chat_profile *,
                            const char *call_id, const char *content);

#define MODEL_CHAT_TAIL "]}"

/* The error in the body of a reply that is not 2xx; any bytes will do. */
void model_chat_error(const char *body, size_t len, long status,
                      struct model_error *out);

#endif
