#include "sql/base/random.h"

#include <assert.h>

#include <sodium.h>

/* sodium_init may be called by several threads and any number of times. */
static void start(void)
{
    int failed = sodium_init();

    assert(failed >= 0);
}

uint32_t random_below(uint32_t bound)
{
    assert(bound > 0);
    start();
    return randombytes_uniform(bound);
}

void random_hex(char *out, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t byte = 0;

    start();
    for (size_t i = 0; i < len; i++) {
        if (i % 2 == 0) {
            randombytes_buf(&byte, 1);
        }
        out[i] = digits[i % 2 == 0 ? byte >> 4 : byte & 15];
    }
    out[len] = '\0';
}
