/* replay.c - gives each fuzz target what stands in its corpus: the seeds, and
 * every input that ever broke it.
 *
 *   replay [CORPUS [TARGET ...]]
 *
 * Of a folder without a target, or a target without a folder, it complains, so
 * that none is forgotten.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/base/log.h"
#include "tests/fuzz/fuzz.h"

/* One to a line, so that additions merge. The Makefile gives the entry of each
 * target this name. */
/* clang-format off */
#define TARGETS(X) \
    X(charset) \
    X(conf) \
    X(excerpt) \
    X(fastcgi) \
    X(html) \
    X(json) \
    X(markdown) \
    X(mcp) \
    X(model_error) \
    X(model_stream) \
    X(page) \
    X(query) \
    X(report) \
    X(request) \
    X(sse) \
    X(target) \
    X(tool) \
    X(upload_name) \
    X(url)
/* clang-format on */

#define DECLARE(name) int fuzz_##name(const uint8_t *data, size_t len);
TARGETS(DECLARE)

#define ROW(name) {#name, fuzz_##name},
static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t len);
} TARGET[] = {TARGETS(ROW)};
#define N_TARGETS (sizeof(TARGET) / sizeof(TARGET[0]))

static char at[512]; /* the file that is being replayed */

/* Which one it was is the first thing to know. */
static void on_abort(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, at, strlen(at));
    (void)!write(STDERR_FILENO, " breaks it\n", 11);
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "re");
    uint8_t *bytes = malloc((size_t)8 << 20);

    if (f == NULL || bytes == NULL) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    *len = fread(bytes, 1, (size_t)8 << 20, f);
    (void)fclose(f);
    return bytes;
}

static void replay_file(size_t target)
{
    size_t len = 0;
    uint8_t *bytes = read_file(at, &len);
    /* Of its own length, so that reading on is seen. */
    uint8_t *exact = malloc(len == 0 ? 1 : len);

    if (exact == NULL) {
        exit(EXIT_FAILURE);
    }
    memcpy(exact, bytes, len);
    free(bytes);
    (void)TARGET[target].run(exact, len);
    free(exact);
}

static int visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* How many files there were. */
static int replay_folder(const char *corpus, size_t target)
{
    char folder[256];
    struct dirent **list = NULL;
    int n;

    (void)snprintf(folder, sizeof(folder), "%s/%s", corpus,
                   TARGET[target].name);
    n = scandir(folder, &list, visible, alphasort);
    for (int i = 0; i < n; i++) {
        (void)snprintf(at, sizeof(at), "%s/%s", folder, list[i]->d_name);
        replay_file(target);
        free(list[i]);
    }
    free(list);
    return n;
}

static bool is_target(const char *name)
{
    bool is = false;

    for (size_t i = 0; i < N_TARGETS; i++) {
        is = is || strcmp(TARGET[i].name, name) == 0;
    }
    return is;
}

static bool has_strangers(const char *corpus)
{
    struct dirent **list = NULL;
    int n = scandir(corpus, &list, visible, alphasort);
    bool has = n < 0;

    for (int i = 0; i < n; i++) {
        if (!is_target(list[i]->d_name)) {
            (void)fprintf(stderr, "%s/%s is no target's\n", corpus,
                          list[i]->d_name);
            has = true;
        }
        free(list[i]);
    }
    free(list);
    return has;
}

static bool is_chosen(int argc, char **argv, const char *name)
{
    bool is = argc <= 2;

    for (int i = 2; i < argc; i++) {
        is = is || strcmp(argv[i], name) == 0;
    }
    return is;
}

int main(int argc, char **argv)
{
    const char *corpus = argc > 1 ? argv[1] : "tests/fuzz/corpus";
    bool failed = has_strangers(corpus);
    int files = 0;

    log_open("replay", LOG_LEVEL_ERROR);
    (void)signal(SIGABRT, on_abort);
    for (size_t i = 0; i < N_TARGETS; i++) {
        int n = 0;

        if (!is_chosen(argc, argv, TARGET[i].name)) {
            continue;
        }
        n = replay_folder(corpus, i);
        if (n <= 0) {
            (void)fprintf(stderr, "%s has no corpus\n", TARGET[i].name);
            failed = true;
        }
        files += n;
    }
    (void)printf("%d inputs replayed\n", files);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
