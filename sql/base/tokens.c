/* tokens.c - counted in sixths, so that no code point needs a fraction. */
#include "sql/base/tokens.h"

/* What the code point that begins with c costs; what continues one costs
 * nothing. */
static int64_t sixths_of(unsigned char c)
{
    if (c < 0x80) {
        return 2;
    }
    if (c >= 0xf0) {
        return 18;
    }
    if (c >= 0xe0) {
        return 9;
    }
    return c >= 0xc0 ? 6 : 0;
}

int64_t tokens_estimate(const char *text, size_t len)
{
    int64_t sixths = 0;

    for (size_t i = 0; i < len; i++) {
        sixths += sixths_of((unsigned char)text[i]);
    }
    return (sixths + 5) / 6;
}

size_t tokens_clip(const char *text, size_t len, int64_t max_tokens)
{
    int64_t left = max_tokens * 6;

    for (size_t i = 0; i < len; i++) {
        left -= sixths_of((unsigned char)text[i]);
        if (left < 0) {
            return i; /* here a code point begins */
        }
    }
    return max_tokens > 0 ? len : 0;
}
