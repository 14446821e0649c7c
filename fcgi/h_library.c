#include <stdio.h>
#include <string.h>

#include "fcgi/call.h"
#include "fcgi/form.h"
#include "fcgi/handlers.h"
#include "fcgi/read.h"
#include "fcgi/reply.h"
#include "sql/base/doorbell.h"
#include "sql/library.h"
#include "sql/library_files.h"
#include "sql/store_library.h"

#define SHARED_DEFAULT 200
#define SHARED_MAX     1000
#define OWN_MAX        20000 /* more than an account may have */
#define ID_HEX         16

/* --- one document ----------------------------------------------------------
 */

struct document {
    const char *name;
    int64_t bytes;
    const char *state;  /* waiting, indexed, failed */
    const char *reason; /* of failed; else NULL */
    int64_t passages;
    const char *owner; /* "": shared */
};

static void put_document(struct json_out *json, const struct document *d)
{
    const struct hash_part parts[] = {
        {.bytes = d->owner, .len = strlen(d->owner)},
        {.bytes = d->name, .len = strlen(d->name)}};
    uint8_t hash[HASH_BYTES];
    char hex[2 * HASH_BYTES + 1];
    char id[ID_HEX + sizeof("doc_")];

    hash_parts(parts, 2, hash);
    hash_hex(hash, hex);
    (void)snprintf(id, sizeof(id), "doc_%.*s", ID_HEX, hex);
    json_open_object(json);
    json_kstr(json, "id", id);
    json_kstr(json, "name", d->name);
    json_ki64(json, "bytes", d->bytes);
    json_kstr(json, "state", d->state);
    if (d->reason == NULL) {
        json_knull(json, "reason");
    } else {
        json_kstr(json, "reason", d->reason);
    }
    json_ki64(json, "passages", d->passages);
    json_kbool(json, "shared", d->owner[0] == '\0');
    json_close_object(json);
}

/* --- reading ---------------------------------------------------------------
 */

struct overview {
    struct read read;
    bool indexing;
    struct library_run run;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    const char *after;
    int64_t limit;
    struct library_file *files;
    size_t n_files;
    struct library_entry *own; /* what is indexed of them */
    size_t n_own;
    struct library_entry *shared;
    size_t n_shared;
    int64_t shared_total;
};

static enum rc read_rows(const struct ask *ask, struct overview *o)
{
    enum rc rc = read_begin(ask, &o->read);

    if (rc != RC_OK) {
        return rc;
    }
    if (o->read.account_id != 0) {
        rc = store_library_open(ask->store, o->read.account_id, &o->indexing);
    }
    if (rc == RC_OK) {
        rc = store_library_run_get(ask->store, ask->arena, &o->run);
    }
    read_end(ask);
    return rc;
}

static enum rc look_into_index(const struct ask *ask, struct overview *o)
{
    const struct conf *conf = ask->app->conf;
    struct library *lib = NULL;
    enum rc rc = library_open_read(conf->data, conf->busy_timeout_ms, &lib);

    if (rc == RC_NOT_FOUND) {
        return RC_OK; /* nothing was indexed yet */
    }
    if (rc == RC_OK) {
        rc = library_entries(lib, o->owner, "", OWN_MAX, ask->arena, &o->own,
                             &o->n_own);
    }
    if (rc == RC_OK) {
        rc = library_entries(lib, "", o->after, (size_t)o->limit + 1,
                             ask->arena, &o->shared, &o->n_shared);
    }
    if (rc == RC_OK) {
        rc = library_count(lib, "", &o->shared_total);
    }
    library_close(lib);
    return rc;
}

/* The index is made of files, so one that is damaged is made anew: by the
 * runtime, which is told that something has changed. Until then everything
 * waits to be read. */
static enum rc read_index(const struct ask *ask, struct overview *o)
{
    const char *dir = ask->app->conf->data;
    struct doorbell *bell = NULL;
    enum rc rc = look_into_index(ask, o);

    if (rc != RC_DB) {
        return rc;
    }
    library_discard(dir);
    if (doorbell_open(dir, &bell) == RC_OK) {
        doorbell_ring(bell);
    }
    doorbell_close(bell);
    o->n_own = 0;
    o->n_shared = 0;
    o->shared_total = 0;
    return RC_OK;
}

