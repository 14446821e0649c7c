/* json.h - a thin skin over cJSON for reading, and a writer.
 *
 * Reading: cJSON 1.7 accepts invalid UTF-8, duplicate members, "\u0000" and
 * trailing garbage, so json_parse checks the bytes first and the tree after.
 * Members are read by typed functions; a missing member and one of another
 * type are told apart by the caller asking json_get.
 *
 * Writing: a buf and a small stack of open scopes. Commas are placed by the
 * writer; a value where a key is due, or scopes closed in the wrong order, is
 * a bug and asserts. Strings must be valid UTF-8 and are escaped.
 */
#ifndef ASIDE_BASE_JSON_H
#define ASIDE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sql/base/buf.h"
#include "sql/base/rc.h"

#define JSON_MAX_DEPTH 32

enum json_flaw {
    JSON_FLAW_NONE = 0,
    JSON_FLAW_EMPTY,
    JSON_FLAW_UTF8,      /* not valid UTF-8 */
    JSON_FLAW_NUL,       /* a NUL byte or "\u0000" */
    JSON_FLAW_SYNTAX,    /* not JSON (RFC 8259), or something after its end */
    JSON_FLAW_DEPTH,     /* nested deeper than JSON_MAX_DEPTH */
    JSON_FLAW_DUPLICATE, /* one object names a member twice */
    JSON_FLAW_SURROGATE, /* an escaped lone surrogate */
    JSON_FLAW__MAX
};

/* Parse exactly one JSON text. On RC_INVALID *flaw (if given) says why; the
 * caller frees *out with json_free. RC_NOMEM. */
enum rc json_parse(const char *text, size_t len, cJSON **out,
                   enum json_flaw *flaw) RC_MUST_CHECK;
void json_free(cJSON *); /* NULL is allowed */

/* "is not valid UTF-8": completes the sentence "The body ...". */
const char *json_flaw_text(enum json_flaw);

/* Member of an object, or NULL if the value is no object or has none. */
const cJSON *json_get(const cJSON *, const char *name);
/* The string, or fallback if it is missing or no string. */
const char *json_str(const cJSON *, const char *name, const char *fallback);
/* RC_NOT_FOUND if missing or null; RC_INVALID unless an integer that a double
 * holds exactly (|n| <= 2^53). */
enum rc json_i64(const cJSON *, const char *name, int64_t *out) RC_MUST_CHECK;

/* Two values that mean the same: members in any order, numbers by value.
 * Costs the square of an object's members. */
bool json_same(const cJSON *, const cJSON *);

/* Compact text of a tree, appended to out. */
enum rc json_print(const cJSON *, struct buf *out) RC_MUST_CHECK;

struct json_out {
    struct buf *buf;
    char scope[JSON_MAX_DEPTH]; /* '{' or '[' */
    bool first[JSON_MAX_DEPTH]; /* nothing written in this scope yet */
    int depth;
    bool key; /* a key was written, its value is due */
};

void json_begin(struct json_out *, struct buf *);
void json_open_object(struct json_out *);
void json_close_object(struct json_out *);
void json_open_array(struct json_out *);
void json_close_array(struct json_out *);
/* Names are ours: they are written as they are, and need no escape. */
void json_key(struct json_out *, const char *name);
void json_put_str(struct json_out *, const char *); /* NULL writes null */
void json_put_strn(struct json_out *, const char *, size_t len);
void json_put_i64(struct json_out *, int64_t);
void json_put_bool(struct json_out *, bool);
void json_put_null(struct json_out *);
/* JSON text that is known to be valid, as it is. */
void json_put_raw(struct json_out *, const char *text, size_t len);
/* Key and value in one call. */
void json_kstr(struct json_out *, const char *name, const char *);
void json_ki64(struct json_out *, const char *name, int64_t);
void json_kbool(struct json_out *, const char *name, bool);
void json_knull(struct json_out *, const char *name);
/* A value of 0 writes null: for times and ids that may be unset. */
void json_ki64_or_null(struct json_out *, const char *name, int64_t);
/* The scopes must all be closed. The buf's rc. */
enum rc json_end(struct json_out *) RC_MUST_CHECK;

#endif
