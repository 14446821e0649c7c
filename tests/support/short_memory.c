#include "tests/support/short_memory.h"

#include <check.h>
#include <stdlib.h>

#include <cjson/cJSON.h>
#include <sqlite3.h>

static int64_t left; /* to the allocation that fails; 0: none does */
static bool failed;

static bool fails_now(void)
{
    bool now = left > 0 && --left == 0;

    failed = failed || now;
    return now;
}

/* --- Aside's own --------------------------------------------------------- */

/* The linker's names. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
char *__real_strdup(const char *);
char *__real_strndup(const char *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
char *__wrap_strdup(const char *);
char *__wrap_strndup(const char *, size_t);

void *__wrap_malloc(size_t len)
{
    return fails_now() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
    return fails_now() ? NULL : __real_calloc(n, len);
}

void *__wrap_realloc(void *p, size_t len)
{
    return fails_now() ? NULL : __real_realloc(p, len);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    return fails_now() ? NULL : __real_strndup(text, len);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* --- of the libraries ---------------------------------------------------- */

static sqlite3_mem_methods plain;

static void *json_malloc(size_t len)
{
    return malloc(len);
}

static void json_give_back(void *p)
{
    free(p);
}

static void *short_sqlite_malloc(int n)
{
    return fails_now() ? NULL : plain.xMalloc(n);
}

static void *short_sqlite_realloc(void *p, int n)
{
    return fails_now() ? NULL : plain.xRealloc(p, n);
}

static void set_sqlite(const sqlite3_mem_methods *methods, int slots)
{
    sqlite3_mem_methods copy = *methods;

    ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &copy), SQLITE_OK);
    /* A connection's own small store would hide what it allocates. */
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, slots),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
}

void short_memory_begin(void)
{
    cJSON_Hooks hooks = {.malloc_fn = json_malloc, .free_fn = json_give_back};
    sqlite3_mem_methods failing;

    cJSON_InitHooks(&hooks);
    ck_assert_int_eq(sqlite3_shutdown(), SQLITE_OK);
    ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain),
                     SQLITE_OK);
    failing = plain;
    failing.xMalloc = short_sqlite_malloc;
    failing.xRealloc = short_sqlite_realloc;
    set_sqlite(&failing, 0);
}

void short_memory_end(void)
{
    left = 0;
    cJSON_InitHooks(NULL);
    set_sqlite(&plain, 40);
}

void short_memory_fail(int64_t n)
{
    failed = false;
    left = n;
}

bool short_memory_stop(void)
{
    left = 0;
    return failed;
}
