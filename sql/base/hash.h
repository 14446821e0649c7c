/* hash.h - SHA-256, from libsodium. */
#ifndef ASIDE_BASE_HASH_H
#define ASIDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 32

/* One-shot. */
void hash_sha256(const void *, size_t len, uint8_t out[HASH_BYTES]);
void hash_hex(const uint8_t in[HASH_BYTES], char out[2 * HASH_BYTES + 1]);

#endif
