/* sentence.h - passages cut into sentences that can be ranked and quoted.
 *
 * The only thing that is ever said about a subject is a sentence that stands
 * in a passage, so this is where all answers come from. Pure and without
 * state.
 */
#ifndef ASIDE_OFFLINE_SENTENCE_H
#define ASIDE_OFFLINE_SENTENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/offline/words.h"
#include "sql/base/arena.h"
#include "sql/base/rc.h"

#define SENTENCE_MAX 8192 /* of one corpus */
/* Of one passage; the rest is left. */
#define SENTENCE_PASSAGE_BYTES ((size_t)16 * 1024)
#define SENTENCE_MAX_USED      128  /* more are not remembered as quoted */
#define SENTENCE_MAX_BYTES     1200 /* longer ones are no sentences */

struct passage {
    int64_t n; /* the number to cite */
    const char *title;
    const char *location;
    const char *heading; /* "" if there is none */
    const char *text;
};

struct sentence {
    const struct passage *from;
    const char *text; /* as it stands, line ends included */
    size_t len;
    const struct sentence *before; /* in the same paragraph, or NULL */
    uint32_t *keys;                /* of its words without stop words, sorted */
    size_t n_keys;
    size_t n_words; /* stop words included */
    uint32_t first_key;
    double form;   /* 0 to 1: how well it stands as a quotation */
    bool dangling; /* leans on the sentence before: "This ..." */
    bool defines;  /* "... is called ...", "X is a ..." */
    bool points;   /* "See ...", or an entry in a list of changes */
    bool shows;    /* "... as shown below" */
    bool used;     /* already quoted */
};

struct corpus {
    struct sentence *v;
    size_t n;
    const struct passage *passages;
    size_t n_passages;
    struct words *heads; /* words of title and heading, by passage */
    struct words *tails; /* of the last part of "Outer > Inner" alone */
    const struct sentence *used[SENTENCE_MAX_USED]; /* quoted so far */
    size_t n_used;
};

/* Cut the passages into sentences. They stay by reference. RC_NOMEM. */
enum rc sentence_corpus(struct arena *, const struct passage *, size_t n,
                        struct corpus *out) RC_MUST_CHECK;

/* How much of a passage's text is looked at, in whole characters. */
size_t sentence_text_len(const struct passage *);

/* The next sentence of text[*at..len): its place goes to *start and *end (both
 * without white space at the rim), *at moves behind it, and *breaks tells
 * that a paragraph or list item ends there. False at the end of the text. */
struct sentence_span {
    size_t start;
    size_t end;
    bool breaks;
};
bool sentence_next(const char *text, size_t len, size_t *at,
                   struct sentence_span *out);

#endif
