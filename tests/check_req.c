/* check_req.c - requests through libfcgi: read, answered, parked, streamed,
 * and whatever a broken peer may send. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fcgi/serve.h"
#include "sql/base/buf.h"
#include "sql/base/clock.h"
#include "sql/base/log.h"
#include "tests/support/fcgi_peer.h"
#include "tests/support/suites.h"
#include "tests/support/tmp.h"

#define BODY_LIMIT 1000
#define PREFIX     "/aside"

static const char *path;
static struct req_listener *listener;
static struct serve *serve;
static _Atomic(struct req *) parked;
static struct req *kept[8];
static atomic_int n_kept;
static atomic_int stream_end; /* what the last wait of a stream returned */
static atomic_int in_hand;
static atomic_bool release_slow;

/* --- a program that tells what it was asked --------------------------------
 */

static void put_text(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=%s\n", name, value == NULL ? "(none)" : value);
}

static enum serve_then tell(struct req *r)
{
    struct buf out;
    struct req_reply reply = {.status = 200, .type = "text/plain"};
    const char *body = "";
    size_t len = 0;
    enum rc rc = req_body(r, BODY_LIMIT, &body, &len);

    buf_init(&out, 65536);
    put_text(&out, "rc", rc_name(rc));
    put_text(&out, "method", req_method_name(r));
    put_text(&out, "path", req_path(r));
    put_text(&out, "q", req_query(r, "q"));
    put_text(&out, "key", req_header(r, "Idempotency-Key"));
    put_text(&out, "type", req_header(r, "content-type"));
    put_text(&out, "malformed", req_query_malformed(r) ? "yes" : "no");
    put_text(&out, "body", body);
    buf_printf(&out, "len=%zu\n", len);
    reply.status = rc == RC_OK ? 200 : rc == RC_TOO_LARGE ? 413 : 400;
    reply.body = buf_str(&out);
    reply.body_len = out.len;
    ck_assert_int_eq(req_reply(r, &reply), RC_OK);
    buf_free(&out);
    return SERVE_FINISH;
}

static enum serve_then stream(struct req *r)
{
    int waited = RC_OK;

    if (req_stream_begin(r, 200, "text/event-stream") == RC_OK &&
        req_stream_write(r, "first", 5) == RC_OK) {
        waited = (int)req_stream_wait(r, 20000);
    }
    atomic_store(&stream_end, waited + 1);
    return SERVE_FINISH;
}

static enum serve_then slow(struct req *r)
{
    struct req_reply reply = {
        .status = 200, .type = "text/plain", .body = "slow", .body_len = 4};

    atomic_store(&in_hand, 1);
    while (!atomic_load(&release_slow)) {
        clock_nap_us(1000);
    }
    ck_assert_int_eq(req_reply(r, &reply), RC_OK);
    return SERVE_FINISH;
}

static enum serve_then handle(struct req *r, void *shared, void *context)
{
    const char *where = req_path(r);

    (void)shared;
    (void)context;
    if (where != NULL && strcmp(where, "/stream") == 0) {
        return stream(r);
    }
    if (where != NULL && strcmp(where, "/slow") == 0) {
        return slow(r);
    }
    if (where != NULL && strcmp(where, "/park") == 0) {
        if (req_park(r) != RC_OK) {
            return SERVE_FINISH;
        }
        atomic_store(&parked, r);
        return SERVE_KEPT;
    }
    if (where != NULL && strcmp(where, "/keep") == 0) {
        static atomic_int next;

        kept[atomic_fetch_add(&next, 1)] = r;
        (void)atomic_fetch_add(&n_kept, 1);
        return SERVE_KEPT;
    }
    if (where != NULL && strcmp(where, "/mute") == 0) {
        return SERVE_FINISH;
    }
    return tell(r);
}

static void listen_now(void)
{
    const struct req_listen_options where = {.path = path, .prefix = PREFIX};

    ck_assert_int_eq(req_listen(&where, &listener), RC_OK);
}

