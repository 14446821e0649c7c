/* model_calls.h - puts the tool calls of one reply together from pieces. */
#ifndef ASIDE_RUNTIME_MODEL_CALLS_H
#define ASIDE_RUNTIME_MODEL_CALLS_H

#include "runtime/model/model.h"
#include "sql/base/json.h"

struct model_slot;

struct model_calls {
    struct model_slot *slots;
    struct model_call *view; /* as many as slots */
    size_t n;
    size_t max;
    size_t arguments_limit; /* bytes of one call's arguments */
    size_t arguments_left;  /* that may still come, of all calls */
    bool full;              /* more came than is taken, and was dropped */
    bool closed;
    enum rc rc; /* first failure */
};

struct model_calls_limits {
    size_t calls;
    size_t arguments_bytes;     /* of one call */
    size_t all_arguments_bytes; /* of all of them */
};
void model_calls_init(struct model_calls *, const struct model_calls_limits *);
void model_calls_free(struct model_calls *);

/* The tool_calls member of a delta, or of a whole message (whole: each element
 * is a call of its own). Anything but an array is ignored. */
void model_calls_add(struct model_calls *, const cJSON *tool_calls, bool whole);

/* Nothing more comes: drops slots that hold nothing, judges the arguments and
 * gives a name <prefix>_<position> to calls without an id of their own, or with
 * one that begins with the prefix. */
void model_calls_close(struct model_calls *, const char *id_prefix);

/* The calls, in the order in which they began; valid until the next add. */
const struct model_call *model_calls_view(struct model_calls *);

#endif
