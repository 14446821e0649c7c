#include "sql/base/rc.h"

#include <stddef.h>

static const char *const NAME[RC__MAX] = {
    [RC_OK] = "ok",
    [RC_NOT_FOUND] = "not_found",
    [RC_CONFLICT] = "conflict",
    [RC_BUSY] = "busy",
    [RC_FULL] = "full",
    [RC_INVALID] = "invalid",
    [RC_TOO_LARGE] = "too_large",
    [RC_TOO_LONG] = "too_long",
    [RC_KEY_REUSED] = "key_reused",
    [RC_NOT_ELIGIBLE] = "not_eligible",
    [RC_DENIED] = "denied",
    [RC_NEWER] = "newer",
    [RC_FENCED] = "fenced",
    [RC_NOMEM] = "nomem",
    [RC_IO] = "io",
    [RC_DB] = "db",
};

const char *rc_name(enum rc rc)
{
    /* A value read from outside may be out of range. */
    if ((size_t)rc >= RC__MAX || NAME[rc] == NULL) {
        return "unknown";
    }
    return NAME[rc];
}
