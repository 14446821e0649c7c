#include "tests/fuzz/records.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

#define HEADER_BYTES 8
#define RECORD_BYTES ((size_t)65535)
#define RESPONDER    1

static void put_one(struct buf *out, enum records_type type, const char *bytes,
                    size_t len)
{
    const char header[HEADER_BYTES] = {
        1, (char)type, 0, 1, (char)(len >> 8), (char)(len & 0xff), 0, 0};

    buf_add(out, header, sizeof(header));
    buf_add(out, bytes, len);
}

void records_put(struct buf *out, enum records_type type, const char *bytes,
                 size_t len)
{
    for (size_t at = 0; at < len; at += RECORD_BYTES) {
        size_t left = len - at;

        put_one(out, type, bytes + at,
                left < RECORD_BYTES ? left : RECORD_BYTES);
    }
}

void records_begin(struct buf *out)
{
    const char body[] = {0, RESPONDER, 0, 0, 0, 0, 0, 0};

    put_one(out, RECORDS_BEGIN, body, sizeof(body));
}

void records_end(struct buf *out, enum records_type type)
{
    put_one(out, type, "", 0);
}

static void put_length(struct buf *out, size_t len)
{
    if (len > 127) {
        buf_putc(out, (char)(len >> 24 | 0x80));
        buf_putc(out, (char)(len >> 16 & 0xff));
        buf_putc(out, (char)(len >> 8 & 0xff));
    }
    buf_putc(out, (char)(len & 0xff));
}

void records_pair(struct buf *out, const char *name, const char *value)
{
    put_length(out, strlen(name));
    put_length(out, strlen(value));
    buf_puts(out, name);
    buf_puts(out, value);
}

bool records_read(const char *bytes, size_t len, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t at = 0;
    bool ended = false;

    while (at < len && !ended) {
        size_t n;

        FUZZ_CHECK(len - at >= HEADER_BYTES && p[at] == 1);
        n = (size_t)p[at + 4] << 8 | p[at + 5];
        FUZZ_CHECK(len - at - HEADER_BYTES >= n + p[at + 6]);
        if (p[at + 1] == RECORDS_STDOUT) {
            buf_add(out, bytes + at + HEADER_BYTES, n);
        }
        ended = p[at + 1] == RECORDS_END;
        at += HEADER_BYTES + n + p[at + 6];
    }
    FUZZ_CHECK(at == len);
    return ended;
}
