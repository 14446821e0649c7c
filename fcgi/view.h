/* view.h - rows as JSON, once, for every reply and every change. The names are
 * those of DESIGN 6. Each function writes one value; texts of rows are valid
 * UTF-8. */
#ifndef ASIDE_FCGI_VIEW_H
#define ASIDE_FCGI_VIEW_H

#include "sql/base/id.h"
#include "sql/base/json.h"
#include "sql/store_approval.h"
#include "sql/store_change.h"
#include "sql/store_conversation.h"
#include "sql/store_effect.h"
#include "sql/store_handoff.h"
#include "sql/store_run.h"

/* "name": "run_17", or null for 0. */
void view_id(struct json_out *, const char *name, enum id_kind, int64_t id);

/* {short:{used,limit}, background:{used,limit}} */
void view_occupancy(struct json_out *, const struct occupancy *,
                    const struct conf *);

void view_conversation(struct json_out *, const struct conversation *);
void view_message(struct json_out *, const struct message *);

/* answer.body is written where it was read, else left out. */
void view_run(struct json_out *, const struct run *);

void view_approval(struct json_out *, const struct approval *);
void view_handoff(struct json_out *, const struct handoff *);
void view_request(struct json_out *, const struct request *);
void view_tool_call(struct json_out *, const struct tool_call *);
/* As much as is shown of one text of a source, or of a call's arguments; a Run
 * may have hundreds. */
#define VIEW_SOURCE_CHARS   16384
#define VIEW_ARGUMENT_CHARS 16384
void view_source(struct json_out *, const struct source *);
void view_notification(struct json_out *, const struct notification *);

/* One change of an account, with its thing as it is now, read from the store.
 * RC_NOT_FOUND: the thing is gone; nothing was written. */
enum rc view_change(struct json_out *, struct store *, const struct change *,
                    struct arena *) RC_MUST_CHECK;

#endif
