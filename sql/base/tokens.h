/* tokens.h - what a text costs a model, roughly. Pure. */
#ifndef ASIDE_BASE_TOKENS_H
#define ASIDE_BASE_TOKENS_H

#include <stddef.h>
#include <stdint.h>

/* Tokens that text takes up at most, roughly: a third of a token for an ASCII
 * byte, 1 for a two-byte code point, 1.5 for a three-byte one (CJK), 3 for a
 * four-byte one, rounded up. Real tokenisers stay below it on prose and code.
 */
int64_t tokens_estimate(const char *text, size_t len);

/* Length of the longest beginning of text that takes up at most so many tokens
 * and does not split a code point; 0 if max_tokens is not positive. */
size_t tokens_clip(const char *text, size_t len, int64_t max_tokens);

#endif
