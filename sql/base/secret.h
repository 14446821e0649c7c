/* secret.h - secrets that stand for somebody: made here, shown once, and kept
 * as a hash alone.
 *
 * A secret is 32 bytes of the system's generator, as "aside_" and base64url
 * without padding (RFC 4648 5). With so many there is nothing to guess, so the
 * hash needs neither salt nor slowness: a keyless BLAKE2b of the text.
 */
#ifndef ASIDE_BASE_SECRET_H
#define ASIDE_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/base/hash.h"
#include "sql/base/rc.h"

#define SECRET_TEXT_BYTES 50 /* "aside_", 43 characters and the NUL */

/* Make one. */
void secret_make(char out[SECRET_TEXT_BYTES], uint8_t hash[HASH_BYTES]);

/* The hash that a secret is found by. RC_INVALID: it has not the form of one;
 * NULL has not. */
enum rc secret_hash(const char *text, uint8_t hash[HASH_BYTES]) RC_MUST_CHECK;

/* Compare in a time that tells nothing. */
bool secret_same(const uint8_t a[HASH_BYTES], const uint8_t b[HASH_BYTES]);

/* Overwrite, so that the compiler does not leave it out. */
void secret_forget(void *, size_t len);

#endif
