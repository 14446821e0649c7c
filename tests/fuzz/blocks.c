#include "tests/fuzz/blocks.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

void fuzz_blocks_begin(struct fuzz_blocks *b)
{
    *b = (struct fuzz_blocks){.arena = arena_new((size_t)64 << 20)};
    FUZZ_CHECK(b->arena != NULL);
    b->passages = passages_new(b->arena, 100000);
    FUZZ_CHECK(b->passages != NULL);
}

void fuzz_blocks_add(void *arg, const struct block *block)
{
    struct fuzz_blocks *b = arg;

    FUZZ_CHECK(block->kind >= BLOCK_TITLE && block->kind < BLOCK__MAX);
    FUZZ_CHECK(block->len > 0 && fuzz_is_text(block->text, block->len));
    FUZZ_CHECK(block->link_len <= block->len);
    FUZZ_CHECK(block->kind != BLOCK_HEADING ||
               (block->level >= 1 && block->level <= 6));
    b->n++;
    b->bytes += block->len;
    passages_add(b->passages, block);
}

void fuzz_blocks_end(struct fuzz_blocks *b)
{
    const char *title = NULL;
    const struct library_text *texts = NULL;
    size_t n = 0;

    FUZZ_CHECK(passages_end(b->passages, &title, &texts, &n) == RC_OK);
    FUZZ_CHECK(fuzz_is_text(title, strlen(title)));
    for (size_t i = 0; texts != NULL && i < n; i++) {
        const char *text = texts[i].text;

        FUZZ_CHECK(text[0] != '\0' && fuzz_is_text(text, strlen(text)));
        FUZZ_CHECK(strlen(text) <= PASSAGES_LONGEST_BYTES);
        FUZZ_CHECK(fuzz_is_text(texts[i].heading, strlen(texts[i].heading)));
    }
    passages_free(b->passages);
    arena_free(b->arena);
}
