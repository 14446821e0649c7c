#include "runtime/cmd/cmd_library_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sql/library.h"
#include "sql/library_files.h"

#define LISTED_MAX 200000

/* The account's own files as they lie on the disk, each with what the index has
 * of it, and the shared documents as the index has them. */
struct shelf {
    struct arena *arena;
    struct library_file *files;
    struct library_entry *own;
    struct library_entry *shared;
    size_t n_files;
    size_t n_own;
    size_t n_shared;
};

struct line {
    const char *state; /* "indexed", "failed", "waiting" */
    const char *whose; /* "own", "shared" */
    int64_t bytes;
    int64_t passages;
    const char *name;
    const char *error; /* NULL: none */
};

static struct line line_of(const struct library_entry *e, const char *whose)
{
    bool failed = e->error[0] != '\0';

    return (struct line){.state = failed ? "failed" : "indexed",
                         .whose = whose,
                         .bytes = e->size_bytes,
                         .passages = failed ? 0 : e->passages,
                         .name = e->path,
                         .error = failed ? e->error : NULL};
}

/* The entry of these very bytes. */
static const struct library_entry *find_entry(const struct shelf *s,
                                              const struct library_file *f)
{
    for (size_t i = 0; i < s->n_own; i++) {
        const struct library_entry *e = &s->own[i];

        if (strcmp(e->path, f->name) == 0 &&
            (e->mtime_ns == f->mtime_ns ||
             (e->mtime_ns == 0 && e->error[0] != '\0'))) {
            return e;
        }
    }
    return NULL;
}

static struct line line_at(const struct shelf *s, size_t i)
{
    const struct library_entry *e;

    if (i >= s->n_files) {
        return line_of(&s->shared[i - s->n_files], "shared");
    }
    e = find_entry(s, &s->files[i]);
    return e != NULL ? line_of(e, "own")
                     : (struct line){.state = "waiting",
                                     .whose = "own",
                                     .bytes = s->files[i].bytes,
                                     .name = s->files[i].name};
}

static enum rc put(struct json_out *json, void *arg)
{
    const struct shelf *s = arg;

    json_key(json, "documents");
    json_open_array(json);
    for (size_t i = 0; i < s->n_files + s->n_shared; i++) {
        struct line line = line_at(s, i);

        json_open_object(json);
        json_kstr(json, "state", line.state);
        json_kstr(json, "whose", line.whose);
        json_ki64(json, "bytes", line.bytes);
        json_ki64(json, "passages", line.passages);
        cmd_kstr(json, "name", line.name);
        cmd_kstr(json, "error", line.error);
        json_close_object(json);
    }
    json_close_array(json);
    return RC_OK;
}

/* Lines of state, own or shared, bytes, passages and name, by tabs. */
static void print(const struct shelf *s)
{
    for (size_t i = 0; i < s->n_files + s->n_shared; i++) {
        struct line line = line_at(s, i);

        (void)printf("%s\t%s\t%" PRId64 "\t%" PRId64 "\t%s", line.state,
                     line.whose, line.bytes, line.passages,
                     cmd_shown(s->arena, line.name));
        if (line.error != NULL) {
            (void)printf("\t(%s)", cmd_shown(s->arena, line.error));
        }
        (void)printf("\n");
    }
}

static enum rc read_entries(struct cmd *cmd, const char *owner, struct shelf *s)
{
    struct library *lib = NULL;
    enum rc rc =
        library_open_read(cmd->conf.data, cmd->conf.busy_timeout_ms, &lib);

    if (rc == RC_NOT_FOUND) {
        return RC_OK;
    }
    if (rc == RC_OK) {
        rc = library_entries(lib, owner, "", LISTED_MAX, cmd->arena, &s->own,
                             &s->n_own);
    }
    if (rc == RC_OK) {
        rc = library_entries(lib, "", "", LISTED_MAX, cmd->arena, &s->shared,
                             &s->n_shared);
    }
    library_close(lib);
    return rc;
}

int cmd_library_list(struct cmd *cmd, const char *owner)
{
    struct shelf s = {.arena = cmd->arena};
    enum rc rc = library_files_list(cmd->conf.data, owner, cmd->arena, &s.files,
                                    &s.n_files);

    if (rc == RC_OK) {
        rc = read_entries(cmd, owner, &s);
    }
    if (rc != RC_OK) {
        return cmd_fail_rc("the library cannot be read", rc);
    }
    if (cmd->json) {
        return cmd_print_json(put, &s);
    }
    print(&s);
    return CMD_DONE;
}
