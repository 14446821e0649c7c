/* phrases.h - the phrases by which the form of a message is judged.
 *
 * Each list ends with NULL. English phrases match whole words, Chinese ones
 * match anywhere. Nothing here names a subject.
 */
#ifndef ASIDE_OFFLINE_PHRASES_H
#define ASIDE_OFFLINE_PHRASES_H

#include <stdbool.h>
#include <stddef.h>

/* Clauses are compared in a plain form: lower case, words and '?' parted by
 * one space, a space at both rims, other punctuation gone, so that " stop it "
 * finds whole words. Phrases in Chinese are found anywhere. */
#define PLAIN_BYTES 512

struct plain {
    char text[PLAIN_BYTES];
    size_t len;
    bool asks; /* ends with a question mark */
};

void phrases_plain(const char *, size_t len, struct plain *out);

/* The phrase, or any of a list, stands in a plain text. */
bool phrases_has(const char *plain, const char *phrase);
bool phrases_has_any(const char *plain, const char *const *list);

/* Length of the longest phrase of list that begins at plain[1], or 0. */
size_t phrases_start(const char *plain, const char *const *list);

/* --- the lists -------------------------------------------------------------
 */

extern const char *const phrases_filler[];
/* Polite forms of a command; what follows decides. */
extern const char *const phrases_polite[];
extern const char *const phrases_also[];
extern const char *const phrases_interrogative[];
/* Commands that ask for an answer, whatever runs. */
extern const char *const phrases_tell_verb[];
/* Commands that ask for an answer, unless they say "also". */
extern const char *const phrases_expound_verb[];
extern const char *const phrases_cjk_asks[];
extern const char *const phrases_research_verb[];
/* With one of these a command asks for research, whatever its verb is. */
extern const char *const phrases_thorough[];
extern const char *const phrases_deep[];
extern const char *const phrases_the_research[];
extern const char *const phrases_change_verb[];
/* These add to or replace what was asked: never a reply to a question. */
extern const char *const phrases_adding[];
extern const char *const phrases_stop_verb[];
/* What may stand behind "stop" for it to mean a Run. */
extern const char *const phrases_stop_object[];
extern const char *const phrases_status_phrase[];
/* Words that a question about a Run may hold beside its title. */
extern const char *const phrases_status_words[];
extern const char *const phrases_continue_verb[];
extern const char *const phrases_reply_phrase[];
extern const char *const phrases_smalltalk[];

#endif
