/* reader.h - documents of strangers, read by children of the runtime.
 *
 * A document stands in a file without a name (memfd), and is read by "aside
 * read" from the runtime's own folder: in a process group of its own, with an
 * environment that holds nothing, no descriptor but its input and output, and
 * limits on time, memory and what it may write; its output is such a file too.
 * So the loop waits for one thing only, the child's end.
 *
 * A few run at once; the others wait their turn. A reading ends in one of two
 * ways, never both: its done callback fires once, from reader_reap, or it is
 * cancelled.
 */
#ifndef ASIDE_RUNTIME_READER_H
#define ASIDE_RUNTIME_READER_H

#include <stddef.h>

#include "runtime/document/page.h"
#include "sql/base/rc.h"

struct reader;
struct reading;

/* json: as page.h says, or {"error":"…"}; NULL with why. Valid during the call.
 */
typedef void reading_done_fn(void *ctx, const char *json, size_t len,
                             const char *why);

/* RC_NOT_FOUND: the program aside is not beside this one. */
enum rc reader_new(struct reader **) RC_MUST_CHECK;
/* Ends all children, and waits for that. NULL is allowed. */
void reader_free(struct reader *);

/* An empty file for a document; closed by reading_start, or by the caller. -1:
 * none can be had. */
int reader_file(void);
/* Read it. fd belongs to the reading from now on, whatever comes of it. No
 * callback fires from within. */
enum rc reading_start(struct reader *, int fd, enum page_type,
                      const char *charset, reading_done_fn *, void *ctx,
                      struct reading **out) RC_MUST_CHECK;
/* Kill it and forget it. NULL is allowed. */
void reading_cancel(struct reading *);

/* Children have ended (SIGCHLD): runs callbacks. */
void reader_reap(struct reader *);

#endif
