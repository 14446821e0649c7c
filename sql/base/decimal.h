/* decimal.h - numbers as text, without the cost of printf: a reply has dozens
 * of them. */
#ifndef ASIDE_BASE_DECIMAL_H
#define ASIDE_BASE_DECIMAL_H

#include <stdint.h>

#define DECIMAL_BYTES 20 /* the least number has 19 digits and a sign */

/* Write n before end, which has room for DECIMAL_BYTES before it; the first
 * character. No NUL. */
char *decimal_before(char *end, int64_t n);

#endif
