#include "runtime/document/index_inside.h"
#include "sql/base/log.h"

#define BATCH_FILE_BYTES ((size_t)4 << 20)
/* Headings are repeated and PDFs unpacked: a batch that takes up so much is
 * full, which leaves room for any one document. */
#define BATCH_FULL_BYTES ((size_t)64 << 20)

/* True of what is wrong with the document alone, and would be so another time:
 * it is larger than can be stored, or a rule of the database is against it. All
 * else is a fault of the database or the machine, which ends the run. */
static bool is_own_fault(enum rc rc)
{
    return rc == RC_TOO_LARGE || rc == RC_CONFLICT || rc == RC_INVALID;
}

static void count_stored(struct index_run *run, size_t i)
{
    if (run->put[i].error[0] != '\0') {
        run->counts.failed++;
    } else if (run->put_known[i]) {
        run->counts.changed++;
    } else {
        run->counts.added++;
    }
}

/* One document; if it cannot be stored, that, and why. */
static enum rc store_one(struct index_run *run, struct library_document *d)
{
    enum rc rc = library_put(run->lib, d, 1);

    if (!is_own_fault(rc)) {
        return rc;
    }
    d->error = rc == RC_TOO_LARGE ? "too large to be stored" : "not stored";
    d->texts = NULL;
    d->n_texts = 0;
    log_warn(NULL, "library: %s: %s: %s", d->path, d->error, rc_name(rc));
    return library_put(run->lib, d, 1);
}

/* All documents of the batch in one transaction. If one of them cannot be
 * stored, each in its own. */
static enum rc store_documents(struct index_run *run)
{
    enum rc rc = library_put(run->lib, run->put, run->n_put);
    bool one_by_one = is_own_fault(rc);

    for (size_t i = 0; i < run->n_put; i++) {
        if (one_by_one) {
            rc = store_one(run, &run->put[i]);
        }
        if (rc != RC_OK) {
            return rc;
        }
        count_stored(run, i);
    }
    if (run->options->progress != NULL) {
        run->options->progress(run->options->progress_arg, &run->counts);
    }
    return RC_OK;
}

void index_batch_store(struct index_run *run)
{
    enum rc rc = RC_OK;

    if (run->n_put > 0) {
        rc = store_documents(run);
    }
    if (rc == RC_OK && run->n_touched > 0) {
        rc = library_touch(run->lib, run->touched, run->n_touched);
    }
    index_fail(run, rc);
    run->n_put = 0;
    run->n_touched = 0;
    run->batch_bytes = 0;
    arena_reset(run->batch);
}

void index_batch_store_if_full(struct index_run *run)
{
    if (run->n_put == INDEX_BATCH_DOCUMENTS ||
        run->n_touched == INDEX_BATCH_DOCUMENTS ||
        run->batch_bytes >= BATCH_FILE_BYTES ||
        arena_used(run->batch) >= BATCH_FULL_BYTES) {
        index_batch_store(run);
    }
}

void index_batch_put(struct index_run *run, struct library_document d,
                     bool is_known)
{
    d.path = arena_strdup(run->batch, d.path);
    d.title = arena_strdup(run->batch, d.title);
    d.error = arena_strdup(run->batch, d.error);
    d.owner = run->owner;
    if (d.path == NULL || d.title == NULL || d.error == NULL) {
        index_fail(run, RC_NOMEM);
        return;
    }
    run->put_known[run->n_put] = is_known;
    run->put[run->n_put++] = d;
    index_batch_store_if_full(run);
}
