/* intent.h - what a message asks for, judged by its form.
 *
 * A message is cut into clauses; each is a question, a wish for research, a
 * change to research, and so on. Form decides, not topic: "Also, what is X?"
 * is a question, "Also cover X" is a change. Which Run is meant, and whether
 * the operation is possible now, is for the planner to say.
 */
#ifndef ASIDE_OFFLINE_INTENT_H
#define ASIDE_OFFLINE_INTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/rc.h"

#define INTENT_MAX_CLAUSES 16

enum intent_kind {
    INTENT_QUESTION = 0, /* wants an answer now */
    INTENT_STATEMENT,    /* neither asks nor commands */
    INTENT_SMALLTALK,    /* "thanks" */
    INTENT_RESEARCH,     /* wants (more) research */
    INTENT_CHANGE,       /* changes research: "also cover X" */
    INTENT_STOP,
    INTENT_STATUS,
    INTENT_CONTINUE,
    INTENT_REPLY, /* says of itself that it replies */
    INTENT__MAX
};

struct clause {
    enum intent_kind kind;
    const char *text; /* in the message */
    size_t len;
    bool names_research; /* "the research", "the report" */
    bool adds;           /* CHANGE: "also", "add", "instead": never a reply */
    bool all;            /* STOP: "all", "both" */
    bool deep;           /* RESEARCH: "in depth" */
};

struct intent {
    struct clause v[INTENT_MAX_CLAUSES];
    size_t n;
};

/* subjects: titles of the Runs, so that "status of <title>" is understood;
 * NULL is allowed. RC_NOMEM. */
enum rc intent_read(const char *message, const char *const *subjects,
                    size_t n_subjects, struct intent *out) RC_MUST_CHECK;

/* The part of text that says what to research: "please research X in depth"
 * gives "X". A slice of text; may be empty. */
const char *intent_substance(const char *text, size_t *len);

#endif
