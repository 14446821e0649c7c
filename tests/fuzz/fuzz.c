#include "tests/fuzz/fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sql/base/json.h"
#include "sql/base/utf8.h"

void fuzz_failed(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

static char *allocate(size_t len)
{
    char *p = malloc(len == 0 ? 1 : len);

    if (p == NULL) {
        abort();
    }
    return p;
}

/* --- input --------------------------------------------------------------- */

static char *text_of(const char *bytes, size_t len)
{
    char *text = allocate(len + 1);

    if (len > 0) {
        memcpy(text, bytes, len);
    }
    text[len] = '\0';
    return text;
}

char *fuzz_line(struct fuzz_input *in)
{
    const char *end = in->len == 0 ? NULL : memchr(in->bytes, '\n', in->len);
    size_t len = end == NULL ? in->len : (size_t)(end - in->bytes);
    char *line = text_of(in->bytes, len);

    in->bytes += end == NULL ? len : len + 1;
    in->len -= end == NULL ? len : len + 1;
    return line;
}

char *fuzz_rest(const struct fuzz_input *in)
{
    char *rest = allocate(in->len);

    if (in->len > 0) {
        memcpy(rest, in->bytes, in->len);
    }
    return rest;
}

char *fuzz_text(const struct fuzz_input *in)
{
    return text_of(in->bytes, in->len);
}

char *fuzz_valid_text(const struct fuzz_input *in)
{
    char *text = allocate(3 * in->len + 1);

    (void)utf8_repair(in->len == 0 ? "" : in->bytes, in->len, text);
    return text;
}

size_t fuzz_piece(int cut, size_t len)
{
    return cut == 0 ? len : cut == 1 ? len / 2 + 1 : 1;
}

/* --- what holds ---------------------------------------------------------- */

bool fuzz_is_text(const char *text, size_t len)
{
    return utf8_valid(text, len) &&
           (len == 0 || memchr(text, '\0', len) == NULL);
}

bool fuzz_is_line(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return false;
        }
    }
    return utf8_valid(text, strlen(text));
}

bool fuzz_is_json(const char *text, size_t len)
{
    cJSON *tree = NULL;
    bool is = json_parse(text, len, &tree, NULL) == RC_OK;

    json_free(tree);
    return is;
}

bool fuzz_same(const struct buf *a, const struct buf *b)
{
    return a->rc == b->rc && a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* --- a directory --------------------------------------------------------- */

static char dir[64];

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void remove_dir(void)
{
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_dir(void)
{
    const char *const in[] = {"/dev/shm", "/tmp"};

    for (size_t i = 0; i < 2 && dir[0] == '\0'; i++) {
        (void)snprintf(dir, sizeof(dir), "%s/aside-fuzz-XXXXXX", in[i]);
        if (mkdtemp(dir) == NULL) {
            dir[0] = '\0';
        } else if (atexit(remove_dir) != 0) {
            abort();
        }
    }
    FUZZ_CHECK(dir[0] != '\0');
    return dir;
}
