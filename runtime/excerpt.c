/* excerpt.c - results that are too large for a prompt are cut where it hurts
 * least: at their end, passage by passage, and never silently. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/context_inside.h"
#include "sql/base/json.h"
#include "sql/base/tokens.h"
#include "sql/base/utf8.h"

#define HOW_BYTES  240
#define END_TOKENS 32 /* of the line that says how to read on */
#define LINKS_PART 4  /* of the room, at most one in so many */
#define TEXT_PART  4  /* of the room, one in so many is for a passage's text */
/* Longer titles and headings tell no more. */
#define LABEL_BYTES 200

/* Without memory to tell: more than fits anywhere. */
static int64_t size_of(const cJSON *tree)
{
    struct buf text;
    int64_t size = INT64_MAX / 2;

    buf_init(&text, 16u << 20);
    if (json_print(tree, &text) == RC_OK) {
        size = tokens_estimate(buf_str(&text), text.len);
    }
    buf_free(&text);
    return size;
}

/* --- passages ---------------------------------------------------------- */

/* The one passage that is left gets so much of the beginning of its text as
 * has room, escaped as it is. */
static void shorten(const cJSON *tree, cJSON *passage, int64_t max_tokens)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(passage, "text");
    char *text = cJSON_IsString(item) ? item->valuestring : NULL;
    size_t least = 0;
    size_t most = text != NULL ? strlen(text) : 0;
    size_t len = most;

    while (least < most) {
        size_t middle = utf8_clip(text, len, most - (most - least) / 2);
        char next = text[middle];

        if (middle <= least) {
            break;
        }
        text[middle] = '\0';
        if (size_of(tree) <= max_tokens) {
            least = middle;
        } else {
            most = middle - 1;
        }
        text[middle] = next;
    }
    if (text != NULL) {
        text[least] = '\0';
    }
}

static void clip_label(cJSON *object, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    if (cJSON_IsString(item)) {
        item->valuestring[utf8_clip(
            item->valuestring, strlen(item->valuestring), LABEL_BYTES)] = '\0';
    }
}

static void clip_labels(cJSON *tree, cJSON *passages)
{
    cJSON *item;

    clip_label(tree, "title");
    cJSON_ArrayForEach(item, passages)
    {
        clip_label(item, "title");
        clip_label(item, "heading");
    }
}

/* How to get at what is left out behind so many passages. */
static void say_how(const struct excerpt *e, const cJSON *tree, size_t kept,
                    bool shortened, char *out)
{
    const cJSON *passages = json_get(tree, "passages");
    int64_t n = 0;

    if (e->number == 0) {
        (void)snprintf(out, HOW_BYTES,
                       json_get(tree, "location") != NULL
                           ? "the rest of this part is left out here for want "
                             "of room; read on with a larger from"
                           : "passages are left out here for want of room; "
                             "search more narrowly, or read on from one");
    } else if (shortened &&
               json_i64(cJSON_GetArrayItem(passages, 0), "n", &n) == RC_OK) {
        (void)snprintf(out, HOW_BYTES,
                       "the text is cut here for want of room: recall "
                       "{\"source\":%" PRId64 "} has all of it, and recall "
                       "{\"result\":%" PRId64 ",\"from\":%zu} what comes after",
                       n, e->number, e->from + kept);
    } else {
        (void)snprintf(out, HOW_BYTES,
                       "passages are left out here for want of room: recall "
                       "{\"result\":%" PRId64
                       ",\"from\":%zu} goes on with them",
                       e->number, e->from + kept);
    }
}

static void put_how(const struct excerpt *e, cJSON *tree, size_t kept,
                    bool shortened)
{
    char how[HOW_BYTES];

    say_how(e, tree, kept, shortened, how);
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "cut");
    (void)cJSON_AddStringToObject(tree, "cut", how);
}

/* Most of what has to go: sizes of parts add up, give or take one token each. */
static int drop_most(cJSON *passages, int64_t size, int64_t max_tokens)
{
    int n = cJSON_GetArraySize(passages);

    while (n > 1) {
        size -= size_of(cJSON_GetArrayItem(passages, n - 1)) + 1;
        if (size <= max_tokens) {
            break;
        }
        cJSON_DeleteItemFromArray(passages, --n);
    }
    return n;
}

/* Where a page leads gives way to what it says. */
static void cut_links(cJSON *tree, int64_t room)
{
    cJSON *links = cJSON_GetObjectItemCaseSensitive(tree, "links");
    const cJSON *link;
    int keep = 0;

    cJSON_ArrayForEach(link, links)
    {
        room -= size_of(link) + 1;
        if (room < 0) {
            break;
        }
        keep++;
    }
    while (cJSON_GetArraySize(links) > keep) {
        cJSON_DeleteItemFromArray(links, keep);
    }
}

/* What is said about a passage goes, the least telling first, until its text
 * has its part of the room. */
