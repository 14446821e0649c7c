/* check_route.c - which path is which route. */
#include "fcgi/route.h"
#include "tests/support/suites.h"

struct row {
    enum req_method method;
    const char *path;
    enum route_match match;
    const char *found; /* the pattern, or what is allowed instead */
    int64_t id;
};

static const struct row ROW[] = {
    {REQ_GET, "/api/v1/health", ROUTE_FOUND, "/api/v1/health", 0},
    {REQ_HEAD, "/api/v1/health", ROUTE_FOUND, "/api/v1/health", 0},
    {REQ_POST, "/api/v1/health", ROUTE_NO_METHOD, "GET, HEAD", 0},
    {REQ_OTHER, "/api/v1/conversations/conv_3", ROUTE_NO_METHOD,
     "GET, HEAD, PATCH, DELETE", 0},
    {REQ_GET, "/api/v1/conversations", ROUTE_NO_METHOD, "POST", 0},
    {REQ_GET, "/api/v1/conversations/conv_3", ROUTE_FOUND,
     "/api/v1/conversations/{conv}", 3},
    {REQ_DELETE, "/api/v1/conversations/conv_3", ROUTE_FOUND,
     "/api/v1/conversations/{conv}", 3},
    {REQ_POST, "/api/v1/conversations/conv_3/messages", ROUTE_FOUND,
     "/api/v1/conversations/{conv}/messages", 3},
    {REQ_POST, "/api/v1/runs/run_9223372036854775807/stop", ROUTE_FOUND,
     "/api/v1/runs/{run}/stop", INT64_MAX},
    {REQ_GET, "/api/v1/requests/req_5/input", ROUTE_FOUND,
     "/api/v1/requests/{req}/input", 5},
    {REQ_GET, "/api/v1/calls/call_5/arguments", ROUTE_FOUND,
     "/api/v1/calls/{call}/arguments", 5},
    {REQ_GET, "/api/v1/sources/src_5/text", ROUTE_FOUND,
     "/api/v1/sources/{src}/text", 5},
    {REQ_GET, "/api/v1/conversations/run_3", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_03", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_-1", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_99999999999999999999", ROUTE_NO_PATH,
     "", 0},
    {REQ_GET,
     "/api/v1/conversations/"
     "conv_1111111111111111111111111111111111111111111111111",
     ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_3/", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/conversations/conv_3/more", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1/healthy", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/api/v1", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "/", ROUTE_NO_PATH, "", 0},
    {REQ_GET, "", ROUTE_NO_PATH, "", 0},
    {REQ_GET, NULL, ROUTE_NO_PATH, "", 0},
};

START_TEST(a_path_finds_its_route)
{
    const struct row *row = &ROW[_i];
    const struct route *route = NULL;
    char allow[ROUTE_ALLOW_BYTES];
    int64_t id = -1;
    enum route_match match =
        route_find(row->method, row->path, &route, &id, allow);
    const char *path = row->path == NULL ? "(none)" : row->path;

    ck_assert_msg(match == row->match, "%s: %d", path, (int)match);
    if (match == ROUTE_FOUND) {
        ck_assert_str_eq(route->pattern, row->found);
        ck_assert_int_eq(id, row->id);
    } else {
        ck_assert_str_eq(allow, row->found);
    }
}
END_TEST

Suite *route_suite(void)
{
    Suite *suite = suite_create("route");
    TCase *tcase = tcase_create("route");

    tcase_add_loop_test(tcase, a_path_finds_its_route, 0,
                        (int)(sizeof(ROW) / sizeof(ROW[0])));
    suite_add_tcase(suite, tcase);
    return suite;
}
