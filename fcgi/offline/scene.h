/* scene.h - what the messages of a request say.
 *
 * The offline model has no memory: the person's message, the Runs that may be
 * named, the requirements of a research, the calls made so far and the
 * passages they brought are all read from the request, every time.
 *
 * Results of tools are data. Nothing in them is ever taken for a message,
 * a requirement or a fact about Runs.
 */
#ifndef ASIDE_OFFLINE_SCENE_H
#define ASIDE_OFFLINE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/offline/chat.h"
#include "fcgi/offline/sentence.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define SCENE_MAX_RUNS         32
#define SCENE_MAX_REQUIREMENTS 32
#define SCENE_MAX_CALLS        256
#define SCENE_MAX_PASSAGES     384

enum scene_purpose {
    SCENE_ENTRY = 0, /* operations on research are offered */
    SCENE_ANSWER,    /* an answer is wanted */
    SCENE_RESEARCH,  /* deliver_report and more are offered */
    SCENE_CLOSEOUT   /* deliver_report alone is offered */
};

enum scene_state { SCENE_RUNNING = 0, SCENE_AWAITING, SCENE_ENDED };

struct scene_run {
    const char *id;
    enum scene_state state;
    const char *state_text; /* as it was listed: "awaiting_input" */
    const char *title;
    const char *rest; /* "elapsed 12 s | progress: ...", or "" */
};

enum scene_requirement_kind {
    SCENE_REQUEST = 0,
    SCENE_ADJUSTMENT,
    SCENE_REPLY
};

struct scene_requirement {
    enum scene_requirement_kind kind;
    const char *id;
    const char *text; /* verbatim */
};

struct scene_call {
    const char *name;
    const cJSON *arguments; /* an object, or NULL if it was not readable */
    const char *result;     /* NULL: not answered */
    const cJSON *tree;      /* the result, if it is JSON */
    bool failed;
    bool limit;        /* the budget has no more of these */
    size_t turn;       /* which assistant message, from 0 */
    size_t n_passages; /* it brought */
    size_t n_new;      /* of these, not seen before */
    int64_t best;      /* index of its first passage, or -1 */
};

struct scene {
    enum scene_purpose purpose;
    const char *message;  /* the last one of the person; "" if there is none */
    const char *previous; /* the one before; "" */
    const char *earlier;  /* title of the research this one goes on from; "" */
    bool chinese;         /* the person writes Chinese */
    struct scene_run runs[SCENE_MAX_RUNS];
    size_t n_runs;
    struct scene_requirement requirements[SCENE_MAX_REQUIREMENTS];
    size_t n_requirements;
    bool deliver_now; /* a notice since the last reply asks for the report */
    struct scene_call calls[SCENE_MAX_CALLS]; /* since message, or of the Run */
    size_t n_calls;
    size_t n_turns;
    struct passage passages[SCENE_MAX_PASSAGES];
    size_t n_passages;
    cJSON *owned[2 * SCENE_MAX_CALLS]; /* trees of arguments and results */
    size_t n_owned;
};

/* RC_NOMEM. The scene's texts belong to the chat and the arena. In any
 * case the caller ends it with scene_free. */
enum rc scene_read(struct arena *, const struct chat *,
                   struct scene *out) RC_MUST_CHECK;

void scene_free(struct scene *);

/* Calls of this name so far, and those of them that failed. */
size_t scene_count(const struct scene *, const char *name, bool failed_only);

/* The text that notes hold for a passage, so that a later request, in which
 * the passage itself was trimmed, can still quote it:
 * [3] Title — location — heading: “text” */
const char *scene_note_line(struct arena *, const struct passage *,
                            const char *text, size_t len);

#endif
