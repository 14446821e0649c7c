/* mask.h - the secrets of the configuration, known so that they can be kept out
 * of what is written, shown or sent on.
 *
 * A server may echo the key it was given: in an error, or in a result. Whatever
 * comes from elsewhere and goes into a row, a log or a prompt is masked first.
 * Set by conf_load, before there are threads, and only read from then on.
 */
#ifndef ASIDE_BASE_MASK_H
#define ASIDE_BASE_MASK_H

#include <stdbool.h>
#include <stddef.h>

#define MASK_MAX       2048 /* forms, of all secrets together */
#define MASK_MIN_BYTES 6    /* shorter ones would be found in anything */

void mask_clear(void);
/* Remember one, as it is and as it would stand in an address, in JSON and in
 * base64, also of something longer: a server may show a header's "Basic ...".
 * One that is shorter than MASK_MIN_BYTES, or beyond MASK_MAX, is passed
 * over. */
void mask_add(const char *text, size_t len);

/* Does the text hold one? */
bool mask_has(const char *text, size_t len);
/* Each byte of each that it holds becomes '*'. */
void mask_text(char *text, size_t len);

#endif
