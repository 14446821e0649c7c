#include "runtime/coverage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/base/id.h"
#include "sql/base/json.h"

#define EVIDENCE_BYTES (1u << 20)
#define NUMBER_MAX     ((int64_t)1 << 53) /* no passage has it */

enum rc coverage_list(struct step *s, struct cover *out)
{
    struct handoff *list = NULL;
    size_t n = 0;
    enum rc rc =
        store_handoff_of_run(s->rt->store, s->run.id, s->mem, &list, &n);

    out->n = 0;
    out->items = arena_alloc(s->mem, (n + 1) * sizeof(out->items[0]));
    out->named = arena_alloc(s->mem, (n + 1) * sizeof(out->named[0]));
    if (rc != RC_OK || out->items == NULL || out->named == NULL) {
        return rc == RC_OK ? RC_TOO_LARGE : rc;
    }
    memset(out->named, 0, (n + 1) * sizeof(out->named[0]));
    out->items[out->n++] = (struct coverage){
        .message_id = s->run.message_id, .status = COVERED_NOT, .remark = ""};
    for (size_t i = 0; i < n; i++) {
        if (list[i].kind == HANDOFF_ADJUSTMENT &&
            list[i].state == HANDOFF_HANDED) {
            out->items[out->n++] =
                (struct coverage){.handoff_id = list[i].id,
                                  .message_id = list[i].message_id,
                                  .status = COVERED_NOT,
                                  .remark = ""};
        }
    }
    return RC_OK;
}

static struct coverage *find_requirement(struct cover *c, const char *id)
{
    char text[ID_TEXT_BYTES];

    for (size_t i = 0; i < c->n; i++) {
        const char *own =
            c->items[i].message_id != 0
                ? id_text(ID_MESSAGE, c->items[i].message_id, text)
                : "request";

        if (strcmp(own, id) == 0) {
            return &c->items[i];
        }
    }
    return NULL;
}

/* --- its form ---------------------------------------------------------- */

void coverage_unwrap(cJSON *args)
{
    static const char NAME[] = "coverage";
    cJSON *list = cJSON_GetObjectItemCaseSensitive(args, NAME);
    cJSON *tree = NULL;

    if (cJSON_IsString(list) &&
        json_parse(list->valuestring, strlen(list->valuestring), &tree, NULL) ==
            RC_OK) {
        (void)cJSON_ReplaceItemInObjectCaseSensitive(args, NAME, tree);
        list = tree;
    }
    if (cJSON_IsString(json_get(list, "id"))) {
        cJSON *array = cJSON_CreateArray();

        list = cJSON_DetachItemFromObjectCaseSensitive(args, NAME);
        if (!cJSON_AddItemToArray(array, list)) {
            cJSON_Delete(list);
        }
        (void)cJSON_AddItemToObject(args, NAME, array);
    }
}

/* --- evidence ---------------------------------------------------------- */

static int64_t whole_number(double value)
{
    if (!(value >= 1)) {
        return 0;
    }
    if (value >= (double)NUMBER_MAX) {
        return NUMBER_MAX;
    }
    return (double)(int64_t)value == value ? (int64_t)value : 0;
}

/* 7, "7" or "[7]": models write all of them. 0: it names no passage. */
static int64_t number_of(const cJSON *item)
{
    const char *text;
    char *end;
    int64_t n;

    if (!cJSON_IsString(item)) {
        return cJSON_IsNumber(item) ? whole_number(item->valuedouble) : 0;
    }
    text = item->valuestring + strspn(item->valuestring, " [");
    if (!isdigit((unsigned char)*text)) {
        return 0;
    }
    n = strtoll(text, &end, 10);
    if (end[strspn(end, " ]")] != '\0') {
        return 0;
    }
    return n < NUMBER_MAX ? n : NUMBER_MAX;
}

/* A list of numbers, or one that stands by itself. */
static enum rc add_numbers(const cJSON *numbers, struct citations *out)
{
    const cJSON *item = cJSON_IsArray(numbers) ? numbers->child : numbers;
    enum rc rc = RC_OK;

    for (; item != NULL && rc == RC_OK;
         item = item == numbers ? NULL : item->next) {
        int64_t n = number_of(item);

        if (n > 0) {
            rc = citations_add(out, n);
        }
    }
    citations_sort(out);
    return rc;
}

