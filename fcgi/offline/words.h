/* words.h - text as words that can be compared.
 *
 * A word is a run of letters, digits and '_' (an apostrophe inside it too). In
 * Chinese and Japanese text, which has no spaces, every two neighbouring
 * characters make a word. Two words are the same if their stems are: English
 * endings are cut lightly ("durable" and "durability" meet), case is ignored.
 *
 * Everything here is pure and works on any bytes; ill-formed UTF-8 only gives
 * poor words.
 */
#ifndef ASIDE_OFFLINE_WORDS_H
#define ASIDE_OFFLINE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"

enum word_weight {
    WORD_STOP = 0, /* carries no meaning: "the" */
    WORD_VERB,     /* says what to do with the subject: "compare", "change" */
    WORD_WEAK,     /* little meaning of its own: "behaviour", "way" */
    WORD_FULL
};

struct word {
    uint32_t at; /* where it stands in the text, bytes */
    uint32_t len;
    uint32_t key; /* equal keys mean equal stems */
    enum word_weight weight;
    bool cjk;
};

struct words {
    struct word *v;
    size_t n;
};

/* The words of text[0..len), in order; at most 4 GiB of text. Memory belongs
 * to the arena; RC_NOMEM. */
enum rc words_split(struct arena *, const char *text, size_t len,
                    struct words *out) RC_MUST_CHECK;

/* The key of a word given as text. */
uint32_t words_key(const char *word, size_t len);

/* True if w stands in text as the word expected (lower case, whole word). */
bool words_is(const char *text, const struct word *w, const char *expected);

/* True if any character of text belongs to a script without spaces. */
bool words_has_cjk(const char *text, size_t len);

/* Length of the longest prefix of at most max bytes that splits no character:
 * for "%.*s". */
int words_clip(const char *text, int max);

#endif
