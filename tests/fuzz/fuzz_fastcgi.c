/* fuzz_fastcgi.c - any bytes where a request should be: whatever they were, the
 * next request gets its answer. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/responder.h"

#define INPUT_BYTES ((size_t)64 << 10) /* fits into a socket's buffer */
#define GET_VALUES  9

static int start_good(void)
{
    struct buf params, out;
    int fd = responder_connect();

    buf_init(&params, 4096);
    buf_init(&out, 8192);
    records_pair(&params, "REQUEST_METHOD", "GET");
    records_pair(&params, "REQUEST_URI", "/api/v1/health");
    records_begin(&out);
    records_put(&out, RECORDS_PARAMS, buf_str(&params), params.len);
    records_end(&out, RECORDS_PARAMS);
    records_end(&out, RECORDS_STDIN);
    FUZZ_CHECK(write(fd, out.data, out.len) == (ssize_t)out.len);
    buf_free(&params);
    buf_free(&out);
    return fd;
}

static bool has_output(int fd)
{
    char c;

    return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static void check_good(int fd)
{
    size_t len = 0;
    char *bytes = responder_output(fd, &len);
    struct buf out;

    buf_init(&out, 8192);
    FUZZ_CHECK(bytes != NULL && records_read(bytes, len, &out));
    FUZZ_CHECK(strncmp(buf_str(&out), "Status: 200", 11) == 0);
    buf_free(&out);
    free(bytes);
}

/* What libfcgi makes a bad end of, and only a web server could send: it answers
 * a management record of a type that does not exist and forgets 48 bytes, and
 * it asserts that it gets as much memory as a variable claims to need, which
 * takes a byte of 0x80 or more. It finds records where others would not, so
 * they are looked for everywhere. */
static bool is_beyond_it(const uint8_t *p, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        bool is_management = len - at >= 4 && p[at] == 1 && p[at + 2] == 0 &&
                             p[at + 3] == 0 && p[at + 1] != GET_VALUES;

        if (is_management || p[at] >= 0x80) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    int fd, good;

    if (len > INPUT_BYTES || is_beyond_it(data, len)) {
        return 0;
    }
    responder_start();
    fd = responder_connect();
    FUZZ_CHECK(write(fd, data, len) == (ssize_t)len);
    FUZZ_CHECK(shutdown(fd, SHUT_WR) == 0);
    good = start_good();
    /* Theirs may be a request, or be passed over. */
    for (int i = 0; i < 2 && !has_output(good); i++) {
        responder_serve();
    }
    check_good(good);
    (void)close(good);
    (void)close(fd);
    return 0;
}