enum rc coverage_cited(const cJSON *list, struct citations *out)
{
    const cJSON *item;
    enum rc rc = RC_OK;

    cJSON_ArrayForEach(item, list)
    {
        if (rc == RC_OK) {
            rc = add_numbers(json_get(item, "sources"), out);
        }
    }
    return rc;
}

/* Those of the numbers that a source has, as a JSON list. */
static enum rc print_known(struct step *s, const struct citations *cited,
                           const struct source *known, size_t n,
                           const char **out)
{
    struct json_out j;
    struct buf text;
    enum rc rc;

    buf_init(&text, EVIDENCE_BYTES);
    json_begin(&j, &text);
    json_open_array(&j);
    for (size_t i = 0; i < n; i++) {
        if (citations_has(cited, known[i].n)) {
            json_put_i64(&j, known[i].n);
        }
    }
    json_close_array(&j);
    rc = json_end(&j);
    *out = arena_strdup(s->mem, buf_str(&text));
    buf_free(&text);
    return rc == RC_OK && *out == NULL ? RC_TOO_LARGE : rc;
}

/* --- what the model states --------------------------------------------- */

struct reading {
    struct cover *cover;
    const char *report;
    struct source *known;
    size_t n_known;
    struct citations years;
};

static enum rc read_evidence(struct step *s, const struct reading *r,
                             const cJSON *numbers, const char **out)
{
    struct citations cited = {.count = 0};
    enum rc rc = add_numbers(numbers, &cited);

    if (rc == RC_OK && cited.count == 0 && r->cover->n == 1) {
        rc = citations_find(r->report, &r->years, &cited);
    }
    if (rc == RC_OK) {
        rc = print_known(s, &cited, r->known, r->n_known, out);
    }
    citations_free(&cited);
    return rc;
}

static enum rc read_line(struct step *s, const struct reading *r,
                         const cJSON *item)
{
    struct coverage *line =
        find_requirement(r->cover, json_str(item, "id", ""));
    int status = COVERED_NOT;
    bool *named;

    if (line == NULL ||
        states_value(LIST_COVERAGE_STATUS, json_str(item, "status", ""),
                     &status) != RC_OK) {
        return RC_OK;
    }
    named = &r->cover->named[line - r->cover->items];
    if (*named && status <= (int)line->status) {
        return RC_OK;
    }
    *named = true;
    line->status = (enum coverage_status)status;
    line->remark = arena_strdup(s->mem, json_str(item, "note", ""));
    if (line->remark == NULL) {
        return RC_TOO_LARGE;
    }
    return line->status == COVERED_NOT
               ? RC_OK
               : read_evidence(s, r, json_get(item, "sources"),
                               &line->evidence);
}

enum rc coverage_read(struct step *s, const cJSON *list, const char *report,
                      struct cover *c)
{
    struct reading r = {.cover = c, .report = report};
    const cJSON *item;
    enum rc rc = store_source_of_run(s->rt->store, s->run.id, 0, s->mem,
                                     &r.known, &r.n_known);

    if (rc == RC_OK) {
        rc = citations_years(r.known, r.n_known, &r.years);
    }
    cJSON_ArrayForEach(item, list)
    {
        if (rc == RC_OK) {
            rc = read_line(s, &r, item);
        }
    }
    citations_free(&r.years);
    return rc;
}

bool coverage_is_whole(const struct cover *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->items[i].status != COVERED) {
            return false;
        }
    }
    return true;
}

enum rc coverage_doubt(struct step *s, struct cover *c, const char *why)
{
    for (size_t i = 0; i < c->n; i++) {
        struct coverage *line = &c->items[i];

        if (line->status != COVERED && i > 0) {
            continue;
        }
        if (line->status == COVERED) {
            line->status = COVERED_PARTIAL;
        }
        line->remark =
            arena_printf(s->mem, "%s%s%s", line->remark,
                         line->remark[0] != '\0' ? " \xe2\x80\x93 " : "", why);
        if (line->remark == NULL) {
            return RC_TOO_LARGE;
        }
    }
    return RC_OK;
}
