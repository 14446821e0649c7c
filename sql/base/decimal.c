#include "sql/base/decimal.h"

char *decimal_before(char *end, int64_t n)
{
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do {
        *--end = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0) {
        *--end = '-';
    }
    return end;
}
