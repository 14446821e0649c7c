/* fuzz_sse.c - event streams: however the bytes are cut, the same events. */
#include <stdlib.h>
#include <string.h>

#include "runtime/model/sse.h"
#include "tests/fuzz/fuzz.h"

#define LINE_MAX_BYTES ((size_t)64)

static bool tell(void *ctx, const struct sse_event *e)
{
    struct buf *out = ctx;

    FUZZ_CHECK(e->len > 0 && e->data[e->len] == '\0');
    FUZZ_CHECK(e->len <= LINE_MAX_BYTES);
    buf_printf(out, "%s %d %zu:", e->name, (int)e->torn, e->len);
    buf_add(out, e->data, e->len);
    return strcmp(e->name, "stop") != 0;
}

static void read_pieces(const char *bytes, size_t len, size_t piece,
                        struct buf *out)
{
    struct sse s;
    enum rc rc = RC_OK;

    sse_init(&s, LINE_MAX_BYTES, tell, out);
    for (size_t at = 0; at < len && rc == RC_OK; at += piece) {
        rc = sse_feed(&s, bytes + at, len - at < piece ? len - at : piece);
    }
    if (rc == RC_OK) {
        rc = sse_end(&s);
    }
    FUZZ_CHECK(rc == RC_OK || rc == RC_TOO_LARGE);
    buf_printf(out, "\n%d %d %s", (int)rc, (int)s.stopped, s.last_id);
    sse_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct fuzz_input in = {(const char *)data, len};
    char *bytes = fuzz_rest(&in);
    struct buf first, other;

    buf_init(&first, 64 * len + 1024);
    buf_init(&other, 64 * len + 1024);
    read_pieces(bytes, len, fuzz_piece(0, len), &first);
    FUZZ_CHECK(first.rc == RC_OK);
    for (int cut = 1; cut < FUZZ_CUTS; cut++) {
        buf_clear(&other);
        read_pieces(bytes, len, fuzz_piece(cut, len), &other);
        FUZZ_CHECK(fuzz_same(&first, &other));
    }
    buf_free(&first);
    buf_free(&other);
    free(bytes);
    return 0;
}
