#include "runtime/cmd/cmd_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/document/library_index.h"
#include "sql/base/conf.h"
#include "sql/base/log.h"

#define NUMBER_BYTES 32
/* With -w: for another run, which may have many files to read. */
#define WAIT_MS 600000

/* 12345 as "12,345". n >= 0. */
static const char *grouped(int64_t n, char out[NUMBER_BYTES])
{
    char digits[NUMBER_BYTES];
    int len = snprintf(digits, sizeof(digits), "%" PRId64, n);
    size_t to = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            out[to++] = ',';
        }
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

static void print_counts(const struct library_index_counts *c)
{
    char documents[NUMBER_BYTES];
    char passages[NUMBER_BYTES];

    (void)printf("indexed %s documents (%" PRId64 " new, %" PRId64
                 " changed, %" PRId64 " removed",
                 grouped(c->documents, documents), c->added, c->changed,
                 c->removed);
    if (c->failed > 0) {
        (void)printf(", %" PRId64 " unreadable", c->failed);
    }
    (void)printf("), %s passages in %.1f s\n", grouped(c->passages, passages),
                 (double)c->ms / 1000);
}

static int run(const struct conf *conf, int64_t wait_ms)
{
    struct library_index_counts counts;
    struct library_index_options options = {.dir = conf->data,
                                            .folders = conf->library,
                                            .busy_ms = conf->busy_timeout_ms,
                                            .wait_ms = wait_ms};
    enum rc rc = library_index_run(&options, &counts);

    if (rc == RC_CONFLICT && wait_ms == 0) {
        return 0;
    }
    if (rc != RC_OK) {
        (void)fprintf(stderr, "aside: the library was not indexed: %s\n",
                      rc_name(rc));
        return LIBRARY_INDEX_EXIT_FAILED +
               (int)(rc == RC_CONFLICT ? RC_BUSY : rc);
    }
    print_counts(&counts);
    return counts.folders_failed == 0 ? 0 : 1;
}

int cmd_index(int argc, char **argv)
{
    const char *file = NULL;
    struct conf conf;
    char err[512];
    int64_t wait_ms = 0;
    int option;
    int status;

    optind = 1;
    while ((option = getopt(argc, argv, "c:w")) != -1) {
        switch (option) {
        case 'c':
            file = optarg;
            break;
        case 'w':
            wait_ms = WAIT_MS;
            break;
        default:
            return 2;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "usage: aside index [-c file] [-w]\n");
        return 2;
    }
    if (conf_load(file, &conf, err, sizeof(err)) != RC_OK) {
        (void)fprintf(stderr, "aside: %s\n", err);
        return 1;
    }
    log_open("aside", (enum log_level)conf.log_level);
    status = run(&conf, wait_ms);
    conf_free(&conf);
    return status;
}