static void serve_now(size_t threads)
{
    const struct serve_options options = {
        .listener = listener, .n_threads = threads, .handle = handle};

    ck_assert_int_eq(serve_start(&options, &serve), RC_OK);
}

static void set_up(void)
{
    log_open("check", LOG_LEVEL_ERROR);
    (void)tmp_make();
    path = tmp_path("socket");
    atomic_store(&parked, NULL);
    atomic_store(&stream_end, 0);
    atomic_store(&in_hand, 0);
    atomic_store(&release_slow, false);
    ck_assert_int_eq(req_setup(), RC_OK);
    listen_now();
    serve_now(2);
}

static void tear_down(void)
{
    serve_end(serve);
    req_listener_free(listener);
    tmp_remove();
}

/* --- reading ---------------------------------------------------------------
 */

static void assert_has(const struct fcgi_peer_reply *reply, const char *line)
{
    ck_assert_msg(reply->body != NULL && strstr(reply->body, line) != NULL,
                  "no \"%s\" in:\n%s", line,
                  reply->body == NULL ? "(nothing)" : reply->body);
}

START_TEST(a_request_is_read)
{
    static const char *const PARAMS[] = {"HTTP_IDEMPOTENCY_KEY", "k-1", NULL};
    const struct fcgi_peer_ask ask = {.method = "PATCH",
                                      .uri = PREFIX "/a%20b?p=0&q=x+%26y",
                                      .params = PARAMS,
                                      .body = "{\"a\":1}"};
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &ask, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert(reply.ended);
    assert_has(&reply, "rc=ok\nmethod=PATCH\npath=/a b\nq=x &y\nkey=k-1\n"
                       "type=application/json\nmalformed=no\n"
                       "body={\"a\":1}\nlen=7\n");
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(what_is_no_target_has_no_path)
{
    static const char *const URI[] = {"/elsewhere", PREFIX "/%00",
                                      PREFIX "/%ff", PREFIX};
    struct fcgi_peer_reply reply;

    for (size_t i = 0; i < sizeof(URI) / sizeof(URI[0]); i++) {
        const struct fcgi_peer_ask ask = {.uri = URI[i]};

        fcgi_peer_call(path, &ask, &reply);
        assert_has(&reply, "path=(none)\n");
        fcgi_peer_free(&reply);
    }
    fcgi_peer_call(path, &(struct fcgi_peer_ask){.uri = PREFIX "/?q=%zz"},
                   &reply);
    assert_has(&reply, "q=(none)\n");
    assert_has(&reply, "malformed=yes\n");
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(a_body_may_hold_nul)
{
    const struct fcgi_peer_ask ask = {
        .method = "POST", .uri = PREFIX "/", .body = "a\0b", .body_len = 3};
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &ask, &reply);
    assert_has(&reply, "len=3\n");
    fcgi_peer_free(&reply);
}
END_TEST

/* Answering before the input was read would reset the connection, and the
 * reply would be lost. */
START_TEST(a_large_body_still_gets_its_whole_reply)
{
    const size_t len = (size_t)2 * 1024 * 1024;
    char *body = malloc(len);
    struct fcgi_peer_reply reply;
    struct fcgi_peer_ask ask = {
        .method = "POST", .uri = PREFIX "/", .body_len = len};

    ck_assert_ptr_nonnull(body);
    memset(body, 'x', len);
    ask.body = body;
    for (int i = 0; i < 5; i++) {
        fcgi_peer_call(path, &ask, &reply);
        ck_assert_int_eq(reply.status, 413);
        ck_assert(reply.ended);
        assert_has(&reply, "rc=too_large\n");
        fcgi_peer_free(&reply);
    }
    free(body);
}
END_TEST

START_TEST(a_body_of_exactly_the_limit_is_read)
{
    char body[BODY_LIMIT + 1];
    struct fcgi_peer_ask ask = {
        .method = "POST", .uri = PREFIX "/", .body = body};
    struct fcgi_peer_reply reply;

    memset(body, 'x', sizeof(body));
    ask.body_len = BODY_LIMIT;
    fcgi_peer_call(path, &ask, &reply);
    ck_assert_int_eq(reply.status, 200);
    fcgi_peer_free(&reply);
    ask.body_len = BODY_LIMIT + 1;
    fcgi_peer_call(path, &ask, &reply);
    ck_assert_int_eq(reply.status, 413);
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(a_body_shorter_than_announced_is_none)
{
    static const char *const PARAMS[] = {"CONTENT_LENGTH", "10", NULL};
    const struct fcgi_peer_ask ask = {
        .method = "POST", .uri = PREFIX "/", .params = PARAMS, .body = "123"};
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &ask, &reply);
    ck_assert_int_eq(reply.status, 400);
    assert_has(&reply, "rc=io\n");
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(head_gets_the_length_but_no_body)
{
    const struct fcgi_peer_ask ask = {.method = "HEAD", .uri = PREFIX "/"};
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &ask, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_uint_eq(reply.body_len, 0);
    ck_assert_ptr_nonnull(strstr(reply.headers, "Content-Length: "));
    ck_assert_ptr_null(strstr(reply.headers, "Content-Length: 0"));
    fcgi_peer_free(&reply);
}
END_TEST

/* --- broken peers ----------------------------------------------------------
 */

static void assert_serves(void)
{
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &(struct fcgi_peer_ask){.uri = PREFIX "/x"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    assert_has(&reply, "path=/x\n");
    fcgi_peer_free(&reply);
}

START_TEST(nonsense_harms_nobody)
{
    static const char ZEROS[64] = {0};
    static const char AUTHORIZER[8] = {0, 2};
    static const char ENDLESS[12] = {(char)0xff, (char)0xff, (char)0xff};
    struct fcgi_peer_reply reply;
    int fd;

    for (int i = 0; i < 4; i++) { /* twice as many as threads */
        fd = fcgi_peer_connect(path);
        (void)fcgi_peer_bytes(fd, "GET / HTTP/1.1\r\n\r\n", 18);
        fcgi_peer_finish(fd, &reply);
        ck_assert_int_eq(reply.status, 0);

        fd = fcgi_peer_connect(path);
        (void)fcgi_peer_bytes(fd, ZEROS, sizeof(ZEROS));
        fcgi_peer_finish(fd, &reply);

        fd = fcgi_peer_connect(path);
        (void)fcgi_peer_record(fd, 1, AUTHORIZER, sizeof(AUTHORIZER));
        (void)fcgi_peer_record(fd, 4, "", 0);
        fcgi_peer_finish(fd, &reply);
        ck_assert_int_eq(reply.status, 0);

        /* A parameter that is announced, but does not come. */
        fd = fcgi_peer_connect(path);
        (void)fcgi_peer_record(fd, 1, "\0\1\0\0\0\0\0\0", 8);
        (void)fcgi_peer_record(fd, 4, ENDLESS, 1);
        (void)fcgi_peer_record(fd, 4, "", 0);
        fcgi_peer_finish(fd, &reply);
        ck_assert_int_eq(reply.status, 0);

        (void)close(fcgi_peer_connect(path));
    }
    assert_serves();
}
END_TEST

START_TEST(a_silent_peer_holds_a_thread_only_for_a_time)
{
    int silent[2] = {fcgi_peer_connect(path), fcgi_peer_connect(path)};
    int64_t begin_ms = clock_boot_ms();

    assert_serves(); /* with both threads held */
    ck_assert_int_lt(clock_boot_ms() - begin_ms, 2 * REQ_RECEIVE_MS);
    (void)close(silent[0]);
    (void)close(silent[1]);
}
END_TEST

START_TEST(a_handler_that_says_nothing_ends_the_request)
{
    struct fcgi_peer_reply reply;

    fcgi_peer_call(path, &(struct fcgi_peer_ask){.uri = PREFIX "/mute"},
                   &reply);
    ck_assert_int_eq(reply.status, 0);
    ck_assert(reply.ended);
    fcgi_peer_free(&reply);
    assert_serves();
}
END_TEST

static void await_kept(int n)
{
    for (int i = 0; i < 10000 && atomic_load(&n_kept) < n; i++) {
        clock_nap_us(1000);
    }
    ck_assert_int_eq(atomic_load(&n_kept), n);
}

/* A thread that waits in accept(2) has its descriptor already, so each of the
 * two may take one more connection; the third has to wait. */
START_TEST(without_descriptors_it_waits_and_then_serves)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rlimit before;
    struct rlimit none;
    int lowest_free;
    int fd[3];

    for (int i = 0; i < 3; i++) {
        fd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    lowest_free = dup(fd[0]);
    (void)close(lowest_free);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)lowest_free;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            connect(fd[i], (const struct sockaddr *)&address, sizeof(address)),
            0);
        fcgi_peer_send(fd[i], &(struct fcgi_peer_ask){.uri = PREFIX "/keep"});
    }
    clock_nap_us(300000);
    ck_assert_int_lt(atomic_load(&n_kept), 3);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    await_kept(3);
    for (int i = 0; i < 3; i++) {
        req_finish(kept[i]);
        (void)close(fd[i]);
    }
}
END_TEST

