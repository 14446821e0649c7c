/* conf_value.h - the kinds of values that keys have: what each may be, and what
 * of it must not be seen. For conf*.c alone. */
#ifndef ASIDE_CONF_VALUE_H
#define ASIDE_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_type {
    TYPE_TEXT,
    TYPE_SECRET, /* a text that no error line shows */
    TYPE_URL,    /* http:// or https://, without a slash at its end */
    TYPE_PLACE,  /* http:// or https://, whatever follows; is not shown */
    TYPE_HEADER, /* empty, or a header's "Name: value"; is not shown */
    TYPE_PREFIX, /* empty, or a path that starts and does not end with / */
    TYPE_NUMBER,
    TYPE_AUTH,
    TYPE_LEVEL,
    TYPE_SWITCH,
    TYPE_URL_OR_NONE, /* a URL, or empty */
    TYPE_ALLOWED,     /* names, addresses and ranges, by spaces */
    TYPE_PORTS,       /* port numbers and ranges, by spaces */
    TYPE_VERDICT,     /* what the model may do with a tool */
    TYPE__MAX
};

/* Is the value kept as it was written? Of all others a number is. */
bool conf_value_is_text(enum conf_type);

/* No error line shows its value: also not that of an address which may hold a
 * password. */
bool conf_value_is_secret(enum conf_type, const char *value);

/* UTF-8 without control characters. */
bool conf_value_is_plain(const char *);

/* Does the value fit? If it is no text, it is stored at out: an int64_t, or an
 * enum conf_auth. min and max are those of a number. */
bool conf_value_take(enum conf_type, const char *value, int64_t min,
                     int64_t max, void *out);

/* What would fit, in words, to stand after "expected". */
void conf_value_expected(enum conf_type, int64_t min, int64_t max, char *out,
                         size_t len);

/* From here on nothing shows what is secret in the value (sql/base/mask.h). */
void conf_value_hide(enum conf_type, const char *value);

#endif
