/* id.h - ids as the world sees them.
 *
 * Rows are numbered by SQLite (AUTOINCREMENT, so that no number is given out
 * twice); outside, an id is an opaque string of a prefix and that number in
 * decimal: "run_17". Access is checked on every read, so an id that can be
 * guessed opens nothing.
 */
#ifndef ASIDE_BASE_ID_H
#define ASIDE_BASE_ID_H

#include <stdint.h>

#include "sql/base/rc.h"

enum id_kind {
    ID_CONVERSATION = 0, /* conv_ */
    ID_MESSAGE,          /* msg_ */
    ID_RUN,              /* run_ */
    ID_HANDOFF,          /* hand_ */
    ID_REQUEST,          /* req_ */
    ID_TOOL_CALL,        /* call_ */
    ID_SOURCE,           /* src_ */
    ID_NOTIFICATION,     /* note_ */
    ID_AUDIT,            /* audit_ */
    ID_SESSION,          /* sess_ */
    ID_TOKEN,            /* tok_ */
    ID_APPROVAL,         /* appr_ */
    ID__MAX
};

#define ID_TEXT_BYTES 32 /* enough for any id and its NUL */

/* Write the id's text into out and return out. n > 0. */
const char *id_text(enum id_kind, int64_t n, char out[ID_TEXT_BYTES]);

/* Read an id of this kind. RC_INVALID: anything but the exact form that
 * id_text writes (so that one thing has one name). */
enum rc id_parse(enum id_kind, const char *, int64_t *n) RC_MUST_CHECK;

#endif
