/* topic.h - what a requirement is about: its title, the things it compares,
 * the aspects it names, and the searches that follow from them.
 *
 * "How does WAL mode change concurrency and durability compared with rollback
 * journals?" has the sides "WAL mode" and "rollback journals" and the aspects
 * "concurrency" and "durability". All by form: nothing here knows a subject.
 */
#ifndef ASIDE_OFFLINE_TOPIC_H
#define ASIDE_OFFLINE_TOPIC_H

#include <stddef.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define TOPIC_MAX_ASPECTS 5
#define TOPIC_MAX_PHRASES 8
#define TOPIC_MAX_QUERIES 10

struct topic {
    const char *text;    /* the requirement, cleaned: what it is about */
    const char *side[2]; /* the things compared, or NULL both */
    const char *subject; /* first phrase, or NULL if there is no phrase */
    const char *aspect[TOPIC_MAX_ASPECTS];
    size_t n_aspects;
    const char *phrase[TOPIC_MAX_PHRASES]; /* all of them, in order */
    size_t n_phrases;
};

/* text is the requirement without the words that only ask for research
 * (intent_substance). RC_NOMEM. */
enum rc topic_read(struct arena *, const char *text, size_t len,
                   struct topic *out) RC_MUST_CHECK;

/* Searches for a requirement, the widest first, no two equal. base is the
 * topic of the request when t is an adjustment to it, else NULL: an
 * adjustment is looked up beside the things the request is about. Returns
 * their number (at most TOPIC_MAX_QUERIES); RC_NOMEM leaves it at 0. */
enum rc topic_queries(struct arena *, const struct topic *t,
                      const struct topic *base,
                      const char *out[TOPIC_MAX_QUERIES],
                      size_t *n) RC_MUST_CHECK;

/* A title of at most 80 bytes. NULL without memory. */
const char *topic_title(struct arena *, const char *text, size_t len);

/* The words of a text that carry meaning, in order, separated by spaces: what
 * a search is asked for. "" if there are none; NULL without memory. */
const char *topic_terms(struct arena *, const char *text, size_t len);

/* True if any word of the text is about a subject. */
enum rc topic_has_subject(struct arena *, const char *text, size_t len,
                          int *out) RC_MUST_CHECK;

#endif
