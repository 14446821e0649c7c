/* model_calls.c - the reference says: a piece names its call by index, id and
 * name come in the first piece, arguments are appended. Providers leave the
 * index out, give all calls the index 0, send a new id with every piece, send
 * the name late or again, or the arguments as an object. The rules here, in
 * this order:
 *
 *   1. A piece with an index belongs to the newest call of that index; one
 *      without, to the call with its id; failing that, to the newest call. No
 *      such call: it opens one.
 *   2. Unless it brings a name although that call has one, and does not merely
 *      repeat it: then it opens a new call. It repeats it if the id is the
 *      same; or if the name is the same, and either the call's arguments have
 *      begun but are not whole, or the ids do not differ and one of the two
 *      has no arguments.
 *   3. The first id and the first name of a call stay.
 */
#include "runtime/model/model_calls.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/model/model_text.h"
#include "sql/base/utf8.h"

#define ID_MAX_BYTES   ((size_t)1024)
#define NAME_MAX_BYTES ((size_t)256)

struct model_slot {
    int64_t index; /* on the wire; -1: none was sent */
    struct buf id;
    struct buf name;
    struct model_text arguments;
};

/* One element of tool_calls. */
struct piece {
    int64_t index; /* -1: none */
    const char *id;
    const char *name;
    const cJSON *arguments;
    bool has_arguments; /* they are not empty */
};

void model_calls_init(struct model_calls *c,
                      const struct model_calls_limits *limits)
{
    *c = (struct model_calls){.max = limits->calls,
                              .arguments_limit = limits->arguments_bytes,
                              .arguments_left = limits->all_arguments_bytes,
                              .rc = RC_OK};
}

static void slot_free(struct model_slot *s)
{
    buf_free(&s->id);
    buf_free(&s->name);
    model_text_free(&s->arguments);
}

void model_calls_free(struct model_calls *c)
{
    for (size_t i = 0; i < c->n; i++) {
        slot_free(&c->slots[i]);
    }
    free(c->slots);
    free(c->view);
    c->slots = NULL;
    c->view = NULL;
    c->n = 0;
}

/* RC_NOMEM: it cannot be told. */
static enum rc is_object_text(const struct buf *text, bool *yes)
{
    cJSON *tree = NULL;
    enum rc rc = json_parse(buf_str(text), text->len, &tree, NULL);

    *yes = rc == RC_OK && cJSON_IsObject(tree);
    json_free(tree);
    return rc == RC_NOMEM ? rc : RC_OK;
}

static struct model_slot *find_slot(struct model_calls *c,
                                    const struct piece *p)
{
    for (size_t i = c->n; i > 0; i--) {
        struct model_slot *s = &c->slots[i - 1];

        if (p->index >= 0
                ? s->index == p->index
                : p->id[0] != '\0' && strcmp(buf_str(&s->id), p->id) == 0) {
            return s;
        }
    }
    return p->index < 0 && c->n > 0 ? &c->slots[c->n - 1] : NULL;
}

/* Rule 2. */
static bool opens_new(struct model_calls *c, const struct model_slot *s,
                      const struct piece *p)
{
    bool whole = false;
    bool both_ids = p->id[0] != '\0' && s->id.len > 0;

    if (p->name[0] == '\0' || s->name.len == 0) {
        return false;
    }
    if (both_ids && strcmp(p->id, buf_str(&s->id)) == 0) {
        return false;
    }
    if (strcmp(p->name, buf_str(&s->name)) != 0) {
        return true;
    }
    if (!both_ids && (s->arguments.out.len == 0 || !p->has_arguments)) {
        return false;
    }
    if (s->arguments.out.len == 0) {
        return true;
    }
    c->rc = is_object_text(&s->arguments.out, &whole);
    return whole;
}

static struct model_slot *add_slot(struct model_calls *c, const struct piece *p)
{
    struct model_slot *slots, *s;
    struct model_call *view;

    if (c->n == c->max) {
        c->full = true;
        return NULL;
    }
    slots = realloc(c->slots, (c->n + 1) * sizeof(*slots));
    if (slots == NULL) {
        c->rc = RC_NOMEM;
        return NULL;
    }
    c->slots = slots;
    view = realloc(c->view, (c->n + 1) * sizeof(*view));
    if (view == NULL) {
        c->rc = RC_NOMEM;
        return NULL;
    }
    c->view = view;
    s = &slots[c->n++];
    s->index = p->index;
    buf_init(&s->id, ID_MAX_BYTES);
    buf_init(&s->name, NAME_MAX_BYTES);
    model_text_init(&s->arguments, c->arguments_limit);
    return s;
}

/* Ids and names come whole, in one chunk. */
static void set_once(struct buf *b, const char *text)
{
    struct model_text valid;

    if (b->len > 0 || text[0] == '\0') {
        return;
    }
    model_text_init(&valid, b->limit);
    model_text_add(&valid, text, strlen(text));
    model_text_end(&valid);
    buf_add(b, buf_str(&valid.out), valid.out.len);
    if (valid.full) {
        b->rc = RC_TOO_LARGE;
    } else if (buf_rc(&valid.out) != RC_OK) {
        b->rc = buf_rc(&valid.out);
    }
    model_text_free(&valid);
}