static void strip(const struct excerpt *e, cJSON *tree, cJSON *passage)
{
    static const struct {
        bool of_passage;
        const char *name;
    } LEAST_FIRST[] = {
        {false, "links"},   {false, "note"},     {true, "heading"},
        {true, "title"},    {false, "title"},    {true, "id"},
        {true, "location"}, {false, "has_more"}, {false, "location"},
    };
    const cJSON *text = json_get(passage, "text");
    int64_t own = text != NULL ? size_of(text) : 0;
    int64_t most = e->max_tokens - e->max_tokens / TEXT_PART;

    for (size_t i = 0; i < sizeof(LEAST_FIRST) / sizeof(LEAST_FIRST[0]) &&
                       size_of(tree) - own > most;
         i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(
            LEAST_FIRST[i].of_passage ? passage : tree, LEAST_FIRST[i].name);
    }
}

/* One passage at most is left, and is still too much. */
static void cut_last(const struct excerpt *e, cJSON *tree, cJSON *passages)
{
    cJSON *passage = cJSON_GetArrayItem(passages, 0);

    put_how(e, tree, passage != NULL ? 1 : 0, true);
    strip(e, tree, passage);
    shorten(tree, passage, e->max_tokens);
    if (size_of(tree) > e->max_tokens) { /* room for a word alone */
        while (tree->child != NULL) {
            cJSON_Delete(cJSON_DetachItemViaPointer(tree, tree->child));
        }
        (void)cJSON_AddStringToObject(tree, "cut", "for want of room");
    }
    if (size_of(tree) > e->max_tokens) { /* not even that */
        cJSON_DeleteItemFromObjectCaseSensitive(tree, "cut");
    }
}

static void cut_passages(const struct excerpt *e, cJSON *tree, cJSON *passages)
{
    int n = cJSON_GetArraySize(passages);
    int64_t size = size_of(tree);

    if (size <= e->max_tokens) {
        return;
    }
    clip_labels(tree, passages);
    cut_links(tree, e->max_tokens / LINKS_PART);
    size = size_of(tree);
    if (size <= e->max_tokens) {
        return;
    }
    put_how(e, tree, (size_t)n, true); /* of its longest form */
    n = drop_most(passages, size_of(tree), e->max_tokens);
    size = size_of(tree);
    while (size > e->max_tokens && n > 1) {
        cJSON_DeleteItemFromArray(passages, --n);
        size = size_of(tree);
    }
    if (size > e->max_tokens) {
        cut_last(e, tree, passages);
    } else {
        put_how(e, tree, (size_t)n, false);
    }
}

static enum rc put_passages(const struct excerpt *e, cJSON *tree,
                            cJSON *passages, struct buf *out)
{
    for (size_t i = 0; i < e->from && cJSON_GetArraySize(passages) > 0; i++) {
        cJSON_DeleteItemFromArray(passages, 0);
    }
    cut_passages(e, tree, passages);
    return json_print(tree, out);
}

/* --- texts ------------------------------------------------------------- */

size_t excerpt_text(const char *text, size_t from, int64_t max_tokens,
                    struct buf *out)
{
    size_t len = strlen(text);
    size_t start = utf8_clip(text, len, from);
    size_t keep = len - start;

    if (tokens_estimate(text + start, keep) <= max_tokens) {
        buf_add(out, text + start, keep);
        return 0;
    }
    keep = tokens_clip(text + start, keep, max_tokens - END_TOKENS);
    buf_add(out, text + start, keep);
    return start + keep;
}

static void put_text(const struct excerpt *e, struct buf *out)
{
    size_t before = out->len;
    size_t next = excerpt_text(e->result, e->from, e->max_tokens, out);
    int64_t left = e->max_tokens -
                   tokens_estimate(buf_str(out) + before, out->len - before);
    char how[HOW_BYTES];

    if (next == 0) {
        return;
    }
    if (e->number != 0) {
        (void)snprintf(
            how, sizeof(how),
            "\n[cut here for want of room; recall {\"result\":%" PRId64
            ",\"from\":%zu} goes on]",
            e->number, next);
    } else {
        (void)snprintf(how, sizeof(how), "\n[cut here for want of room]");
    }
    if (tokens_estimate(how, strlen(how)) <= left) {
        buf_puts(out, how);
    }
}

enum rc excerpt_result(const struct excerpt *e, struct buf *out)
{
    size_t len = strlen(e->result);
    cJSON *tree = NULL;
    cJSON *passages;
    enum rc rc;

    if (e->from == 0 && tokens_estimate(e->result, len) <= e->max_tokens) {
        buf_add(out, e->result, len);
        return buf_rc(out);
    }
    rc = json_parse(e->result, len, &tree, NULL);
    if (rc != RC_OK) {
        put_text(e, out);
        return rc == RC_NOMEM ? rc : buf_rc(out);
    }
    passages = cJSON_GetObjectItemCaseSensitive(tree, "passages");
    if (cJSON_GetArraySize(passages) > 0) {
        rc = put_passages(e, tree, passages, out);
    } else {
        put_text(e, out);
    }
    json_free(tree);
    return rc == RC_OK ? buf_rc(out) : rc;
}
