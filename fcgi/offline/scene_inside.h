/* scene_inside.h - a scene that is being read from a request's messages. For
 * scene*.c alone. */
#ifndef ASIDE_OFFLINE_SCENE_INSIDE_H
#define ASIDE_OFFLINE_SCENE_INSIDE_H

#include <stdbool.h>

#include "fcgi/offline/scene.h"

/* One reading, from the first message to the last. */
struct reading {
    struct arena *a;
    const struct chat *chat;
    struct scene *out;
    const char *ids[SCENE_MAX_CALLS]; /* of out->calls */
};

/* --- scene_marks.c: what Aside writes around texts ------------------------- */

bool scene_begins(const char *s, const char *with);
/* from up to to, without the white space around it. NULL: no memory. */
char *scene_trimmed(struct arena *, const char *from, const char *to);
/* One of Aside's messages without the marks of data in it; NULL: no memory. */
const char *scene_without_marks(struct arena *, const char *text);
/* What stands within the marks of data; NULL: no memory. Results are one line
 * of JSON, or plain text. */
const char *scene_unmarked(struct arena *, const char *text);

/* --- scene_facts.c: the Runs that may be named ----------------------------- */

/* The message that lists them. RC_NOMEM. */
enum rc scene_read_facts(struct reading *, const char *text) RC_MUST_CHECK;

/* --- scene_passage.c: what was found --------------------------------------- */

/* The passages of one result, which is call's: how many came, and which first,
 * is written there. */
void scene_read_passages(struct scene *, const cJSON *result,
                         struct scene_call *call);
/* Lines that scene_note_line wrote. RC_NOMEM. */
enum rc scene_read_notes(struct reading *, const char *text) RC_MUST_CHECK;

/* --- scene_call.c: what was done ------------------------------------------- */

/* The calls of one message of the model. RC_NOMEM. */
enum rc scene_read_calls(struct reading *, const cJSON *m) RC_MUST_CHECK;
/* A tool's message: the result of one of these calls. RC_NOMEM. */
enum rc scene_read_result(struct reading *, const cJSON *m) RC_MUST_CHECK;

#endif