static struct document own_document(const struct overview *o,
                                    const struct library_file *f,
                                    const struct library_entry *e)
{
    struct document d = {.name = f->name,
                         .bytes = f->bytes,
                         .state = "waiting",
                         .owner = o->owner};

    if (e == NULL) {
        return d;
    }
    if (e->error[0] != '\0' &&
        (e->mtime_ns == 0 || e->mtime_ns == f->mtime_ns)) {
        d.state = "failed";
        d.reason = e->error;
    } else if (e->mtime_ns == f->mtime_ns && e->size_bytes == f->bytes) {
        d.state = "indexed";
        d.passages = e->passages;
    }
    return d;
}

/* Files and what is indexed, both by name. */
static void put_own(struct json_out *json, const struct overview *o)
{
    size_t k = 0;

    for (size_t i = 0; i < o->n_files; i++) {
        struct document d;
        int order = -1;

        while (k < o->n_own &&
               (order = strcmp(o->own[k].path, o->files[i].name)) < 0) {
            k++;
        }
        d = own_document(o, &o->files[i],
                         k < o->n_own && order == 0 ? &o->own[k] : NULL);
        put_document(json, &d);
    }
}

static size_t put_shared(struct json_out *json, const struct overview *o)
{
    size_t n = o->n_shared > (size_t)o->limit ? (size_t)o->limit : o->n_shared;

    for (size_t i = 0; i < n; i++) {
        const struct library_entry *e = &o->shared[i];
        bool failed = e->error[0] != '\0';

        put_document(json,
                     &(struct document){.name = e->path,
                                        .bytes = e->size_bytes,
                                        .state = failed ? "failed" : "indexed",
                                        .reason = failed ? e->error : NULL,
                                        .passages = e->passages,
                                        .owner = ""});
    }
    return n;
}

static void put_totals(const struct ask *ask, struct json_out *json,
                       const struct overview *o)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < o->n_files; i++) {
        bytes += o->files[i].bytes;
    }
    json_key(json, "used");
    json_open_object(json);
    json_ki64(json, "files", (int64_t)o->n_files);
    json_ki64(json, "bytes", bytes);
    json_close_object(json);
    json_key(json, "limits");
    json_open_object(json);
    json_ki64(json, "files", ask->app->conf->library_max_files);
    json_ki64(json, "bytes", ask->app->conf->library_max_bytes);
    json_ki64(json, "file_bytes", (int64_t)LIBRARY_FILES_MAX_BYTES);
    json_close_object(json);
}

static void put_failing(struct json_out *json, const struct library_run *run)
{
    if (run->failures == 0) {
        json_knull(json, "failing");
        return;
    }
    json_key(json, "failing");
    json_open_object(json);
    json_kstr(json, "reason", run->reason);
    json_ki64(json, "retry_at", run->retry_ms);
    json_close_object(json);
}

static enum serve_then reply_overview(const struct ask *ask,
                                      const struct overview *o)
{
    struct reply reply;
    size_t shown;

    reply_open(&reply);
    read_put_view(&reply.json, &o->read);
    json_kbool(&reply.json, "indexing", o->indexing);
    put_failing(&reply.json, &o->run);
    json_key(&reply.json, "documents");
    json_open_array(&reply.json);
    if (o->after[0] == '\0') {
        put_own(&reply.json, o);
    }
    shown = put_shared(&reply.json, o);
    json_close_array(&reply.json);
    if (shown < o->n_shared) {
        json_kstr(&reply.json, "next", o->shared[shown - 1].path);
    } else {
        json_knull(&reply.json, "next");
    }
    json_ki64(&reply.json, "shared", o->shared_total);
    put_totals(ask, &reply.json, o);
    return reply_send(&reply, ask->req, 200);
}

enum serve_then h_library_get(struct ask *ask)
{
    struct overview o = {.after = req_query(ask->req, "after")};
    enum rc rc;

    if (!form_query_i64_or_reply(ask, "limit", 1, SHARED_MAX, SHARED_DEFAULT,
                                 &o.limit)) {
        return SERVE_FINISH;
    }
    o.after = o.after == NULL ? "" : o.after;
    library_files_owner(ask->account, o.owner);
    /* as_of first: what comes in or is read while this reads is told of by a
     * newer change. */
    rc = read_rows(ask, &o);
    if (rc == RC_OK) {
        rc = library_files_list(ask->app->conf->data, o.owner, ask->arena,
                                &o.files, &o.n_files);
    }
    if (rc == RC_OK) {
        rc = read_index(ask, &o);
    }
    return rc == RC_OK ? reply_overview(ask, &o) : reply_rc(ask->req, rc);
}

/* --- writing ---------------------------------------------------------------
 */

