#include "sql/base/hash.h"

#include <assert.h>

#include <sodium.h>

static_assert(HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

void hash_sha256(const void *bytes, size_t len, uint8_t out[HASH_BYTES])
{
    (void)crypto_hash_sha256(out, bytes, len);
}

void hash_hex(const uint8_t in[HASH_BYTES], char out[2 * HASH_BYTES + 1])
{
    (void)sodium_bin2hex(out, 2 * HASH_BYTES + 1, in, HASH_BYTES);
}
