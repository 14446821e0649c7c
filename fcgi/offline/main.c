/* main.c - aside-offline.fcgi: the offline model behind the web server.
 *
 * It speaks Chat Completions and keeps nothing: no database, no state between
 * requests. A thread holds a request for as long as its reply streams, at the
 * pace of offline.words_per_second, so the number of threads bounds the
 * replies under way. On SIGTERM streams are cut: their client repeats them.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/offline/chat.h"
#include "fcgi/offline/plan.h"
#include "fcgi/offline/wire.h"
#include "fcgi/req.h"
#include "fcgi/serve.h"
#include "sql/base/clock.h"
#include "sql/base/conf.h"
#include "sql/base/log.h"
#include "sql/base/standard.h"

#define DEFAULT_THREADS 16
#define MAX_THREADS     512
#define PIECES_A_SECOND 12 /* of a stream, while its words are long enough */
#define MAX_PIECE_WORDS 40
#define LONGEST_WAIT_MS 200 /* until the end of the program is noticed */

struct options {
    const char *conf_file;
    const char *socket;
    size_t threads;
};

struct program {
    int64_t words_per_second;
    atomic_bool ending;
};

/* headers: further header lines, or NULL. */
static void reply_json(struct req *r, int status, const char *headers,
                       struct buf *body)
{
    struct req_reply reply = {
        .status = status, .type = "application/json", .headers = headers};

    if (buf_rc(body) != RC_OK) {
        reply.status = 500;
        buf_clear(body);
    }
    reply.body = buf_str(body);
    reply.body_len = body->len;
    if (req_reply(r, &reply) != RC_OK) {
        log_debug(NULL, "the client left before its reply");
    }
}

static void reply_error(struct req *r, int status, const char *headers,
                        const struct wire_failure *f)
{
    struct buf body;

    buf_init(&body, 4096);
    if (wire_error(f, &body) != RC_OK) {
        log_error(NULL, "an error reply could not be written");
    }
    reply_json(r, status, headers, &body);
    buf_free(&body);
}

static void reply_invalid(struct req *r, int status, const char *message,
                          const char *param)
{
    struct wire_failure f = {
        .message = message, .type = "invalid_request_error", .param = param};

    reply_error(r, status, NULL, &f);
}

static void reply_method(struct req *r, const char *allow)
{
    struct wire_failure f = {.message = "this method is not allowed here",
                             .type = "invalid_request_error"};

    reply_error(r, 405, allow, &f);
}

static void reply_failed(struct req *r, enum rc rc)
{
    struct wire_failure f = {
        .message = rc == RC_TOO_LARGE
                       ? "the texts of this request are too large"
                       : "the offline model failed",
        .type = rc == RC_TOO_LARGE ? "invalid_request_error" : "server_error",
        .code = rc_name(rc)};

    log_error(NULL, "a request failed: %s", rc_name(rc));
    reply_error(r, rc == RC_TOO_LARGE ? 400 : 500, NULL, &f);
}

/* Wait until the stream's words are due. RC_IO: the client left;
 * RC_CONFLICT: the program ends. */
static enum rc wait_until(struct req *r, const struct program *p,
                          int64_t due_ms)
{
    while (!atomic_load(&p->ending)) {
        int64_t left = due_ms - clock_boot_ms();
        enum rc rc;

        if (left <= 0) {
            return RC_OK;
        }
        rc =
            req_stream_wait(r, left < LONGEST_WAIT_MS ? left : LONGEST_WAIT_MS);
        if (rc != RC_OK) {
            return rc;
        }
    }
    return RC_CONFLICT;
}

static void stream(struct req *r, const struct program *p, const struct chat *c,
                   const struct plan *plan)
{
    int64_t pace = p->words_per_second, start = clock_boot_ms();
    int64_t piece = pace / PIECES_A_SECOND, words = 0;
    struct wire_stream s;
    struct buf event;
    enum rc rc;

    piece = piece < 1 ? 1 : piece;
    piece = piece > MAX_PIECE_WORDS ? MAX_PIECE_WORDS : piece;
    wire_stream_begin(&s, c, plan, clock_unix_ms() / 1000, (size_t)piece);
    buf_init(&event, WIRE_REPLY_BYTES);
    rc = req_stream_begin(r, 200, "text/event-stream");
    while (rc == RC_OK) {
        size_t n = 0;

        buf_clear(&event);
        rc = wire_stream_next(&s, &event, &n);
        words += (int64_t)n;
        if (rc == RC_OK && n > 0) {
            rc = wait_until(r, p, start + words * 1000 / pace);
        }
        if (rc == RC_OK) {
            rc = req_stream_write(r, event.data, event.len);
        }
    }
    if (rc != RC_NOT_FOUND) {
        log_debug(NULL, "a stream was cut: %s", rc_name(rc));
    }
    buf_free(&event);
}

