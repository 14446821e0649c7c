/* fuzz_upload_name.c - the names of files and of the folders of accounts: one
 * that is taken stays below its folder. The first line is the account. */
#include <stdlib.h>
#include <string.h>

#include "sql/library_files.h"
#include "tests/fuzz/fuzz.h"

static void check_owner(const char *account)
{
    char owner[LIBRARY_FILES_OWNER_BYTES];
    size_t len;

    library_files_owner(account, owner);
    FUZZ_CHECK(memchr(owner, '\0', sizeof(owner)) != NULL);
    len = strspn(owner, "abcdefghijklmnopqrstuvwxyz0123456789-_=ABCDEF");
    FUZZ_CHECK(len > 0 || account[0] == '\0');
    FUZZ_CHECK(owner[len] == '\0');
}

static void check_part(const char *part, size_t len)
{
    FUZZ_CHECK(len > 0 && len <= LIBRARY_FILES_MAX_PART_BYTES);
    FUZZ_CHECK(part[0] != '.');
}

/* No way up or out, and nothing hidden. */
static void check_name(const char *name)
{
    size_t parts = 0;

    FUZZ_CHECK(strlen(name) <= LIBRARY_FILES_MAX_NAME_BYTES);
    FUZZ_CHECK(fuzz_is_line(name));
    for (const char *p = name; p != NULL; parts++) {
        const char *slash = strchr(p, '/');

        check_part(p, slash == NULL ? strlen(p) : (size_t)(slash - p));
        p = slash == NULL ? NULL : slash + 1;
    }
    FUZZ_CHECK(parts <= LIBRARY_FILES_MAX_PARTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {(const char *)data, len};
    char *account = fuzz_line(&in);
    char *name = fuzz_text(&in);
    const char *fault = library_files_fault(name);

    check_owner(account);
    FUZZ_CHECK(library_files_format(name) < LIBRARY_FORMAT__MAX);
    if (fault == NULL) {
        check_name(name);
    } else {
        FUZZ_CHECK(fault[0] != '\0' && fuzz_is_line(fault));
    }
    free(account);
    free(name);
    return 0;
}
