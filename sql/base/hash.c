#include "sql/base/hash.h"

#include <assert.h>

#include <sodium.h>

static_assert(HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

void hash_sha256(const void *bytes, size_t len, uint8_t out[HASH_BYTES])
{
    (void)crypto_hash_sha256(out, bytes, len);
}

void hash_parts(const struct hash_part parts[], size_t n,
                uint8_t out[HASH_BYTES])
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    for (size_t i = 0; i < n; i++) {
        const struct hash_part *p = &parts[i];
        uint64_t len = p->bytes == NULL ? UINT64_MAX : p->len;
        uint8_t prefix[sizeof(len)];

        for (size_t k = 0; k < sizeof(prefix); k++) {
            prefix[k] = (uint8_t)(len >> (8 * k));
        }
        (void)crypto_generichash_update(&state, prefix, sizeof(prefix));
        if (p->bytes != NULL) {
            (void)crypto_generichash_update(&state, p->bytes, p->len);
        }
    }
    (void)crypto_generichash_final(&state, out, HASH_BYTES);
}

void hash_hex(const uint8_t in[HASH_BYTES], char out[2 * HASH_BYTES + 1])
{
    (void)sodium_bin2hex(out, 2 * HASH_BYTES + 1, in, HASH_BYTES);
}
