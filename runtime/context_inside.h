/* context_inside.h - what the parts that compose a model request's input share:
 * context.c, snapshot.c, reminder.c, trim.c, excerpt.c, recall.c. No other
 * file includes it.
 *
 * Sizes are tokens as tokens_estimate counts them, of the JSON that is sent. */
#ifndef ASIDE_RUNTIME_CONTEXT_INSIDE_H
#define ASIDE_RUNTIME_CONTEXT_INSIDE_H

#include "runtime/runtime.h"

/* --- context.c --------------------------------------------------------- */

int64_t context_size(const struct buf *);
/* What a request may take up beside the answer. */
int64_t context_room(const struct step *);
/* text, or as much of its beginning as takes up max_tokens, marked as cut. */
const char *context_clip(struct step *, const char *text, int64_t max_tokens);
/* A message as the user, with a bridge where the endpoint wants one between it
 * and what stands before it. */
void context_add_user(struct step *, const char *text, struct buf *);
/* A line of Aside's own: [notice]. */
enum rc context_add_notice(struct step *, const char *text,
                           struct buf *) RC_MUST_CHECK;
/* A message of the person under its mark, verbatim. */
enum rc context_add_marked(struct step *, const char *mark, int64_t message_id,
                           struct buf *) RC_MUST_CHECK;
/* A done request's reply and one result for each of its calls. */
enum rc context_add_reply(struct step *, const struct request *,
                          struct buf *) RC_MUST_CHECK;
bool context_is_short(enum request_purpose);

/* --- snapshot.c -------------------------------------------------------- */

struct snapshot {
    enum request_purpose purpose;
    const struct offer *offer;
    int64_t room;    /* for all of it */
    int64_t portion; /* history takes at most one in so many of what is left */
};
/* What a Run begins with: earlier talk as far as there is room, the facts of
 * the moment, the report it goes on from, and its message, always whole. */
enum rc snapshot_add(struct step *, const struct snapshot *,
                     struct buf *) RC_MUST_CHECK;

/* The requirement of a continuation without a message. */
#define CONTEXT_GO_ON "Go on with the earlier research where it was left."

/* --- reminder.c -------------------------------------------------------- */

/* What the last message of a request says; NULL: none, since it is short, or
 * its requirement is its last message as it stands. */
enum rc reminder_text(struct step *, enum request_purpose,
                      const char **out) RC_MUST_CHECK;

/* --- trim.c ------------------------------------------------------------ */

struct trim {
    enum request_purpose purpose;
    const struct offer *offer;
    int64_t room;
};
/* The messages of the next request, put together anew without the oldest
 * look-ups. What is asked stands whole, in order, newest last. RC_TOO_LARGE:
 * even so there is no room for the newest results. */
enum rc trim_compose(struct step *, const struct trim *,
                     struct buf *) RC_MUST_CHECK;

/* --- excerpt.c --------------------------------------------------------- */

struct excerpt {
    const char *result; /* what the tool gave */
    int64_t max_tokens;
    int64_t number; /* of the result, for recall; 0: it cannot be recalled */
    size_t from;    /* so many passages, or bytes of a text, are skipped */
};
/* A tool's result, cut to max_tokens (at least 1) if it is larger: whole
 * passages from its end are left out, or the end of a text; a member "cut", or
 * a last line, says so and how to get at them where there is room to. Pure. */
enum rc excerpt_result(const struct excerpt *, struct buf *) RC_MUST_CHECK;
/* text from a byte on, or as much of it as leaves room for a line that says how
 * to read on. Returns the byte to read on from; 0: that was all. Pure. */
size_t excerpt_text(const char *text, size_t from, int64_t max_tokens,
                    struct buf *);

/* --- recall.c ---------------------------------------------------------- */

/* As a pinned or recalled passage stands in a prompt: number, title, heading,
 * then its text. */
void recall_put_head(const struct source *, struct buf *);

#endif
