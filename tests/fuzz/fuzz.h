/* fuzz.h - what the fuzz targets share.
 *
 * A target is one file, fuzz_<what>.c, with the entry of libFuzzer. It takes
 * any bytes, and asserts what must hold for all of them: not only that nothing
 * crashes. Its seeds, and every input that ever broke it, stand in
 * corpus/<what>/. "make fuzz" looks for more; replay.c, which "make check"
 * runs, gives each target what is there.
 */
#ifndef ASIDE_TESTS_FUZZ_H
#define ASIDE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sql/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Says what does not hold, and aborts. */
_Noreturn void fuzz_failed(const char *file, int line, const char *what);
/* (The second abort is for analysers, which see one file at a time.) */
#define FUZZ_CHECK(holds)                                                      \
    do {                                                                       \
        if (!(holds)) {                                                        \
            fuzz_failed(__FILE__, __LINE__, #holds);                           \
            abort();                                                           \
        }                                                                      \
    } while (false)

/* The input. Taken from: a target's options stand in its first lines, so that
 * corpora can be read and written by hand. */
struct fuzz_input {
    const char *bytes;
    size_t len;
};

/* The next line without its end, as a text; a NUL ends it early. The last one
 * needs no end. The caller frees. */
char *fuzz_line(struct fuzz_input *);
/* The rest, exactly as long as it is, so that reading on is seen; the caller
 * frees. */
char *fuzz_rest(const struct fuzz_input *);
/* The rest as a text, up to a NUL if it holds one. */
char *fuzz_text(const struct fuzz_input *);
/* The same as valid UTF-8, where that is the caller's promise. */
char *fuzz_valid_text(const struct fuzz_input *);

/* How the pieces of a stream may be cut: the whole, two halves, every byte. */
#define FUZZ_CUTS 3
size_t fuzz_piece(int cut, size_t len);

/* Valid UTF-8 without a NUL. */
bool fuzz_is_text(const char *, size_t len);
/* That, and one line. */
bool fuzz_is_line(const char *);
/* One JSON text, as json_parse takes it. */
bool fuzz_is_json(const char *, size_t len);
bool fuzz_same(const struct buf *, const struct buf *);

/* A new directory in memory, or in /tmp, removed when the process ends. */
const char *fuzz_dir(void);

#endif
