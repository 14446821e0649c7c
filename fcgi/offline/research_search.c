#include <string.h>
#include <strings.h>

#include "fcgi/offline/research_inside.h"

#define SLOW_TURNS          6
#define MAX_SEARCHES        16
#define REQUEST_SEARCHES    6
#define ADJUSTMENT_SEARCHES 3
#define SEARCH_LIMIT        6 /* passages: many searches fill the context */
#define LEAST_SEARCHES      5 /* leads are followed up to this number */

static bool searched(const struct research *r, const char *query)
{
    const struct scene *s = r->scene;

    if (r->chosen != NULL && strcasecmp(r->chosen, query) == 0) {
        return true; /* in this very reply */
    }
    for (size_t i = 0; i < s->n_calls; i++) {
        const char *made = json_str(s->calls[i].arguments, "query", NULL);
        if (made != NULL && strcasecmp(made, query) == 0 &&
            strcmp(s->calls[i].name, "library_search") == 0) {
            return true;
        }
    }
    return false;
}

/* The first search of an aim that was not made; NULL if all were. *fresh: none
 * of them was. */
static enum rc next_query(struct research *r, const struct report_aim *aim,
                          const char **out, bool *fresh)
{
    const char *queries[TOPIC_MAX_QUERIES];
    bool request = aim->of->kind == SCENE_REQUEST;
    size_t n, most = request ? REQUEST_SEARCHES : ADJUSTMENT_SEARCHES;
    enum rc rc = topic_queries(r->a, &aim->topic,
                               request ? NULL : &r->aims[0].topic, queries, &n);

    *out = NULL;
    *fresh = true;
    for (size_t i = 0; rc == RC_OK && i < n && i < most; i++) {
        if (searched(r, queries[i])) {
            *fresh = false;
        } else if (*out == NULL) {
            *out = queries[i];
        }
    }
    return rc;
}

/* A request of few words: the heading of the passage that promises most, and
 * was not searched for, leads on. */
static enum rc next_lead(struct research *r, const char **out)
{
    const char *subject = r->aims[0].topic.subject;
    double most = 0;

    *out = NULL;
    for (size_t i = 0; i < r->scene->n_passages; i++) {
        const char *heading = r->scene->passages[i].heading, *terms, *query;
        const char *tail = strrchr(heading, '>');

        tail = tail == NULL ? heading : tail + 1;
        if (r->worth[i] <= most || subject == NULL) {
            continue;
        }
        terms = topic_terms(r->a, tail, strnlen(tail, 80));
        query =
            terms == NULL ? NULL : arena_printf(r->a, "%s %s", subject, terms);
        if (query == NULL) {
            return RC_NOMEM;
        }
        if (terms[0] != '\0' && strcasecmp(terms, subject) != 0 &&
            !searched(r, query)) {
            most = r->worth[i];
            *out = query;
        }
    }
    return RC_OK;
}

/* The next search that the requirements ask for, or that a heading leads to;
 * NULL if there is none. */
static enum rc choose_query(struct research *r, const char **out)
{
    const char *query = NULL;
    bool fresh;
    enum rc rc = RC_OK;

    /* The newest adjustment first, the request last. */
    for (size_t i = r->n_aims; rc == RC_OK && i-- > 0 && query == NULL;) {
        if (r->aims[i].echo) {
            continue;
        }
        rc = next_query(r, &r->aims[i], &query, &fresh);
        if (query != NULL && fresh && r->aims[i].of->kind == SCENE_ADJUSTMENT) {
            research_say_text(r, SAY_NEW_ADJUSTMENT, r->aims[i].of->text);
        }
    }
    if (rc == RC_OK && query == NULL &&
        scene_count(r->scene, "library_search", false) < LEAST_SEARCHES) {
        rc = next_lead(r, &query);
    }
    if (rc == RC_OK) {
        *out = query;
    }
    return rc;
}

/* One search a turn, so that each can be watched; two once many turns, each of
 * which costs a request, have gone by. */
enum rc research_plan_search(struct research *r)
{
    size_t most = r->scene->n_turns < SLOW_TURNS ? 1 : 2;
    size_t done = scene_count(r->scene, "library_search", false);
    enum rc rc = RC_OK;

    for (size_t i = 0; research_can(r, "library_search") && i < most &&
                       rc == RC_OK && done + i < MAX_SEARCHES;
         i++) {
        const char *query = NULL;

        rc = choose_query(r, &query);
        if (rc != RC_OK || query == NULL) {
            break;
        }
        research_say_text(r, i == 0 ? SAY_NEXT_SEARCH : SAY_AND_SEARCH, query);
        r->chosen = query;
        rc = plan_search(r->a, r->chat, r->plan, query, SEARCH_LIMIT);
    }
    return rc;
}
