/* hash.h - hashes, from libsodium. */
#ifndef ASIDE_BASE_HASH_H
#define ASIDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 32

/* SHA-256. */
void hash_sha256(const void *, size_t len, uint8_t out[HASH_BYTES]);
/* BLAKE2b, several times as fast, for what nobody else computes. Of several
 * parts, each with its length before it, so that no two different lists of
 * parts are one text. bytes NULL: a part that is left out, which is not the
 * same as an empty one. */
struct hash_part {
    const void *bytes;
    size_t len;
};
void hash_parts(const struct hash_part parts[], size_t n,
                uint8_t out[HASH_BYTES]);
void hash_hex(const uint8_t in[HASH_BYTES], char out[2 * HASH_BYTES + 1]);

#endif
