/* research_inside.h - the next step of a research that is being planned. For
 * research*.c alone. */
#ifndef ASIDE_OFFLINE_RESEARCH_INSIDE_H
#define ASIDE_OFFLINE_RESEARCH_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "fcgi/offline/extract.h"
#include "fcgi/offline/report.h"
#include "fcgi/offline/research.h"
#include "fcgi/offline/say.h"
#include "sql/base/buf.h"

struct research {
    struct arena *a;
    const struct chat *chat;
    const struct scene *scene;
    struct plan *plan;
    struct report_aim aims[SCENE_MAX_REQUIREMENTS];
    size_t n_aims;
    const char *assumed;
    bool subject;       /* the requirements name one */
    const char *chosen; /* the first search of this reply, or NULL */
    struct buf prose;
    struct corpus corpus; /* of the passages found */
    struct query words;   /* of all requirements */
    double worth[SCENE_MAX_PASSAGES];
};

/* --- research.c ------------------------------------------------------------ */

/* The tool is offered and may be called. */
bool research_can(const struct research *, const char *tool);
size_t research_count_adjustments(const struct research *);

/* --- research_say.c: thinking aloud ---------------------------------------- */

void research_say(struct research *, enum say what, const char *one,
                  const char *two, const char *three);
/* Text of documents or people inside a sentence of ours. */
void research_say_text(struct research *, enum say what, const char *text);
/* A page's title as it reads in a line of progress, which is no Markdown. */
void research_put_page(struct buf *, const char *title);
/* How the request was understood, before the first step. */
void research_say_plan(struct research *);
/* What the calls of the last turn brought. */
void research_say_results(struct research *);

/* --- research_search.c, research_read.c, research_deliver.c: the next step -- */

/* Each plans its calls, or none if there is nothing left of its kind. RC_NOMEM,
 * RC_TOO_LARGE. */
enum rc research_plan_search(struct research *) RC_MUST_CHECK;
enum rc research_plan_read(struct research *) RC_MUST_CHECK;
enum rc research_plan_note(struct research *) RC_MUST_CHECK;
enum rc research_plan_delivery(struct research *) RC_MUST_CHECK;

#endif