/* --- streams and parking ---------------------------------------------------
 */

START_TEST(a_stream_goes_out_piece_by_piece)
{
    int fd =
        fcgi_peer_start(path, &(struct fcgi_peer_ask){.uri = PREFIX "/stream"});
    char *output = fcgi_peer_read_output(fd, 1);
    char *more;

    if (strstr(output, "first") == NULL) { /* the head came by itself */
        more = fcgi_peer_read_output(fd, 1);
        ck_assert_str_eq(more, "first");
        free(more);
    }
    ck_assert_ptr_nonnull(strstr(output, "text/event-stream"));
    ck_assert_ptr_null(strstr(output, "Content-Length"));
    free(output);
    /* The peer's hang-up ends the wait of 20 s. */
    (void)close(fd);
    for (int i = 0; i < 5000 && atomic_load(&stream_end) == 0; i++) {
        clock_nap_us(1000);
    }
    ck_assert_int_eq(atomic_load(&stream_end), RC_IO + 1);
}
END_TEST

static int park_one(struct req **out)
{
    int fd = fcgi_peer_start(
        path, &(struct fcgi_peer_ask){.uri = PREFIX "/park", .body = "{}"});

    while (atomic_load(&parked) == NULL) {
        clock_nap_us(1000);
    }
    *out = atomic_exchange(&parked, NULL);
    return fd;
}

