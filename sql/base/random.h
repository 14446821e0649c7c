/* random.h - random numbers, from libsodium (which the system's generator
 * seeds). */
#ifndef ASIDE_BASE_RANDOM_H
#define ASIDE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Uniform in [0, bound); bound > 0. */
uint32_t random_below(uint32_t bound);
/* len hexadecimal digits and a NUL into out (len + 1 bytes). */
void random_hex(char *out, size_t len);

#endif
