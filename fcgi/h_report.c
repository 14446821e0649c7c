#include <inttypes.h>
#include <stdio.h>

#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "fcgi/report.h"

#define FILE_LIMIT_BYTES ((size_t)32 * 1024 * 1024)

enum format { FORMAT_MD = 0, FORMAT_HTML, FORMAT__MAX };

static const char *const FORMAT[FORMAT__MAX] = {
    [FORMAT_MD] = "md",
    [FORMAT_HTML] = "html",
};
static const char *const TYPE[FORMAT__MAX] = {
    [FORMAT_MD] = "text/markdown; charset=utf-8",
    [FORMAT_HTML] = "text/html; charset=utf-8",
};

struct found {
    struct run run;
    struct source *sources;
    size_t n_sources;
    const char **asked;
};

/* What was asked, line by line of the coverage. */
static enum rc read_asked(const struct ask *ask, struct found *f)
{
    size_t n = f->run.n_coverage;
    enum rc rc = RC_OK;

    f->asked = arena_alloc(ask->arena, (n + 1) * sizeof(*f->asked));
    if (f->asked == NULL) {
        return RC_TOO_LARGE;
    }
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct message m;

        f->asked[i] = NULL;
        if (f->run.coverage[i].message_id != 0) {
            rc = store_message_get(ask->store, f->run.account_id,
                                   f->run.coverage[i].message_id, ask->arena,
                                   &m);
            f->asked[i] = rc == RC_OK ? m.body : NULL;
        }
    }
    return rc;
}

static enum rc read_found(const struct ask *ask, struct found *f)
{
    struct read read;
    enum rc rc = read_begin(ask, &read);

    if (rc != RC_OK) {
        return rc;
    }
    rc = RC_NOT_FOUND;
    if (read.account_id != 0) {
        rc = store_run_get(ask->store, read.account_id, ask->id, true,
                           ask->arena, &f->run);
    }
    if (rc == RC_OK) {
        rc = store_source_of_run(ask->store, ask->id, 0, ask->arena,
                                 &f->sources, &f->n_sources);
    }
    if (rc == RC_OK) {
        rc = read_asked(ask, f);
    }
    read_end(ask);
    return rc;
}

/* The page opens in the site's own origin if somebody shows it there, so it
 * may load and run nothing. */
static enum serve_then send_file(const struct ask *ask, const struct found *f,
                                 enum format format)
{
    const struct report report = {.run = &f->run,
                                  .sources = f->sources,
                                  .n_sources = f->n_sources,
                                  .asked = f->asked};
    enum serve_then then;
    char headers[320];
    struct buf file;
    enum rc rc;

    (void)snprintf(headers, sizeof(headers),
                   "Content-Disposition: attachment; "
                   "filename=\"report-run_%" PRId64 ".%s\"\r\n"
                   "Content-Security-Policy: default-src 'none'; "
                   "style-src 'unsafe-inline'; base-uri 'none'; "
                   "form-action 'none'; frame-ancestors 'none'; sandbox\r\n",
                   f->run.id, FORMAT[format]);
    buf_init(&file, FILE_LIMIT_BYTES);
    rc = format == FORMAT_HTML ? report_html(&report, &file)
                               : report_markdown(&report, &file);
    if (rc == RC_OK) {
        then = reply_bytes(ask->req, TYPE[format], headers, buf_str(&file),
                           file.len);
    } else {
        then = reply_rc(ask->req, rc);
    }
    buf_free(&file);
    return then;
}

enum serve_then h_report_get(struct ask *ask)
{
    struct found found = {0};
    int format;
    enum rc rc;

    if (!form_query_word_or_reply(ask, "format", FORMAT, FORMAT__MAX,
                                  &format)) {
        return SERVE_FINISH;
    }
    rc = read_found(ask, &found);
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    if (found.run.kind != RUN_RESEARCH) {
        return reply_problem(ask->req, REPLY_NOT_ELIGIBLE,
                             "Only research ends in a report.");
    }
    if (!states_run_ended(found.run.state)) {
        return reply_problem(ask->req, REPLY_RUN_ACTIVE,
                             "The report is not finished yet.");
    }
    if (found.run.answer_body == NULL || *found.run.answer_body == '\0') {
        return reply_problem(ask->req, REPLY_NOT_FOUND,
                             "This research left no report.");
    }
    return send_file(ask, &found, format < 0 ? FORMAT_MD : (enum format)format);
}
