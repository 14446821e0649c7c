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

/* Many texts begin alike: of a few such beginnings this keeps the state of the
 * hash after them, so that only the rest is hashed. Nothing is taken on trust:
 * a beginning is compared with the one that is kept, byte by byte. */
struct hash_heads;

struct hash_heads *hash_heads_new(void); /* NULL: no memory */
void hash_heads_free(struct hash_heads *);

/* hash_sha256 of len bytes, of which the first head_len are such a beginning. */
void hash_heads_sha256(struct hash_heads *, const void *bytes, size_t len,
                       size_t head_len, uint8_t out[HASH_BYTES]);

#endif