START_TEST(a_parked_request_holds_no_thread_and_is_answered_whole)
{
    const size_t len = 300000;
    char *body = malloc(len);
    struct fcgi_peer_reply reply;
    struct req *r[5];
    int fd[5];

    ck_assert_ptr_nonnull(body);
    memset(body, 'y', len);
    for (int i = 0; i < 5; i++) {
        fd[i] = park_one(&r[i]);
    }
    assert_serves();
    for (int i = 4; i >= 0; i--) {
        const struct req_reply answer = {
            .status = 202, .type = "text/plain", .body = body, .body_len = len};

        ck_assert(!fcgi_peer_ready(fd[i], 0));
        ck_assert_int_eq(req_reply(r[i], &answer), RC_OK); /* does not block */
        req_finish(r[i]);
        fcgi_peer_finish(fd[i], &reply);
        ck_assert_int_eq(reply.status, 202);
        ck_assert(reply.ended);
        ck_assert_uint_eq(reply.body_len, len);
        fcgi_peer_free(&reply);
    }
    free(body);
}
END_TEST

START_TEST(a_reply_to_a_peer_that_left_is_an_error_not_a_death)
{
    const struct req_reply answer = {.status = 200, .type = "text/plain"};
    struct req *r;
    int fd = park_one(&r);

    (void)close(fd);
    ck_assert_int_eq(req_reply(r, &answer), RC_IO);
    req_finish(r);
    assert_serves();
}
END_TEST

/* --- ending and listening --------------------------------------------------
 */

