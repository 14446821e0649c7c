/* say.h - the few sentences the offline model says of itself.
 *
 * They speak of what was searched, found, accepted and refused, never of a
 * subject. English, or Chinese for who writes Chinese.
 */
#ifndef ASIDE_OFFLINE_SAY_H
#define ASIDE_OFFLINE_SAY_H

#include <stdbool.h>

#include "sql/base/buf.h"

enum say {
    SAY_HELLO = 0,
    SAY_FULL,       /* {1}: what takes the place, or "" */
    SAY_FULL_NAMED, /* {1} title, {2} id */
    SAY_NO_RUN,
    SAY_ENDED, /* {1} title, {2} state */
    SAY_CAN_CONTINUE,
    SAY_WHICH,         /* {1} list of titles */
    SAY_WHICH_REPLY,   /* {1} list */
    SAY_REFUSED,       /* {1} operation, {2} reason */
    SAY_DONE,          /* {1} operation */
    SAY_STATE_OF,      /* {1} title, {2} id */
    SAY_LISTED,        /* {1} title {2} id {3} state and the rest */
    SAY_FROM,          /* {1} pages */
    SAY_NOT_MENTIONED, /* {1} words */
    SAY_NOTHING,       /* {1} what was searched */
    SAY_IRRELEVANT,    /* {1} what was searched, {2} pages */
    SAY_NO_LIBRARY,
    SAY_SEARCH_FAILED,  /* {1} reason */
    SAY_PLAN_COMPARE,   /* {1} side, {2} side, {3} aspects */
    SAY_PLAN_LIST,      /* {1} aspects */
    SAY_PLAN_ONE,       /* {1} subject */
    SAY_FOUND,          /* {1} query, {2} count, {3} page */
    SAY_FOUND_NONE,     /* {1} query */
    SAY_READ,           /* {1} page, {2} count */
    SAY_FAILED_STEP,    /* {1} reason */
    SAY_NEW_ADJUSTMENT, /* {1} its text */
    SAY_NEXT_SEARCH,    /* {1} query */
    SAY_AND_SEARCH,     /* {1} query */
    SAY_NEXT_READ,      /* {1} pages */
    SAY_NEXT_NOTE,
    SAY_NEXT_DELIVER, /* {1} passages, {2} pages */
    SAY_ASK_SUBJECT,
    SAY_SUMMARY,
    SAY_IN_GENERAL,
    SAY_BOTH,         /* {1}, {2} */
    SAY_ADJUSTED,     /* {1} its text */
    SAY_NONE_ON,      /* {1} */
    SAY_NONE_ON_SIDE, /* {1} aspect, {2} side */
    SAY_GAPS,
    SAY_METHOD, /* {1} passages, {2} pages */
    SAY_NOT_SEARCHED,
    SAY_NOTE_COVERED, /* {1} passages, {2} pages */
    SAY_NOTE_PARTIAL, /* {1} what is missing */
    SAY_NOTE_MISSING, /* {1} what was looked for */
    SAY_ASSUMED,      /* {1} the earlier message */
    SAY__MAX
};

/* Append the sentence with {1}, {2}, {3} replaced. Arguments that a sentence
 * does not use are NULL. */
void say_put(struct buf *, bool chinese, enum say, const char *one,
             const char *two, const char *three);

#endif
