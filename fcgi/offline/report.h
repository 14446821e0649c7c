/* report.h - the report of a research, and its coverage list, put together
 * from the passages that stand in the request. */
#ifndef ASIDE_OFFLINE_REPORT_H
#define ASIDE_OFFLINE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "fcgi/offline/scene.h"
#include "fcgi/offline/topic.h"
#include "sql/base/arena.h"
#include "sql/base/buf.h"
#include "sql/base/rc.h"

#define REPORT_MAX_BYTES ((size_t)14 * 1024)

/* A requirement and what it is about. */
struct report_aim {
    const struct scene_requirement *of;
    struct topic topic;
    bool echo; /* names nothing of its own: is covered as the request is */
};

struct report_order {
    const struct scene *scene;
    const struct report_aim *aims; /* the request first */
    size_t n_aims;
    const char *assumed; /* the subject was taken from this message, or "" */
    size_t max_bytes;    /* about; at most REPORT_MAX_BYTES */
};

/* The arguments of deliver_report as JSON text: the report in Markdown, each
 * sentence with its citation, and one coverage entry for the request and for
 * every adjustment. RC_NOMEM. */
enum rc report_deliver(struct arena *, const struct report_order *,
                       struct buf *out) RC_MUST_CHECK;

/* The same report as the arguments of publish_draft: it covers nothing yet. */
enum rc report_draft(struct arena *, const struct report_order *,
                     struct buf *out) RC_MUST_CHECK;

/* The best sentences so far, one line each (scene_note_line): what a later
 * request can still quote when the passages were trimmed. */
enum rc report_note(struct arena *, const struct report_order *,
                    struct buf *out) RC_MUST_CHECK;

#endif