START_TEST(ending_waits_for_the_request_in_hand)
{
    struct fcgi_peer_reply reply;
    int fd =
        fcgi_peer_start(path, &(struct fcgi_peer_ask){.uri = PREFIX "/slow"});

    while (atomic_load(&in_hand) == 0) {
        clock_nap_us(1000);
    }
    atomic_store(&release_slow, true);
    serve_end(serve);
    serve = NULL;
    fcgi_peer_finish(fd, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.body, "slow");
    fcgi_peer_free(&reply);
}
END_TEST

START_TEST(ending_always_ends)
{
    for (int i = 0; i < 50; i++) {
        serve_end(serve);
        req_listener_free(listener);
        listen_now();
        serve_now(4);
        if (i % 2 == 0) {
            assert_serves();
        }
    }
}
END_TEST

START_TEST(a_stale_socket_is_replaced_and_a_live_one_is_not)
{
    const struct req_listen_options where = {.path = path};
    const struct req_listen_options file = {
        .path = tmp_write("file", "a plain file")};
    struct req_listener *second = NULL;
    struct stat st;

    ck_assert_int_eq(req_listen(&where, &second), RC_CONFLICT);
    ck_assert_int_eq(req_listen(&file, &second), RC_INVALID);
    assert_serves();
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0660);

    /* Leave the socket behind as a killed program does. */
    serve_end(serve);
    serve = NULL;
    ck_assert_int_eq(link(path, tmp_path("kept")), 0);
    req_listener_free(listener);
    ck_assert_int_ne(stat(path, &st), 0);
    ck_assert_int_eq(rename(tmp_path("kept"), path), 0);
    listen_now();
    serve_now(2);
    assert_serves();
}
END_TEST

START_TEST(only_its_own_socket_file_is_removed)
{
    struct stat st;

    serve_end(serve);
    serve = NULL;
    ck_assert_int_eq(unlink(path), 0);
    (void)tmp_write("socket", "somebody else's");
    req_listener_free(listener);
    listener = NULL;
    ck_assert_int_eq(stat(path, &st), 0);
}
END_TEST

START_TEST(descriptor_0_must_listen)
{
    const struct req_listen_options where = {0};
    struct req_listener *inherited = NULL;

    ck_assert_int_eq(req_listen(&where, &inherited), RC_INVALID);
    ck_assert_ptr_null(inherited);
}
END_TEST

Suite *req_suite(void)
{
    Suite *suite = suite_create("req");
    TCase *tcase = tcase_create("req");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_request_is_read);
    tcase_add_test(tcase, what_is_no_target_has_no_path);
    tcase_add_test(tcase, a_body_may_hold_nul);
    tcase_add_test(tcase, a_large_body_still_gets_its_whole_reply);
    tcase_add_test(tcase, a_body_of_exactly_the_limit_is_read);
    tcase_add_test(tcase, a_body_shorter_than_announced_is_none);
    tcase_add_test(tcase, head_gets_the_length_but_no_body);
    tcase_add_test(tcase, nonsense_harms_nobody);
    tcase_add_test(tcase, a_silent_peer_holds_a_thread_only_for_a_time);
    tcase_add_test(tcase, a_handler_that_says_nothing_ends_the_request);
    tcase_add_test(tcase, without_descriptors_it_waits_and_then_serves);
    tcase_add_test(tcase, a_stream_goes_out_piece_by_piece);
    tcase_add_test(tcase,
                   a_parked_request_holds_no_thread_and_is_answered_whole);
    tcase_add_test(tcase, a_reply_to_a_peer_that_left_is_an_error_not_a_death);
    tcase_add_test(tcase, ending_waits_for_the_request_in_hand);
    tcase_add_test(tcase, ending_always_ends);
    tcase_add_test(tcase, a_stale_socket_is_replaced_and_a_live_one_is_not);
    tcase_add_test(tcase, only_its_own_socket_file_is_removed);
    tcase_add_test(tcase, descriptor_0_must_listen);
    suite_add_tcase(suite, tcase);
    return suite;
}
