/* blocks.h - the blocks that a reader gives, as text to compare with.
 *
 *     title Write-Ahead Logging
 *     h1 Overview
 *     prose The default method
 *     line - an item          head a | b          row 1 | 2
 *     code int x;\n
 *
 * One line each; line ends within a block are written as \n.
 */
#ifndef ASIDE_TESTS_BLOCKS_H
#define ASIDE_TESTS_BLOCKS_H

#include "runtime/document/passages.h"
#include "sql/base/buf.h"

/* A block_fn; arg is a struct buf that the caller initialised. */
void blocks_write(void *arg, const struct block *);

#endif
