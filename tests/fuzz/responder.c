#include "tests/fuzz/responder.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fcgi/handlers.h"
#include "fcgi/route.h"
#include "sql/base/doorbell.h"
#include "sql/base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/stage.h"

#define BUSY_MS 5000
/* Whoever has no answer after this and is no waiting poll never gets one. */
#define PATIENCE_MS 60000
#define LOOK_MS     5
#define OUT_BYTES   ((size_t)32 << 20)

static struct {
    struct conf conf;
    struct doorbell *bell;
    struct app app;
    struct store *store;
    struct req_listener *listener;
    char path[128];
} here;

static void ring(void *bell)
{
    doorbell_ring(bell);
}

static void end(void)
{
    writer_end(here.app.writer);
    park_end(here.app.park);
    store_close(here.store);
    doorbell_close(here.bell);
    req_listener_free(here.listener);
    conf_free(&here.conf);
}

static void start_threads(const char *dir)
{
    const struct writer_options writer = {
        .dir = dir, .busy_ms = BUSY_MS, .committed = ring, .arg = here.bell};
    const struct park_options park = {.dir = dir,
                                      .busy_ms = BUSY_MS,
                                      .bell = here.bell,
                                      .max = 4,
                                      .read = h_changes_read,
                                      .reply = h_changes_reply};

    FUZZ_CHECK(writer_start(&writer, &here.app.writer) == RC_OK);
    FUZZ_CHECK(park_start(&park, &here.app.park) == RC_OK);
}

void responder_start(void)
{
    const char *dir = fuzz_dir();
    char data[100];
    char err[300];

    if (here.listener != NULL) {
        return;
    }
    log_open("fuzz", LOG_LEVEL_ERROR);
    (void)snprintf(data, sizeof(data), "%s/responder", dir);
    FUZZ_CHECK(mkdir(data, 0700) == 0);
    stage_free(stage_new(data));
    FUZZ_CHECK(setenv("ASIDE_DATA", data, 1) == 0);
    FUZZ_CHECK(conf_load(NULL, &here.conf, err, sizeof(err)) == RC_OK);
    FUZZ_CHECK(unsetenv("ASIDE_DATA") == 0);
    here.app.conf = &here.conf;
    (void)snprintf(here.path, sizeof(here.path), "%s/socket", data);
    FUZZ_CHECK(req_setup() == RC_OK);
    FUZZ_CHECK(store_open(data, BUSY_MS, &here.store) == RC_OK);
    FUZZ_CHECK(doorbell_open(data, &here.bell) == RC_OK);
    start_threads(data);
    FUZZ_CHECK(req_listen(&(struct req_listen_options){.path = here.path},
                          &here.listener) == RC_OK);
    FUZZ_CHECK(atexit(end) == 0);
}

int responder_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    FUZZ_CHECK(fd >= 0);
    memcpy(address.sun_path, here.path, strlen(here.path) + 1);
    FUZZ_CHECK(
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

void responder_serve(void)
{
    struct req *r = NULL;

    FUZZ_CHECK(req_accept(here.listener, &r) == RC_OK);
    if (route_handle(r, &here.app, here.store) == SERVE_FINISH) {
        req_finish(r);
    }
}

/* Something to read, or the end. False: it is a poll that waits. */
static bool await(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
        if (poll(&p, 1, LOOK_MS) > 0) {
            return true;
        }
        if (park_count(here.app.park) > 0) {
            return poll(&p, 1, LOOK_MS) > 0;
        }
    }
    fuzz_failed(__FILE__, __LINE__, "an answer in time");
}

char *responder_output(int fd, size_t *len)
{
    struct buf out;
    char piece[4096];

    buf_init(&out, OUT_BYTES);
    for (;;) {
        ssize_t n;

        if (!await(fd)) {
            FUZZ_CHECK(out.len == 0);
            return NULL;
        }
        n = read(fd, piece, sizeof(piece));
        if (n <= 0) {
            break;
        }
        buf_add(&out, piece, (size_t)n);
    }
    buf_putc(&out, '\0');
    FUZZ_CHECK(buf_rc(&out) == RC_OK);
    *len = out.len - 1;
    return out.data;
}
