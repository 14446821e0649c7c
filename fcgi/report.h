/* report.h - a finished research as a file: Markdown, or one safe HTML page.
 *
 * Pure: rows in, bytes out. The HTML is rendered by cmark, which leaves out
 * raw HTML and unsafe links of the report, whoever wrote them. Only report.c
 * uses cmark.
 */
#ifndef ASIDE_FCGI_REPORT_H
#define ASIDE_FCGI_REPORT_H

#include "sql/base/buf.h"
#include "sql/store_effect.h"
#include "sql/store_run.h"

struct report {
    const struct run *run; /* with its answer's body */
    const struct source *sources;
    size_t n_sources;
    const char *const *asked; /* words of each line of the coverage; NULL, of
                               * one or of all: it is named by its message */
};

/* Append title, lead, report, what could not be found, sources, coverage. */
enum rc report_markdown(const struct report *, struct buf *out) RC_MUST_CHECK;
enum rc report_html(const struct report *, struct buf *out) RC_MUST_CHECK;

#endif
