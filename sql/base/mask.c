#include "sql/base/mask.h"

#include <string.h>

static struct {
    const char *text;
    size_t len;
} known[MASK_MAX];
static size_t n_known;

void mask_clear(void)
{
    n_known = 0;
}

void mask_add(const char *text, size_t len)
{
    if (len >= MASK_MIN_BYTES && n_known < MASK_MAX) {
        known[n_known].text = text;
        known[n_known].len = len;
        n_known++;
    }
}

bool mask_has(const char *text, size_t len)
{
    for (size_t i = 0; i < n_known; i++) {
        if (memmem(text, len, known[i].text, known[i].len) != NULL) {
            return true;
        }
    }
    return false;
}

void mask_text(char *text, size_t len)
{
    for (size_t i = 0; i < n_known; i++) {
        char *at = memmem(text, len, known[i].text, known[i].len);

        while (at != NULL) {
            (void)memset(at, '*', known[i].len);
            at = memmem(at, len - (size_t)(at - text), known[i].text,
                        known[i].len);
        }
    }
}