struct change_call {
    struct store_call call;
    enum audit_action why;
    char owner[LIBRARY_FILES_OWNER_BYTES];
    struct library_added added; /* of an upload */
    bool removed;               /* of a removal: this call has done it */
    const char *mark;           /* of a removal; NULL: without a key */
};

static enum rc want(struct store *st, void *arg)
{
    struct change_call *c = arg;

    return store_library_want(st, &c->call, c->why);
}

static enum serve_then wanted(const struct ask *ask, void *arg, enum rc rc,
                              const char *feed)
{
    const struct change_call *c = arg;
    bool is_upload = req_method(ask->req) == REQ_PUT;
    struct reply reply;

    if (rc != RC_OK) {
        return call_reply_rc(ask, &c->call, rc, REPLY_CONFLICT);
    }
    reply_open(&reply);
    if (is_upload) {
        json_key(&reply.json, "document");
        put_document(&reply.json, &(struct document){.name = ask->rest,
                                                     .bytes = c->added.bytes,
                                                     .state = "waiting",
                                                     .owner = c->owner});
        json_kbool(&reply.json, "replaced", c->added.replaced);
    }
    call_put_end(&reply.json, &c->call, feed);
    return reply_send(&reply, ask->req,
                      !is_upload          ? 200
                      : c->added.replaced ? 200
                                          : 201);
}

static enum serve_then reply_disk_full(const struct ask *ask)
{
    return reply_problem(ask->req, REPLY_DISK_FULL,
                         "There is no space left where the library lies.");
}

/* NULL: answered. */
static struct change_call *open_or_reply(const struct ask *ask,
                                         enum audit_action why)
{
    struct change_call *c = arena_alloc(ask->arena, sizeof(*c));

    if (c == NULL) {
        (void)reply_rc(ask->req, RC_NOMEM);
        return NULL;
    }
    if (!call_open_or_reply(ask, CALL_KEY_OPTIONAL,
                            (const struct call_field[]){{NULL, NULL}},
                            &c->call)) {
        return NULL;
    }
    c->why = why;
    library_files_owner(ask->account, c->owner);
    c->removed = false;
    c->mark = NULL;
    return c;
}

enum serve_then h_library_index(struct ask *ask)
{
    struct change_call *c = open_or_reply(ask, AUDIT_LIBRARY_INDEX);

    return c == NULL ? SERVE_FINISH : call_hand_over(ask, want, c, wanted);
}

/* --- removing --------------------------------------------------------------
 *
 * The file goes before the row that says so, and what is done under a key is
 * done once. So the key is looked up first; the file is put aside under a mark
 * of the call until the row is committed, in which the key is bound; and who
 * finds no file asks for the key once more, since the same call may just have
 * been carried out. */

static enum rc remove_row(struct store *st, void *arg)
{
    struct change_call *c = arg;

    return store_library_remove(st, &c->call, c->removed);
}

static enum serve_then row_removed(const struct ask *ask, void *arg, enum rc rc,
                                   const char *feed)
{
    const struct change_call *c = arg;

    if (rc == RC_OK && c->mark != NULL) {
        library_files_removed(ask->app->conf->data, c->owner, c->mark);
    }
    return wanted(ask, arg, rc, feed);
}

/* A hash over the key and what it is for. NULL: no memory. */
static const char *mark_of(const struct ask *ask, const struct store_call *call)
{
    const struct hash_part parts[] = {
        {.bytes = call->key, .len = strlen(call->key)},
        {.bytes = call->fingerprint, .len = HASH_BYTES}};
    char *mark = arena_alloc(ask->arena, 2 * HASH_BYTES + 1);
    uint8_t hash[HASH_BYTES];

    if (mark != NULL) {
        hash_parts(parts, 2, hash);
        hash_hex(hash, mark);
    }
    return mark;
}

static enum rc remove_file(const struct ask *ask, struct change_call *c)
{
    const struct conf *conf = ask->app->conf;
    enum rc rc = call_find_key(ask, &c->call);

    if (rc != RC_OK || c->call.replayed) {
        return rc;
    }
    if (c->call.key != NULL) {
        c->mark = mark_of(ask, &c->call);
        if (c->mark == NULL) {
            return RC_NOMEM;
        }
    }
    rc = library_files_remove(conf->data, c->owner, ask->rest, c->mark,
                              conf->busy_timeout_ms);
    c->removed = rc == RC_OK;
    return rc == RC_NOT_FOUND && c->mark != NULL ? RC_OK : rc;
}

