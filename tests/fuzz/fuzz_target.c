/* fuzz_target.c - the request target: what is read of it is text, stays below
 * the prefix, and reaches at most one route. The first line is the prefix, the
 * second the path, the third the query. */
#include <stdlib.h>
#include <string.h>

#include "fcgi/route.h"
#include "fcgi/target.h"
#include "sql/base/id.h"
#include "tests/fuzz/fuzz.h"

static void check_route(const char *path)
{
    for (enum req_method m = REQ_GET; m < REQ__MAX; m++) {
        const struct route *route = NULL;
        char allow[ROUTE_ALLOW_BYTES];
        int64_t id = -1;
        enum route_match match = route_find(m, path, &route, &id, allow);

        FUZZ_CHECK(memchr(allow, '\0', sizeof(allow)) != NULL);
        FUZZ_CHECK((match == ROUTE_FOUND) == (route != NULL));
        FUZZ_CHECK(match != ROUTE_FOUND || id >= 0);
        FUZZ_CHECK(match != ROUTE_NO_METHOD || allow[0] != '\0');
    }
}

static void check_path(struct arena *a, const char *prefix, const char *target)
{
    const char *path = NULL;
    enum rc rc = target_path(a, target, prefix, &path);

    FUZZ_CHECK(rc == RC_OK || rc == RC_NOT_FOUND || rc == RC_INVALID);
    FUZZ_CHECK((rc == RC_OK) == (path != NULL));
    if (path != NULL) {
        FUZZ_CHECK(fuzz_is_text(path, strlen(path)));
        FUZZ_CHECK(path[0] == '\0' || path[0] == '/');
    }
    check_route(path);
}

static void check_query(struct arena *a, const char *query)
{
    const struct target_pair *pairs = NULL;
    size_t n = 0;
    enum rc rc = target_query(a, query, &pairs, &n);

    FUZZ_CHECK(rc == RC_OK || rc == RC_INVALID);
    FUZZ_CHECK(n <= TARGET_MAX_QUERY);
    for (size_t i = 0; rc == RC_OK && i < n; i++) {
        int64_t id = 0;

        FUZZ_CHECK(fuzz_is_text(pairs[i].name, strlen(pairs[i].name)));
        FUZZ_CHECK(fuzz_is_text(pairs[i].value, strlen(pairs[i].value)));
        if (id_parse(ID_RUN, pairs[i].value, &id) == RC_OK) {
            char text[ID_TEXT_BYTES];

            FUZZ_CHECK(strcmp(id_text(ID_RUN, id, text), pairs[i].value) == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    struct arena *a = arena_new((size_t)4 << 20);
    char *prefix = fuzz_line(&in);
    char *path = fuzz_line(&in);
    char *query = fuzz_line(&in);

    FUZZ_CHECK(a != NULL);
    check_path(a, prefix, path);
    check_query(a, query);
    free(prefix);
    free(path);
    free(query);
    arena_free(a);
    return 0;
}
