#include "runtime/document/library_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/document/html.h"
#include "runtime/document/index_inside.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"

/* Raised whenever the same file gives other passages than before. */
#define READER_VERSION 1

#define LIST_BYTES  ((size_t)512 << 20)
#define BATCH_BYTES ((size_t)256 << 20)
/* A run that changed more than one document in so many merges the index. */
#define MERGE_SHARE 4
#define MERGE_LEAST 20
/* Between two tries to have the lock. */
#define LOCK_NAP_US 20000

void index_fail(struct index_run *run, enum rc rc)
{
    if (run->rc == RC_OK) {
        run->rc = rc;
    }
}

static void remove_vanished(struct index_run *run)
{
    int64_t ids[INDEX_BATCH_DOCUMENTS];
    size_t n = 0;

    for (size_t i = 0; i <= run->n_known && run->rc == RC_OK; i++) {
        if (i < run->n_known && !run->seen[i]) {
            ids[n++] = run->known[i].id;
            run->counts.removed++;
        }
        if (n == INDEX_BATCH_DOCUMENTS || (i == run->n_known && n > 0)) {
            index_fail(run, library_remove(run->lib, ids, n));
            n = 0;
        }
    }
}

static enum rc load_known(struct index_run *run)
{
    int64_t reader;
    enum rc rc = library_reader(run->lib, &reader);

    if (rc != RC_OK) {
        return rc;
    }
    run->reread = reader != READER_VERSION;
    rc = library_list(run->lib, run->list, &run->known, &run->n_known);
    if (rc != RC_OK) {
        return rc;
    }
    run->seen = calloc(run->n_known + 1, sizeof(*run->seen));
    return run->seen == NULL ? RC_NOMEM : RC_OK;
}

static void finish(struct index_run *run)
{
    struct library_totals totals;
    int64_t news =
        run->counts.added + run->counts.changed + run->counts.removed;

    index_fail(run, library_stats(run->lib, &totals));
    if (run->rc == RC_OK) {
        run->counts.documents = totals.documents;
        run->counts.passages = totals.passages;
    }
    if (run->rc == RC_OK && news >= MERGE_LEAST &&
        news * MERGE_SHARE >= totals.documents) {
        index_fail(run, library_optimize(run->lib));
    }
    /* Only who has looked at all has read them with this reader. */
    if (run->rc == RC_OK && run->options->folders != NULL) {
        index_fail(
            run, library_scan_done(run->lib, clock_unix_ms(), READER_VERSION));
    }
}

static void index_all(struct index_run *run)
{
    index_fail(run, load_known(run));
    if (run->rc != RC_OK) {
        return;
    }
    index_folders_read(run);
    if (run->rc == RC_OK) {
        remove_vanished(run);
    }
    if (run->rc == RC_OK) {
        finish(run);
    }
}

/* RC_CONFLICT: another run has it, and kept it so long. The lock goes with the
 * descriptor. */
static enum rc take_lock(const char *dir, int64_t wait_ms, int *fd)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/library.lock", dir);
    int64_t until_ms = clock_boot_ms() + wait_ms;

    if (n < 0 || (size_t)n >= sizeof(path)) {
        return RC_TOO_LARGE;
    }
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0) {
        log_error(NULL, "%s: %s", path, strerror(errno));
        return RC_IO;
    }
    while (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
        int cause = errno;

        if (cause == EWOULDBLOCK && clock_boot_ms() < until_ms) {
            clock_nap_us(LOCK_NAP_US);
            continue;
        }
        (void)close(*fd);
        return cause == EWOULDBLOCK ? RC_CONFLICT : RC_IO;
    }
    return RC_OK;
}

/* As before it began. */
static void clear(struct index_run *run)
{
    free(run->seen);
    arena_free(run->list);
    arena_free(run->batch);
    *run = (struct index_run){.options = run->options, .mark = run->mark};
}

static enum rc run_locked(struct index_run *run)
{
    enum rc rc;

    html_init();
    run->list = arena_new(LIST_BYTES);
    run->batch = arena_new(BATCH_BYTES);
    if (run->list == NULL || run->batch == NULL) {
        return RC_NOMEM;
    }
    rc = library_open(run->options->dir, run->options->busy_ms, &run->lib);
    if (rc != RC_OK) {
        return rc;
    }
    index_all(run);
    library_close(run->lib);
    return run->rc;
}

enum rc library_index_run(const struct library_index_options *options,
                          struct library_index_counts *out)
{
    struct index_run *run = calloc(1, sizeof(*run));
    int64_t start_ms = clock_boot_ms();
    struct index_mark mark;
    int lock = -1;
    enum rc rc;

    if (run == NULL) {
        return RC_NOMEM;
    }
    run->options = options;
    rc = take_lock(options->dir, options->wait_ms, &lock);
    if (rc == RC_OK) {
        index_mark_open(&mark, lock);
        run->mark = &mark;
        rc = run_locked(run);
        if (rc == RC_DB) {
            library_discard(options->dir);
            clear(run);
            rc = run_locked(run);
        }
        run->counts.ms = clock_boot_ms() - start_ms;
        *out = run->counts;
        index_mark_close(&mark);
        (void)close(lock);
    }
    clear(run);
    free(run);
    return rc;
}