static void add_argument_text(struct model_calls *c, struct model_slot *s,
                              const char *text)
{
    size_t len = strlen(text);

    if (len > c->arguments_left) {
        c->full = true;
        len = utf8_clip(text, len, c->arguments_left);
    }
    c->arguments_left -= len;
    model_text_add(&s->arguments, text, len);
    c->full = c->full || s->arguments.full;
}

static void add_arguments(struct model_calls *c, struct model_slot *s,
                          const cJSON *arguments)
{
    char *text;

    if (cJSON_IsString(arguments)) {
        add_argument_text(c, s, arguments->valuestring);
    } else if (cJSON_IsObject(arguments)) {
        /* An object is always whole. */
        text = cJSON_PrintUnformatted(arguments);
        if (text == NULL) {
            c->rc = RC_NOMEM;
            return;
        }
        buf_clear(&s->arguments.out);
        add_argument_text(c, s, text);
        cJSON_free(text);
    }
}

static void add_piece(struct model_calls *c, const struct piece *p, bool whole)
{
    struct model_slot *s = whole ? NULL : find_slot(c, p);

    if (s == NULL || opens_new(c, s, p)) {
        s = add_slot(c, p);
    }
    if (s == NULL) {
        return;
    }
    set_once(&s->id, p->id);
    set_once(&s->name, p->name);
    add_arguments(c, s, p->arguments);
    if (c->rc == RC_OK) {
        c->rc = buf_rc(&s->id);
    }
    if (c->rc == RC_OK) {
        c->rc = buf_rc(&s->name);
    }
    if (c->rc == RC_OK) {
        c->rc = buf_rc(&s->arguments.out);
    }
}

void model_calls_add(struct model_calls *c, const cJSON *tool_calls, bool whole)
{
    const cJSON *m;

    if (!cJSON_IsArray(tool_calls) || c->closed) {
        return;
    }
    cJSON_ArrayForEach(m, tool_calls)
    {
        const cJSON *function = json_get(m, "function");
        struct piece p = {.id = json_str(m, "id", ""),
                          .name = json_str(function, "name", ""),
                          .arguments = json_get(function, "arguments")};

        p.has_arguments = cJSON_IsObject(p.arguments) ||
                          (cJSON_IsString(p.arguments) &&
                           p.arguments->valuestring[0] != '\0');
        if (json_i64(m, "index", &p.index) != RC_OK || p.index < 0) {
            p.index = -1;
        }
        if (cJSON_IsObject(m) && c->rc == RC_OK && !c->full) {
            add_piece(c, &p, whole);
        }
    }
}

static bool is_blank(const struct model_slot *s)
{
    return s->id.len == 0 && s->name.len == 0 && s->arguments.out.len == 0;
}

/* Another call has it, or may be given it: names with the prefix are ours. */
static bool id_is_taken(const struct model_calls *c, size_t i,
                        const char *id_prefix)
{
    if (strncmp(buf_str(&c->slots[i].id), id_prefix, strlen(id_prefix)) == 0) {
        return true;
    }
    for (size_t k = 0; k < i; k++) {
        if (strcmp(buf_str(&c->slots[k].id), buf_str(&c->slots[i].id)) == 0) {
            return true;
        }
    }
    return false;
}

void model_calls_close(struct model_calls *c, const char *id_prefix)
{
    size_t kept = 0;

    if (c->closed) {
        return;
    }
    c->closed = true;
    for (size_t i = 0; i < c->n; i++) {
        model_text_end(&c->slots[i].arguments);
        if (is_blank(&c->slots[i])) {
            slot_free(&c->slots[i]);
        } else {
            c->slots[kept++] = c->slots[i];
        }
    }
    c->n = kept;
    for (size_t i = 0; i < c->n; i++) {
        struct model_slot *s = &c->slots[i];
        enum rc rc;

        if (s->id.len == 0 || id_is_taken(c, i, id_prefix)) {
            buf_clear(&s->id);
            buf_printf(&s->id, "%s_%zu", id_prefix, i);
            if (c->rc == RC_OK) {
                c->rc = buf_rc(&s->id);
            }
        }
        rc = is_object_text(&s->arguments.out, &c->view[i].arguments_valid);
        if (c->rc == RC_OK) {
            c->rc = rc;
        }
    }
}

const struct model_call *model_calls_view(struct model_calls *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct model_slot *s = &c->slots[i];

        c->view[i] = (struct model_call){
            .id = buf_str(&s->id),
            .name = buf_str(&s->name),
            .arguments = buf_str(&s->arguments.out),
            .arguments_valid = c->closed && c->view[i].arguments_valid,
        };
    }
    return c->view;
}
