/* fuzz_query.c - what people search for: no character of it is syntax to the
 * index, and a snippet is a piece of text of its bound. The first line is the
 * query, the rest a text to find it in. */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "sql/library_query.h"
#include "sql/search.h"
#include "tests/fuzz/fuzz.h"

#define SNIPPET_BYTES ((size_t)160)

/* A table as the index has it, to say the query to. */
static sqlite3_stmt *matcher(void)
{
    static sqlite3_stmt *match;
    sqlite3 *db = NULL;

    if (match == NULL) {
        FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
        FUZZ_CHECK(sqlite3_exec(db,
                                "CREATE VIRTUAL TABLE word USING fts5(body);"
                                "INSERT INTO word VALUES ('the sea rises')",
                                NULL, NULL, NULL) == SQLITE_OK);
        FUZZ_CHECK(sqlite3_prepare_v3(
                       db, "SELECT rowid FROM word WHERE word MATCH ?", -1,
                       SQLITE_PREPARE_PERSISTENT, &match, NULL) == SQLITE_OK);
    }
    return match;
}

static void check_terms(struct arena *a, const char *query)
{
    struct library_terms terms = {.n = 0};
    const char *joined;
    sqlite3_stmt *match = matcher();
    int got;

    FUZZ_CHECK(library_query_terms(query, a, &terms) == RC_OK);
    FUZZ_CHECK(terms.n <= LIBRARY_QUERY_MAX_TERMS);
    if (terms.n == 0) {
        return;
    }
    joined = library_query_join(&terms, " AND ", a);
    FUZZ_CHECK(joined != NULL && fuzz_is_text(joined, strlen(joined)));
    FUZZ_CHECK(sqlite3_bind_text(match, 1, joined, -1, SQLITE_STATIC) ==
               SQLITE_OK);
    got = sqlite3_step(match);
    FUZZ_CHECK(got == SQLITE_ROW || got == SQLITE_DONE);
    (void)sqlite3_reset(match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    struct arena *a = arena_new((size_t)64 << 20);
    char *query = fuzz_line(&in);
    char *text = fuzz_valid_text(&in);
    const struct fuzz_input said = {query, strlen(query)};
    char *valid = fuzz_valid_text(&said);
    const char *spaced, *snippet;

    FUZZ_CHECK(a != NULL);
    check_terms(a, query);
    spaced = library_query_spaced(text, a);
    FUZZ_CHECK(spaced != NULL && fuzz_is_text(spaced, strlen(spaced)));
    snippet = search_snippet(valid, text, SNIPPET_BYTES, a);
    FUZZ_CHECK(snippet != NULL && fuzz_is_text(snippet, strlen(snippet)));
    FUZZ_CHECK(strpbrk(snippet, "\r\n") == NULL);
    FUZZ_CHECK(strlen(snippet) <= SNIPPET_BYTES + 32);
    free(query);
    free(text);
    free(valid);
    arena_free(a);
    return 0;
}
