#include "sql/base/secret.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#define PREFIX       "aside_"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)
#define RAW_BYTES    32
#define VARIANT      sodium_base64_VARIANT_URLSAFE_NO_PADDING

static_assert(SECRET_TEXT_BYTES ==
                  PREFIX_BYTES + sodium_base64_ENCODED_LEN(RAW_BYTES, VARIANT),
              "the text of a secret");

static void hash_text(const char *text, uint8_t hash[HASH_BYTES])
{
    (void)crypto_generichash(hash, HASH_BYTES, (const unsigned char *)text,
                             SECRET_TEXT_BYTES - 1, NULL, 0);
}

void secret_make(char out[SECRET_TEXT_BYTES], uint8_t hash[HASH_BYTES])
{
    uint8_t raw[RAW_BYTES];
    int failed = sodium_init();

    assert(failed >= 0);
    randombytes_buf(raw, sizeof(raw));
    memcpy(out, PREFIX, PREFIX_BYTES);
    (void)sodium_bin2base64(out + PREFIX_BYTES,
                            SECRET_TEXT_BYTES - PREFIX_BYTES, raw, sizeof(raw),
                            VARIANT);
    sodium_memzero(raw, sizeof(raw));
    hash_text(out, hash);
}

enum rc secret_hash(const char *text, uint8_t hash[HASH_BYTES])
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-_";

    if (text == NULL ||
        strnlen(text, SECRET_TEXT_BYTES) + 1 != SECRET_TEXT_BYTES ||
        memcmp(text, PREFIX, PREFIX_BYTES) != 0 ||
        strspn(text + PREFIX_BYTES, LETTERS) + PREFIX_BYTES + 1 !=
            SECRET_TEXT_BYTES) {
        return RC_INVALID;
    }
    hash_text(text, hash);
    return RC_OK;
}

bool secret_same(const uint8_t a[HASH_BYTES], const uint8_t b[HASH_BYTES])
{
    return sodium_memcmp(a, b, HASH_BYTES) == 0;
}

void secret_forget(void *bytes, size_t len)
{
    sodium_memzero(bytes, len);
}