enum serve_then h_library_remove(struct ask *ask)
{
    struct change_call *c = open_or_reply(ask, AUDIT_LIBRARY_REMOVE);
    enum rc rc;

    if (c == NULL) {
        return SERVE_FINISH;
    }
    rc = remove_file(ask, c);
    if (rc == RC_FULL) {
        return reply_disk_full(ask);
    }
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    return call_hand_over(ask, remove_row, c, row_removed);
}

/* --- adding ----------------------------------------------------------------
 */

static enum rc take(void *upload, const void *bytes, size_t len)
{
    return library_files_write(upload, bytes, len);
}

static enum serve_then reply_refused(const struct ask *ask,
                                     const struct library_added *added)
{
    const struct conf *conf = ask->app->conf;

    switch (added->refusal) {
    case LIBRARY_TOO_MANY:
        return reply_problem(
            ask->req, REPLY_LIBRARY_FULL,
            arena_printf(ask->arena,
                         "It may hold %lld files. Remove some first.",
                         (long long)conf->library_max_files));
    case LIBRARY_TOO_MUCH:
        return reply_problem(
            ask->req, REPLY_LIBRARY_FULL,
            arena_printf(ask->arena,
                         "It may hold %lld bytes. Remove something first.",
                         (long long)conf->library_max_bytes));
    case LIBRARY_TWIN:
        return reply_problem(
            ask->req, REPLY_NAME_TAKEN,
            arena_printf(ask->arena,
                         "\"%s\" is there already, and differs only in "
                         "capitals or in how accents are written.",
                         added->other));
    case LIBRARY_IN_THE_WAY:
        return reply_problem(ask->req, REPLY_NAME_TAKEN,
                             "A file is where the name has a folder, or a "
                             "folder where it has the file.");
    case LIBRARY_DISK_FULL:
        return reply_disk_full(ask);
    case LIBRARY_TAKEN:
        break;
    }
    return reply_rc(ask->req, RC_IO);
}

static bool check_name_or_reply(const struct ask *ask)
{
    const char *fault = library_files_fault(ask->rest);

    if (fault != NULL) {
        (void)reply_problem(ask->req, REPLY_INVALID_NAME, fault);
        return false;
    }
    if (library_files_format(ask->rest) == LIBRARY_FORMAT_NONE) {
        (void)reply_problem(ask->req, REPLY_FILE_KIND,
                            "Names must end in " LIBRARY_FILES_KINDS ".");
        return false;
    }
    return true;
}

/* The body, straight to the disk. NULL: answered. */
static struct library_upload *receive_or_reply(const struct ask *ask,
                                               const char *owner)
{
    struct library_upload *upload = NULL;
    bool arrived = true;
    enum rc rc = library_files_begin(ask->app->conf->data, owner, &upload);

    if (rc == RC_OK) {
        rc = req_body_pieces(ask->req, LIBRARY_FILES_MAX_BYTES, take, upload,
                             &arrived);
    }
    if (rc == RC_OK) {
        return upload;
    }
    library_files_drop(upload);
    if (!arrived) {
        (void)reply_problem(ask->req, REPLY_MALFORMED_BODY, NULL);
    } else if (rc == RC_TOO_LARGE) {
        (void)reply_problem(ask->req, REPLY_FILE_TOO_LARGE, NULL);
    } else if (rc == RC_FULL) {
        (void)reply_disk_full(ask);
    } else {
        (void)reply_rc(ask->req, rc);
    }
    return NULL;
}

/* Once the file has its name, a write that fails only puts off that it is
 * read: adding it again does no harm. */
enum serve_then h_library_add(struct ask *ask)
{
    const struct conf *conf = ask->app->conf;
    const struct library_limits limits = {.files = conf->library_max_files,
                                          .bytes = conf->library_max_bytes};
    struct library_upload *upload;
    struct change_call *c;
    enum rc rc;

    if (!check_name_or_reply(ask)) {
        return SERVE_FINISH;
    }
    c = open_or_reply(ask, AUDIT_LIBRARY_ADD);
    upload = c == NULL ? NULL : receive_or_reply(ask, c->owner);
    if (upload == NULL) {
        return SERVE_FINISH;
    }
    rc =
        library_files_commit_take(upload, ask->rest, &limits,
                                  conf->busy_timeout_ms, ask->arena, &c->added);
    if (rc == RC_CONFLICT) {
        return reply_refused(ask, &c->added);
    }
    if (rc != RC_OK) {
        return reply_rc(ask->req, rc);
    }
    return call_hand_over(ask, want, c, wanted);
}
