/* passages.h - a document as blocks, cut into passages.
 *
 * A reader (html.h, markdown_text.h) turns a file into blocks in the order of
 * the page and gives each one to a block_fn. The builder here is such a
 * function: it collects blocks into passages of about 600 to 1,200 bytes that
 * begin anew at headings. Prose is cut between sentences where there are any,
 * else between words, and never within a code point; lists and tables between
 * their lines; code is kept in one piece up to PASSAGES_MAX_CODE_BYTES.
 */
#ifndef ASIDE_RUNTIME_PASSAGES_H
#define ASIDE_RUNTIME_PASSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/base/arena.h"
#include "sql/base/rc.h"
#include "sql/library.h"

#define PASSAGES_LEAST_BYTES    600
#define PASSAGES_MOST_BYTES     1200
#define PASSAGES_MAX_CODE_BYTES 4000
/* No passage is longer: code, and a remainder that would be too little alone.
 */
#define PASSAGES_LONGEST_BYTES (PASSAGES_MAX_CODE_BYTES + PASSAGES_LEAST_BYTES)

enum block_kind {
    BLOCK_TITLE = 0, /* of the document; the first one counts */
    BLOCK_HEADING,   /* level 1 to 6 */
    BLOCK_PROSE,     /* a paragraph: spaces are single, no line ends but <br> */
    BLOCK_LINE,      /* a list item or the like: one line below the other */
    BLOCK_HEAD_ROW,  /* a table's head: repeated when the table is cut */
    BLOCK_ROW,       /* a table's row, cells separated by " | " */
    BLOCK_CODE,      /* as it stands in the file */
    BLOCK__MAX
};

struct block {
    enum block_kind kind;
    int level;        /* of a heading */
    const char *text; /* valid UTF-8 without NUL; not NUL-terminated */
    size_t len;       /* > 0 */
    size_t link_len;  /* bytes of it that are words of links */
};

/* Called for each block in order. The text is the caller's and goes away. */
typedef void block_fn(void *arg, const struct block *);

struct passages;

/* Results are allocated in the arena; max_texts bounds their number. NULL: out
 * of memory. */
struct passages *passages_new(struct arena *, size_t max_texts);
void passages_free(struct passages *); /* NULL is allowed */

/* From now on passages beyond max_texts are left out, which is no failure. */
void passages_may_cut(struct passages *);
/* Something was. What comes now is, too. */
bool passages_is_cut(const struct passages *);

/* A block_fn; arg is the struct passages. Failures are kept. */
void passages_add(void *arg, const struct block *);

/* Passages that are complete so far. */
size_t passages_count(const struct passages *);

/* After the last block. Title is "" if there was none. RC_TOO_LARGE: more
 * passages than max_texts, where none may be left out, or more text than the
 * arena takes. */
enum rc passages_end(struct passages *, const char **title,
                     const struct library_text **out, size_t *n) RC_MUST_CHECK;

#endif
