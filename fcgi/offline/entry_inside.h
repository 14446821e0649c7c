/* entry_inside.h - one message of the person that is being planned for. For
 * entry*.c alone. */
#ifndef ASIDE_OFFLINE_ENTRY_INSIDE_H
#define ASIDE_OFFLINE_ENTRY_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "fcgi/offline/entry.h"
#include "fcgi/offline/intent.h"
#include "fcgi/offline/say.h"
#include "sql/base/buf.h"

#define ENTRY_MAX_QUESTIONS 3
#define ENTRY_LINE_BYTES    200 /* of other texts within one of ours */

/* One message being planned. Every rule adds calls, notes (what is said
 * about Runs) or questions. */
struct entry {
    struct arena *a;
    const struct chat *chat;
    const struct scene *scene;
    struct plan *plan;
    struct intent intent;
    struct buf notes;
    const char *questions[ENTRY_MAX_QUESTIONS];
    size_t n_questions;
    struct buf pending; /* statements that lead to the next question */
    bool follow_up;     /* calls were made for this message already */
    bool unclear;       /* notes hold a question to the person */
    bool wishes;        /* the message wishes for research */
};

/* --- entry.c --------------------------------------------------------------- */

/* Add a sentence of ours (say.h) to the notes. */
void entry_note(struct entry *, enum say what, const char *one, const char *two,
                const char *three);
/* The text as what the plan says. */
enum rc entry_take_text(struct entry *, const struct buf *text) RC_MUST_CHECK;

/* --- entry_which.c: which Run is meant ------------------------------------- */

#define ENTRY_NOBODY  (-1)
#define ENTRY_UNCLEAR (-2)

typedef bool entry_run_test(const struct scene_run *);
bool entry_is_active(const struct scene_run *);
bool entry_is_awaiting(const struct scene_run *);
bool entry_is_ended(const struct scene_run *);
size_t entry_count_runs(const struct entry *, entry_run_test *);
/* The one Run of this kind that the clause means: its index, ENTRY_NOBODY or
 * ENTRY_UNCLEAR. A single one is meant without being named. RC_NOMEM. */
enum rc entry_resolve(const struct entry *, const struct clause *,
                      entry_run_test *, int *out) RC_MUST_CHECK;
/* Note the question which of these Runs is meant. */
void entry_ask_which(struct entry *, entry_run_test *, enum say what);

/* --- entry_operate.c: what each kind of clause asks for -------------------- */

enum rc entry_consider(struct entry *, const struct clause *) RC_MUST_CHECK;
/* No research can start now, and why. */
void entry_say_full(struct entry *);

/* --- entry_question.c ------------------------------------------------------ */

/* With the statements before it; those beyond ENTRY_MAX_QUESTIONS are left
 * out. RC_NOMEM. */
enum rc entry_add_question(struct entry *, const char *text,
                           size_t len) RC_MUST_CHECK;
void entry_add_statement(struct entry *, const struct clause *);
/* Plan the searches for the i-th question. */
enum rc entry_look_up(struct entry *, size_t i) RC_MUST_CHECK;
/* The answers from what the searches brought. */
enum rc entry_answer_all(struct entry *, struct buf *out) RC_MUST_CHECK;

/* --- entry_follow_up.c ----------------------------------------------------- */

/* Tell what the operations came to, and answer. */
enum rc entry_finish_follow_up(struct entry *) RC_MUST_CHECK;

#endif
