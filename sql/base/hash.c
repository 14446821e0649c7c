#include "sql/base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static_assert(HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

void hash_sha256(const void *bytes, size_t len, uint8_t out[HASH_BYTES])
{
    (void)crypto_hash_sha256(out, bytes, len);
}

/* --- texts that begin alike ---------------------------------------------- */

/* As many as are in use at a time: by purpose, and what is offered. */
#define HEADS 8
/* A longer beginning is hashed each time. */
#define HEAD_BYTES ((size_t)32 * 1024)

struct head {
    char *bytes; /* NULL: not used yet */
    size_t len;
    crypto_hash_sha256_state after;
};

struct hash_heads {
    struct head head[HEADS];
    size_t oldest;
};

struct hash_heads *hash_heads_new(void)
{
    return calloc(1, sizeof(struct hash_heads));
}

void hash_heads_free(struct hash_heads *h)
{
    for (size_t i = 0; h != NULL && i < HEADS; i++) {
        free(h->head[i].bytes);
    }
    free(h);
}

static void start(crypto_hash_sha256_state *state, const void *bytes,
                  size_t len)
{
    (void)crypto_hash_sha256_init(state);
    (void)crypto_hash_sha256_update(state, bytes, len);
}

/* In the place of the oldest. Without memory nothing is kept. */
static void keep(struct hash_heads *h, const void *bytes, size_t len,
                 const crypto_hash_sha256_state *after)
{
    struct head *place = &h->head[h->oldest];
    char *copy = malloc(len);

    if (copy == NULL) {
        return;
    }
    memcpy(copy, bytes, len);
    free(place->bytes);
    place->bytes = copy;
    place->len = len;
    place->after = *after;
    h->oldest = (h->oldest + 1) % HEADS;
}

static void after_head(struct hash_heads *h, const void *bytes, size_t len,
                       crypto_hash_sha256_state *out)
{
    for (size_t i = 0; i < HEADS; i++) {
        const struct head *one = &h->head[i];

        if (one->bytes != NULL && one->len == len &&
            memcmp(one->bytes, bytes, len) == 0) {
            *out = one->after;
            return;
        }
    }
    start(out, bytes, len);
    if (len > 0 && len <= HEAD_BYTES) {
        keep(h, bytes, len, out);
    }
}

void hash_heads_sha256(struct hash_heads *h, const void *bytes, size_t len,
                       size_t head_len, uint8_t out[HASH_BYTES])
{
    const char *text = bytes;
    crypto_hash_sha256_state state;

    assert(head_len <= len);
    after_head(h, text, head_len, &state);
    (void)crypto_hash_sha256_update(
        &state, (const unsigned char *)text + head_len, len - head_len);
    (void)crypto_hash_sha256_final(&state, out);
}

/* --- several parts ------------------------------------------------------- */

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