static void answer(struct req *r, const struct program *p, const struct chat *c)
{
    struct arena *a = arena_new(PLAN_ARENA_BYTES);
    struct plan plan;
    struct buf body;
    enum rc rc = a == NULL ? RC_NOMEM : plan_make(a, c, &plan);

    if (rc != RC_OK) {
        reply_failed(r, rc);
    } else if (c->stream) {
        stream(r, p, c, &plan);
    } else {
        /* Nobody watches a whole reply grow: it comes at once. */
        buf_init(&body, WIRE_REPLY_BYTES);
        rc = wire_reply(c, &plan, clock_unix_ms() / 1000, &body);
        if (rc == RC_OK) {
            reply_json(r, 200, NULL, &body);
        } else {
            reply_failed(r, rc);
        }
        buf_free(&body);
    }
    arena_free(a);
}

static void complete(struct req *r, const struct program *p)
{
    const char *body;
    size_t len;
    struct chat c;
    struct chat_flaw flaw = {.message = ""};
    enum rc rc;

    if (req_method(r) != REQ_POST) {
        reply_method(r, "Allow: POST\r\n");
        return;
    }
    rc = req_body(r, CHAT_BODY_BYTES, &body, &len);
    if (rc == RC_TOO_LARGE) {
        reply_invalid(r, 413, "the body is too large", NULL);
        return;
    }
    if (rc != RC_OK) {
        return; /* the client is gone */
    }
    rc = chat_parse(body, len, &c, &flaw);
    if (rc == RC_INVALID) {
        reply_invalid(r, 400, flaw.message, flaw.param);
        return;
    }
    if (rc != RC_OK) {
        reply_failed(r, rc);
        return;
    }
    answer(r, p, &c);
    chat_free(&c);
}

static void list_models(struct req *r)
{
    struct buf body;

    if (req_method(r) != REQ_GET && req_method(r) != REQ_HEAD) {
        reply_method(r, "Allow: GET, HEAD\r\n");
        return;
    }
    buf_init(&body, 4096);
    if (wire_models(&body) != RC_OK) {
        log_error(NULL, "the list of models could not be written");
    }
    reply_json(r, 200, NULL, &body);
    buf_free(&body);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static enum serve_then handle(struct req *r, void *shared, void *context)
{
    const struct program *p = shared;
    const char *path = req_path(r);

    (void)context;
    if (path != NULL && ends_with(path, "/chat/completions")) {
        complete(r, p);
    } else if (path != NULL && ends_with(path, "/models")) {
        list_models(r);
    } else {
        reply_invalid(r, 404, "there is no such path", NULL);
    }
    return SERVE_FINISH;
}

static bool read_threads(const char *text, size_t *out)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || n < 1 || n > MAX_THREADS) {
        return false;
    }
    *out = (size_t)n;
    return true;
}

static bool read_options(int argc, char **argv, struct options *out)
{
    int c;

    *out = (struct options){.threads = DEFAULT_THREADS};
    while (c = getopt(argc, argv, "c:s:n:"), c != -1) {
        switch (c) {
        case 'c':
            out->conf_file = optarg;
            break;
        case 's':
            out->socket = optarg;
            break;
        case 'n':
            if (!read_threads(optarg, &out->threads)) {
                return false;
            }
            break;
        default:
            return false;
        }
    }
    return optind == argc;
}

/* Serve until a signal ends it. */
static enum rc run(const struct options *o, struct program *p)
{
    struct req_listen_options listen = {.path = o->socket, .prefix = ""};
    struct serve_options serve = {
        .n_threads = o->threads, .handle = handle, .shared = p};
    struct serve *threads;
    enum rc rc = req_setup();

    if (rc != RC_OK) {
        return rc;
    }
    rc = req_listen(&listen, &serve.listener);
    if (rc != RC_OK) {
        return rc;
    }
    serve_block_signals();
    rc = serve_start(&serve, &threads);
    if (rc == RC_OK) {
        log_info(NULL, "offline model: %zu threads, %lld words a second",
                 o->threads, (long long)p->words_per_second);
        serve_wait_signal();
        atomic_store(&p->ending, true);
        serve_end(threads);
    }
    req_listener_free(serve.listener);
    return rc;
}

int main(int argc, char **argv)
{
    struct program p = {.words_per_second = 0};
    struct options o;
    struct conf conf;
    char why[256];
    enum rc rc = standard_files();

    if (rc != RC_OK) {
        return EXIT_FAILURE;
    }
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: aside-offline.fcgi [-c file] [-s socket] "
                "[-n threads (1 to %d)]\n",
                MAX_THREADS);
        return EXIT_FAILURE;
    }
    if (conf_load(o.conf_file, &conf, why, sizeof(why)) != RC_OK) {
        fprintf(stderr, "aside-offline.fcgi: %s\n", why);
        return EXIT_FAILURE;
    }
    log_open("aside-offline", (enum log_level)conf.log_level);
    p.words_per_second = conf.offline_words_per_second;
    conf_free(&conf);
    rc = run(&o, &p);
    if (rc != RC_OK) {
        log_error(NULL, "could not start: %s", rc_name(rc));
    }
    return rc == RC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
