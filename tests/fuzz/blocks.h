/* blocks.h - checks the blocks that a reader gives, and the passages that
 * become of them. */
#ifndef ASIDE_TESTS_FUZZ_BLOCKS_H
#define ASIDE_TESTS_FUZZ_BLOCKS_H

#include "runtime/document/passages.h"

struct fuzz_blocks {
    struct arena *arena;
    struct passages *passages;
    size_t n;
    size_t bytes;
};

void fuzz_blocks_begin(struct fuzz_blocks *);
/* A block_fn; arg is the struct fuzz_blocks. */
void fuzz_blocks_add(void *arg, const struct block *);
void fuzz_blocks_end(struct fuzz_blocks *);

#endif
